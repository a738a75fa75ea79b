from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.microaggregation.centroids import centroid, grouped

CATEGORIES = ("a", "b", "c", "d")
ORDINAL = Column(role="quasi_identifier", type="ordinal", categories=CATEGORIES)
NOMINAL = Column(role="quasi_identifier", type="nominal", categories=CATEGORIES, missing="category")
INTEGER = Column(role="quasi_identifier", type="integer", domain=(-10, 10))
CONTINUOUS = Column(role="quasi_identifier", type="continuous", domain=(-10, 10))
WEIGHT = Column(role="weight")


@st.composite
def groups(draw, low):
    count = draw(st.integers(1, 5))
    members = draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(low, 3)), max_size=30))
    members += [(group, draw(st.integers(low, 3))) for group in range(count)]
    labels, values = np.array(members).T
    return labels.copy(), values.copy()


def by_group(labels, values, pick):
    picked = {group: pick(sorted(values[labels == group].tolist())) for group in set(labels.tolist())}
    return [picked[group] for group in labels.tolist()]


@given(groups(low=0))
@settings(deadline=None)
def test_the_ordinal_centroid_is_the_lower_median(case):
    labels, codes = case
    expected = by_group(labels, codes, lambda members: members[(len(members) - 1) // 2])
    assert centroid(codes, ORDINAL, "x", labels).tolist() == expected


@given(groups(low=-1))
@settings(deadline=None)
def test_the_nominal_centroid_is_the_most_frequent_category_with_missing_last(case):
    labels, codes = case

    def most_frequent(members):
        counts = Counter(members)
        return min(counts, key=lambda code: (-counts[code], code % 5))

    assert centroid(codes, NOMINAL, "x", labels).tolist() == by_group(labels, codes, most_frequent)


@given(groups(low=-10))
@settings(deadline=None)
def test_the_integer_centroid_is_the_mean_rounded_half_up(case):
    labels, values = case
    expected = by_group(labels, values, lambda m: (2 * sum(m) + len(m)) // (2 * len(m)))
    for dtype in (np.int8, np.int64, np.float64):
        found = centroid(values.astype(dtype), INTEGER, "x", labels)
        assert found.tolist() == expected
        assert found.dtype == dtype


@given(groups(low=-10))
@settings(deadline=None)
def test_the_continuous_centroid_is_the_mean(case):
    labels, values = case
    expected = by_group(labels, values, lambda m: sum(m) / len(m))
    for column in (CONTINUOUS, WEIGHT):
        found = centroid(values, column, "x", labels)
        assert found.tolist() == pytest.approx(expected)
        assert found.dtype == np.float64
    assert centroid(values.astype(np.float32), CONTINUOUS, "x", labels).dtype == np.float32


def test_the_mean_of_equal_numbers_is_that_number():
    """0.1 + 0.1 + 0.1 divided by 3 is not 0.1 in floats."""
    assert centroid(np.full(3, 0.1), CONTINUOUS, "x", np.zeros(3, dtype=np.int64)).tolist() == [0.1] * 3


@pytest.mark.parametrize("dtype", ["U1", object, np.dtypes.StringDType()])
def test_text_stays_text_of_the_same_kind(dtype):
    values = np.array(["b", "a", "b", "d"], dtype=dtype)
    for column in (ORDINAL, NOMINAL):
        found = centroid(values, column, "x", np.array([0, 0, 0, 1]))
        assert found.dtype == values.dtype
        assert found.tolist() == ["b", "b", "b", "d"]


def test_grouped_lists_the_rows_of_each_group():
    order, starts = grouped(np.array([1, 0, 1, 2]))
    assert order.tolist() == [1, 0, 2, 3]
    assert starts.tolist() == [0, 1, 3, 4]
