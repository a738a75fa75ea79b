from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.laws.every_mechanism import GROUPING, SAMPLES
from tests.support.order import examples

law = settings(deadline=None, max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])


def codes_of(sample, columns, name):
    """Values that compare: codes for categories, one number outside every domain for missing numbers."""
    declared = sample.declared[name]
    if declared.categories is not None:
        return declared.codes(columns[name], name)
    return np.where(np.isnan(columns[name]), -1e9, columns[name])


@pytest.mark.parametrize("method", GROUPING)
@given(data=st.data())
@law
def test_groups_have_k_records_and_one_of_them_fewer_than_2k(method, data):
    """The larger one is the last under MDAV, and the one in the middle of a sorted column."""
    sample = data.draw(SAMPLES[method])
    for name, labels in sample.protect().groups.items():
        k = sample.params.k_by_column.get(name, sample.params.k)
        present = np.ones(len(labels), dtype=bool)
        if sample.declared[name].missing == "own_group":
            present = ~missing(sample, sample.columns, name)
            assert (labels[~present] == present.sum() // k).all()
        sizes = np.bincount(labels[present])
        assert len(sizes) == present.sum() // k
        larger = len(sizes) // 2 if method == "ir_swap" else len(sizes) - 1
        assert (np.delete(sizes, larger) == k).all()
        assert k <= sizes[larger] < 2 * k


def missing(sample, columns, name):
    column = sample.declared[name]
    return np.isnan(columns[name]) if column.categories is None else column.codes(columns[name], name) < 0


@pytest.mark.parametrize("method", ["mdav_swap", "ir_swap"])
@given(data=st.data())
@law
def test_a_swapped_column_holds_the_same_values_in_every_group(method, data):
    sample = data.draw(SAMPLES[method])
    protected = sample.protect()
    confidential = [name for name, column in sample.declared.items() if column.role == "confidential"]
    assert list(protected.masked) == confidential
    for name, labels in protected.groups.items():
        before, after = codes_of(sample, sample.columns, name), codes_of(sample, protected.columns, name)
        assert (before[np.lexsort((before, labels))] == after[np.lexsort((after, labels))]).all()


@given(data=st.data())
@law
def test_blocks_of_ir_swap_do_not_overlap_along_the_values(data):
    sample = data.draw(SAMPLES["ir_swap"])
    for name, labels in sample.protect().groups.items():
        present = ~missing(sample, sample.columns, name)
        values = codes_of(sample, sample.columns, name)[present]
        blocks = labels[present]
        for block in range(blocks.max()):
            assert values[blocks == block].max() <= values[blocks == block + 1].min()


@given(data=st.data())
@law
def test_missing_values_stay_where_they_are_under_ir_swap(data):
    sample = data.draw(SAMPLES["ir_swap"])
    protected = sample.protect()
    for name in protected.masked:
        assert (missing(sample, protected.columns, name) == missing(sample, sample.columns, name)).all()


@given(data=st.data())
@law
def test_mdav_swap_moves_whole_confidential_tuples(data):
    sample = data.draw(SAMPLES["mdav_swap"])
    protected = sample.protect()
    labels = protected.groups["income"]
    assert all(groups is labels for groups in protected.groups.values())

    def tuples(columns):
        values = [codes_of(sample, columns, name) for name in protected.masked]
        return Counter(zip(labels.tolist(), *(column.tolist() for column in values), strict=True))

    assert tuples(sample.columns) == tuples(protected.columns)


@given(data=st.data())
@law
def test_keys_and_weights_of_mdav_id_are_k_anonymous(data):
    sample = data.draw(SAMPLES["mdav_id"])
    protected = sample.protect()
    assert set(protected.masked) == {"age", "sex", "schooling", "height", "weight"}
    keys = Counter(zip(*(protected.columns[name].tolist() for name in protected.masked), strict=True))
    assert min(keys.values()) >= sample.params.k


@given(data=st.data())
@law
def test_mdav_id_keeps_the_total_weight_and_every_mean(data):
    sample = data.draw(SAMPLES["mdav_id"])
    protected = sample.protect()
    for name in ("weight", "height"):
        assert protected.columns[name].sum() == pytest.approx(sample.columns[name].sum(), rel=1e-12)
