from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.closeness._labels import category_label, concept_names, interval_label, range_label
from penstock.mechanisms.columns import Column

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
    return interval_label(column, np.sort(values), np.array([low, high]), k).text


def test_outermost_buckets_end_at_the_declared_domain() -> None:
    values = np.arange(1000.0)
    assert label(INCOME, values, 0.0, 999.0, 5) == "0 to 100000"


def test_a_value_that_k_records_have_may_be_named() -> None:
    values = np.repeat([35, 39, 40, 60], [20, 20, 20, 20])
    assert label(HOURS, values, 35, 39, 10) == "1 to 39"
    assert label(HOURS, values, 40, 60, 10) == "40 to 99"


def test_a_rare_value_is_hidden_in_a_round_cell_of_k_records() -> None:
    values = np.array([*np.linspace(20_000, 23_999, 50), *np.linspace(24_011, 29_000, 50)])
    assert label(INCOME, values, 20_000, 23_999, 10) == "0 to 24000"
    assert label(INCOME, values, 24_011, 29_000, 10) == "24000 to 100000"


def test_dense_whole_numbers_are_not_named_one_by_one() -> None:
    """Every value is that of one record; of the smallest whole number not below it, it would be certain."""
    values = np.arange(1000)
    column = Column(role="confidential", type="integer", domain=(0, 5000))
    assert label(column, values, 333, 667, 5) == "330 to 670"
    assert label(column, values, 333, 667, 40) == "300 to 700"


def test_equal_ends_are_named_once() -> None:
    values = np.repeat([40, 50, 60], 20)
    assert label(HOURS, values, 50, 50, 10) == "50"


@given(
    st.lists(st.integers(-400, 400), min_size=4, max_size=60),
    st.integers(2, 6),
    st.sampled_from([1.0, 0.1, 12.34, 1e-7, 1e9]),
    st.data(),
)
def test_an_interval_holds_its_bucket_and_its_ends_tell_of_no_fewer_than_k(
    drawn: list[int], k: int, unit: float, data: st.DataObject
) -> None:
    values = np.sort(np.array(drawn) * unit)
    column = Column(role="confidential", type="continuous", domain=(-400 * unit, 400 * unit))
    start = data.draw(st.integers(0, len(values) - 1))
    stop = data.draw(st.integers(start, len(values) - 1))
    low, high = ends(interval_label(column, values, values[start : stop + 1], k).text)
    exact = [Fraction(repr(float(value))) for value in values]
    assert low <= exact[start] <= exact[stop] <= high
    lowest, highest = (Fraction(repr(float(bound))) for bound in column.bounds)
    for end, bound, inner in ((low, lowest, exact[start]), (high, highest, exact[stop])):
        if end == bound or exact.count(inner) >= k:
            continue
        # Some round cell that ends there holds the outermost value and those of k records or more.
        cells = [multiple * Fraction(10) ** power for power in range(-25, 15) for multiple in (1, 2, 5)]
        assert any(
            abs(end - inner) < step and sum(in_cell(x, end, step, upwards=end == high) for x in exact) >= k
            for step in cells
            if (end / step).denominator == 1
        )


def in_cell(x: Fraction, end: Fraction, step: Fraction, *, upwards: bool) -> bool:
    return end - step < x <= end if upwards else end <= x < end + step


@pytest.mark.parametrize("values", [[1e149, 2e149, 3e149], [5e-324, 1e-300, 2e-300], [-1e150, 0.0, 1e150]])
@pytest.mark.parametrize("k", [1, 2])
def test_the_largest_and_smallest_numbers_have_labels(values: list[float], k: int) -> None:
    column = Column(role="confidential", type="continuous", domain=(-1e150, 1e150))
    low, high = ends(label(column, np.array(values), values[1], values[1], k))
    assert low <= Fraction(repr(values[1])) <= high


def test_ordinal_ranges_end_at_categories_that_k_records_have() -> None:
    sizes = np.array([0, 20, 1, 20, 3])

    def named(*codes: int, k: int) -> str:
        return range_label(DEGREE, sizes, np.array(codes), k).text

    assert named(1, k=10) == "school"
    assert named(1, 2, k=10) == "school to master"  # college, of one record, ends nothing
    assert named(2, 3, k=10) == "school to master"
    assert named(3, 4, k=10) == "master to doctor"
    assert named(0, 1, k=10) == "none to school"
    assert named(2, k=1) == "college"


def test_nominal_buckets_are_named_by_a_concept_or_by_their_categories() -> None:
    code = {str(category): place for place, category in enumerate(CAUSE.categories or ())}
    concepts = concept_names(CAUSE)

    def named(*categories: str) -> str:
        return category_label(CAUSE, [code[category] for category in categories], concepts).text

    assert named("burn", "scald") == "heat"
    assert named("burn", "scald", "cut", "stab") == "any"
    assert set(named("burn", "cut").split(" | ")) == {"burn", "cut"}
    assert named("cut") == "cut"
    flat = Column(role="confidential", type="nominal", categories=("x", "y", "z"))
    assert category_label(flat, [2, 0], concept_names(flat)).text == "x | z"


def test_of_concepts_with_the_same_categories_the_lowest_gives_its_name() -> None:
    chain = {"x": ["low"], "y": ["low"], "low": ["high"], "high": ["top"], "z": ["top"], "top": []}
    column = Column(role="confidential", type="nominal", taxonomy=chain)
    codes = [place for place, category in enumerate(column.categories or ()) if category in ("x", "y")]
    assert category_label(column, codes, concept_names(column)).text == "low"
