"""Tables with coarser levels keep epsilon: the exact loss of every pair of neighbours of a tiny domain.

    loss = sum over entries and figures of the largest |ln P(N = y) / P(N = y - change)|                          (1)

A figure of a coarser level is that of the records whose category is in its group, by the taxonomy itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.table import Params, faults
from penstock.mechanisms.table._chosen import Entry, settle
from penstock.mechanisms.table.settings import levels
from tests.laws.test_table_is_private import cost
from tests.support.plain_tables import MODELS, Record, steps

TREE = {"all": (), "even": ("all",), "odd": ("all",), "1": ("odd",), "2": ("even",), "3": ("odd",)}
TINY = {
    "side": Column(role="quasi_identifier", type="nominal", categories=("left", "right")),
    "digit": Column(role="quasi_identifier", type="nominal", taxonomy=TREE, categories=("1", "2", "3")),
    "x": Column(role="confidential", type="integer", domain=(-1, 2)),
}
LABELS = {"side": ("left", "right"), "digit": ("1", "2", "3"), "parity": ("odd", "even")}
BASE: list[Record] = [{"side": "left", "digit": "2", "x": 1}, {"side": "right", "digit": "3", "x": -1}]
EVERY = [{"side": side, "digit": digit, "x": x} for side, digit, x in product(("left", "right"), "123", (-1, 0, 1, 2))]
BOUNDS = {"x": [{"cells": {"digit": ["1", "2"]}, "domain": [0, 1]}]}
DIVIDED = {
    "count": {},
    "count and x": {"sums": ["x"]},
    "by shares": {"sums": ["x"], "shares": {"count": "1/5", "x": "4/5"}},
    "by bounds": {"sums": ["x"], "bounds": BOUNDS},
}
TOTALS = {
    "every level": None,
    "one group level": [["parity"]],
    "groups beside categories": [["side", "parity"], ["digit"]],
}


def by_parity(**chosen: Any) -> Params:
    given = {
        "dimensions": ["side", "digit"],
        "levels": {"digit": ["parity"]},
        "margins": "measured",
        "margin_share": "1/3",
        **MODELS["dp"],
        "epsilon": "3/2",
        **chosen,
    }
    params = Params.model_validate({name: value for name, value in given.items() if value is not None})
    assert faults(params, TINY) == []
    return params


def totals(records: Sequence[Record], level: Sequence[str], measure: str, params: Params) -> list[int]:
    found = dict.fromkeys(product(*(LABELS[name] for name in level)), 0)
    for record in records:
        row = tuple(TREE[record["digit"]][0] if name == "parity" else record[name] for name in level)
        found[row] += steps(record, measure, params, TINY)
    return list(found.values())


def loss(first: list[Record], second: list[Record], params: Params, entries: Sequence[Entry]) -> Fraction:
    """(1)."""
    total = Fraction(0)
    for entry in entries:
        level = levels(params)[entry.level]
        before, after = (
            np.array([totals(records, level, name, params) for name in entry.measures]) for records in (first, second)
        )
        assert entry.which is not None
        for cell in np.flatnonzero((before != after).any(axis=0)):
            total += cost(entry.classes[entry.which[cell]], tuple((before - after)[:, cell].tolist()))
    return total


def worst(params: Params, entries: Sequence[Entry] | None = None) -> Fraction:
    entries = settle(params, TINY) if entries is None else entries
    if params.adjacency == "replace":
        pairs = [([*BASE, one], [*BASE, other]) for one, other in combinations_with_replacement(EVERY, 2)]
    else:
        pairs = [([*BASE, one], BASE) for one in EVERY]
    return max(loss(first, second, params, entries) for first, second in pairs)


@pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
@pytest.mark.parametrize("noise", ["laplace", "staircase", "box"])
@pytest.mark.parametrize("name", TOTALS)
def test_no_pair_of_neighbours_loses_more_than_epsilon(adjacency: str, noise: str, name: str) -> None:
    for divided, chosen in DIVIDED.items():
        if noise == "box" and "shares" in chosen:
            continue
        found = worst(by_parity(adjacency=adjacency, noise=noise, totals=TOTALS[name], **chosen))
        assert found <= Fraction(3, 2), divided
        # Where every level is measured and records are replaced, the grand total of counts does not move.
        if name != "every level" or adjacency == "add_remove":
            assert found == Fraction(3, 2), divided


@pytest.mark.parametrize("noise", ["laplace", "staircase", "box"])
def test_levels_that_do_not_divide_the_share_of_margins_are_noticed(noise: str) -> None:
    """Each of two coarser levels with all of the margins' third: 3/2 (2/3 + 1/3 + 1/3) = 2."""
    params = by_parity(noise=noise, totals=[["parity"], ["side", "parity"]])
    cells, *margins = settle(params, TINY)
    alone = [settle(by_parity(noise=noise, totals=[list(levels(params)[entry.level])]), TINY)[1] for entry in margins]
    wrong = [cells, *(replace(each, level=entry.level) for each, entry in zip(alone, margins, strict=True))]
    assert worst(params) == Fraction(3, 2)
    assert worst(params, wrong) == 2


@pytest.mark.parametrize("noise", ["laplace", "staircase", "box"])
def test_groups_with_the_bound_of_one_of_their_categories_are_noticed(noise: str) -> None:
    """Odd digits are 1, with values to 1, and 3, with values to 2: noise for 1 alone is too small for the group."""
    chosen = {"sums": ["x"], "count": False, "noise": noise, "totals": [["parity"]]}
    params = by_parity(bounds=BOUNDS, **chosen)
    cells, groups = settle(params, TINY)
    assert groups.which is not None
    assert [groups.classes[place].half_widths for place in groups.which] == [(2,), (1,)]
    wrong = replace(groups, which=np.full_like(groups.which, groups.which[1]))
    assert worst(params, [cells, groups]) <= Fraction(3, 2) < worst(params, [cells, wrong])
