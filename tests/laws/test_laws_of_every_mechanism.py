from __future__ import annotations

import copy

import numpy as np
import pytest
from every_mechanism import SAMPLES
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

every_mechanism = pytest.mark.parametrize("name", SAMPLES)
law = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def same(left, right):
    if left.dtype != right.dtype:
        return False
    return np.array_equal(left, right, equal_nan=left.dtype.kind == "f")


@every_mechanism
@given(data=st.data())
@law
def test_inputs_stay_as_they_are(name, data):
    sample = data.draw(SAMPLES[name])
    before = copy.deepcopy(sample.columns)
    sample.protect()
    assert sample.columns.keys() == before.keys()
    assert all(same(sample.columns[column], before[column]) for column in before)


@every_mechanism
@given(data=st.data())
@law
def test_read_only_inputs_are_enough(name, data):
    sample = data.draw(SAMPLES[name])
    for values in sample.columns.values():
        values.flags.writeable = False
    sample.protect()


@every_mechanism
@given(data=st.data())
@law
def test_the_same_seed_gives_the_same_answer(name, data):
    sample = data.draw(SAMPLES[name])
    first, second = sample.protect(), sample.protect()
    assert first.masked == second.masked
    assert all(same(first.columns[column], second.columns[column]) for column in first.columns)


@every_mechanism
@given(data=st.data())
@law
def test_the_promise_is_the_one_made_before_the_data_was_seen(name, data):
    sample = data.draw(SAMPLES[name])
    assert sample.mechanism.faults(sample.params, sample.declared) == []
    assert sample.protect().guarantee == sample.mechanism.promise(sample.params, sample.declared)


@every_mechanism
@given(data=st.data())
@law
def test_what_is_not_masked_is_untouched_and_identifiers_are_gone(name, data):
    sample = data.draw(SAMPLES[name])
    protected = sample.protect()
    released = [column for column, declared in sample.declared.items() if declared.role != "identifier"]
    assert list(protected.columns) == released
    assert list(protected.masked) == [column for column in released if column in protected.groups]
    for column in set(released) - set(protected.masked):
        assert same(protected.columns[column], sample.columns[column])


@every_mechanism
@given(data=st.data())
@law
def test_masked_values_stay_in_the_declared_domain(name, data):
    sample = data.draw(SAMPLES[name])
    protected = sample.protect()
    for column in protected.masked:
        declared = sample.mechanism.released_columns(sample.params, sample.declared)[column]
        if declared.domain is not None:
            present = protected.columns[column][~np.isnan(protected.columns[column])]
            assert ((present >= declared.domain[0]) & (present <= declared.domain[1])).all()
        elif declared.categories is not None:
            declared.codes(protected.columns[column], column)


@every_mechanism
@given(data=st.data(), narrow=st.booleans())
@law
def test_text_and_codes_are_two_spellings_of_the_same_data(name, data, narrow):
    sample = data.draw(SAMPLES[name])
    coded = dict(sample.columns)
    for column, declared in sample.declared.items():
        if declared.categories is not None:
            coded[column] = declared.codes(coded[column], column).astype(np.int8 if narrow else np.int64)
    from_text, from_codes = sample.protect(), sample.protect(columns=coded)
    for column, released in from_codes.columns.items():
        declared = sample.mechanism.released_columns(sample.params, sample.declared)[column]
        if declared.categories is None:
            assert same(released, from_text.columns[column])
        else:
            assert released.dtype == coded[column].dtype
            assert from_text.columns[column].dtype == object
            assert (released == declared.codes(from_text.columns[column], column)).all()
