"""Weighted tables under differential privacy: the exact loss of every pair of neighbours of a tiny domain.

A record has a weight of 0, 1 or 3, the cap. What it adds is counted here by hand, and by the mechanism's own pass over
the records, which must agree; the loss of a change is that of test_table_is_private.py, (1).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.table import Params, count_cells, faults
from penstock.mechanisms.table import _weights as weights
from penstock.mechanisms.table._chosen import Entry, settle
from penstock.mechanisms.table._squares import Squaring
from penstock.mechanisms.table.settings import levels
from tests.laws.test_table_is_private import cost
from tests.support.plain_tables import AREAS, DECLARED, table

CAP = 3
TINY = {
    "area": DECLARED["area"],
    "x": Column(role="confidential", type="integer", domain=(-1, 2)),
    "w": Column(role="weight", domain=(0, CAP)),
}
Row = tuple[str, int, float]
EVERY: list[Row] = list(product(AREAS, (-1, 0, 1, 2), (0.0, 1.0, 3.0)))
BASE: tuple[Row, ...] = (("north", 2, 1.0), ("south", -1, 3.0))


@pytest.fixture(autouse=True)
def steps_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid of weights whose steps are 1, so that every point of its noise can be looked at."""
    monkeypatch.setattr(weights, "_WEIGHT_STEPS", CAP)
    assert weights.weight_grid(asked(), TINY).eta == 1


def asked(**chosen: Any) -> Params:
    return table(**{"dimensions": ["area"], "sums": ["x"], "weight": {"column": "w"}, "epsilon": "3/2", **chosen})


@cache
def added(records: tuple[Row, ...], level: tuple[str, ...], measure: str) -> tuple[int, ...]:
    """The weighted count or total of each cell of a level, by hand."""
    cells = AREAS if level else (None,)
    power = 2 if measure.startswith("squares of ") else 1
    of = measure.removeprefix("squares of ")
    return tuple(
        sum((int(w) * (1 if of == "count" else x)) ** power for area, x, w in records if cell in (area, None))
        for cell in cells
    )


def loss(first: tuple[Row, ...], second: tuple[Row, ...], params: Params, entries: Sequence[Entry]) -> Fraction:
    total = Fraction(0)
    for entry in entries:
        level = levels(params)[entry.level]
        before, after = (
            np.array([added(records, level, name) for name in entry.measures]) for records in (first, second)
        )
        assert entry.which is not None
        for cell in np.flatnonzero((before != after).any(axis=0)):
            change = tuple((before - after)[:, cell].tolist())
            total += cost(entry.classes[entry.which[cell]], change)
    return total


def neighbours(adjacency: str, size: int) -> Iterator[tuple[tuple[Row, ...], tuple[Row, ...]]]:
    if adjacency == "replace":
        for gone, new in combinations_with_replacement([*combinations_with_replacement(EVERY, size)], 2):
            yield (*BASE, *gone), (*BASE, *new)
    else:
        for number in range(1, size + 1):
            yield from (((*BASE, *new), BASE) for new in combinations_with_replacement(EVERY, number))


def worst(params: Params, entries: Sequence[Entry] | None = None) -> Fraction:
    entries = settle(params, TINY) if entries is None else entries
    pairs = neighbours(str(params.adjacency), params.rows_per_unit or 1)
    return max(loss(first, second, params, entries) for first, second in pairs)


MARGINS: dict[str, dict[str, Any]] = {
    "summed": {},
    "measured": {"margins": "measured", "margin_share": "1/3"},
}
by_adjacency = pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
by_noise = pytest.mark.parametrize("noise", ["laplace", "staircase", "box"])


@by_adjacency
@by_noise
@pytest.mark.parametrize("margins", MARGINS)
def test_no_pair_of_neighbours_loses_more_than_epsilon(adjacency: str, noise: str, margins: str) -> None:
    for divided in ({}, {"count": False}, {"sums": []}, {"sums": [], "means": ["x"]}):
        params = asked(adjacency=adjacency, noise=noise, **MARGINS[margins], **divided)
        assert faults(params, TINY) == []
        found = worst(params)
        assert found <= Fraction(3, 2)
        # Noise is not larger than it must be. A replacement moves a grand total less than two cells.
        if noise != "box" and (margins == "summed" or adjacency == "add_remove"):
            assert found == Fraction(3, 2)


@by_adjacency
def test_noise_that_forgets_the_largest_weight_loses_as_many_times_epsilon(adjacency: str) -> None:
    params = asked(adjacency=adjacency, noise="laplace")
    unweighted = {name: column for name, column in TINY.items() if name != "w"}
    forgets = settle(params.model_copy(update={"weight": None}), unweighted)
    assert worst(params, forgets) == CAP * Fraction(3, 2)


SQUARES = {"column": "w", "sampling_error": True}


@by_adjacency
@by_noise
@pytest.mark.parametrize("margins", MARGINS)
def test_sums_of_squares_are_inside_epsilon(adjacency: str, noise: str, margins: str) -> None:
    """In the tiny domain every step is 1, so that a square is one: 9 at most of the count, and 36 of x."""
    chosen: list[dict[str, Any]] = [{}, {"count": False}, {"sums": []}]
    if noise != "box":
        shares = {"count": "1/4", "x": "1/4", "squares of count": "1/8", "squares of x": "3/8"}
        chosen.append({"shares": shares})
    for divided in chosen:
        params = asked(adjacency=adjacency, noise=noise, weight=SQUARES, **MARGINS[margins], **divided)
        assert faults(params, TINY) == []
        reach = {
            name: width
            for entry in settle(params, TINY)
            for name, width in zip(entry.measures, entry.classes[0].half_widths, strict=True)
        }
        assert reach == {
            name: width
            for name, width in {"count": 3, "x": 6, "squares of count": 9, "squares of x": 36}.items()
            if name in reach
        }
        found = worst(params)
        assert found <= Fraction(3, 2)
        if noise != "box" and (margins == "summed" or adjacency == "add_remove"):
            assert found == Fraction(3, 2)


@by_adjacency
@pytest.mark.parametrize("noise", ["laplace", "box"])
def test_squares_with_the_noise_of_what_is_squared_lose_more_than_epsilon(
    adjacency: str, noise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R forgotten: the sensitivity of a sum of squares is taken to be that of the figure."""
    params = asked(adjacency=adjacency, noise=noise, weight=SQUARES)
    with monkeypatch.context() as changed:
        changed.setattr(Squaring, "bounds", lambda self, sizes: sizes)
        forgets = settle(params, TINY)
    # 9/10 by the figures, and 3 and 6 times what the squares of the count and of x may spend, a twentieth each.
    expected = Fraction(9, 10) + Fraction(3, 20) + Fraction(6, 20) if noise == "laplace" else Fraction(9, 10)
    assert worst(params, forgets) >= Fraction(3, 2) * expected
    assert worst(params, forgets) > Fraction(3, 2)
    assert worst(params) <= Fraction(3, 2)


@by_adjacency
@pytest.mark.slow
def test_all_records_of_a_unit_together_lose_epsilon(adjacency: str) -> None:
    params = asked(adjacency=adjacency, noise="laplace", rows_per_unit=2)
    assert worst(params) == Fraction(3, 2)
    assert worst(params, settle(params.model_copy(update={"rows_per_unit": None}), TINY)) == 3


def test_what_the_mechanism_adds_up_is_what_was_added_by_hand() -> None:
    params = asked(weight=SQUARES)
    for first, second in neighbours("replace", 1):
        for records in (first, second):
            area, x, w = zip(*records, strict=True)
            columns = {"area": np.array(area, object), "x": np.array(x), "w": np.array(w)}
            found = count_cells(columns, TINY, params)
            for name in ("count", "x", "squares of count", "squares of x"):
                assert tuple(found.measures[name].sums.tolist()) == added(records, ("area",), name)
        if first != second:
            break
    every = tuple(EVERY)
    columns = {
        "area": np.array([area for area, _, _ in every], object),
        "x": np.array([x for _, x, _ in every]),
        "w": np.array([w for _, _, w in every]),
    }
    found = count_cells(columns, TINY, params)
    assert tuple(found.measures["x"].sums.tolist()) == added(every, ("area",), "x")


@by_adjacency
def test_on_the_real_grid_no_record_adds_more_than_the_noise_is_made_for(
    adjacency: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every record moves each cell by at most B of each measure, whatever its weight, also one beyond the cap."""
    monkeypatch.undo()
    declared = {**TINY, "w": Column(role="weight", domain=(0.3, 2.7), outside="clamp")}
    params = asked(adjacency=adjacency, weight=SQUARES)
    reach = {
        name: max(noise.half_widths[entry.measures.index(name)] for noise in entry.classes)
        for entry in settle(params, declared)
        for name in entry.measures
    }
    largest = dict.fromkeys(reach, 0)
    for area, x in product(AREAS, (-1, 0, 1, 2)):
        for w in (0.0, 0.3, 0.31, 1.0, 2.69, 2.7, 100.0):
            one = {"area": np.array([area], object), "x": np.array([x]), "w": np.array([w])}
            cells = count_cells(one, declared, params)
            for name in reach:
                largest[name] = max(largest[name], int(np.abs(cells.measures[name].sums).sum()))
    assert all(largest[name] <= reach[name] for name in reach)
    # Not more than a step of the grid of weights wider than it must be; a square by as much, relative to its size.
    assert all(reach[name] - largest[name] <= (1 if name == "count" else 2) for name in ("count", "x"))
    assert all(reach[name] <= largest[name] * (1 + 2**-12) for name in reach)
