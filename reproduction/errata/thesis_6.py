"""Errors in chapter 6 of the thesis, each with a case that shows it."""

from __future__ import annotations

from math import exp, inf

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.microaggregation import mdav
from penstock.mechanisms.taxonomy import GRID, boundaries, reach, score_table
from penstock.reproduction.computed import corner_groups, counted_corners, group_means, observed_bounds
from penstock.reproduction.errata.erratum import CounterExample, Erratum, found

__all__ = ["ERRATA"]

_SOURCE = "Thesis, chapter 6"
# All trees of nine concepts were tried.
_TREE = {"r": [], "a": ["r"], "b": ["a"], "c": ["a"], "d": ["a"], "e": ["b"], "f": ["b"], "g": ["c"], "h": ["c"]}


def last_step_of_mdav() -> CounterExample:
    """Return the sizes of MDAV's clusters along a line, before and after one record is replaced."""
    sizes = []
    for values in ((0, 0.1, 0.4, 0.6, 0.6), (0.1, 0.4, 0.6, 0.6, 1)):
        labels = mdav(np.array(values)[:, np.newaxis], 2)
        sizes.append([int((labels == label).sum()) for label in dict.fromkeys(labels.tolist())])
    return found(
        "(0, 0.1, 0.4, 0.6, 0.6), in which 0 becomes 1; k = 2: sizes in the order of the line",
        sizes[0] == sizes[1][::-1] and sizes[0] != sizes[1],
        before=str(sizes[0]),
        after=str(sizes[1]),
    )


def sensitivity_of_a_record() -> CounterExample:
    """Return by how much the row of the replaced record moves, in the microaggregated file."""
    k = 5
    before, after = _two_blocks(k)
    moved = float(np.abs(before - after).max())
    return found(
        "k = 5, five values 0 and five values 1 in a domain from 0 to 1; one 0 becomes 1: the row of that record",
        moved > 1 / k,
        change_as_printed=1 / k,
        change=moved,
    )


def noise_on_every_record() -> CounterExample:
    """Return the loss of independent Laplace noise of scale 1 / (k epsilon) on every row."""
    k, epsilon = 5, 1.0
    before, after = _two_blocks(k)
    loss = float(np.abs(before - after).sum()) * k * epsilon
    return found(
        "the same pair, noise of scale 1 / (k epsilon) on every row, epsilon 1",
        abs(loss - (3 * k - 2) * epsilon) < 1e-9,
        promised=epsilon,
        loss=loss,
    )


def one_epsilon_for_each_attribute() -> CounterExample:
    """Return the loss where each of four attributes is given the whole epsilon, as the experiments do."""
    attributes, epsilon = 4, 0.5
    loss = attributes * epsilon
    below = 0.5**attributes, (0.5 * exp(-epsilon)) ** attributes
    return found(
        "k = 1, a record of four attributes moves from 0 to 1 in each, noise of scale 1 / epsilon, epsilon 0.5: how "
        "likely all four are at most 0",
        abs(np.log(below[0] / below[1]) - loss) < 1e-12 and loss > epsilon,
        chance_before=below[0],
        chance_after=below[1],
        loss=loss,
    )


def choice_in_every_block() -> CounterExample:
    """Return the loss of one replaced record where every block's category is chosen with the whole epsilon."""
    epsilon = 1.0
    # Categories of the sorted records; the first leaves, another of category a enters at the end. Blocks of two.
    sorted_before = [0, 0, 1, 0, 0, 0, 1, 0]
    sorted_after = [*sorted_before[1:], 0]

    def chances(records: list[int]) -> NDArray[np.float64]:
        """Return for each block the probability of each category: e^(-epsilon (records that have another) / 2)."""
        blocks = np.array(records).reshape(-1, 2)
        weights = np.exp(-epsilon / 2 * np.stack([(blocks != category).sum(axis=1) for category in (0, 1)], axis=1))
        shares: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
        return shares

    ratios = np.log(chances(sorted_before) / chances(sorted_after))
    loss = max(float(each.max(axis=1).sum()) for each in (ratios, -ratios))
    return found(
        "two categories, four blocks of two records along an order: aa ba aa ba becomes ab aa ab aa",
        loss > epsilon,
        promised=epsilon,
        loss=loss,
    )


def boundaries_of_a_taxonomy() -> CounterExample:
    """Return the distance of the boundaries of a taxonomy, and of the two categories that are farthest apart."""
    column = Column.model_validate({"role": "confidential", "type": "nominal", "taxonomy": _TREE})
    bottom, top = boundaries(column)
    scores = score_table(column)
    between, diameter = float(scores[bottom, top]) / GRID, float(reach(scores).max()) / GRID
    return found(
        "a tree of nine concepts: r above a; a above b, c and d; b above e and f; c above g and h",
        between < diameter,
        # Scores are rounded up to a grid, so further digits are the grid's.
        distance_of_the_boundaries=round(between, 4),
        diameter=round(diameter, 4),
    )


def bounds_from_the_data() -> CounterExample:
    """Return the bounds that the experiments take from two files which differ in one record."""
    first, second = (observed_bounds(np.array([[1.0], [last]])) for last in (10.0, 1000.0))
    return found(
        "(1, 10) and (1, 1000): noisy values are clamped to 0 and one and a half times the largest value",
        float(first[0]) < float(second[0]),
        released_at_most_before=float(first[0]),
        released_at_most_after=float(second[0]),
        loss=inf,
    )


def score() -> CounterExample:
    """Return the Score of Table 6.1, k = 2, epsilon 0.01, as quotient and as product of its factors."""
    errors, linkages, printed = 0.014, 386.92, 5.37
    # The printed factor of the errors has two digits.
    low, high = ((errors + step) * linkages for step in (-0.0005, 0.0005))
    return found(
        "Table 6.1, k = 2, epsilon 0.01: SSE_f 0.014 and RL_f 386.92, Score 5.37",
        low <= printed <= high and errors / linkages < 0.01,
        quotient_as_in_the_text=errors / linkages,
        product=errors * linkages,
        in_print=printed,
    )


def factor_of_errors() -> CounterExample:
    """Return the factor that the Score beside it was made from."""
    linkages, printed = 227.41, 6.26
    return found(
        "Table 6.1, k = 5, epsilon 0.01: the Score 6.26 over RL_f 227.41",
        round(printed / linkages, 3) == 0.028,
        in_print=0.027,
        from_the_Score=printed / linkages,
    )


def sequence_of_corners() -> CounterExample:
    """Return how far the fifth corner of the sequence behind Table 6.5 is from the fourth, and how far one could be."""
    corners = counted_corners([0, 2, 3, 1])
    apart = np.abs(corners[4:] - corners[3]).sum(axis=1)
    return found(
        "the fifth corner of the sequence that gives all 40 numbers of the insensitive column of Table 6.5: how many "
        "attributes it differs in from the fourth one",
        apart[0] < apart.max(),
        by_the_rule=int(apart.max()),
        in_the_sequence=int(apart[0]),
    )


def error_of_categories() -> CounterExample:
    """Return the error of MDAV that the factors of Tables 6.3 and 6.4 stand for."""
    alone, against_mdav, against_alone, printed = 2.78e4, 0.057, 1.01, 8.93
    implied = alone * (against_mdav / against_alone) ** 2
    return found(
        "k = 15, epsilon 0.01: SSE 27800 with k = 1, over the square of 1.01, times the square of 0.057",
        abs(implied / printed - 10) < 0.5,
        in_print=printed,
        by_the_factors=implied,
    )


def _two_blocks(k: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the microaggregated files of k ones and k zeros, and of the same with the last zero replaced by a one."""
    first = np.repeat([1.0, 0.0], k)[:, np.newaxis]
    second = first.copy()
    second[-1] = 1.0
    before, after = (group_means(data, corner_groups(data, np.ones(1), k)) for data in (first, second))
    return before, after


ERRATA = (
    Erratum(
        name="thesis-last-step",
        source=_SOURCE,
        place="Proposition 6",
        printed="MDAV along a total order takes k from the ends until less than k are left, and is insensitive",
        right="it ends when less than 2k are left, and the end that the last step takes depends on the mean",
        counter_example=last_step_of_mdav,
    ),
    Erratum(
        name="thesis-record",
        source=_SOURCE,
        place="Proposition 8",
        printed="a record's row in the microaggregated file moves by at most 1 / k of the domain",
        right="a centroid does; the replaced record changes its cluster, and its row can move by the whole domain",
        counter_example=sensitivity_of_a_record,
    ),
    Erratum(
        name="thesis-every-record",
        source=_SOURCE,
        place="Algorithm 6.2",
        printed="each row is a query about another record, so the losses of all rows are epsilon together",
        right="every row depends on all records; the loss is up to (3k - 2) epsilon on one attribute",
        counter_example=noise_on_every_record,
    ),
    Erratum(
        name="thesis-attributes",
        source=_SOURCE,
        place="section 6.4, experiments",
        printed="every attribute gets the whole epsilon",
        right="the attributes of one record add up",
        counter_example=one_epsilon_for_each_attribute,
    ),
    Erratum(
        name="thesis-categories",
        source=_SOURCE,
        place="Proposition 9 and Algorithm 6.3",
        printed="each cluster's category may be chosen with the whole epsilon",
        right="a replaced record changes up to n / k clusters, and their losses add up",
        counter_example=choice_in_every_block,
    ),
    Erratum(
        name="thesis-boundaries",
        source=_SOURCE,
        place="Proposition 9",
        printed="the sensitivity of marginality is the distance of the two boundaries of the taxonomy",
        right="it is the diameter, which can be larger",
        counter_example=boundaries_of_a_taxonomy,
    ),
    Erratum(
        name="thesis-bounds",
        source=_SOURCE,
        place="section 6.4",
        printed="domains are 0 to one and a half times the largest value of the file",
        right="bounds from the data void differential privacy",
        counter_example=bounds_from_the_data,
    ),
    Erratum(
        name="thesis-score",
        source=_SOURCE,
        place="section 6.4.2",
        printed="the Score is SSE_f / RL_f",
        right="the tables print the product",
        counter_example=score,
    ),
    Erratum(
        name="thesis-factor",
        source=_SOURCE,
        place="Table 6.1, k = 5, epsilon 0.01",
        printed="SSE_f is 0.027",
        right="0.028",
        counter_example=factor_of_errors,
    ),
    Erratum(
        name="thesis-sequence",
        source=_SOURCE,
        place="sections 6.3.3 and 6.4.1",
        printed="the next corner differs most from the last one; corners lie at 0 and 1.5 times the maximum",
        right="the tables come from corners counted through, each followed by its opposite, up to the maximum",
        counter_example=sequence_of_corners,
    ),
    Erratum(
        name="thesis-categories-error",
        source=_SOURCE,
        place="Table 6.3",
        printed="SSE_0 is 1.01, 3.33, 8.93 and 14.6",
        right="ten times as much, by the factors of Tables 6.3 and 6.4",
        counter_example=error_of_categories,
    ),
)
