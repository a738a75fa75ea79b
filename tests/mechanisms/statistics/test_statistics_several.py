"""Group differential privacy: every figure against every replacement of several records, and what the lists must be."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.guarantee import compose, side_by_side
from penstock.mechanisms.numbers.grid import grid_of
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refusal import SettingRefused
from penstock.mechanisms.statistics import Params, promise, protect
from penstock.mechanisms.statistics import _local as local
from penstock.mechanisms.statistics._groups import SortedGroups
from penstock.mechanisms.statistics._individual import exact_figure, released
from penstock.mechanisms.statistics._settings import Statistic
from penstock.mechanisms.statistics._several import fractions_of_epsilon
from penstock.mechanisms.statistics._variance import variance_moves
from tests.laws.auditor import lower_bound
from tests.mechanisms.noise_chance import assert_law, laplace_law

LOW, HIGH, MOST = -1, 2, 4
STEPS = HIGH - LOW
COLUMN = Column(role="confidential", type="integer", domain=(LOW, HIGH))
GRID = grid_of(COLUMN, "x")
KINDS = ["sum", "mean", "variance", "median", "minimum", "maximum", "second_maximum"]
FIGURES = {kind: Statistic(statistic=kind, of="x") for kind in KINDS}
FIGURES["quantile"] = Statistic(statistic="quantile", of="x", share="2/3")
DATA = [x for n in (2, 3, 4, 5) for x in combinations_with_replacement(range(STEPS + 1), n)]
LISTS = [("1", "2", "3"), ("1", "1", "1"), ("1", "3/2", "2"), ("1", "3/2", "7/4", "2"), ("1/3", "10")]


def exactly(*lists):
    return tuple(Fraction(each) for each in lists)


def groups_of(lists):
    starts = np.append(0, np.cumsum([len(values) for values in lists]))
    return SortedGroups(np.array([x for values in lists for x in values], np.int64), starts)


def exact_of(name, data, listed=()):
    return exact_figure(FIGURES[name], GRID, groups_of(data), fractions_of_epsilon(listed))


@cache
def within_reach(data, replaced):
    """All data sets that differ from this one in so many records at most."""
    kept = max(0, len(data) - replaced)
    return {
        tuple(sorted((*stay, *new)))
        for stay in set(combinations(data, kept))
        for new in combinations_with_replacement(range(STEPS + 1), len(data) - kept)
    }


@cache
def moved(name, replaced):
    """For each data set how far its figure moves at most, in the units that get the noise."""
    value = dict(zip(DATA, exact_of(name, DATA).values.tolist(), strict=True))
    return tuple(max(abs(value[other] - value[x]) for other in within_reach(x, replaced)) for x in DATA)


LOCAL = {
    "sum": local.sum_of_values,
    "mean": local.sum_of_values,
    "median": local.median_in_half_steps,
}


@pytest.mark.parametrize("replaced", range(1, MOST + 1))
@pytest.mark.parametrize("name", [name for name in FIGURES if name != "variance"])
def test_so_many_replaced_records_move_a_figure_as_far_as_the_formula_says(name, replaced):
    groups = groups_of(DATA)
    bounds = {"low": 0, "high": STEPS, "replaced": replaced}
    if name in LOCAL:
        found = LOCAL[name](groups, **bounds)
    else:
        sizes = groups.sizes
        ranks = {"minimum": sizes**0, "maximum": sizes, "second_maximum": sizes - 1, "quantile": -(-sizes * 2 // 3)}
        found = local.order_statistics(groups, ranks[name], **bounds)
    assert found.tolist() == list(moved(name, replaced))


def population_variance(values):
    n = len(values)
    return Fraction(n * sum(x * x for x in values) - sum(values) ** 2, n * n) if n else Fraction(0)


@given(st.lists(st.integers(0, 9), min_size=2, max_size=7), st.integers(1, 8))
def test_a_variance_moves_as_far_as_the_formula_says_over_all_choices_of_records(values, replaced):
    """Upwards over every choice of records and bounds; downwards where the new ones lie on the mean of the others."""
    n, now = len(values), population_variance(values)
    i = min(replaced, n)
    up = max(
        population_variance((*kept, *[0] * (i - p), *[9] * p))
        for kept in combinations(values, n - i)
        for p in range(i + 1)
    )
    down = min(population_variance(kept) * (n - i) / n for kept in combinations(values, n - i))
    assert variance_moves(np.array(sorted(values)), 0, 9, replaced) == max(up - now, now - down)


@given(st.lists(st.integers(LOW, HIGH), min_size=2, max_size=20))
def test_a_variance_of_one_replaced_record_has_one_formula(values):
    groups = SortedGroups(np.sort(values), np.array([0, len(values)]))
    found = [variance_moves(groups[0], LOW, HIGH, 1)]
    assert found == local.population_variance(groups, low=LOW, high=HIGH)


def test_squares_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="too fine"):
        variance_moves(np.array([0, 2**31]), 0, 2**31, 2)


def test_a_count_moves_by_as_many_records_as_can_gain_or_lose_the_property():
    lists = [x for n in (1, 2, 3, 4) for x in combinations_with_replacement((0, 1), n)]
    for replaced in range(1, 6):
        reached = [
            max(
                abs(sum(other) - sum(x))
                for other in product((0, 1), repeat=len(x))
                if sum(a != b for a, b in zip(other, x, strict=True)) <= replaced
            )
            for x in lists
        ]
        assert local.count(groups_of(lists), replaced=replaced).tolist() == reached


def losses(name, listed, steps):
    """The exact privacy loss of i replaced records, largest over all data sets, less what i records may spend."""
    return [
        max(Fraction(move) * listed[0] / int(step) for move, step in zip(moved(name, i), steps, strict=True) if step)
        - listed[i - 1]
        for i in range(1, len(listed) + 1)
    ]


@pytest.mark.parametrize("listed", LISTS, ids=str)
@pytest.mark.parametrize("name", FIGURES)
def test_no_number_of_replaced_records_loses_more_than_its_epsilon(name, listed):
    listed = exactly(*listed)
    exact = exact_of(name, DATA, listed)
    still = exact.steps == 0
    assert all(
        not any(move for move, flat in zip(moved(name, i), still, strict=True) if flat) for i in (1, len(listed))
    )
    assert max(losses(name, listed, exact.steps)) <= 0


@pytest.mark.parametrize("name", ["median", "maximum", "second_maximum", "variance"])
def test_the_count_of_losses_notices_a_scale_for_one_record_only(name):
    listed = exactly("1", "2", "3")
    one_record = exact_of(name, DATA).steps
    excess = losses(name, listed, one_record)
    assert excess[0] <= 0
    assert max(excess) > 0


def test_the_second_maximum_needs_the_bound_from_two_records_on():
    groups = groups_of([(0, 1, 2)])
    assert local.order_statistics(groups, groups.sizes - 1).tolist() == [1]
    with pytest.raises(SettingRefused, match="needs a declared bound"):
        local.order_statistics(groups, groups.sizes - 1, replaced=2)


# Settings


def settings_of(group_epsilons, groups=(), model="idp", **more):
    adjacency = "from_D_within_cell" if groups else "from_D"
    relaxed = {"model": model, "adjacency": adjacency, "acknowledges": ["idp"]}
    if model == "dp":
        relaxed = {"model": "dp", "adjacency": "replace"}
    return Params(
        **{"figures": [{"statistic": "sum", "of": "x"}], "epsilon": "1", "groups": groups, **relaxed, **more},
        group_epsilons=group_epsilons,
    )


DECLARED = {
    "side": Column(role="quasi_identifier", type="nominal", categories=("l", "r")),
    "x": COLUMN,
}


@pytest.mark.parametrize(
    ("params", "rule"),
    [
        (settings_of(["1"]), "must say at least what two records spend together"),
        (settings_of(["2", "3"]), "must begin with epsilon, 1, that of one record"),
        (settings_of(["1", "3", "2"]), "must not fall"),
        (settings_of(["1", "2", "3"], model="dp"), "must be given under idp only"),
        (settings_of(["1", "3/2"], groups=["side"]), "must leave i \\+ j records at least what i and j have"),
        (settings_of(["1", "2", "4", "5", "11/2"], groups=["side"]), "must leave i \\+ j records"),
    ],
)
def test_a_list_that_can_mean_nothing_is_refused_before_any_row_is_read(params, rule):
    with pytest.raises(SettingRefused, match=rule) as refusal:
        promise(params, DECLARED)
    assert {fault.field for fault in refusal.value.faults} == {"group_epsilons"}


@pytest.mark.parametrize(
    ("listed", "groups"),
    [(["1", "1"], []), (["1", "3/2"], []), (["1", "2", "3"], ["side"]), (["1", "5", "6"], ["side"])],
)
def test_lists_that_keep_the_rules_are_promised(listed, groups):
    found = promise(settings_of(listed, groups=groups), DECLARED)
    assert found.parameters["group_epsilons"] == listed
    assert f"at most e^{listed[1] if '/' not in listed[1] else '(' + listed[1] + ')'} for 2" in found.statement
    assert "where every release about the records states them" in found.composes_with


@given(st.lists(st.fractions(Fraction(1, 9), 9, max_denominator=99), min_size=2, max_size=6))
def test_records_of_several_groups_keep_every_list_that_is_taken(listed):
    """All ways to spread i records over three groups, each of which spends what its own list says."""
    listed = sorted(listed)
    spread = [
        sum(listed[part - 1] for part in parts if part) > listed[sum(parts) - 1]
        for parts in product(range(len(listed) + 1), repeat=3)
        if 0 < sum(parts) <= len(listed)
    ]
    params = settings_of([str(each) for each in listed], groups=["side"], epsilon=str(listed[0]))
    if any(spread):
        with pytest.raises(SettingRefused):
            promise(params, DECLARED)
    else:
        assert promise(params, DECLARED).parameters["group_epsilons"] == [str(each) for each in listed]


# Draws

TRIALS = 20_000


def second_maxima(values, listed, seed):
    trial = {"trial": Column(role="quasi_identifier", type="ordinal", categories=tuple(map(str, range(TRIALS))))}
    params = settings_of(listed, groups=["trial"], figures=[{"statistic": "second_maximum", "of": "x"}])
    columns = {"trial": np.repeat(np.arange(TRIALS), len(values)), "x": np.tile(values, TRIALS)}
    return protect(columns, {**trial, "x": COLUMN}, params, seeded(seed))


def test_noise_has_the_scale_that_several_records_need():
    """(-1, 0, 0, 0): one record moves the second maximum by 0, two by 2 to the bound; 2 / 2 steps. False alarm 1e-9."""
    table = second_maxima((-1, 0, 0, 0), ["1", "2"], 8)
    assert set(table.hidden["steps x_second_maximum"].tolist()) == {1}
    law: dict[float, float] = {}
    for noise, share in laplace_law(1.0).items():
        place = float(min(max(noise, LOW), HIGH))
        law[place] = law.get(place, 0) + share
    assert_law(table.columns["x_second_maximum"], law)
    with pytest.raises(AssertionError):
        assert_law(table.columns["x_second_maximum"], {place - 1: share for place, share in law.items()})


def test_the_audit_passes_the_right_scale_and_notices_that_of_one_record():
    """(-1, -1, 0, 0) against (-1, -1, 2, 2), with noise of the first on both sides; event: at most 0.

    A bound above the true loss has probability at most 2e-4; the seeds are fixed.
    """
    data, other, listed = [(0, 0, 1, 1)] * TRIALS, [(0, 0, 3, 3)] * TRIALS, exactly("1", "1")

    def proven(fractions):
        actual = exact_figure(FIGURES["second_maximum"], GRID, groups_of(data), fractions)
        replaced = replace(actual, values=exact_of("second_maximum", other).values)
        worlds = (
            released(world, "x_second_maximum", listed[0], seeded(seed))
            for seed, world in enumerate((actual, replaced))
        )
        return lower_bound(*(int(np.count_nonzero(found <= 0)) for found in worlds), TRIALS)

    assert proven(fractions_of_epsilon(listed)) <= 1
    assert proven(fractions_of_epsilon(())) > 1


# Several outputs


def promised(group_epsilons, epsilon="1"):
    return promise(settings_of(group_epsilons, epsilon=epsilon), DECLARED)


def test_several_outputs_add_up_place_by_place_as_far_as_all_of_them_go():
    together = compose([promised(["1", "2", "3"]), promised(["1/2", "4"], "1/2")])
    assert together.parameters["epsilon"] == "3/2"
    assert together.parameters["group_epsilons"] == ["3/2", "6"]
    assert together.statement.endswith(" Together: epsilon = 3/2; of 2 records 6.")


def test_an_output_for_one_record_only_leaves_several_open():
    together = compose([promised(["1", "2"]), promised([])])
    assert "group_epsilons" not in together.parameters
    assert together.statement.endswith("; of several records nothing is said, because not every output says it.")


def test_beside_differential_privacy_each_of_several_records_counts():
    dp = Params(figures=[{"statistic": "sum", "of": "x"}], model="dp", adjacency="add_remove", epsilon="1/4")
    [together] = side_by_side([promised(["1", "2", "5"]), promise(dp, DECLARED)])[:1]
    assert together.parameters["epsilon"] == "3/2"
    assert together.parameters["group_epsilons"] == ["3/2", "3", "13/2"]
