from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.measures.cells.output import TableOutput
from penstock.measures.groups.output import BucketOutput
from penstock.measures.recheck import recheck
from penstock.mechanisms.registry import MECHANISMS
from penstock.mechanisms.stated import is_stated
from tests.laws.every_mechanism import EVERY, GROUPED, SAMPLES, TABLES
from tests.measures.judged_columns import rechecked
from tests.support.order import examples

every_mechanism = pytest.mark.parametrize("name", EVERY)
releasing_records = pytest.mark.parametrize("name", SAMPLES)
releasing_groups = pytest.mark.parametrize("name", GROUPED)
releasing_a_table = pytest.mark.parametrize("name", TABLES)
law = settings(deadline=None, max_examples=examples(60, at_first=4), suppress_health_check=[HealthCheck.too_slow])
costly_law = settings(law, max_examples=examples(25, at_first=3))


def same(left, right):
    if left.dtype != right.dtype:
        return False
    return np.array_equal(left, right, equal_nan=left.dtype.kind == "f")


def counted_again(sample, columns, protected):
    """The checks of a release, on the original records and the released output."""
    original = {name: values for name, values in columns.items() if name != "person"}
    if protected.made:
        before = sample.mechanism.MECHANISM.released_columns(sample.params, sample.declared)
        return recheck(
            BucketOutput(
                original=original,
                source={name: column for name, column in sample.declared.items() if column.role != "identifier"},
                released=protected.columns,
                declared={name: protected.made.get(name) or before[name] for name in protected.columns},
                linked=protected.linked,
                guarantee=protected.guarantee,
                groups=protected.groups,
                buckets={name.removeprefix("bucket "): codes for name, codes in protected.hidden.items()},
                chosen=protected.chosen,
                records=len(original["age"]),
            )
        )
    if not sample.mechanism.MECHANISM.released_columns(sample.params, sample.declared):
        return recheck(
            TableOutput(
                original=original,
                declared=sample.declared,
                layout=sample.mechanism.layout(sample.params, sample.declared),
                released=protected.columns,
                guarantee=protected.guarantee,
                chosen=protected.chosen,
                hidden=protected.hidden,
            )
        )
    in_source_order = slice(None) if protected.origin is None else np.argsort(protected.origin)
    return rechecked(
        original,
        {name: values[in_source_order] for name, values in protected.columns.items()},
        sample.mechanism.MECHANISM.released_columns(sample.params, sample.declared),
        protected.guarantee,
        protected.masked,
        protected.groups,
        protected.chosen,
    )


@every_mechanism
@given(data=st.data())
@law
def test_inputs_stay_as_they_are(name, data):
    sample = data.draw(EVERY[name])
    before = copy.deepcopy(sample.columns)
    sample.protect()
    assert sample.columns.keys() == before.keys()
    assert all(same(sample.columns[column], before[column]) for column in before)


@every_mechanism
@given(data=st.data())
@law
def test_read_only_inputs_are_enough(name, data):
    sample = data.draw(EVERY[name])
    for values in sample.columns.values():
        values.flags.writeable = False
    sample.protect()


@every_mechanism
@given(data=st.data())
@law
def test_the_same_seed_gives_the_same_answer(name, data):
    sample = data.draw(EVERY[name])
    first, second = sample.protect(), sample.protect()
    assert first.masked == second.masked
    assert all(same(first.columns[column], second.columns[column]) for column in first.columns)
    assert first.chosen == second.chosen
    assert all(same(first.hidden[secret], second.hidden[secret]) for secret in first.hidden)


@every_mechanism
@given(data=st.data())
@law
def test_the_promise_is_the_one_made_before_the_data_was_seen(name, data):
    sample = data.draw(EVERY[name])
    assert sample.mechanism.faults(sample.params, sample.declared) == []
    assert sample.protect().guarantee == sample.mechanism.promise(sample.params, sample.declared)


@every_mechanism
@given(data=st.data())
@costly_law
def test_the_promise_names_checks_and_passes_them_all(name, data):
    sample = data.draw(EVERY[name])
    # A release reads its output back, and then categories are codes.
    columns = sample.coded()
    protected = sample.protect(columns)
    checks = counted_again(sample, columns, protected)
    assert set(protected.guarantee.audit) <= {check.name for check in checks}
    assert [check for check in checks if not check.passed] == []


@releasing_records
@given(data=st.data())
@law
def test_what_is_not_masked_is_untouched_and_identifiers_are_gone(name, data):
    sample = data.draw(SAMPLES[name])
    protected = sample.protect()
    released = [column for column, declared in sample.declared.items() if declared.role != "identifier"]
    assert list(protected.columns) == released
    drawn_alone = name.startswith("refinement")  # each value by itself, so that there are no groups to tell of
    assert list(protected.masked) == [column for column in released if drawn_alone or column in protected.groups]
    assert not (drawn_alone and protected.groups)
    for column in set(released) - set(protected.masked):
        assert same(protected.columns[column], sample.columns[column])


@releasing_records
@given(data=st.data())
@law
def test_masked_values_stay_in_the_declared_domain(name, data):
    sample = data.draw(SAMPLES[name])
    protected = sample.protect()
    for column in protected.masked:
        declared = sample.mechanism.MECHANISM.released_columns(sample.params, sample.declared)[column]
        if declared.domain is not None:
            present = protected.columns[column][~np.isnan(protected.columns[column])]
            assert ((present >= declared.domain[0]) & (present <= declared.domain[1])).all()
        elif declared.categories is not None:
            declared.codes(protected.columns[column], column)


@releasing_records
@given(data=st.data(), narrow=st.booleans())
@law
def test_text_and_codes_are_two_spellings_of_the_same_data(name, data, narrow):
    sample = data.draw(SAMPLES[name])
    coded = sample.coded(np.int8 if narrow else np.int64)
    from_text, from_codes = sample.protect(), sample.protect(columns=coded)
    for column, released in from_codes.columns.items():
        declared = sample.mechanism.MECHANISM.released_columns(sample.params, sample.declared)[column]
        if declared.categories is None:
            assert same(released, from_text.columns[column])
        else:
            assert released.dtype == coded[column].dtype
            assert from_text.columns[column].dtype == object
            assert (released == declared.codes(from_text.columns[column], column)).all()


@releasing_a_table
@given(data=st.data())
@costly_law
def test_a_table_is_as_its_layout_says(name, data):
    sample = data.draw(TABLES[name])
    protected, layout = sample.protect(), sample.mechanism.layout(sample.params, sample.declared)
    assert sample.mechanism.MECHANISM.released_columns(sample.params, sample.declared) == {}
    assert protected.chosen == sample.mechanism.MECHANISM.chosen(sample.params, sample.declared, 7)
    assert tuple(protected.columns) == layout.columns
    assert all(len(values) == layout.rows for values in protected.columns.values())
    assert not protected.masked
    assert protected.origin is None


@releasing_a_table
@given(data=st.data(), narrow=st.booleans())
@costly_law
def test_a_table_is_the_same_from_text_and_from_codes(name, data, narrow):
    sample = data.draw(TABLES[name])
    coded = sample.coded(np.int8 if narrow else np.int64)
    from_text, from_codes = sample.protect(), sample.protect(columns=coded)
    assert all(same(from_codes.columns[column], values) for column, values in from_text.columns.items())


@releasing_groups
@given(data=st.data())
@law
def test_records_of_groups_keep_what_is_not_confidential_and_lose_what_is(name, data):
    sample = data.draw(GROUPED[name])
    protected = sample.protect()
    confidential = [column for column, declared in sample.declared.items() if declared.role == "confidential"]
    kept = sample.mechanism.MECHANISM.released_columns(sample.params, sample.declared)
    assert list(protected.masked) == list(protected.groups) == confidential
    assert set(protected.columns) == {*kept, *protected.made}
    for column in kept:
        assert same(protected.columns[column], sample.columns[column])
    counted = {"after_known"}  # from the counts of the groups, which nobody knows before they are made
    known_before = {fact: value for fact, value in protected.chosen.items() if fact not in counted}
    assert known_before == sample.mechanism.MECHANISM.chosen(sample.params, sample.declared, 7)
    assert protected.origin is None
    told = MECHANISMS["closeness"].treatments(sample.params, sample.declared)
    assert set(protected.columns) <= set(told)
    assert {column for table in protected.linked.values() for column in table.columns} <= set(told)


@releasing_groups
@given(data=st.data(), narrow=st.booleans())
@costly_law
def test_groups_are_the_same_from_text_and_from_codes(name, data, narrow):
    sample = data.draw(GROUPED[name])
    coded = sample.coded(np.int8 if narrow else np.int64)
    from_text, from_codes = sample.protect(), sample.protect(columns=coded)
    for column in from_text.made:
        assert same(from_codes.columns[column], from_text.columns[column])
    assert from_codes.made == from_text.made
    for table, linked in from_text.linked.items():
        assert from_codes.linked[table].declared == linked.declared
        assert all(
            np.array_equal(from_codes.linked[table].columns[each], linked.columns[each]) for each in linked.columns
        )


@every_mechanism
@law
@given(data=st.data())
def test_what_is_stated_has_the_form_that_was_declared(name, data):
    sample = data.draw(EVERY[name])
    protected, mechanism = sample.protect(), sample.mechanism.MECHANISM
    assert is_stated(mechanism.stated, protected.guarantee.parameters)
    assert is_stated(mechanism.chosen_form, protected.chosen)
    assert not is_stated(mechanism.stated, {**protected.guarantee.parameters, "another": 1})
