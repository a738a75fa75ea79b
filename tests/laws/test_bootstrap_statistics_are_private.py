"""Statistics under bootstrap differential privacy keep epsilon: the exact loss of every pair, for every small data set.

    loss = sum over figures, groups and totals of |f(D_1) - f(D_2)| epsilon_f / (totals of f) / steps(D)           (1)

steps(D) is what the mechanism says in secret about the actual data set D. What it measures is taken from the records by
definition here. The pairs are all adjacent data sets that consist of records of D.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement
from math import ceil, floor
from statistics import median, pvariance

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.numbers.grid import grid_of
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refusal import ScaleZero
from penstock.mechanisms.statistics import Params
from penstock.mechanisms.statistics._bootstrap import Among, bootstrap_figure, drawn
from penstock.mechanisms.statistics._bootstrap_settings import membership
from penstock.mechanisms.statistics._groups import sorted_groups
from penstock.mechanisms.statistics._settings import Statistic, epsilons

LOW, HIGH = -1, 3
COLUMN = Column(role="confidential", type="integer", domain=(LOW, HIGH))
GRID = grid_of(COLUMN, "x")
MIDDLE = GRID.steps // 2
EPSILON = Fraction(6, 5)
KINDS = ["count", "sum", "mean", "variance", "median", "minimum", "maximum", "second_maximum", "quantile"]
SHARE = Fraction(2, 3)
# What is public about groups; the first of two groups is the one that is chosen.
SETTINGS = {
    "one record of all replaced": ("bootstrap_replace", False, False),
    "one record more or less": ("bootstrap_add_remove", False, False),
    "replaced in its group": ("bootstrap_within_cell", True, False),
    "replaced among groups": ("bootstrap_replace", True, False),
    "more or less of a group": ("bootstrap_add_remove", True, False),
    "one group, replaced": ("bootstrap_replace", False, True),
    "one group, more or less": ("bootstrap_add_remove", False, True),
}
EXACT = [*SETTINGS][:3]


def statistic(kind):
    of = {} if kind == "count" else {"of": "x"}
    return Statistic(statistic=kind, **of, **({"share": SHARE} if kind == "quantile" else {}))


@cache
def settings(kind, setting):
    adjacency, grouped, alone = SETTINGS[setting]
    return Params(
        groups=("side",) if grouped else (),
        only={"side": "a"} if alone else {},
        figures=[statistic(kind)],
        model="bdp",
        epsilon=EPSILON,
        adjacency=adjacency,
        acknowledges=["bdp"],
    )


def allowed(kind, setting):
    return kind != "count" or setting not in ("one record of all replaced", "replaced in its group")


CASES = [(kind, setting) for kind in KINDS for setting in SETTINGS if allowed(kind, setting)]


def rounded(value, parts):
    return floor(Fraction(value) * parts + Fraction(1, 2))


@cache
def measured(kind, values, from_totals, parts):
    """By definition: the whole numbers that get noise, from the values of a group on the grid."""
    n, x = len(values), sorted(values)
    if kind == "count":
        return (n,)
    if kind == "sum":
        return (sum(value + LOW for value in x),)
    if from_totals:
        u = [value - MIDDLE for value in x]
        return (n, sum(u), sum(each**2 for each in u))[: 2 if kind == "mean" else 3]
    if not x:
        return (MIDDLE * parts,)
    found = {
        "mean": lambda: Fraction(sum(x), n),
        "variance": lambda: pvariance([Fraction(value) for value in x]),
        "median": lambda: median([Fraction(value) for value in x]),
        "minimum": lambda: x[0],
        "maximum": lambda: x[-1],
        "second_maximum": lambda: x[-2] if n > 1 else x[-1],
        "quantile": lambda: x[ceil(SHARE * n) - 1],
    }[kind]()
    return (rounded(found, parts),)


def sides_of(data, setting):
    """The values of every group that is published."""
    _, grouped, alone = SETTINGS[setting]
    if grouped:
        return [tuple(sorted(v for s, v in data if s == side)) for side in (0, 1)]
    return [tuple(sorted(v for s, v in data if s == 0 or not alone))]


def pairs(data, adjacency, sizes_are_public=True):
    """All adjacent data sets that consist of records of D; n - 1, n and n + 1 of them where their number may change.

    Within groups everybody's group is public, so each group has as many records as in D.
    """
    distinct, n = sorted(set(data)), len(data)
    if adjacency == "bootstrap_add_remove":
        for size in (n - 1, n):
            for rows in combinations_with_replacement(distinct, size):
                yield from ((rows, (*rows, record)) for record in distinct)
        return
    every = list(combinations_with_replacement(distinct, n))
    if adjacency == "bootstrap_within_cell" and sizes_are_public:
        every = [rows for rows in every if Counter(s for s, _ in rows) == Counter(s for s, _ in data)]
    for one, other in combinations(every, 2):
        gone, new = Counter(one) - Counter(other), Counter(other) - Counter(one)
        if sum(gone.values()) != 1:
            continue
        if adjacency == "bootstrap_replace" or next(iter(gone))[0] == next(iter(new))[0]:
            yield one, other


def steps_of(kind, setting, data, calibrated_as=None):
    """The steps of every total in every group, what each total has of epsilon, and into how many parts steps are
    divided; nothing where the release is refused. calibrated_as: the setting from which noise is taken."""
    chosen = settings(kind, calibrated_as or setting)
    among = Among(membership(chosen), chosen.adjacency)
    sides = sides_of(data, setting)
    values = np.array([value for side in sides for value in side], np.int64)
    labels = np.repeat(np.arange(len(sides)), [len(side) for side in sides])
    grid = None if kind == "count" else GRID
    spent = epsilons(chosen)[chosen.figures[0].name]
    found = bootstrap_figure(chosen.figures[0], grid, sorted_groups(values, labels, len(sides)), among, spent)
    try:
        _, steps = drawn(found, "x", spent, chosen.adjacency, seeded(1))
    except ScaleZero:
        return None
    parts = 2 if kind == "median" else found.limits[0][1] // GRID.steps if kind == "mean" else 1
    if kind == "variance":
        parts = found.limits[0][1] * 4 // GRID.steps**2
    return [each.tolist() for each in steps], spent / len(steps), parts if len(steps) == 1 else 1


def largest_loss(kind, setting, data, calibrated_as=None, sizes_are_public=True):
    """(1), over all pairs."""
    noise = steps_of(kind, setting, data, calibrated_as)
    if noise is None:
        return Fraction(0)
    steps, spent, parts = noise
    lost = [Fraction(0)]
    for one, other in pairs(data, SETTINGS[setting][0], sizes_are_public):
        total = Fraction(0)
        for group, (first, second) in enumerate(zip(sides_of(one, setting), sides_of(other, setting), strict=True)):
            if first != second:
                both = (measured(kind, side, len(steps) > 1, parts) for side in (first, second))
                for place, (before, after) in enumerate(zip(*both, strict=True)):
                    total += abs(before - after) * spent / steps[place][group]
        lost.append(total)
    return max(lost)


def data_sets(setting, most):
    """All of up to so many records; the side matters only where groups are published."""
    _, grouped, alone = SETTINGS[setting]
    sides = (0, 1) if grouped or alone else (0,)
    values = range(GRID.steps + 1) if len(sides) == 1 else (0, 3, GRID.steps)
    records = [(side, value) for side in sides for value in values]
    for n in range(1, most + 1):
        for data in combinations_with_replacement(records, n):
            if setting != "replaced in its group" or len({side for side, _ in data}) == 2:
                yield data


@pytest.mark.parametrize(("kind", "setting"), CASES)
def test_no_pair_of_data_sets_made_of_the_actual_records_is_told_apart_by_more_than_epsilon(kind, setting):
    most = 4 if setting in EXACT[:2] else 3
    assert max(largest_loss(kind, setting, data) for data in data_sets(setting, most)) <= EPSILON


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "setting"), CASES)
def test_so_it_is_with_more_records(kind, setting):
    most = 6 if setting in EXACT[:2] else 4
    assert max(largest_loss(kind, setting, data) for data in data_sets(setting, most)) <= EPSILON


@pytest.mark.parametrize(("kind", "setting"), [case for case in CASES if case[1] in EXACT])
def test_no_noise_is_more_than_needed_where_no_group_can_become_empty(kind, setting):
    """For every data set, not only the worst one. Means and variances are rounded, so a little less is lost."""
    near = Fraction(1, 2**40) if kind in ("mean", "variance") else 0
    for data in data_sets(setting, 3):
        if steps_of(kind, setting, data) is not None:
            assert EPSILON - largest_loss(kind, setting, data) <= near


@pytest.mark.parametrize("kind", ["count", "sum", "mean", "median", "maximum"])
@pytest.mark.parametrize("setting", [name for name in SETTINGS if name not in EXACT])
def test_all_of_epsilon_is_used_for_some_data(kind, setting):
    assert max(largest_loss(kind, setting, data) for data in data_sets(setting, 3)) == EPSILON


def worst(kind, setting, calibrated_as, most=3):
    """With noise calibrated for another setting."""
    losses = []
    for data in data_sets(setting, most):
        if all(sides_of(data, setting)):
            losses.append(largest_loss(kind, setting, data, calibrated_as))
    return max(losses)


@pytest.mark.parametrize("kind", ["count", "sum", "mean", "variance", "median", "maximum"])
def test_the_count_notices_that_epsilon_was_not_divided_by_the_groups_that_a_record_touches(kind):
    assert worst(kind, "replaced among groups", "more or less of a group") > Fraction(19, 10) * EPSILON


@pytest.mark.parametrize("kind", ["sum", "median", "maximum"])
def test_the_count_notices_the_spread_of_a_group_that_a_record_may_leave(kind):
    """As the source has it for a cell total: V in place of max(V, M)."""
    assert worst(kind, "one group, replaced", "one record of all replaced") > EPSILON
    assert worst(kind, "replaced among groups", "replaced in its group", most=4) > EPSILON


def test_the_count_notices_the_median_of_an_even_number_taken_for_all():
    """Half of the width is enough for two records, and where the number changes, but not for one of three replaced."""
    assert worst("median", "one record of all replaced", "one record more or less") == 2 * EPSILON


def test_the_count_notices_a_total_with_the_spread_of_values_where_a_record_may_be_added():
    assert worst("sum", "one record more or less", "one record of all replaced") > EPSILON


@pytest.mark.parametrize("kind", ["mean", "median"])
def test_within_groups_only_data_sets_with_groups_of_the_same_size_are_compared(kind):
    """Two records of a group might have become one: then it moves by all of the width, not by half."""
    data = ((0, 0), (0, 3), (1, 0), (1, 3))
    assert largest_loss(kind, "replaced in its group", data) == pytest.approx(EPSILON)
    assert largest_loss(kind, "replaced in its group", data, sizes_are_public=False) > Fraction(19, 10) * EPSILON


def test_without_records_a_group_looks_like_the_one_that_needs_most():
    steps, _, _ = steps_of("sum", "replaced among groups", ((0, 4), (0, 1)))
    assert steps == [[3, 3]]


def test_a_count_has_noise_though_it_is_nobody_or_everybody():
    """The source prints counts of 0 and n as they are, which tells that they are."""
    for data in (((1, 2), (1, 3)), ((0, 2), (0, 2))):
        assert steps_of("count", "one group, replaced", data)[0] == [[1]]
        assert steps_of("count", "replaced among groups", data)[0] == [[1, 1]]
