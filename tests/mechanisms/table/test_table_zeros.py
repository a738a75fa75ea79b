"""Cells that cannot have records: which they are, what is drawn for the others, and margins of what is left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from penstock.mechanisms.combinations import CombinationImpossible
from penstock.mechanisms.layout import error_of
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.table import MECHANISM, Params, chosen_facts, layout, promise, protect
from penstock.mechanisms.table._chosen import limits_by_measure, settle
from penstock.mechanisms.table._margins import reconciled, reconciled_variances, summed
from penstock.mechanisms.table._zeros import possible_cells
from penstock.mechanisms.table.settings import faults
from tests.mechanisms.table.test_table_margins import dense, every_level, incidence, with_the_sum
from tests.support.order import examples
from tests.support.plain_tables import AREAS, DECLARED, SIZES, columns_of, records_of, table

ONE = [{"area": "north", "size": "large"}]
ROW = [{"area": "north", "size": ["small", "large"]}]  # with it, the margin of north has no possible cell
MEASURED = {"margins": "measured", "margin_share": "1/2"}
SETTINGS: dict[str, dict[str, Any]] = {
    "summed": {"means": ["x"]},
    "measured": {"means": ["x"], **MEASURED},
    "box": {"sums": ["x", "y"], "noise": "box", **MEASURED},
    "exact": {"model": "k_anon", "means": ["x"]},
}


def by_definition(asked: Params) -> list[bool]:
    """Whether each cell is possible, by looking at every combination."""
    return [
        not any(area in each.get("area", AREAS) and size in each.get("size", SIZES) for each in asked.impossible)
        for area in AREAS
        for size in SIZES
    ]


@given(st.lists(st.fixed_dictionaries({"area": st.sets(st.sampled_from(AREAS), min_size=1).map(sorted),
    "size": st.sets(st.sampled_from(SIZES), min_size=1).map(sorted)}), max_size=3))  # fmt: skip
@settings(max_examples=examples(50))
def test_cells_are_impossible_by_any_combination_that_covers_them(impossible: list[dict[str, list[str]]]) -> None:
    asked = table(impossible=impossible)
    assert possible_cells(asked, DECLARED).ravel().tolist() == by_definition(asked)


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("impossible", [ONE, ROW])
def test_figures_of_impossible_rows_are_exact_zeros(name: str, impossible: Any) -> None:
    chosen = dict(SETTINGS[name])
    asked = table(chosen.pop("model", "dp"), impossible=impossible, **chosen)
    assert faults(asked, DECLARED) == []
    records = [each for each in records_of(x=[0, 1], y=[1.5]) if each["area"] == "south"] * 3
    drawn = protect(columns_of(records), DECLARED, asked, seeded(3))
    shown, possible = layout(asked, DECLARED), possible_cells(asked, DECLARED)
    kept = [[asked.dimensions.index(each) for each in level] for level in shown.levels]
    rows = np.concatenate(summed(possible.astype(int).ravel(), possible.shape, kept)) > 0
    assert (~rows).sum() == (1 if impossible == ONE else 3)
    for figure in shown.figures:
        values = drawn.columns[figure.name]
        if figure.kind == "mean":
            assert np.isnan(values[~rows]).all()
        else:
            assert (values[~rows] == 0).all()
        if shown.errors and figure.adds_up:
            errors = drawn.columns[error_of(figure.name)]
            assert (errors[~rows] == 0).all()
            assert (errors[rows] > 0).all()


@pytest.mark.parametrize("noise", ["laplace", "staircase", "box"])
def test_nothing_is_drawn_for_impossible_rows(noise: str) -> None:
    asked = table(sums=["x"], noise=noise, impossible=ROW, **MEASURED)
    shown = layout(asked, DECLARED)
    for entry in settle(asked, DECLARED):
        assert entry.which is not None
        drawn = entry.which >= 0
        expected = {2: [False, False, True, True], 0: [True]}
        by_area = {("area",): [False, True], ("size",): [True, True]}
        level = shown.levels[entry.level]
        assert drawn.tolist() == (by_area[level] if len(level) == 1 else expected[len(level)])
        facts = entry.facts(level)
        assert sum(each["cells"] for each in facts["classes"]) == drawn.sum()
    hidden = protect(columns_of([{"area": "south", "size": "small"}]), DECLARED, asked, seeded(1)).hidden
    assert hidden["steps 0 x"].tolist()[:2] == hidden["noised 0 x"].tolist()[:2] == [0, 0]
    assert (hidden["steps 0 x"][2:] > 0).all()


def test_without_combinations_nothing_is_stated_of_them() -> None:
    asked = table()
    assert "impossible" not in promise(asked, DECLARED).parameters
    assert "impossible" not in asked.model_dump(mode="json")
    assert "impossible_cells_are_zero" not in promise(asked, DECLARED).audit
    assert chosen_facts(asked, DECLARED) == chosen_facts(table(impossible=[]), DECLARED)


def test_the_promise_says_what_it_takes_for_public_and_for_granted() -> None:
    said = promise(table(impossible=ONE), DECLARED)
    assert "Cells of combinations that are declared impossible are exact zeros, and no data set" in said.statement
    assert "which combinations of categories are impossible" in said.public
    assert any("no record of any data set that is compared has one of them" in each for each in said.assumptions)
    assert any("exact zeros" in each for each in MECHANISM.advice(table(impossible=ONE), DECLARED))


def test_bounds_of_impossible_cells_count_for_nothing() -> None:
    """Where only an impossible cell may have negative values, none may; nor are they worth any noise."""
    bounds = {"x": [{"cells": ONE[0] | {"area": ["north"], "size": ["large"]}, "domain": [-1, 2]},
                    {"cells": {"area": ["north", "south"]}, "domain": [0, 1]}]}  # fmt: skip
    asked = table(sums=["x"], bounds=bounds, impossible=ONE)
    assert faults(asked, DECLARED) == []
    limits = limits_by_measure(asked, DECLARED)["x"]
    assert (limits.low >= 0).all()
    assert limits.largest.max() == 1


def test_a_record_that_cannot_be_is_refused_by_the_mechanism_itself() -> None:
    for model in ("dp", "k_anon"):
        with pytest.raises(CombinationImpossible, match="must name only combinations that no record has"):
            protect(
                columns_of([{"area": "north", "size": "large"}] * 3), DECLARED, table(model, impossible=ONE), seeded(1)
            )


SHAPES = [(2, 3), (3, 4, 2), (2, 2, 2, 3), (5, 2)]


def some_possible(shape: tuple[int, ...], seed: int) -> np.ndarray:
    possible = np.random.default_rng(seed).random(np.prod(shape)) < 0.6
    possible.reshape(shape)[0] = False  # a margin without any
    possible[-1] = True
    return possible


def noisy(shape: tuple[int, ...], seed: int) -> tuple[list[np.ndarray], list[np.ndarray], list[Any], np.ndarray]:
    chance, possible, kept = np.random.default_rng(seed), some_possible(shape, seed), every_level(shape)
    truth = chance.poisson(1.0, np.prod(shape)) * possible
    measured, variances = [], []
    for place, axes in enumerate(kept):
        some = incidence(shape, axes) @ possible > 0
        spread = np.where(some, 8.0 * (1 + 3 * (place > 0)), 0.0)
        measured.append(incidence(shape, axes) @ truth + np.sqrt(spread) * chance.normal(size=len(spread)))
        variances.append(spread)
    return measured, variances, kept, possible


def over_possible(
    measured: list[np.ndarray], variances: list[np.ndarray], shape: tuple[int, ...], kept: Any, possible: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The dense system of what was drawn, in the possible cells."""
    spread = [np.where(each > 0, each, 1.0) for each in variances]
    matrix, aim = dense(measured, spread, shape, kept)
    drawn = np.concatenate(variances) > 0
    return matrix[np.ix_(drawn, possible)], aim[drawn]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_the_fit_is_least_squares_over_possible_cells(shape: tuple[int, ...], seed: int) -> None:
    measured, variances, kept, possible = noisy(shape, seed)
    matrix, aim = over_possible(measured, variances, shape, kept, possible)
    free = reconciled(measured, variances, shape, kept, nonnegative=False)
    np.testing.assert_allclose(free[possible], np.linalg.lstsq(matrix, aim)[0], atol=1e-5)
    assert (free[~possible] == 0).all()
    bounded = reconciled(measured, variances, shape, kept, nonnegative=True)
    with_sum = with_the_sum(matrix, aim, free.sum())
    np.testing.assert_allclose(bounded[possible], nnls(*with_sum, maxiter=10_000)[0], atol=5e-3)
    assert (bounded[~possible] == 0).all()
    assert (bounded >= 0).all()


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_stated_variances_are_at_least_those_of_the_fit_and_at_most_those_of_sums(shape: tuple[int, ...]) -> None:
    _, variances, kept, possible = noisy(shape, 1)
    matrix, _ = over_possible(variances, variances, shape, kept, possible)
    covariance = np.zeros((possible.size, possible.size))
    covariance[np.ix_(possible, possible)] = np.linalg.inv(matrix.T @ matrix)
    sums = summed(variances[0], shape, kept)
    for axes, stated, most in zip(kept, reconciled_variances(variances, shape, kept), sums, strict=True):
        least = np.diag(incidence(shape, axes) @ covariance @ incidence(shape, axes).T)
        published = np.minimum(stated, most)  # as _figures does
        assert (least <= published * (1 + 1e-9)).all()
        assert ((published == 0) == (incidence(shape, axes) @ possible == 0)).all()


def test_summed_margins_have_less_noise() -> None:
    asked, all_cells = table(impossible=ONE), table()
    records = columns_of([{"area": "south", "size": "small"}] * 5)
    less, more = (protect(records, DECLARED, each, seeded(1)).columns for each in (asked, all_cells))
    error = "count_standard_error"
    assert less[error][-1] ** 2 == pytest.approx(3 / 4 * more[error][-1] ** 2)
