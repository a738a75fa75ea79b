"""Labels of buckets are read in one way or not at all."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.measures.groups._labels import Categories, Interval, read_labels
from penstock.mechanisms.columns import Column
from tests.measures.bucket_maker import KIND
from tests.measures.judged_columns import nominal, number, ordinal

BANDS = Column(role="confidential", type="ordinal", categories=("0 to 5", "5 to 10", "10 to 20", "over 20"))


def read(label, column):
    return read_labels([label], column)[0]


@pytest.mark.parametrize(
    ("label", "low", "high"),
    [
        ("0 to 24000", 0, 24000),
        ("-5 to 2.5", -5, "2.5"),
        ("-5.25 to -5", "-5.25", -5),
        ("7", 7, 7),
        ("-0.1", "-0.1", "-0.1"),
        ("9007199254740993 to 9007199254740994", 2**53 + 1, 2**53 + 2),
    ],
)
def test_an_interval_is_read_exactly(label, low, high):
    assert read(label, number()) == Interval(Fraction(low), Fraction(high))


@pytest.mark.parametrize(
    "label",
    [
        "",
        "5 to 5",
        "5 to 4",
        "1 to 2 to 3",
        "1e3 to 2e3",
        "1 to",
        "to 2",
        ".5 to 1",
        "5. to 6",
        " 1 to 2",
        "1 to 2\n",
        "1  to 2",
        "+1 to 2",
        "inf",
        "nan",
        "١ to ٢",
        "1 | 2",
        "1, 2",
        "1_0 to 20",
        "9" * 309,
        7,
        None,
    ],
)
def test_what_is_no_interval_is_no_label(label):
    assert read(label, number()) is None


def test_a_float_is_compared_with_the_floats_that_stand_for_the_ends():
    """0.1 as a float is a trifle more than 1/10, and 0.3 a trifle less."""
    label = read("0.1 to 0.3", number())
    assert label.holds(0.1)
    assert label.holds(0.3)
    assert not label.holds(0.09999999999999999)
    assert not label.holds(0.30000000000000004)
    assert read("0 to 0.1", number()).holds(0.1)


def test_whole_numbers_are_compared_exactly():
    label = read("9007199254740993 to 9007199254740995", number())
    assert label.holds(2**53 + 1)
    assert not label.holds(2**53)


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300))
def test_ends_in_plain_decimals_are_inside_and_their_neighbours_are_not(one, other):
    low, high = sorted((one, other))
    ends = [np.format_float_positional(end, trim="-") for end in ((low,) if low == high else (low, high))]
    label = read(" to ".join(ends), number())
    assert label.holds(low)
    assert label.holds(high)
    assert not label.holds(math.nextafter(low, -math.inf))
    assert not label.holds(math.nextafter(high, math.inf))


def test_a_range_of_ordinal_categories_is_read():
    assert read("b to d", ordinal(5)) == Categories(frozenset({1, 2, 3}))
    assert read("c", ordinal(5)) == Categories(frozenset({2}))
    for label in ("d to b", "b to b", "b to f", "f", "b | c", "b to c to d", "", None):
        assert read(label, ordinal(5)) is None


def test_ordinal_categories_may_contain_the_word_of_ranges():
    assert read("0 to 5", BANDS) == Categories(frozenset({0}))
    assert read("0 to 5 to 10 to 20", BANDS) == Categories(frozenset({0, 1, 2}))
    assert read("5 to 10 to over 20", BANDS) == Categories(frozenset({1, 2, 3}))
    assert read("0 to 10", BANDS) is None


def test_a_label_of_two_readings_is_none():
    column = Column(role="confidential", type="ordinal", categories=("a", "b", "a to b"))
    assert read("a to b", column) is None
    assert read("b to a to b", column) == Categories(frozenset({1, 2}))


def test_numbers_may_be_ordinal_categories():
    years = Column(role="confidential", type="ordinal", categories=(1, 2, 3))
    assert read("1 to 2", years) == Categories(frozenset({0, 1}))
    assert read(3, years) is None  # published labels are text


def test_nominal_categories_are_listed_in_declared_order():
    assert read("a | c | d", nominal(5)) == Categories(frozenset({0, 2, 3}))
    assert read("e", nominal(5)) == Categories(frozenset({4}))
    for label in ("c | a", "a | a", "a | f", "a|b", "a | ", "a to c", "", None):
        assert read(label, nominal(5)) is None


def test_a_concept_stands_for_the_declared_categories_below_it():
    assert read("metal", KIND) == Categories(frozenset({0, 1}))
    assert read("all", KIND) == Categories(frozenset(range(5)))
    assert read("iron", KIND) == Categories(frozenset({0}))
    assert read("iron | copper", KIND) == Categories(frozenset({0, 1}))
    assert read("metal | oak", KIND) is None  # metal is no declared category


def test_a_concept_may_be_reached_on_two_ways_and_may_have_nothing_declared_below():
    parents = {"a": ("x", "y"), "b": ("x",), "c": ("y", "z"), "x": ("top",), "y": ("top",), "z": ("top",), "top": ()}
    column = Column(role="confidential", type="nominal", taxonomy=parents, categories=("a", "b"))
    assert read("x", column) == Categories(frozenset({0, 1}))
    assert read("y", column) == Categories(frozenset({0}))
    assert read("z", column) is None
    assert read("top", column) == Categories(frozenset({0, 1}))


def test_a_declared_category_above_another_has_two_readings_alone():
    parents = {"a": ("x",), "b": ("x",), "c": ("top",), "x": ("top",), "top": ()}
    column = Column(role="confidential", type="nominal", taxonomy=parents, categories=("a", "b", "x"))
    assert read("x", column) is None
    assert read("a | x", column) == Categories(frozenset({0, 2}))


@given(st.integers(1, 7), st.data())
def test_every_set_of_categories_is_read_back(count, data):
    members = data.draw(st.sets(st.integers(0, count - 1), min_size=1))
    column = nominal(count)
    label = " | ".join(column.categories[code] for code in sorted(members))
    assert read(label, column) == Categories(frozenset(members))


def test_every_range_is_read_back():
    for first, last in combinations(range(len(BANDS.categories)), 2):
        label = f"{BANDS.categories[first]} to {BANDS.categories[last]}"
        assert read(label, BANDS) == Categories(frozenset(range(first, last + 1)))


def test_widths_are_shares_of_what_was_declared():
    assert read("0.5 to 1", number(0.1, 8)).width(number(0.1, 8)) == Fraction(5, 79)
    assert read("3", number()).width(number()) == 0
    assert read("b to d", ordinal(5)).width(ordinal(5)) == Fraction(1, 2)
    assert read("a | e", nominal(5)).width(nominal(5)) == Fraction(1, 4)
    assert read("a", nominal(1)).width(nominal(1)) == 0


def test_labels_have_places_that_rise():
    assert read("1 to 3", number()).place < read("1 to 4", number()).place < read("2", number()).place
    assert read("a to b", ordinal(5)).place < read("a to c", ordinal(5)).place < read("b", ordinal(5)).place
