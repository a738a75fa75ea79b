"""Linked tables keep epsilon: the exact loss of every pair of neighbours, as in test_table_is_private."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.table import Params, faults
from penstock.mechanisms.table._chosen import Entry, settle
from penstock.mechanisms.table.settings import levels
from tests.laws.test_table_is_private import by_adjacency, by_noise, cost
from tests.support.plain_tables import Record, totals

TWO = {"type": "nominal", "role": "quasi_identifier"}
TINY = {
    **{name: Column(categories=(f"{name}0", f"{name}1"), **TWO) for name in "abc"},
    "x": Column(role="confidential", type="integer", domain=(-1, 2)),
}
EVERY: list[Record] = [
    {"a": f"a{i}", "b": f"b{j}", "c": f"c{k}", "x": x} for i, j, k in product(range(2), repeat=3) for x in (-1, 0, 2)
]
BASE = [EVERY[0], EVERY[-1]]
CHAIN = {"one": ["a", "b"], "two": ["c", "b"]}
CYCLE = {**CHAIN, "three": ["a", "c"]}
MARGINS = {
    "none": {"margins": "none"},
    "summed": {"margins": "summed"},
    "measured": {"margins": "measured", "margin_share": "2/5"},
}


def linked(tables: dict[str, list[str]] = CYCLE, **chosen: object) -> Params:
    settings = {"tables": tables, "model": "dp", "epsilon": "3/2", "adjacency": "replace", **chosen}
    params = Params.model_validate(settings)
    assert faults(params, TINY) == []
    return params


def worst(params: Params, entries: Sequence[Entry]) -> Fraction:
    """The largest loss over all neighbours: the noises of different entries and cells are independent."""
    pairs = [([*BASE, gone], [*BASE, new]) for gone in EVERY for new in EVERY]
    if params.adjacency == "add_remove":
        pairs = [([*BASE, new], BASE) for new in EVERY]
    return max(loss(first, second, params, entries) for first, second in pairs)


def loss(first: list[Record], second: list[Record], params: Params, entries: Sequence[Entry]) -> Fraction:
    total = Fraction(0)
    for entry in entries:
        level = levels(params)[entry.level]
        before, after = (
            np.array([totals(records, level, name, params, TINY) for name in entry.measures])
            for records in (first, second)
        )
        for cell in np.flatnonzero((before != after).any(axis=0)):
            change = tuple((before - after)[:, cell].tolist())
            assert entry.which is not None
            total += cost(entry.classes[entry.which[cell]], change)
    return total


@by_adjacency
@by_noise
@pytest.mark.parametrize("margins", MARGINS)
def test_three_linked_tables_lose_exactly_epsilon(adjacency: str, noise: str, margins: str) -> None:
    params = linked(noise=noise, adjacency=adjacency, sums=["x"], **MARGINS[margins])
    found = worst(params, settle(params, TINY))
    # A grand total that is drawn where the number of records is public spends what no pair of neighbours loses.
    assert found <= Fraction(3, 2)
    if margins != "measured" or adjacency == "add_remove":
        assert found == Fraction(3, 2)


@by_noise
@pytest.mark.parametrize("margins", MARGINS)
def test_with_an_exact_total_all_of_epsilon_goes_to_what_is_drawn(noise: str, margins: str) -> None:
    params = linked(noise=noise, exact_total=True, **MARGINS[margins])
    assert worst(params, settle(params, TINY)) == Fraction(3, 2)


@by_adjacency
@by_noise
def test_a_table_that_is_forgotten_where_epsilon_is_divided_is_noticed(adjacency: str, noise: str) -> None:
    """The noise of two tables, and a third one drawn with as much: half of epsilon more is lost."""
    params = linked(noise=noise, adjacency=adjacency, margins="none")
    two = settle(linked(CHAIN, noise=noise, adjacency=adjacency, margins="none"), TINY)
    assert worst(params, [*two, replace(two[0], level=2)]) == Fraction(9, 4)


def test_every_level_is_drawn_once_whichever_tables_show_it() -> None:
    params = linked(**MARGINS["measured"])
    entries = settle(params, TINY)
    assert [levels(params)[entry.level] for entry in entries] == [
        ("a", "b"), ("b", "c"), ("a", "c"), ("a",), ("b",), ("c",), (),
    ]  # fmt: skip
    assert [entry.epsilon for entry in entries] == [Fraction(3, 10)] * 3 + [Fraction(3, 20)] * 4
    assert sum(entry.epsilon for entry in entries) == Fraction(3, 2)
