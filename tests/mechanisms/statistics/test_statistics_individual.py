"""Individual differential privacy of statistics: every figure against every replacement of a record of its group."""

from __future__ import annotations

from fractions import Fraction
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
from penstock.mechanisms.refusal import ScaleZero, TooFewRecords
from penstock.mechanisms.statistics import Params, protect
from penstock.mechanisms.statistics._groups import SortedGroups
from penstock.mechanisms.statistics._individual import exact_figure, released
from penstock.mechanisms.statistics._settings import Statistic
from tests.mechanisms.noise_chance import assert_law, laplace_law

LOW, HIGH = -1, 4
STEPS = HIGH - LOW
COLUMN = Column(role="confidential", type="integer", domain=(LOW, HIGH))
GRID = grid_of(COLUMN, "x")
KINDS = ["sum", "mean", "variance", "median", "minimum", "maximum", "second_maximum"]
FIGURES = {kind: Statistic(statistic=kind, of="x") for kind in KINDS}
FIGURES |= {f"quantile {share}": Statistic(statistic="quantile", of="x", share=share) for share in ("1/3", "9/10")}


def by_definition(name, values):
    """In the unit of the column."""
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


def groups_of(*lists):
    starts = np.append(0, np.cumsum([len(values) for values in lists]))
    return SortedGroups(np.array([x - LOW for values in lists for x in sorted(values)], np.int64), starts)


def exact_of(name, *lists):
    return exact_figure(FIGURES[name], GRID, groups_of(*lists))


DATA = [x for n in (2, 3, 4) for x in combinations_with_replacement(range(LOW, HIGH + 1), n)]


@pytest.mark.parametrize("name", FIGURES)
def test_without_noise_the_figure_is_that_of_the_records(name):
    exact = exact_of(name, *DATA)
    found = exact.in_units(exact.values)
    # A variance is rounded to a millionth of what one record can move it.
    near = {"abs": 1e-4} if name == "variance" else {"abs": 1e-12}
    assert found == pytest.approx([float(by_definition(name, x)) for x in DATA], **near)
    assert ((exact.lowest <= exact.values) & (exact.values <= exact.highest)).all()


def moves(name):
    """For each data set how far its figure moves at most, and how far the steps say, over all replacements."""
    exact = exact_of(name, *DATA)
    value = dict(zip(DATA, exact.values.tolist(), strict=True))
    moved = [
        max(
            abs(value[tuple(sorted((*x[:i], y, *x[i + 1 :])))] - value[x])
            for i in range(len(x))
            for y in range(LOW, HIGH + 1)
        )
        for x in DATA
    ]
    return np.array(moved), exact.steps


@pytest.mark.parametrize("name", FIGURES)
def test_no_replacement_within_the_group_moves_a_figure_by_more_than_its_steps(name):
    """So that noise of scale steps / epsilon of the actual data keeps epsilon, whatever the replacement is.

    A variance may move most at a replacement between two steps, and is rounded.
    """
    moved, steps = moves(name)
    assert (moved <= steps).all()
    assert name == "variance" or (moved == steps).all()


def test_the_test_of_steps_notices_the_odd_formula_for_an_even_number_of_records():
    moved, _ = moves("median")
    at_lower_middle = exact_figure(Statistic(statistic="quantile", of="x", share="1/2"), GRID, groups_of(*DATA)).steps
    assert not (moved <= 2 * at_lower_middle).all()


@given(st.lists(st.lists(st.integers(LOW, HIGH), min_size=2, max_size=30), min_size=1, max_size=5))
def test_the_steps_of_a_variance_are_fine_compared_with_what_they_cover(lists):
    exact = exact_of("variance", *lists)
    for values, steps, lattice in zip(lists, exact.steps.tolist(), exact.lattice.tolist(), strict=True):
        assert Fraction(STEPS**2, len(values)) / Fraction(2) ** lattice < 2**22
        assert steps >= 2**10


@pytest.mark.parametrize("name", FIGURES)
def test_noise_beyond_the_public_interval_is_cut_off(name):
    exact = exact_of(name, (LOW, 0, 2), (0, 3, HIGH))
    found = released(exact, name, Fraction(1, 10**6), seeded(3))
    if name == "sum":
        assert found.dtype == np.int64
    else:
        low, high = (0, STEPS**2 / 4) if name == "variance" else (LOW, HIGH)
        assert ((found >= low) & (found <= high)).all()


# Whole releases

TRIALS = 6_000
VALUES = (0, 1, 1, 4)
MANY = {
    "trial": Column(role="quasi_identifier", type="ordinal", categories=tuple(f"t{i}" for i in range(TRIALS))),
    "x": COLUMN,
}


def within_cells(figures, values, epsilon="2", declared=MANY, trials=TRIALS):
    params = Params(
        groups=("trial",),
        figures=figures,
        model="idp",
        epsilon=epsilon,
        adjacency="from_D_within_cell",
        acknowledges=["idp"],
    )
    columns = {"trial": np.repeat(np.arange(trials), len(values)), "x": np.tile(values, trials)}
    return protect(columns, declared, params, seeded(6))


def test_a_sum_has_noise_of_the_scale_of_the_actual_data():
    """max(4 - 0, 4 - (-1)) = 5 in every group; false alarm 1e-9, and the seed is fixed."""
    table = within_cells([{"statistic": "sum", "of": "x"}], VALUES)
    assert set(table.hidden["steps x_sum"].tolist()) == {5}
    assert_law(table.columns["x_sum"], {6 + noise: share for noise, share in laplace_law(5 / 2).items()})
    with pytest.raises(AssertionError):
        assert_law(table.columns["x_sum"], {6 + noise: share for noise, share in laplace_law(4 / 2).items()})


def test_shares_divide_epsilon_among_figures_and_groups_do_not():
    """The second maximum of (0, 1, 1, 4) moves by 3, and has half of epsilon; false alarm 1e-9."""
    figures = [{"statistic": "second_maximum", "of": "x"}, {"statistic": "sum", "of": "x"}]
    table = within_cells(figures, VALUES)
    law: dict[float, float] = {}
    for noise, share in laplace_law(3.0).items():
        place = float(min(max(1 + noise, LOW), HIGH))
        law[place] = law.get(place, 0) + share
    assert_law(table.columns["x_second_maximum"], law)


def test_groups_may_have_scales_of_their_own():
    exact = exact_of("median", (0, 1, 4), (0, 0, 4), (0, 2, 2, 3))
    assert exact.steps.tolist() == [6, 8, 2]
    assert released(exact, "x_median", Fraction(10**6), seeded(1)).tolist() == [1.0, 0.0, 2.0]


def test_a_figure_that_no_record_moves_is_refused_and_nothing_about_it_is_told():
    with pytest.raises(
        ScaleZero,
        match="must depend on single records in every group; in one it does not, and would be printed exactly",
    ) as refusal:
        released(exact_of("median", (0, 1, 4), (2, 2, 2)), "x_median", Fraction(1), seeded(1))
    assert (refusal.value.code, refusal.value.kind) == ("scale-zero", "data")
    assert refusal.value.faults[0].got == ""
    assert not any(digit in str(refusal.value) for digit in "0123456789")


@pytest.mark.parametrize("kind", ["median", "minimum", "maximum", "second_maximum", "variance"])
def test_a_group_with_too_few_records_is_refused(kind):
    with pytest.raises(TooFewRecords, match="must each have at least 2 records"):
        exact_of(kind, (0, 1, 4), (2,))


def test_an_empty_group_is_refused_even_for_a_sum():
    with pytest.raises(TooFewRecords, match="must each have at least 1 record"):
        exact_of("sum", (0, 1), ())


def test_the_worlds_that_catch_the_model_are_told_apart_by_the_refusal():
    """What the guarantee warns of: (0, 0, 0) is refused and (0, 0, 1) is not."""
    with pytest.raises(ScaleZero):
        released(exact_of("median", (0, 0, 0)), "x_median", Fraction(1), seeded(1))
    assert len(released(exact_of("median", (0, 0, 1)), "x_median", Fraction(1), seeded(1))) == 1
