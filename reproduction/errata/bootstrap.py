"""Errors in bootstrap differential privacy, each with a case that shows it."""

from __future__ import annotations

from math import inf, log

import numpy as np

from penstock.reproduction.beside_print import printed_tables
from penstock.reproduction.errata.erratum import CounterExample, Erratum, found

__all__ = ["ERRATA"]

_SOURCE = "Bootstrap Differential Privacy"


def accuracy() -> CounterExample:
    """Return the probability that nine Laplace noises stay within the printed bound: (1 - gamma/k)^k."""
    cells = 9

    def within(gamma: float) -> float:
        scale, bound = 1.0, log(cells / gamma)
        return float((1 - np.exp(-bound / scale)) ** cells)

    return found(
        "k = 9 figures; printed: the largest noise is within ln(k / gamma) times its scale with probability gamma",
        within(0.99) < 0.99 and within(0.99) > 1 - 0.99 and within(0.05) > 1 - 0.05,
        gamma_is_99_percent=within(0.99),
        gamma_is_5_percent=within(0.05),
    )


def norm() -> CounterExample:
    """Return the printed norm of a vector, and its norm."""
    vector = (-5, 1)
    return found(
        "the noises -5 and 1",
        max(vector) != max(map(abs, vector)),
        largest_as_printed=max(vector),
        largest_absolute=max(map(abs, vector)),
    )


def parallel_composition() -> CounterExample:
    """Return the loss of two counts where the replacing row lies in the other part."""
    first, second = np.array([1, 1]), np.array([2, 0])
    loss = float(np.abs(first - second).sum())
    return found(
        "one row in each of two parts, each part counted with epsilon 1; one row is replaced by the other one",
        loss == 2,
        epsilon=1,
        loss=loss,
    )


def contingency_table() -> CounterExample:
    """Return the largest change of a contingency table over all bootstrap samples and replacements, by brute force."""
    cells = (0, 0, 1, 2)  # the cells of four rows
    largest = 0
    for sample in np.ndindex(*[len(cells)] * 3):
        for place in range(3):
            for row in range(len(cells)):
                other = (*sample[:place], row, *sample[place + 1 :])
                counts = [np.bincount([cells[each] for each in drawn], minlength=3) for drawn in (sample, other)]
                largest = max(largest, int(np.abs(counts[0] - counts[1]).sum()))
    return found(
        "three rows drawn from four, in three cells; every replacement tried",
        largest == 2,
        sensitivity_as_printed=1,
        sensitivity=largest,
    )


def cell_totals() -> CounterExample:
    """Return both totals of two cells with one record each: their range is 0, so there is no noise in print."""
    values = (5, 5)
    ranges = [max(cell) - min(cell) for cell in ([value] for value in values)]
    first, second = values, (0, values[0] + values[1])
    return found(
        "two cells of one record each, both of 5; the first record is replaced by the second",
        ranges == [0, 0] and first != second,
        scale_as_printed=max(ranges),
        totals=str(first),
        totals_after=str(second),
        loss=inf,
    )


def whole_table() -> CounterExample:
    """Return by how much one record moves the farms' table, beside the sensitivity in print."""
    tables = printed_tables("bootstrap_tables")
    largest = sorted((value for row in tables["table_1"]["corrected"]["max"] for value in row), reverse=True)
    in_print = max(value for row in tables["table_2"]["printed"] for value in row)
    moved = largest[0] + largest[1]
    return found(
        "rice farms: the farm of the largest total leaves its cell, and the next largest enters another one",
        moved > in_print,
        sensitivity_as_printed=in_print,
        change_of_the_table=moved,
        loss_at_epsilon_1=moved / in_print,
    )


def random_privacy() -> CounterExample:
    """Return what the printed definition asks of a mechanism that ignores the data."""
    gamma, held = 0.05, 1.0
    return found(
        "a mechanism that ignores its data keeps epsilon with probability 1; gamma 0.05",
        not held <= 1 - gamma and held >= 1 - gamma,
        printed_at_most=1 - gamma,
        probability=held,
    )


def largest_of_a_cell() -> CounterExample:
    """Return the range of the first cell with the printed largest value, and with a digit more."""
    tables = printed_tables("bootstrap_tables")
    least, most = (tables["table_1"]["printed"][name][0][0] for name in ("min", "max"))
    right, spread = tables["table_1"]["corrected"]["max"][0][0], tables["table_2"]["printed"][0][0]
    return found(
        "the paper's own Table 2 has the range of the same cell",
        most - least != spread == right - least,
        range_in_table_2=spread,
        range_with_the_printed_value=most - least,
        range_with_9000=right - least,
    )


def cells_that_lose() -> CounterExample:
    """Return the cells of which option (i) adds more noise than option (ii)."""
    ranges = np.array(printed_tables("bootstrap_tables")["table_2"]["printed"])
    more = ranges.max() > ranges.size * ranges
    return found(
        "the scales in print, at epsilon 1: the largest range for every cell, or nine times its own",
        int(more.sum()) == 2,
        cells_as_printed=1,
        cells=int(more.sum()),
        one_scale=int(ranges.max()),
        own_scale_of_share_both=int(9 * ranges[2, 1]),
        own_scale_of_share_trad=int(9 * ranges[2, 2]),
    )


ERRATA = (
    Erratum(
        name="bootstrap-accuracy",
        source=_SOURCE,
        place="Theorem 4",
        printed="noise stays within ln(k / gamma) scales with a probability of at least gamma",
        right="with a probability of at least 1 - gamma, for continuous noise",
        counter_example=accuracy,
    ),
    Erratum(
        name="bootstrap-norm",
        source=_SOURCE,
        place="Theorem 4",
        printed="the norm is the largest x_i",
        right="the norm is the largest |x_i|",
        counter_example=norm,
    ),
    Erratum(
        name="bootstrap-parallel",
        source=_SOURCE,
        place="Result 8",
        printed="over the parts of a partition the loss is epsilon",
        right="only where the replacing row lies in the same part; otherwise the two largest add up",
        counter_example=parallel_composition,
    ),
    Erratum(
        name="bootstrap-counts",
        source=_SOURCE,
        place="section 5.1",
        printed="one row changes a contingency table by 1",
        right="a replaced row changes two cells, by 2 in all; 1 holds where a row is added or removed",
        counter_example=contingency_table,
    ),
    Erratum(
        name="bootstrap-totals",
        source=_SOURCE,
        place="section 5.2, options (i) and (ii)",
        printed="the sensitivity of a cell's total is the range of its values",
        right="a record that leaves its cell takes its whole value along: the larger of range and largest |value|",
        counter_example=cell_totals,
    ),
    Erratum(
        name="bootstrap-whole",
        source=_SOURCE,
        place="sections 5.2 and 5.3.2, option (i)",
        printed="the sensitivity of a magnitude table is the largest range of a cell",
        right="a replaced record moves two totals, by the sum of two cells' largest values",
        counter_example=whole_table,
    ),
    Erratum(
        name="bootstrap-random",
        source=_SOURCE,
        place="Definition 13",
        printed="the condition of random differential privacy holds with a probability of at most 1 - gamma",
        right="of at least 1 - gamma",
        counter_example=random_privacy,
    ),
    Erratum(
        name="bootstrap-900",
        source=_SOURCE,
        place="Table 1, Mixed / High",
        printed="the largest output is 900",
        right="9,000",
        counter_example=largest_of_a_cell,
    ),
    Erratum(
        name="bootstrap-options",
        source=_SOURCE,
        place="section 5.3.2",
        printed="only the total of Share / Both has more noise by option (i) than by option (ii)",
        right="two have: Share / Both and, by little, Share / Trad",
        counter_example=cells_that_lose,
    ),
)
