"""Tables whose margins were drawn too: what is drawn, and what becomes of it when all figures are made to add up."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.layout import error_of
from penstock.mechanisms.protected import Protected
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.table import Params, layout, protect
from penstock.mechanisms.table._chosen import settle
from tests.support.plain_tables import AREAS, DECLARED, SIZES, Record, cells_of, columns_of, table, totals

MEASURED = {"margins": "measured", "margin_share": "1/3"}
TINY = {
    **DECLARED,
    "z": Column(role="confidential", type="integer", domain=(0, 5)),
    "u": Column(role="confidential", type="continuous", domain=(-4, 4)),
}
RECORDS = st.lists(
    st.fixed_dictionaries(
        {
            "area": st.sampled_from(AREAS),
            "size": st.sampled_from(SIZES),
            "x": st.integers(-1, 2),
            "z": st.integers(0, 5),
            "y": st.floats(0, 10),
            "u": st.floats(-4, 4),
        }
    ),
    min_size=1,
    max_size=6,
)
KINDS: dict[str, dict[str, Any]] = {
    "laplace": {"noise": "laplace"},
    "staircase": {"noise": "staircase", "totals": [["area"], []]},
    "box": {"noise": "box", "adjacency": "add_remove"},
    "laplace by bounds": {
        "noise": "laplace",
        "bounds": {"x": [{"cells": {"area": ["north"]}, "domain": [0, 1]}]},
        "totals": [["size"]],
    },
}


def measured(kind: str, **chosen: Any) -> Params:
    return table(**{"sums": ["x", "z", "y", "u"], "means": ["z"], **MEASURED, **KINDS[kind], **chosen})


def noise_again(params: Params, seed: int) -> dict[str, np.ndarray]:
    """The noise that the settings name, drawn once more from the same words."""
    randomness, noise = seeded(seed), {}
    for entry in settle(params, TINY):
        assert entry.which is not None
        by_cell = np.empty((len(entry.which), len(entry.measures)), np.int64)
        for place, each in enumerate(entry.classes):
            cells = np.flatnonzero(entry.which == place)
            by_cell[cells] = each.draw(len(cells), randomness)
        noise |= {f"{entry.level} {name}": by_cell[:, place] for place, name in enumerate(entry.measures)}
    return noise


@pytest.mark.parametrize("kind", KINDS)
@given(records=RECORDS, seed=st.integers(0, 2**32))
@settings(max_examples=15)
def test_every_margin_is_drawn_by_itself(kind: str, records: list[Record], seed: int) -> None:
    params = measured(kind, sums=["x", "z"])
    protected, noise = protect(columns_of(records, TINY), TINY, params, seeded(seed)), noise_again(params, seed)
    levels = layout(params, TINY).levels
    assert len(protected.hidden) == 2 * len(levels) * 3
    for place, level in enumerate(levels):
        for measure in ("count", "x", "z"):
            exact = np.array(totals(records, level, measure, params, TINY))
            assert (
                protected.hidden[f"noised {place} {measure}"].tolist() == (exact + noise[f"{place} {measure}"]).tolist()
            )


@pytest.mark.parametrize("kind", KINDS)
@given(records=RECORDS, seed=st.integers(0, 2**32), epsilon=st.sampled_from(["1/10", "2", "40"]))
@settings(max_examples=15)
def test_published_figures_add_up_and_are_possible_ones(
    kind: str, records: list[Record], seed: int, epsilon: str
) -> None:
    params = measured(kind, epsilon=epsilon)
    released, drawn = protect(columns_of(records, TINY), TINY, params, seeded(seed)).columns, layout(params, TINY)
    for figure in ("count", "x_sum", "z_sum", "y_sum", "u_sum"):
        values = released[figure]
        cells = dict(zip(cells_of(drawn.levels[0]), values[: drawn.starts[1]].tolist(), strict=True))
        row = 0
        for level in drawn.levels:
            axes = [drawn.levels[0].index(name) for name in level]
            for margin in cells_of(level):
                parts = [value for cell, value in cells.items() if tuple(cell[axis] for axis in axes) == margin]
                # Whole numbers add up exactly, others as far as they can.
                exact = figure in ("count", "x_sum", "z_sum")
                assert values[row] == (sum(parts) if exact else pytest.approx(sum(parts), rel=1e-12, abs=1e-9))
                row += 1
        assert row == len(values)
        assert values.dtype == (np.float64 if figure in ("y_sum", "u_sum") else np.int64)
    for figure in ("count", "z_sum", "y_sum"):
        assert (released[figure] >= 0).all()
    for shown in drawn.figures:
        values, errors, some = released[shown.name], released[error_of(shown.name)], released["count"] >= 1
        if shown.statistic == "mean":
            assert np.isnan(values[~some]).all()
            values, errors = values[some], errors[some]
            assert ((values >= 0) & (values <= 5)).all()
        assert np.isfinite(values).all()
        assert (errors > 0).all()


def test_almost_no_noise_gives_almost_the_truth() -> None:
    """At epsilon 10,000 noise of a count is 0 but for a chance of e^-2000; weights must not fail for that."""
    records = [{"area": "north", "size": "small", "x": 2, "z": 5}, {"area": "south", "size": "large", "x": -1, "z": 1}]
    for kind in ("laplace", "box"):
        params = measured(kind, sums=["x", "z"], epsilon="10000")
        released = protect(columns_of(records, TINY), TINY, params, seeded(1)).columns
        assert released["count"].tolist() == [1, 0, 0, 1, 1, 1, 1, 1, 2]
        assert released["x_sum"].tolist() == [2, 0, 0, -1, 2, -1, 2, -1, 1]
        assert released["z_sum"].tolist() == [5, 0, 0, 1, 5, 1, 5, 1, 6]
        assert (released["count_standard_error"] < 1e-6).all()


def test_totals_beyond_exact_floats_are_whole_and_add_up() -> None:
    declared = {**TINY, "x": Column(role="confidential", type="integer", domain=(-(2**29), 2**29))}
    params = table(sums=["x"], count=False, noise="laplace", epsilon=f"1/{2**22}", totals=[["area"]], **MEASURED)
    values = protect(columns_of([{"x": 3}] * 4, declared), declared, params, seeded(1)).columns["x_sum"]
    assert np.abs(values[:4].astype(float)).sum() > 2**53
    assert values.tolist()[4:] == values[:4].reshape(2, 2).sum(axis=1).tolist()


PLACES = 1_500
WIDE = {
    "area": DECLARED["area"],
    "place": Column(role="quasi_identifier", type="ordinal", categories=tuple(range(PLACES))),
    "u": Column(role="confidential", type="continuous", domain=(-4, 4)),
    "z": Column(role="confidential", type="integer", domain=(0, 5)),
}
# Cells of one area, so that no two of them share the noise of a place.
ROWS = {"cells": slice(0, PLACES), "by place": slice(2 * PLACES + 2, 3 * PLACES + 2)}


def wide_table(noise: str, **chosen: Any) -> tuple[Protected, dict[str, np.ndarray]]:
    params = table(dimensions=["area", "place"], sums=["u", "z"], noise=noise, epsilon="3", **MEASURED, **chosen)
    rng = np.random.default_rng(1)
    cells = rng.permutation(np.repeat(np.arange(2 * PLACES), 2))
    columns = {
        "area": cells // PLACES,
        "place": cells % PLACES,
        "u": rng.integers(-8, 9, len(cells)) / 4,
        "z": rng.integers(0, 6, len(cells)),
    }
    exact = {
        "count": np.bincount(cells),
        "u_sum": np.bincount(cells, columns["u"]),
        "z_sum": np.bincount(cells, columns["z"]),
    }
    cubes = {name: values.reshape(2, PLACES) for name, values in exact.items()}
    in_rows = {
        name: np.concatenate([cube.ravel(), cube.sum(axis=1), cube.sum(axis=0), [cube.sum()]])
        for name, cube in cubes.items()
    }
    return protect(columns, WIDE, params, seeded(2)), in_rows


def off(errors: np.ndarray, stated: np.ndarray) -> float:
    """The mean square of errors over stated ones, less 1, in standard errors of that mean."""
    squares = (errors / stated) ** 2
    return float((squares.mean() - 1) / (squares.std() / sqrt(len(squares))))


@pytest.mark.parametrize("noise", ["laplace", "staircase", "box"])
def test_stated_errors_are_those_of_least_squares(noise: str) -> None:
    """Where nothing is cut off at 0 or rounded.

    Six standard errors: false alarm 2e-9. The twin states a quarter more.
    """
    protected, exact = wide_table(noise)
    for rows in ROWS.values():
        errors, stated = (protected.columns["u_sum"] - exact["u_sum"])[rows], protected.columns[error_of("u_sum")][rows]
        assert abs(off(errors, stated)) < 6
        assert off(errors, 1.25 * stated) < -6


@pytest.mark.parametrize("noise", ["laplace", "staircase", "box"])
def test_stated_errors_are_not_exceeded_where_figures_cannot_be_negative(noise: str) -> None:
    """Cutting off at 0 moves figures towards the truth, and what rounding moves them by is stated."""
    protected, exact = wide_table(noise)
    for figure in ("count", "z_sum"):
        errors = (protected.columns[figure] - exact[figure])[ROWS["cells"]]
        stated = protected.columns[error_of(figure)][ROWS["cells"]]
        assert sqrt((errors.astype(float) ** 2).mean()) < 1.05 * sqrt((stated**2).mean())


def test_stated_errors_hold_what_rounding_moves_a_margin_whose_cells_do_not_lie_side_by_side() -> None:
    """60 tables of 100 x 50 cells, enough records that nothing is cut off at 0, noise that rounding is not lost in.

    The mean square over stated ones of 3,000 margins that are nearly independent, each with a relative spread of
    at most sqrt(5): within six standard errors of 1, false alarm 2e-9. Twin: running sums, one order for all cells.
    """
    declared = {
        name: Column(role="quasi_identifier", type="ordinal", categories=tuple(range(size)))
        for name, size in (("row", 100), ("column", 50))
    }
    params = table(dimensions=["row", "column"], epsilon="4", adjacency="add_remove", **MEASURED)
    each = np.repeat(np.arange(5_000), 40)
    columns = {"row": each // 50, "column": each % 50}
    rows = slice(5_100, 5_150)
    squares, by_running_sums = [], []
    for seed in range(60):
        released = protect(columns, declared, params, seeded(seed)).columns
        stated = released[error_of("count")][rows]
        squares.append(((released["count"][rows] - 4_000) / stated) ** 2)
        halves = np.random.default_rng(seed).random((100, 50))
        running = np.diff(np.floor(np.cumsum(halves) + 0.5), prepend=0).reshape(100, 50)
        lost = (running - halves).sum(axis=0)
        by_running_sums.append(((released["count"][rows] - 4_000 + lost) / stated) ** 2)
    assert abs(np.mean(squares) - 1) < 6 * sqrt(5 / 3_000)
    assert np.mean(by_running_sums) > 1 + 6 * sqrt(5 / 3_000)


def test_stated_errors_are_not_too_small_where_bounds_differ() -> None:
    """Then each is that of the figure's own measurement, or of the sum of its cells; the fit is better than both."""
    bounds = {"u": [{"cells": {"area": ["north"]}, "domain": [-2, 2]}]}
    protected, exact = wide_table("laplace", bounds=bounds)
    for rows in (ROWS["cells"], slice(PLACES, 2 * PLACES), ROWS["by place"]):
        errors, stated = (protected.columns["u_sum"] - exact["u_sum"])[rows], protected.columns[error_of("u_sum")][rows]
        assert off(errors, stated) < 6
        assert off(errors, stated / 2) > 6
    assert protected.columns["u_sum_standard_error"][PLACES] == pytest.approx(
        2 * protected.columns["u_sum_standard_error"][0], rel=1e-6
    )


def test_margins_that_are_measured_are_more_exact_than_their_cells_together() -> None:
    protected, _ = wide_table("laplace")
    errors = protected.columns["u_sum_standard_error"]
    cell, by_area = errors[0], errors[2 * PLACES]
    assert by_area < sqrt(PLACES) * cell / 2
    drawn_alone = protected.chosen["figures"]["u_sum"]["standard_error"]
    assert cell < drawn_alone
