from __future__ import annotations

import numpy as np
import pytest
from bucketed_by_definition import bucketed_by_definition
from hypothesis import given, settings
from hypothesis import strategies as st

from mechanisms.microaggregation import bucketed_groups
from mechanisms.refusal import ColumnTypeWrong, ValueMissing


def case(rng, largest, kind):
    """Points full of ties, buckets, and counts of any shape that add up."""
    d, b, groups = int(rng.integers(1, 5)), int(rng.integers(1, 6)), int(rng.integers(1, largest + 1))
    counts = rng.integers(1, int(rng.integers(2, 7)), (groups, b))
    bucket = rng.permutation(np.repeat(np.arange(b), counts.sum(axis=0)))
    n = len(bucket)
    if kind == "grid":
        cloud = rng.integers(0, int(rng.integers(1, 5)), (n, d)).astype(float)
    elif kind == "tenths":
        cloud = rng.integers(0, 8, (n, d)) / 10
    elif kind == "constant":
        cloud = np.full((n, d), 0.1)
    elif kind == "duplicates":
        cloud = rng.normal(size=(n // 5 + 1, d))[rng.integers(0, n // 5 + 1, n)]
    else:
        cloud = rng.normal(size=(n, d))
    return cloud, bucket, counts


KINDS = ["grid", "tenths", "constant", "duplicates", "normal"]


@given(st.integers(0, 2**32), st.sampled_from(KINDS))
@settings(deadline=None, max_examples=400)
def test_groups_are_those_of_the_definition(seed, kind):
    cloud, bucket, counts = case(np.random.default_rng(seed), 8, kind)
    assert bucketed_groups(cloud, bucket, counts).tolist() == bucketed_by_definition(cloud, bucket, counts).tolist()
