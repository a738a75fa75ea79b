"""Rows folded in batches: by definition, in any order, by NumPy and by compiled loops alike; nothing of them raises."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.numbers.grid import Grid
from penstock.mechanisms.questions import Coded, Query, Terms, _fold, methods
from tests.support.order import examples

DECLARED = {
    "x": Column(role="confidential", type="continuous", domain=(-1.5, 2), missing="category"),
    "whole": Column(role="confidential", type="integer", domain=(-3, 5), missing="category"),
    "wide": Column(role="confidential", type="integer", domain=(-(2**40), 2**41)),
    "band": Column(role="quasi_identifier", type="integer", domain=(0, 9)),
    "side": Column(role="quasi_identifier", type="nominal", categories=("a", "b", "c")),
}
NUMBERS = st.one_of(st.floats(-4, 4), st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300, -1.5, 2.0, 5e-324]))


@st.composite
def questions(draw):
    statistic = draw(st.sampled_from(["count", "sum", "mean", "median", "maximum"]))
    where = draw(
        st.lists(
            st.sampled_from(
                [
                    {"column": "band", "at_least": 3},
                    {"column": "band", "at_least": 0, "below": "7/2"},
                    {"column": "x", "at_least": "-1/3"},
                    {"column": "x", "below": "1/10"},
                    {"column": "side", "is_in": ("a", "c")},
                ]
            ),
            max_size=3,
        )
    )
    of = None if statistic == "count" else draw(st.sampled_from(["x", "whole"]))
    by = draw(st.sampled_from([None, "side"]))
    return Query(statistic=statistic, of=of, where=where, by=by)


@st.composite
def rows(draw):
    n = draw(st.integers(0, 12))
    numbers = st.lists(NUMBERS, min_size=n, max_size=n)
    codes = st.lists(st.integers(-2, 4), min_size=n, max_size=n)
    return {
        "x": np.array(draw(numbers), np.float64),
        "whole": np.array(draw(numbers), np.float64),
        "wide": np.array(draw(numbers), np.float64),
        "band": np.array(draw(numbers), np.float64),
        "side": np.array(draw(codes), np.int64),
    }


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


def folded(method, *batches):
    exact = method.begin()
    for batch in batches:
        method.add(exact, batch, rows=len(batch["x"]))
    return exact


def in_order(method, exact):
    """The steps of each group, rising."""
    return [[each.at(rank) for rank in range(1, each.size + 1)] for each in method._fold.ordered(exact)]


def windows(method, exact):
    """All steps that occur in each group, and how often."""
    whole = [each.between(1, each.size) for each in method._fold.ordered(exact) if each.size]
    return [(window.steps.tolist(), window.times.tolist(), window.before, window.outer) for window in whole]


def told(method, exact):
    """All that an answer can depend on."""
    is_ordered = method._fold.what == "points"
    return exact.rows, exact.table.tolist(), windows(method, exact) if is_ordered else None


def cut(columns, place):
    return {name: values[:place] for name, values in columns.items()}, {
        name: values[place:] for name, values in columns.items()
    }


def takes_part(row, query):
    for condition in query.where:
        value = row[condition.column]
        if condition.is_in is not None:
            if not 0 <= value <= 2 or "abc"[value] not in condition.is_in:
                return False
            continue
        low, high = DECLARED[condition.column].domain
        if np.isnan(value):
            return False
        clamped = Fraction(float(np.clip(value, low, high)))
        if condition.at_least is not None and clamped < condition.at_least:
            return False
        if condition.below is not None and clamped >= condition.below:
            return False
    return True


def by_definition(columns, query, method):
    """Lists of steps on the grid of the question, one for each group; zeros for a count."""
    groups = [[] for _ in method.groups]
    for place in range(len(columns["x"])):
        row = {name: values[place] for name, values in columns.items()}
        side = int(row["side"]) if query.by else 0
        if not 0 <= side < len(groups) or not takes_part(row, query):
            continue
        if query.of is None:
            groups[side].append(0)
            continue
        value = row[query.of]
        if np.isnan(value):
            continue
        grid = method.asked.numbers
        exact = Fraction(float(np.clip(value, grid.low, grid.high))) / grid.eta
        groups[side].append((exact + Fraction(1, 2)).__floor__() - grid.first)
    return groups


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
