"""Categories by a table are those that the table has; and steps of numbers between two points, in every loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.numbers.grid import Grid
from penstock.mechanisms.questions import Coded, Query, Terms, _fold, methods
from tests.mechanisms.questions.folding_cases import (
    DECLARED,
    by_definition,
    cut,
    folded,
    in_order,
    questions,
    rows,
    told,
)
from tests.support.order import examples


@st.composite
def tables(draw):
    """For each code its places in a table that holds some codes twice, in any order; one place outside for none."""
    codes = draw(st.permutations([0, 1, 2, 2, -1, 0, 9, -7]))[: draw(st.integers(0, 8))]
    outside = st.sampled_from([-1, len(codes), 2**31 - 1, -(2**31)])
    none = [place for place, code in enumerate(codes) if not 0 <= code <= 2]
    places = {code: [place for place, each in enumerate(codes) if each == code] for code in range(3)}
    return np.array(codes, np.int64), places, draw(st.sampled_from([*none, draw(outside)]))


def coded(codes, table, chance):
    """The same categories by a table, and which of them it holds: the others have no place in it."""
    entries, places, none = table
    held = [code if 0 <= code <= 2 and places[code] else -1 for code in codes.tolist()]
    chosen = [none if code < 0 else chance.choice(places[code]) for code in held]
    return Coded(np.array(chosen, np.int32), entries), np.array(held, np.int64)


@pytest.mark.law
@settings(max_examples=examples(200))
@given(query=questions(), columns=rows(), table=tables(), chance=st.randoms(), place=st.integers(0, 12))
def test_categories_by_a_table_are_those_that_the_table_has(query, columns, table, chance, place):
    method = next(iter(methods(query, DECLARED, Terms("add_remove")).values()))
    by_table, codes = coded(columns["side"], table, chance)
    assert [code if 0 <= code <= 2 else -1 for code in by_table.plain().tolist()] == codes.tolist()
    expected = told(method, folded(method, columns | {"side": codes}))
    columns = columns | {"side": by_table}
    small = _fold.SMALL
    try:
        for _fold.SMALL in (small, 0):
            assert told(method, folded(method, columns)) == expected
            assert told(method, folded(method, *cut(columns, place))) == expected
    finally:
        _fold.SMALL = small


def odd_halves(method):
    """Numbers next to the middle between two points of the grid, where adding a half would round up."""
    grid = method.asked.numbers
    middles = [0.5, 1.5, -0.5, -1.5, 2**20 + 0.5]
    near = [np.nextafter(each, side) for each in middles for side in (-np.inf, np.inf)]
    return np.ldexp(np.array([*middles, *near, np.nextafter(0.5, 0)]), grid.exponent)


@pytest.mark.parametrize("statistic", ["sum", "median"])
@pytest.mark.parametrize("by", [None, "side"])
@pytest.mark.parametrize("small", [0, 200_000], ids=["compiled", "plain"])
def test_halves_are_rounded_up_and_nothing_below_them(statistic, by, small, monkeypatch):
    monkeypatch.setattr(_fold, "SMALL", small)
    query = Query(statistic=statistic, of="x", by=by)
    method = next(iter(methods(query, DECLARED, Terms("add_remove")).values()))
    for value in odd_halves(method):
        columns = {"x": np.array([value]), "side": np.array([0])}
        (expected, *_) = by_definition(columns, query, method)
        exact = method.add(method.begin(), columns)
        if statistic == "median":
            assert in_order(method, exact)[0] == expected
        else:
            assert exact.table[0].tolist() == [1, *expected * 3]


def test_the_test_of_halves_notices_a_half_that_is_added(monkeypatch):
    def added(self, values):
        scaled = np.ldexp(np.clip(values.astype(np.float64), self.low, self.high), -self.exponent)
        return np.floor(scaled + 0.5).astype(np.int64) - self.first

    method = methods(Query(statistic="sum", of="x"), DECLARED, Terms("add_remove"))["laplace"]
    values = odd_halves(method)
    right = method.asked.numbers.index(values).tolist()
    assert [
        each
        for (each,) in (
            by_definition({"x": values[k : k + 1]}, method.asked.query, method)[0] for k in range(len(values))
        )
    ] == right
    monkeypatch.setattr(Grid, "index", added)
    assert method.asked.numbers.index(values).tolist() != right
