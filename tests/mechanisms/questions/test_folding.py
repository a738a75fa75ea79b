"""Rows folded in batches: by definition, in any order, by NumPy and by compiled loops alike; nothing of them raises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
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
    windows,
)
from tests.support.order import examples


@pytest.mark.law
@settings(max_examples=examples(400))
@given(query=questions(), columns=rows(), place=st.integers(0, 12), compiled=st.booleans())
def test_a_fold_is_what_it_says_whatever_the_batches_and_the_loops(query, columns, place, compiled):
    method = next(iter(methods(query, DECLARED, Terms("add_remove")).values()))
    small = _fold.SMALL
    try:
        _fold.SMALL = 0 if compiled else small
        exact = folded(method, columns)
        in_two = folded(method, *cut(columns, place))
        beside = method.join(*(folded(method, part) for part in cut(columns, place)))
    finally:
        _fold.SMALL = small
    assert told(method, exact) == told(method, in_two) == told(method, beside)
    groups = by_definition(columns, query, method)
    if method._fold.what == "points":
        assert in_order(method, exact) == [sorted(values) for values in groups]
        return
    assert exact.counts.tolist() == [len(values) for values in groups]
    if method._fold.what == "totals":
        assert exact.table[:, 1].tolist() == [sum(values) for values in groups]
        filled = [values for values in groups if values]
        ends = [row[2:] for row in exact.table.tolist() if row[0]]
        assert ends == [[min(values), max(values)] for values in filled]


def test_the_loops_are_chosen_by_how_many_rows_are_coming(monkeypatch):
    method = methods(Query(statistic="median", of="x"), DECLARED, Terms("add_remove"))["exponential"]
    columns = {"x": np.array([0.5, -0.5])}
    expected, waiting = method.add(method.begin(10**6), columns), method.add(method.begin(), columns)
    assert (expected.points is None, waiting.points is None) == (False, True)
    assert told(method, expected) == told(method, waiting)


def test_small_batches_wait_for_the_compiler_and_then_are_counted_with_the_others():
    method = methods(Query(statistic="median", of="x"), DECLARED, Terms("add_remove"))["exponential"]
    chance = np.random.default_rng(0)
    batches = [{"x": chance.uniform(-2, 3, n)} for n in (1000, 150_000, 100_000, 0, 17)]
    exact = method.begin()
    for place, batch in enumerate(batches):
        method.add(exact, batch)
        assert (exact.points is None) == (place < 2)
    whole = method.add(method.begin(), {"x": np.concatenate([batch["x"] for batch in batches])})
    assert told(method, exact) == told(method, whole)


def test_many_equal_values_overflow_no_counter():
    method = methods(Query(statistic="median", of="whole"), DECLARED, Terms("add_remove"))["exponential"]
    values = {"whole": np.tile(np.array([1.0, 1.0, 1.0, 4.0]), 100_000)}
    exact = method.begin()
    for _ in range(3):
        method.add(exact, values)
    expected = [([4, 7], [900_000, 300_000], 0, (-1, 9))]
    assert windows(method, exact) == expected
    assert windows(method, exact) == expected  # to look changes nothing
    method.add(exact, {"whole": np.array([4.0])})
    assert windows(method, exact) == [([4, 7], [900_000, 300_001], 0, (-1, 9))]


def test_only_steps_that_are_counted_in_place_have_counters():
    with pytest.raises(ValueError, match="not counted in place"):
        _fold.Exact(1).counters()


def test_folds_of_every_form_are_joined():
    """Kept with kept, kept with counted, counted with counted; and the value of an individual is the first."""
    method = methods(Query(statistic="median", of="x"), DECLARED, Terms("add_remove"))["exponential"]
    chance = np.random.default_rng(0)
    batches = [{"x": chance.uniform(-2, 3, n)} for n in (10, 250_000, 210_000, 20)]
    whole = method.add(method.begin(), {"x": np.concatenate([batch["x"] for batch in batches])})
    small, large, other, last = (method.add(method.begin(), batch) for batch in batches)
    assert [each.points is None for each in (small, large, other, last)] == [True, False, False, True]
    joined = method.join(method.join(method.join(small, large), other), last)
    assert told(method, joined) == told(method, whole)
    value = Query(statistic="value", of="x", individual=1)
    one = methods(value, DECLARED | {"id": Column(role="identifier")}, Terms("presence", whose="id"))["refinement"]
    first, second = (one.add(one.begin(), {"x": np.array([x]), "id": np.array([1])}) for x in (0.5, 1.5))
    assert one.join(one.join(one.begin(), first), second).value == 0.5


def test_steps_of_too_many_groups_are_kept_and_sorted(monkeypatch):
    query = Query(statistic="median", of="x", by="side")
    method = methods(query, DECLARED, Terms("add_remove"))["exponential"]
    chance = np.random.default_rng(0)
    columns = {"x": chance.uniform(-2, 3, 300_000), "side": chance.integers(-1, 3, 300_000)}
    found = []
    for most, small, is_counted in ((2**25, _fold.SMALL, True), (100, _fold.SMALL, False), (100, 10**9, False)):
        monkeypatch.setattr(_fold, "_MOST_POINTS", most)
        monkeypatch.setattr(_fold, "SMALL", small)
        exact = method.add(method.begin(), columns)
        assert (exact.points is not None) == is_counted
        found.append(windows(method, exact))
    assert found[0] == found[1] == found[2]


def test_keys_are_narrow_where_they_fit(monkeypatch):
    for categories, kind in ((5, np.int32), (5000, np.int64)):
        declared = {
            "x": Column(role="confidential", type="continuous", domain=(0, 1)),
            "side": Column(role="quasi_identifier", type="nominal", categories=tuple(range(categories))),
        }
        method = methods(Query(statistic="median", of="x", by="side"), declared, Terms("add_remove"))["exponential"]
        columns = {"x": np.array([0.25, 0.5, 1.0]), "side": np.array([0, categories - 1, categories - 1])}
        for small in (10, 0):
            monkeypatch.setattr(_fold, "SMALL", small)
            exact = method.add(method.begin(), columns)
            assert {keys.dtype.type for keys in exact.kept} == {kind}
            found = in_order(method, exact)
            assert found[0] == [2**18]
            assert found[-1] == [2**19, 2**20]
            assert sum(map(len, found)) == 3


@pytest.mark.parametrize("kind", ["int8", "int64", "uint8", "uint64", "float32", "bool"])
@pytest.mark.parametrize("compiled", [False, True])
def test_numbers_of_every_type_are_read(kind, compiled, monkeypatch):
    monkeypatch.setattr(_fold, "SMALL", 0 if compiled else 10)
    values = np.array([0, 1, 1, 0]).astype(kind)
    for of in ("whole", "x", "wide"):
        query = Query(statistic="sum", of=of, where=[{"column": "band", "at_least": 1}])
        method = methods(query, DECLARED, Terms("add_remove"))["laplace"]
        exact = method.add(method.begin(), {of: values, "band": values})
        assert exact.counts.tolist() == [2]
        grid = method.asked.numbers
        assert exact.table[0, 1] + 2 * grid.first == 2 * round(1 / float(grid.eta))


def test_whole_numbers_beyond_every_float_are_clamped(monkeypatch):
    far = np.array([2**63 - 1, -(2**63), 2**53 + 1, 3], np.int64)
    for small in (0, 10):
        monkeypatch.setattr(_fold, "SMALL", small)
        method = methods(Query(statistic="median", of="whole"), DECLARED, Terms("add_remove"))["exponential"]
        assert in_order(method, method.add(method.begin(), {"whole": far})) == [[0, 6, 8, 8]]
        huge = {"whole": np.array([2**64 - 1], np.uint64)}
        assert in_order(method, method.add(method.begin(), huge)) == [[8]]


def test_codes_of_every_type_are_read_and_strange_ones_are_none():
    query = Query(statistic="count", by="side", where=[{"column": "side", "is_in": ("a", "b", "c")}])
    method = methods(query, DECLARED, Terms("replace"))["laplace"]
    for codes in (
        np.array([0, 2, -1, 3], np.int8),
        np.array([0, 2, -1, 2**62], np.int64),
        np.array([0, 2, 2**64 - 1, 77], np.uint64),
        np.array([0, 2, np.nan, np.inf]),
    ):
        assert method.add(method.begin(), {"side": codes}).counts.tolist() == [1, 0, 1]


def test_a_missing_value_of_a_complete_column_counts_as_the_lowest_where_everybody_takes_part(monkeypatch):
    """So that the number of records that take part is public whatever the data are."""
    declared = DECLARED | {"x": DECLARED["x"].model_copy(update={"missing": "refuse"})}
    values = {"x": np.array([np.nan, 2.0])}
    for small in (0, 10):
        monkeypatch.setattr(_fold, "SMALL", small)
        for adjacency, number in (("replace", 2), ("add_remove", 1)):
            method = methods(Query(statistic="mean", of="x"), declared, Terms(adjacency))["laplace"]
            exact = method.add(method.begin(), values)
            assert exact.counts.tolist() == [number]
            grid = method.asked.numbers
            assert exact.table[0, 1] == grid.index(np.array([2.0]))[0] + (number - 1) * grid.index(np.array([-1.5]))[0]


def test_a_count_of_everything_reads_no_column_but_knows_the_rows():
    method = methods(Query(statistic="count"), DECLARED, Terms("add_remove"))["laplace"]
    assert method.columns == ()
    assert method.add(method.begin(), {}, rows=7).counts.tolist() == [7]
    assert method.add(method.begin(), {"x": np.zeros(3)}).counts.tolist() == [3]
    for columns, number in (({}, None), ({"x": np.zeros(3)}, 4)):
        with pytest.raises(ValueError, match="one value for each of the rows"):
            method.add(method.begin(), columns, rows=number)


@pytest.mark.parametrize(
    ("whose", "individual", "expected"),
    [
        (np.array(["p", "q", "p"], object), "p", 1.0),
        (np.array(["p", None, "q"], object), "q", 2.0),
        (np.array(["p", "q", "r"]), "q", None),
        (np.array([1, 2, 3]), 3, 2.0),
        (np.array([1, 2, 3]), "3", 2.0),
        (np.array([1, 2, 3]), "p", None),
        (np.array([1, 2, 3]), 4, None),
        (np.array([1, 2, 3], object), "1", 1.0),
        (np.array([1.0, np.nan, 3.0]), 3, 2.0),
    ],
)
def test_the_value_of_an_individual_is_found_where_they_have_one(whose, individual, expected):
    query = Query(statistic="value", of="x", individual=individual)
    method = methods(query, DECLARED | {"id": Column(role="identifier")}, Terms("presence", whose="id"))["refinement"]
    assert set(method.columns) == {"x", "id"}
    exact = method.add(method.begin(), {"x": np.array([1.0, np.nan, 2.0]), "id": whose})
    assert exact.value == expected
    method.add(exact, {"x": np.array([-1.0]), "id": whose[:1]})
    assert exact.value == (-1.0 if expected is None and whose[0] == individual else expected)


def test_the_category_of_an_individual_is_a_declared_one():
    query = Query(statistic="value", of="side", individual="p")
    method = methods(query, DECLARED | {"id": Column(role="identifier")}, Terms("presence", whose="id"))["refinement"]
    for codes, expected in (([-1, 2], 2), ([7, 0], 0), ([-1, 9], None)):
        exact = method.add(method.begin(), {"side": np.array(codes), "id": np.array(["p", "p"], object)})
        assert exact.value == expected


def test_an_individual_that_is_a_declared_category_is_found_by_its_code():
    declared = {"x": DECLARED["x"], "unit": Column(role="quasi_identifier", type="nominal", categories=(10, 20, 0))}
    for individual, expected in (("20", 1.0), (0, -1.0), (1, None)):
        query = Query(statistic="value", of="x", individual=individual)
        method = methods(query, declared, Terms("presence", whose="unit"))["refinement"]
        exact = method.add(method.begin(), {"x": np.array([0.0, 1.0, -1.0]), "unit": np.array([0, 1, 2])})
        assert exact.value == expected


def test_nothing_that_was_folded_is_written_into_a_log():
    method = methods(Query(statistic="median", of="whole"), DECLARED, Terms("replace", relaxations=("idp",)))
    exact = method["individual"].add(method["individual"].begin(), {"whole": np.array([4.0, 4.0])})
    (ordered,) = method["individual"]._fold.ordered(exact)
    figures = method["individual"].figures(exact)
    for each in (exact, ordered, ordered.between(1, 2), figures, Coded(np.zeros(3, np.int32), np.zeros(1, np.int64))):
        assert "array" not in repr(each)
        assert "steps=" not in repr(each)
