from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mechanisms.buckets.labels import category_label, interval_label, label_of, roundest
from mechanisms.columns import Column

INCOME = Column(role="confidential", type="continuous", domain=(0, 100_000))
HOURS = Column(role="confidential", type="integer", domain=(1, 99))
DEGREE = Column(role="confidential", type="ordinal", categories=("none", "school", "college", "master", "doctor"))
KINDS = {
    "burn": ["heat"],
    "scald": ["heat"],
    "cut": ["edge"],
    "stab": ["edge"],
    "heat": ["any"],
    "edge": ["any"],
    "any": [],
}
CAUSE = Column(role="confidential", type="nominal", taxonomy=KINDS)


def ends(label: str) -> tuple[Fraction, Fraction]:
    low, _, high = label.partition(" to ")
    return Fraction(Decimal(low)), Fraction(Decimal(high or low))


def label(column: Column, values: np.ndarray, low: float, high: float, k: int) -> str:
    return interval_label(column, np.sort(values), low, high, k).text


def test_outermost_buckets_end_at_the_declared_domain() -> None:
    values = np.arange(1000.0)
    assert label(INCOME, values, 0.0, 999.0, 5) == "0 to 100000"


def test_a_value_that_k_records_have_may_be_named() -> None:
    values = np.repeat([35, 39, 40, 60], [20, 20, 20, 20])
    assert label(HOURS, values, 35, 39, 10) == "1 to 39"
    assert label(HOURS, values, 40, 60, 10) == "40 to 99"


def test_a_rare_value_is_hidden_behind_the_roundest_number_among_its_k_neighbours() -> None:
    values = np.array([*np.linspace(20_000, 23_999, 50), *np.linspace(24_011, 29_000, 50)])
    assert label(INCOME, values, 20_000, 23_999, 10) == "0 to 24000"
    assert label(INCOME, values, 24_011, 29_000, 10) == "24000 to 100000"


def test_equal_ends_are_named_once() -> None:
    values = np.repeat([40, 50, 60], 20)
    assert label(HOURS, values, 50, 50, 10) == "50"


@given(
    st.lists(st.integers(-400, 400), min_size=4, max_size=60),
    st.integers(2, 6),
    st.sampled_from([1.0, 0.1, 12.34, 1e-7, 1e9]),
    st.data(),
)
def test_an_interval_holds_its_bucket_and_never_hides_behind_fewer_than_k(
    drawn: list[int], k: int, unit: float, data: st.DataObject
) -> None:
    values = np.sort(np.array(drawn) * unit)
    column = Column(role="confidential", type="continuous", domain=(-400 * unit, 400 * unit))
    start = data.draw(st.integers(0, len(values) - 1))
    stop = data.draw(st.integers(start, len(values) - 1))
    low, high = ends(interval_label(column, values, values[start], values[stop], k).text)
    exact = [Fraction(repr(float(value))) for value in values]
    assert low <= exact[start] <= exact[stop] <= high
    lowest, highest = (Fraction(repr(float(bound))) for bound in column.bounds)
    assert low == lowest or sum(x < exact[start] for x in exact) >= k
    assert high == highest or sum(x > exact[stop] for x in exact) >= k
    # At most k - 1 records outside the bucket, on each side, are strictly inside the interval.
    assert low == lowest or sum(low < x < exact[start] for x in exact) < k
    assert high == highest or sum(exact[stop] < x < high for x in exact) < k


@given(st.fractions(-(10**6), 10**6, max_denominator=1000), st.fractions(0, 10**5, max_denominator=1000))
def test_the_roundest_number_lies_between_and_no_rounder_one_does(low: Fraction, width: Fraction) -> None:
    high = low + width + Fraction(1, 1000)
    for largest in (False, True):
        found = roundest(low, high, whole=False, largest=largest)
        assert low <= found <= high
        if found:
            power = 0
            while (found / Fraction(10) ** power).denominator != 1:
                power -= 1
            while (found / Fraction(10) ** (power + 1)).denominator == 1:
                power += 1
            rounder = Fraction(10) ** (power + 1)
            assert high // rounder * rounder < low


def test_a_whole_number_must_exist_for_whole_columns() -> None:
    assert roundest(Fraction(7), Fraction(7), whole=True, largest=True) == 7
    with pytest.raises(ValueError, match="no whole number"):
        roundest(Fraction(1, 3), Fraction(2, 3), whole=True, largest=False)


def test_ordinal_buckets_are_named_by_their_first_and_last_category() -> None:
    ranked = np.array([1, 1, 2, 2, 3, 3])
    assert label_of(DEGREE, ranked, np.array([1, 1, 2]), 2).text == "none to college"
    assert label_of(DEGREE, ranked, np.array([2, 2]), 2).text == "college"
    assert label_of(DEGREE, ranked, np.array([2, 3]), 2).text == "college to doctor"


def test_nominal_buckets_are_named_by_a_concept_or_by_their_categories() -> None:
    categories = CAUSE.categories or ()
    code = {str(category): place for place, category in enumerate(categories)}
    every = list(range(4))
    assert category_label(CAUSE, [code["burn"], code["scald"]], every) == "heat"
    assert category_label(CAUSE, every, every) == "any"
    assert set(category_label(CAUSE, [code["burn"], code["cut"]], every).split(" | ")) == {"burn", "cut"}
    assert category_label(CAUSE, [code["cut"]], every) == "cut"
    # Where no stab occurs, a cut is all of the edge; a single category keeps its name all the same.
    assert category_label(CAUSE, [code["cut"], code["burn"]], [code["cut"], code["burn"]]) == "any"
    flat = Column(role="confidential", type="nominal", categories=("x", "y", "z"))
    assert category_label(flat, [2, 0], [0, 1, 2]) == "x | z"
