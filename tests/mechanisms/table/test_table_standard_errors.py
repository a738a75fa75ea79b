"""Standard errors of a table against the errors of its figures, over thousands of cells."""

from __future__ import annotations

from math import prod, sqrt
from typing import Any

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.layout import error_of
from penstock.mechanisms.protected import Protected
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.table import Params, layout, protect
from tests.support.plain_tables import DECLARED, table

PLACES = 2_000
WIDE = {
    "area": DECLARED["area"],
    "place": Column(role="quasi_identifier", type="ordinal", categories=tuple(range(PLACES))),
    "x": Column(role="confidential", type="integer", domain=(-3, 40)),
}


def wide_table(each: int = 30, **chosen: Any) -> tuple[Params, Protected, dict[str, np.ndarray]]:
    """A table of 4,000 cells with equally many records each, and its exact figures, row by row."""
    params = table(dimensions=["area", "place"], sums=["x"], means=["x"], **chosen)
    rng = np.random.default_rng(1)
    cells = rng.permutation(np.repeat(np.arange(2 * PLACES), each))
    columns = {"area": cells // PLACES, "place": cells % PLACES, "x": rng.integers(-3, 41, len(cells))}
    protected = protect(columns, WIDE, params, seeded(8))
    cube = {"count": np.full((2, PLACES), each), "x_sum": np.bincount(cells, columns["x"]).reshape(2, PLACES)}
    margins = [
        tuple(axis for axis, name in enumerate(("area", "place")) if name not in level) for level in levels_of(params)
    ]
    exact = {name: np.concatenate([values.sum(axis=gone).ravel() for gone in margins]) for name, values in cube.items()}
    exact["x_mean"] = exact["x_sum"] / exact["count"]
    return params, protected, exact


def levels_of(params: Params) -> tuple[tuple[str, ...], ...]:
    return layout(params, WIDE).levels


def ratio(protected: Protected, exact: dict[str, np.ndarray], figure: str, rows: slice, stretch: float = 1.0) -> float:
    """The mean square of errors over stated standard errors, which should be 1, in standard errors of that mean."""
    errors = (protected.columns[figure] - exact[figure])[rows] / (stretch * protected.columns[error_of(figure)][rows])
    squares = errors**2
    return float((squares.mean() - 1) / (squares.std() / sqrt(len(squares))))


CELLS, PLACE_MARGIN = slice(0, 2 * PLACES), slice(2 * PLACES + 2, 2 * PLACES + 2 + PLACES)


@pytest.mark.parametrize("noise", ["laplace", "staircase", "box"])
def test_standard_errors_are_those_of_the_noise(noise: str) -> None:
    """Compare 4,000 cells and 2,000 margins, each the sum of two: six standard errors, false alarm 2e-9 per figure.

    Twin: errors that are said to be a quarter larger than they are.
    """
    _, protected, exact = wide_table(noise=noise, epsilon="3")
    for figure in ("count", "x_sum"):
        for rows in (CELLS, PLACE_MARGIN):
            assert abs(ratio(protected, exact, figure, rows)) < 6
            assert ratio(protected, exact, figure, rows, stretch=1.25) < -6
            assert len(set(protected.columns[error_of(figure)][rows].tolist())) == 1
    single, pair = (protected.columns[error_of("count")][rows][0] for rows in (CELLS, PLACE_MARGIN))
    assert pair == pytest.approx(sqrt(2) * single)


@pytest.mark.parametrize("noise", ["laplace", "staircase", "box"])
def test_standard_errors_of_means_are_about_right(noise: str) -> None:
    """The delta method, with noise of a twentieth of the count: within a tenth."""
    _, protected, exact = wide_table(noise=noise, epsilon="4")
    for rows in (CELLS, PLACE_MARGIN):
        errors = (protected.columns["x_mean"] - exact["x_mean"])[rows]
        stated = protected.columns["x_mean_standard_error"][rows]
        assert sqrt((errors**2).mean() / (stated**2).mean()) == pytest.approx(1, abs=0.1)


def test_standard_errors_of_means_are_at_most_the_width_of_the_domain() -> None:
    _, protected, _ = wide_table(noise="laplace", epsilon="1/10", each=2)
    errors, counts = protected.columns["x_mean_standard_error"], protected.columns["count"]
    assert np.array_equal(np.isnan(errors), counts < 1)
    assert np.array_equal(np.isnan(errors), np.isnan(protected.columns["x_mean"]))
    assert np.nanmax(errors) == 43


def test_cells_with_other_bounds_have_other_errors() -> None:
    bounds = {"x": [{"cells": {"area": ["north"]}, "domain": [0, 4]}]}
    params, protected, _ = wide_table(noise="laplace", bounds=bounds, each=2)
    first, second = protected.columns["x_sum_standard_error"][[0, PLACES]]
    assert second == pytest.approx(10 * first, rel=1e-2)
    margin = protected.columns["x_sum_standard_error"][PLACE_MARGIN][0]
    assert margin == pytest.approx(sqrt(first**2 + second**2))
    assert prod(layout(params, WIDE).shape(("area", "place"))) == 2 * PLACES
