"""Tables with cells that cannot have records keep epsilon: the exact loss of every pair of neighbours without any.

The loss is that of test_table_is_private.py, (1); a cell that nothing is drawn for tells whatever it differs in, so a
pair of data sets that differ there is told apart with certainty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from penstock.mechanisms.combinations import CombinationImpossible
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.table import Params, protect
from penstock.mechanisms.table._chosen import Entry, settle
from penstock.mechanisms.table.settings import levels
from tests.laws.test_table_is_private import (
    BASE,
    DIVIDED,
    EVERY,
    MARGINS,
    TINY,
    by_adjacency,
    by_noise,
    cost,
    neighbours,
    sound,
)
from tests.support.plain_tables import Record, columns_of, totals

IMPOSSIBLE = {"impossible": [{"area": "north", "size": "large"}]}
CERTAIN = Fraction(10**9)
Drawn = Callable[[Entry, Sequence[Record]], np.ndarray]


def is_possible(record: Record) -> bool:
    return (record["area"], record["size"]) != ("north", "large")


POSSIBLE = [record for record in EVERY if is_possible(record)]


def as_settled(entry: Entry, records: Sequence[Record]) -> np.ndarray:
    """Which rows are drawn: by settings alone."""
    assert entry.which is not None
    return entry.which >= 0


def loss(first: list[Record], second: list[Record], params: Params, drawn: Drawn = as_settled) -> Fraction:
    total = Fraction(0)
    for entry in settle(params, TINY):
        level = levels(params)[entry.level]
        before, after = (
            np.array([totals(records, level, name, params, TINY) for name in entry.measures])
            for records in (first, second)
        )
        noisy = drawn(entry, first)
        if not np.array_equal(noisy, drawn(entry, second)):
            return CERTAIN
        assert entry.which is not None
        for row in np.flatnonzero((before != after).any(axis=0)):
            if not noisy[row]:
                return CERTAIN
            total += cost(entry.classes[entry.which[row]], tuple((before - after)[:, row].tolist()))
    return total


def worst(params: Params, every: Sequence[Record] = POSSIBLE, drawn: Drawn = as_settled) -> Fraction:
    return max(loss(first, second, params, drawn) for first, second in neighbours(params, every))


@by_adjacency
@by_noise
@pytest.mark.parametrize("margins", MARGINS)
def test_no_pair_of_neighbours_loses_more_than_epsilon(adjacency: str, noise: str, margins: str) -> None:
    for name, divided in DIVIDED.items():
        if noise == "box" and "shares" in divided:
            continue
        chosen: dict[str, Any] = {"adjacency": adjacency, "noise": noise, "epsilon": "3/2", **MARGINS[margins]}
        found = worst(sound(**chosen, **divided, **IMPOSSIBLE))
        assert found <= Fraction(3, 2), name
        if margins != "all measured" or adjacency == "add_remove":
            assert found == Fraction(3, 2), name


@by_adjacency
def test_all_records_of_a_unit_together_lose_epsilon(adjacency: str) -> None:
    params = sound(adjacency=adjacency, noise="laplace", rows_per_unit=2, **IMPOSSIBLE)
    few = [record for record in POSSIBLE if record["x"] == 0]
    assert worst(params, few) == 1


@by_adjacency
def test_records_that_are_counted_where_nothing_is_drawn_are_noticed(adjacency: str) -> None:
    """Why they are refused: with them among the data sets compared, the exact zero gives one of them away."""
    assert worst(sound(adjacency=adjacency, **IMPOSSIBLE), EVERY) == CERTAIN


@by_adjacency
def test_cells_that_are_found_empty_in_the_data_give_a_record_away(adjacency: str) -> None:
    """Why they are declared: a mechanism that leaves the noise of empty cells away keeps no epsilon."""

    def where_records_are(entry: Entry, records: Sequence[Record]) -> np.ndarray:
        level = levels(params)[entry.level]
        return np.array(totals(records, level, "count", params, TINY)) > 0

    params = sound(adjacency=adjacency)
    assert worst(params, EVERY) == 1
    assert worst(params, EVERY, where_records_are) == CERTAIN


@by_noise
def test_a_margin_has_the_largest_bound_of_its_possible_cells(noise: str) -> None:
    """In the other cells of north x is 0 or 1, so less noise is enough there; a bound of an impossible cell is none."""
    bounds = {"x": [{"cells": {"area": ["north"], "size": ["small"]}, "domain": [0, 1]}]}
    chosen: dict[str, Any] = {"sums": ["x"], "count": False, "noise": noise, "bounds": bounds}
    params = sound(**chosen, **MARGINS["one measured"], **IMPOSSIBLE)
    _, margin = settle(params, TINY)
    assert margin.which is not None
    assert [margin.classes[place].half_widths for place in margin.which] == [(1,), (2,)]
    assert worst(params) <= 1


def test_what_the_mechanism_does_with_such_a_record_is_refuse_it() -> None:
    records = [*BASE, {"area": "north", "size": "large", "x": 0, "z": 0}]
    params = sound(**IMPOSSIBLE)
    columns = columns_of(records, TINY)
    with pytest.raises(CombinationImpossible):
        protect(columns, TINY, params, seeded(1))
