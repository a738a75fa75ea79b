"""Measures by name, and what none of them accepts."""

from __future__ import annotations

import json

import numpy as np
import pytest

from penstock import measures
from penstock.measures import (
    Measurement,
    MeasureUndefined,
    MeasureUnknown,
    measure,
    measure_names,
    public_measures,
)
from penstock.measures.public_facts import worst_error
from penstock.measures.records.comparison import compare
from penstock.measures.registry import judge
from penstock.mechanisms.columns import Column
from penstock.mechanisms.refusal import ColumnTypeWrong, ValueMissing
from tests.measures.judged_columns import nominal, number

DECLARED = {
    "id": Column(role="identifier"),
    "x": number(),
    "kind": nominal(3, role="quasi_identifier"),
    "weight": Column(role="weight"),
}
ORIGINAL = {"x": np.array([1.0, 2.0, 3.0, 8.0]), "kind": np.array([0, 1, 2, 0])}
OF_CLASSES = ("emd_closeness", "entropy_l_diversity", "l_diversity")
SETTLED = {
    "records": 4,
    "epsilon": "3/10",
    "parts": [
        {"k": 2, "columns": {"x": {"expected_error": 0.25}, "z": {"expected_error": 0.5}}},
        {"k": 4, "columns": {"kind": {"expected_error": 0.125}}},
    ],
}


def public_facts(name):
    """Facts that a mechanism stated, for the measures that look at nothing else; others take the data for true."""
    return SETTLED if name in public_measures() else None


def test_an_unknown_measure_is_refused_with_the_known_ones():
    with pytest.raises(MeasureUnknown, match="record_linkage") as refused:
        measure("record_linkeage")
    assert all(name in str(refused.value) for name in measure_names())
    assert (refused.value.code, refused.value.kind) == ("measure-unknown", "spec")
    with pytest.raises(MeasureUnknown, match="record_linkeage"):
        judge("record_linkeage", compare(ORIGINAL, ORIGINAL, DECLARED, {}))


def test_every_public_name_exists():
    assert all(hasattr(measures, name) for name in measures.__all__)
    assert list(measure_names()) == sorted(measure_names())
    assert list(measure_names("records")) == sorted(measure_names("records"))
    assert {*measure_names("records"), *measure_names("cells"), *measure_names("groups")} == set(measure_names())


@pytest.mark.parametrize("name", sorted(set(measure_names("cells")) - set(measure_names("records"))))
def test_a_measure_of_tables_has_a_docstring_and_no_value_for_records(name):
    assert "Limits" in (measure(name).__doc__ or "")
    with pytest.raises(MeasureUndefined, match="needs tables; the output is records"):
        measure(name)(ORIGINAL, ORIGINAL, DECLARED, chosen=SETTLED)


@pytest.mark.parametrize(
    ("direction", "concerns"),
    [("lower_is_safer", "risk"), ("higher_is_safer", "risk"), ("lower_is_better", "utility")],
)
def test_what_is_safer_is_about_risk_and_what_is_better_about_utility(direction, concerns):
    found = Measurement(name="sse", value=1.0, direction=direction, n=1, columns=("x",), missing="none")
    assert found.concerns == concerns


@pytest.mark.parametrize("name", measure_names("records"))
def test_every_measure_documents_itself_and_turns_into_json(name):
    declared = {**DECLARED, "z": number()}
    original = {**ORIGINAL, "z": np.array([1.0, 0.0, 2.0, 2.0])}
    released = {**original, "x": original["x"][::-1].copy()}
    groups = {"x": np.zeros(4, np.int64)}
    found = measure(name)(original, released, declared, groups=groups, chosen=public_facts(name), permuted=True)
    assert found.name == name
    assert measure(name).__doc__
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["concerns"] == found.concerns
    assert (found.concerns == "risk") == bool(found.attacker)
    assert found.weights == "not used"
    assert found.missing


@pytest.mark.parametrize("name", measure_names("records"))
def test_every_measure_takes_read_only_columns(name):
    """Columns may be mapped from a file that nobody can change."""
    declared = {"x": number(), "z": number(), "kind": nominal(3)}
    columns = {"x": ORIGINAL["x"].copy(), "z": np.array([1.0, 0.0, 2.0, 2.0]), "kind": ORIGINAL["kind"].copy()}
    groups = {"x": np.zeros(4, np.int64), "kind": np.zeros(4, np.int32)}
    for values in (*columns.values(), *groups.values()):
        values.flags.writeable = False
    assert measure(name)(columns, columns, declared, groups=groups, chosen=public_facts(name), permuted=True).n == 4


def test_only_released_quasi_identifiers_and_confidential_columns_are_judged():
    original = {**ORIGINAL, "weight": np.ones(4), "id": np.arange(4)}
    released = {"weight": np.zeros(4), "id": np.arange(4), "x": ORIGINAL["x"]}
    assert measure("sse")(original, released, DECLARED).columns == ("x",)


@pytest.mark.parametrize(
    ("original", "released", "rule"),
    [
        (ORIGINAL, {**ORIGINAL, "y": np.ones(4)}, "y refused: must be declared, because it is released"),
        ({}, {"x": ORIGINAL["x"]}, "x refused: must have its original values, because it is judged"),
        (ORIGINAL, {}, "must include a quasi-identifier or confidential column"),
        (ORIGINAL, {"x": np.ones(3)}, "aligned row by row"),
        ({"x": np.ones(0)}, {"x": np.ones(0)}, "at least one record"),
    ],
)
def test_what_cannot_be_compared_is_refused(original, released, rule):
    with pytest.raises(MeasureUndefined, match=rule) as refused:
        measure("sse")(original, released, DECLARED)
    assert (refused.value.code, refused.value.kind) == ("measure-undefined", "data")


@pytest.mark.parametrize("name", ["sse", "il1s", "mean_change", "variance_change"])
@pytest.mark.parametrize("value", [np.inf, 1e308])
def test_a_value_beyond_floats_is_refused(name, value):
    released = {"x": np.array([1.0, 2.0, value, value])}
    with pytest.raises(MeasureUndefined, match="must have a finite value"):
        measure(name)(ORIGINAL, released, DECLARED)


def test_linkage_refuses_infinite_values():
    with pytest.raises(ValueMissing, match="finite"):
        measure("record_linkage")(ORIGINAL, {"x": np.array([1.0, 2.0, np.inf, 3.0])}, DECLARED)


def test_numbers_stored_as_text_are_refused():
    with pytest.raises(ColumnTypeWrong, match="array of numbers"):
        measure("sse")(ORIGINAL, {"x": np.array(["1", "2", "3", "4"])}, DECLARED)


def test_a_measurement_cannot_be_changed():
    found = measure("sse")(ORIGINAL, ORIGINAL, DECLARED)
    assert isinstance(found, Measurement)
    with pytest.raises(AttributeError):
        found.value = 0.0


def test_the_expected_error_is_the_largest_that_is_stated():
    found = measure("expected_error")(ORIGINAL, ORIGINAL, DECLARED, chosen=SETTLED)
    assert (found.value, found.concerns, found.interval) == (0.25, "utility", None)
    assert found.by_column == {"x": 0.25, "kind": 0.125}


def test_a_public_measure_looks_at_no_value():
    """The same value whatever the data are, even if there are none that could be compared."""
    assert public_measures() == {"expected_error", "privacy_loss"}
    without = {name: np.full(4, np.nan) for name in ORIGINAL}
    for name in public_measures():
        values = {
            measure(name)(original, released, DECLARED, chosen=SETTLED).value
            for original in (ORIGINAL, without)
            for released in (ORIGINAL, without)
        }
        assert len(values) == 1


def test_the_privacy_loss_is_the_epsilon_that_is_stated():
    found = measure("privacy_loss")(ORIGINAL, ORIGINAL, DECLARED, chosen=SETTLED)
    assert (found.value, found.concerns, found.direction) == (0.3, "risk", "lower_is_safer")
    for epsilon in (None, 0.5):
        with pytest.raises(MeasureUndefined, match="needs a mechanism that states its epsilon"):
            measure("privacy_loss")(ORIGINAL, ORIGINAL, DECLARED, chosen={"epsilon": epsilon})


def test_the_worst_error_is_found_in_columns_and_in_figures():
    assert worst_error(SETTLED) == ("z", 0.5)
    assert worst_error({"figures": {"count": {"expected_error": 2.0}, "sum": {"expected_error": 1.0}}}) == (
        "count",
        2.0,
    )
    for chosen in ({}, {"figures": {}}, {"parts": []}):
        with pytest.raises(MeasureUndefined, match="states the error to expect of every column"):
            worst_error(chosen)


@pytest.mark.parametrize("chosen", [None, {}, {"parts": []}, {"parts": [SETTLED["parts"][0]]}])
def test_an_expected_error_that_is_not_stated_for_every_column_is_undefined(chosen):
    with pytest.raises(MeasureUndefined, match="states the error to expect of every column"):
        measure("expected_error")(ORIGINAL, ORIGINAL, DECLARED, chosen=chosen)


@pytest.mark.parametrize("name", measure_names("records"))
def test_where_rows_mean_nothing_only_measures_of_records_are_undefined(name):
    declared = {"x": number(), "z": number(), "kind": nominal(3)}
    columns = {**ORIGINAL, "z": np.array([1.0, 0.0, 2.0, 2.0])}
    groups = {"x": np.zeros(4, np.int64)}
    pair = compare(columns, columns, declared, groups, chosen=public_facts(name), aligned=False, permuted=True)
    if name in ("average_risk", "il1s", "informed_linkage", "record_linkage", "sse", *OF_CLASSES):
        with pytest.raises(
            MeasureUndefined,
            match="needs released records to compare with their originals; the rows of this release are not records",
        ):
            judge(name, pair)
    else:
        assert judge(name, pair).n == 4
