"""Individual differential privacy of one record more or less: every figure against every such neighbour."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from math import ceil
from statistics import median, pvariance

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.numbers.grid import grid_of
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refusal import ScaleZero, SettingRefused, TooFewRecords
from penstock.mechanisms.statistics import MECHANISM, Params, layout, promise, protect
from penstock.mechanisms.statistics import _come_and_go as moved
from penstock.mechanisms.statistics import _local as local
from penstock.mechanisms.statistics._groups import SortedGroups
from penstock.mechanisms.statistics._individual import released
from penstock.mechanisms.statistics._individual_sizes import exact_count, exact_figure_of_secret_size
from penstock.mechanisms.statistics._settings import Statistic
from penstock.mechanisms.statistics._several import ONE_RECORD
from tests.laws.auditor import lower_bound
from tests.mechanisms.noise_chance import assert_law, laplace_law

LOW, HIGH = -2, 3
COLUMN = Column(role="confidential", type="integer", domain=(LOW, HIGH))
GRID = grid_of(COLUMN, "x")
KINDS = ["sum", "mean", "variance", "median", "minimum", "maximum", "second_maximum"]
FIGURES = {kind: Statistic(statistic=kind, of="x") for kind in KINDS}
FIGURES |= {
    f"quantile {share}": Statistic(statistic="quantile", of="x", share=share) for share in ("1/3", "2/3", "9/10")
}
LEAST = {"sum": 1, "second_maximum": 3}
DOMAIN = range(LOW, HIGH + 1)


def by_definition(name, values):
    figure, x, n = FIGURES[name], sorted(Fraction(value) for value in values), len(values)
    return {
        "sum": lambda: sum(x),
        "mean": lambda: sum(x) / n,
        "variance": lambda: pvariance(x),
        "median": lambda: median(x),
        "minimum": lambda: x[0],
        "maximum": lambda: x[-1],
        "second_maximum": lambda: x[-2],
        "quantile": lambda: x[ceil(figure.share * n) - 1],
    }[figure.statistic]()


def groups_of(lists, low=LOW):
    starts = np.append(0, np.cumsum([len(values) for values in lists]))
    return SortedGroups(np.array([x - low for values in lists for x in sorted(values)], np.int64), starts)


def exact_of(name, lists):
    return exact_figure_of_secret_size(FIGURES[name], GRID, groups_of(lists))


def data_of(name):
    sizes = range(LEAST.get(name, 2), 6)
    return [x for n in sizes for x in combinations_with_replacement(DOMAIN, n)]


def neighbours(x, more=()):
    """One record less, or one more: of the domain, or one that is given besides."""
    return [*(x[:i] + x[i + 1 :] for i in range(len(x)) if len(x) > 1), *((*x, y) for y in (*DOMAIN, *more))]


@cache
def largest_move(name, x):
    more = (Fraction(sum(x), len(x)),) if name == "variance" else ()
    here = by_definition(name, x)
    return max(abs(by_definition(name, other) - here) for other in neighbours(x, more))


UNITS = {"median": Fraction(1, 2)}


def unit_of(name, exact):
    return Fraction(1) if exact.lattice is None else Fraction(2) ** int(exact.lattice[0])


@pytest.mark.parametrize("name", FIGURES)
def test_one_record_more_or_less_moves_a_figure_as_far_as_the_formula_says(name):
    """A mean and a variance are counted in fine units, and rounded up to one; a variance also falls to the mean."""
    data = data_of(name)
    exact = exact_of(name, data)
    unit = UNITS.get(name, unit_of(name, exact))
    needed = [ceil(largest_move(name, x) / unit) for x in data]
    assert exact.steps.tolist() == needed


@pytest.mark.parametrize("name", FIGURES)
def test_without_noise_the_figure_is_that_of_the_records(name):
    data = data_of(name)
    exact = exact_of(name, data)
    assert exact.in_units(exact.values) == pytest.approx([float(by_definition(name, x)) for x in data], abs=1e-6)
    assert ((exact.lowest <= exact.values) & (exact.values <= exact.highest)).all()


@pytest.mark.parametrize("name", FIGURES)
def test_what_gets_the_noise_moves_by_no_more_than_its_scale_says(name):
    """The units that are released, rounded: of the actual data and of every neighbour that has the figure."""
    data = [x for x in data_of(name) if len(x) < 5]
    exact = exact_of(name, data)
    for x, value, steps in zip(data, exact.values.tolist(), exact.steps.tolist(), strict=True):
        others = [other for other in neighbours(x) if len(other) >= LEAST.get(name, 2)]
        there = exact_of(name, others).values
        assert np.abs(there - value).max() <= steps


def test_the_formula_for_a_replaced_record_would_be_too_small_for_a_sum():
    """A sum is of values, not of steps: what is added may be as large as the bound, though the domain is narrow."""
    far = replace(GRID, first=GRID.first + 100)
    exact = exact_figure_of_secret_size(FIGURES["sum"], far, groups_of([(0, 1)]))
    assert exact.steps.tolist() == [far.first + far.steps]
    assert local.sum_of_values(groups_of([(0, 1)]), low=0, high=far.steps).tolist() < exact.steps.tolist()


def test_a_replaced_record_may_move_a_median_farther_than_one_more_or_less():
    """So this adjacency says nothing about from_D, with any factor."""
    x = (0, 50, 100)
    groups = groups_of([x], low=0)
    assert moved.median_moves(groups, 100).tolist() == [50]
    assert local.median_in_half_steps(groups, low=0, high=100).tolist() == [100]
    even = groups_of([(0, 50, 50, 100)], low=0)
    assert moved.median_moves(even, 100).tolist() == [0]
    assert local.median_in_half_steps(even, low=0, high=100).tolist() == [50]


@pytest.mark.parametrize(
    ("name", "least"), [("median", 2), ("mean", 2), ("variance", 2), ("maximum", 2), ("second_maximum", 3)]
)
def test_a_group_that_one_record_less_would_leave_without_a_figure_is_refused(name, least):
    with pytest.raises(TooFewRecords, match=f"at least {least} records for this statistic, so that one may go"):
        exact_of(name, [(0, 1, 2, 3), tuple(range(least - 1))])


def test_sums_and_counts_of_empty_groups_are_drawn():
    assert exact_of("sum", [(), (1, 2)]).steps.tolist() == [3, 3]
    counted = exact_count(Statistic(statistic="count"), groups_of([(), (1, 2)]), ONE_RECORD, size_public=False)
    assert (counted.values.tolist(), counted.steps.tolist()) == ([0, 2], [1, 1])


def test_a_median_that_nobody_moves_is_refused():
    with pytest.raises(ScaleZero):
        released(exact_of("median", [(0, 1, 1, 2)]), "x_median", Fraction(1), seeded(1))


@given(st.lists(st.integers(0, 2**16 - 2), min_size=2, max_size=40))
def test_scales_are_fine_beside_what_they_cover(values):
    wide = grid_of(Column(role="confidential", type="integer", domain=(0, 2**16 - 2)), "x")
    for kind in ("mean", "variance"):
        exact = exact_figure_of_secret_size(FIGURES[kind], wide, groups_of([values], low=0))
        assert 1 <= exact.steps[0] <= 2**32
        assert exact.highest[0] <= 2**31 + 1


# Settings

DECLARED = {
    "sex": Column(role="quasi_identifier", type="nominal", categories=("f", "m", "65 +")),
    "region": Column(role="confidential", type="nominal", categories=("n", "s")),
    "age": Column(role="quasi_identifier", type="ordinal", categories=(1, 2, 3)),
    "x": COLUMN,
}
COUNT = {"statistic": "count"}
COUNT_F = {"statistic": "count", "of": "sex", "category": "f"}


def settings_of(figures, adjacency="from_D_add_remove", groups=(), **more):
    return Params(
        **{"model": "idp", "epsilon": "1", "acknowledges": ["idp"], **more},
        figures=figures,
        adjacency=adjacency,
        groups=groups,
    )


def test_the_promise_says_what_comes_and_goes_and_takes_no_size_as_public():
    found = promise(settings_of([COUNT], groups=["region"]), DECLARED)
    assert "whichever record of the actual data set is removed, or any other" in found.statement
    assert not {"number of records", "group of every record"} & set(found.public)
    assert "hiding the number of records, which is public" not in found.not_promised
    assert any("a record that is replaced" in limit for limit in found.not_promised)
    assert found.compared == "whichever record is removed, or any other that the declared columns allow is added"


def test_the_promise_says_that_the_noise_of_a_mean_follows_the_mean():
    asked = {"model": "idp", "epsilon": "1", "adjacency": "from_D_add_remove", "acknowledges": ["idp"]}
    for statistic, said in (("mean", True), ("median", False)):
        params = Params.model_validate({**asked, "figures": [{"statistic": statistic, "of": "x"}]})
        told = promise(params, DECLARED).not_promised
        assert any("hiding the exact mean" in line for line in told) is said


def test_groups_of_a_confidential_column_are_taken_because_nobody_need_know_them():
    assert promise(settings_of([COUNT], groups=["region"]), DECLARED).adjacency == "from_D_add_remove"
    with pytest.raises(SettingRefused, match="must not be confidential"):
        promise(settings_of([COUNT_F], "from_D_within_cell", groups=["region"]), DECLARED)


@pytest.mark.parametrize(
    ("figure", "more", "field", "rule"),
    [
        (COUNT, {"adjacency": "from_D"}, "figures.0.statistic", "must not be count under from_D"),
        ({**COUNT_F, "category": "x"}, {}, "figures.0.category", "must be a declared category"),
        ({**COUNT_F, "of": "x"}, {}, "figures.0.of", "must be a declared column with categories"),
        ({**COUNT_F, "of": None}, {}, "figures.0.of", "must be a declared column with categories"),
        (COUNT_F, {"groups": ["sex"]}, "figures.0.of", "must not be a column of groups"),
        (
            COUNT_F,
            {"model": "dp", "adjacency": "add_remove", "acknowledges": []},
            "figures.0.category",
            "must be given under idp only",
        ),
        ({"statistic": "sum", "of": "x", "category": "f"}, {}, "figures.0.category", "must not be given for sum"),
        (COUNT, {"group_epsilons": ["1", "2"]}, "group_epsilons", "must not be given under from_D_add_remove"),
    ],
)
def test_what_cannot_be_counted_is_refused_before_any_row_is_read(figure, more, field, rule):
    with pytest.raises(SettingRefused, match=rule) as refusal:
        promise(settings_of([figure], **more), DECLARED)
    assert field in {fault.field for fault in refusal.value.faults}


def test_a_category_that_may_be_missing_is_refused():
    declared = {**DECLARED, "sex": DECLARED["sex"].model_copy(update={"missing": "category"})}
    with pytest.raises(SettingRefused, match="can neither be counted nor left out"):
        promise(settings_of([COUNT_F]), declared)


@pytest.mark.parametrize(
    ("of", "category", "name"),
    [("sex", "f", "sex_count_f"), ("sex", "65 +", "sex_count_65"), ("age", 2, "age_count_2")],
)
def test_counts_have_the_name_of_their_category(of, category, name):
    params = settings_of([{"statistic": "count", "of": of, "category": category}])
    assert [figure.name for figure in layout(params, DECLARED).figures] == [name]
    assert (
        MECHANISM.treatments(params, DECLARED)[name]
        == f"number of records with {of} {category}, with noise of a public size"
    )


def test_the_plan_says_how_far_counts_and_sums_may_stray():
    params = settings_of([COUNT, {"statistic": "sum", "of": "x"}])
    told = MECHANISM.expect(params, DECLARED, 100)
    assert "count: standard error at most 2.83 (laplace, epsilon 1/2)." in told
    assert "x_sum: standard error at most 8.49 (laplace, epsilon 1/2)." in told


# Draws

TRIALS = 20_000
MANY = {
    "trial": Column(role="confidential", type="ordinal", categories=tuple(map(str, range(TRIALS)))),
    "sex": Column(role="quasi_identifier", type="nominal", categories=("f", "m")),
    "x": COLUMN,
}


def drawn(figures, values, adjacency="from_D_add_remove", epsilon="1", declared=MANY):
    params = settings_of(figures, adjacency, groups=["trial"], epsilon=epsilon)
    columns = {
        "trial": np.repeat(np.arange(TRIALS), len(values)),
        "x": np.tile(values, TRIALS),
        "sex": np.tile(np.arange(len(values)) % 2, TRIALS),
    }
    return protect(columns, declared, params, seeded(4))


def test_a_count_of_a_group_has_noise_of_scale_one():
    """False alarm 1e-9; of scale 2, which a table takes, it would be found."""
    table = drawn([COUNT], (0, 1, 2))
    assert_law(table.columns["count"], {3 + noise: share for noise, share in laplace_law(1.0).items()})
    with pytest.raises(AssertionError):
        assert_law(table.columns["count"], {3 + noise: share for noise, share in laplace_law(2.0).items()})


def test_a_count_of_one_category_has_noise_of_scale_one_where_a_record_is_replaced():
    within = {**MANY, "trial": MANY["trial"].model_copy(update={"role": "quasi_identifier"})}
    table = drawn([COUNT_F], (0, 1, 2), "from_D_within_cell", declared=within)
    assert set(table.hidden["steps sex_count_f"].tolist()) == {1}
    assert_law(table.columns["sex_count_f"], {2 + noise: share for noise, share in laplace_law(1.0).items()})


def test_the_audit_passes_the_right_scale_and_notices_that_of_a_replaced_record():
    """(0, 1) against (0, 1) and a record at the bound, their sum, with noise of the first on both sides.

    Values are far from 0, so one more adds far more than one that is replaced. Event: at most the sum of the first. A
    bound above the true loss has probability at most 2e-4; the seeds are fixed.
    """
    far = replace(GRID, first=GRID.first + 20)
    data, other = [(0, 1)] * TRIALS, [(0, 1, HIGH)] * TRIALS

    def proven(steps):
        actual = exact_figure_of_secret_size(FIGURES["sum"], far, groups_of(data))
        more = exact_figure_of_secret_size(FIGURES["sum"], far, groups_of(other))
        scale = np.full(TRIALS, steps)
        worlds = (replace(world, steps=scale) for world in (actual, more))
        drawn = [released(world, "x_sum", Fraction(1), seeded(seed)) for seed, world in enumerate(worlds)]
        threshold = actual.in_units(actual.values)[0]
        return lower_bound(*(int(np.count_nonzero(found <= threshold)) for found in drawn), TRIALS)

    assert proven(far.first + far.steps) <= 1
    assert proven(local.sum_of_values(groups_of([(0, 1)]), low=0, high=far.steps)[0]) > 1
