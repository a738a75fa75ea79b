"""Limits, verdicts and the one decision."""

from __future__ import annotations

import json
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from penstock.measures import Check, Gate, GateRefused, Measurement, Verdict, decide
from penstock.mechanisms.refusal import Fault

PASSED = Check("group_sizes", True, "every group has at least k = 3 records", "every group is large enough")
FAILED = Check("unchanged_columns", False, "no other column changes", "a column changed: age")
LINKAGE = Gate(measure="record_linkage", max=0.04)


def measured(value, interval=None, name="record_linkage"):
    return {
        name: Measurement(
            name=name,
            value=value,
            interval=interval,
            direction="lower_is_safer",
            n=1000,
            columns=("age",),
            missing="none",
        )
    }


def verdict(measurements, checks=(PASSED,), gates=(LINKAGE,)):
    return decide(gates, measurements, checks).verdict


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ({"max": 0.04}, "record_linkage at most 0.04"),
        ({"min": 1}, "record_linkage at least 1"),
        ({"min": 0.5, "max": 2}, "record_linkage at least 0.5 and at most 2"),
        ({"min": 9.9999996, "max": 1234567}, "record_linkage at least 9.9999996 and at most 1234567"),
        ({"max": 1e-9}, "record_linkage at most 1e-09"),
    ],
)
def test_the_rule_is_the_limit_in_words(settings, rule):
    assert Gate(measure="record_linkage", **settings).rule == rule


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        ({"measure": "sse"}, ["max"]),
        ({"measure": "charm", "max": 1}, ["measure"]),
        ({"measure": "charm"}, ["measure", "max"]),
        ({"measure": "sse", "max": math.nan}, ["max"]),
        ({"measure": "sse", "min": -math.inf, "max": math.inf}, ["min", "max"]),
        ({"measure": "sse", "min": 2, "max": 1}, ["min"]),
    ],
)
def test_a_gate_that_limits_nothing_is_refused_with_all_faults(settings, fields):
    with pytest.raises(ValidationError) as refused:
        Gate(**settings)
    (error,) = refused.value.errors()
    faults = error["ctx"]["faults"]
    assert error["type"] == "faults"
    assert all(isinstance(fault, Fault) for fault in faults)
    assert [fault.field for fault in faults] == fields


def test_an_unknown_measure_is_answered_with_the_known_ones():
    with pytest.raises(ValidationError) as refused:
        Gate(measure="charm", max=1)
    assert "record_linkage" in refused.value.errors()[0]["ctx"]["faults"][0].rule


@pytest.mark.parametrize("wrong", [{"max": "0.04"}, {"max": True}, {"max": 1, "minimum": 0}])
def test_a_gate_takes_numbers_and_nothing_unknown(wrong):
    with pytest.raises(ValidationError):
        Gate(measure="sse", **wrong)


def test_a_gate_cannot_be_changed():
    with pytest.raises(ValidationError):
        LINKAGE.max = 1.0


def test_severity_rises():
    assert Verdict.PASS < Verdict.REVIEW < Verdict.REFUSE


@pytest.mark.parametrize(
    ("value", "interval", "expected"),
    [
        (0.03, None, Verdict.PASS),
        (0.04, None, Verdict.PASS),
        (0.03, (0.02, 0.04), Verdict.PASS),
        (0.03, (0.02, 0.05), Verdict.REVIEW),
        (0.03, (0.02, math.inf), Verdict.REFUSE),
        (0.03, (math.nan, math.nan), Verdict.REFUSE),
        (0.05, None, Verdict.REFUSE),
        (0.05, (0.03, 0.06), Verdict.REFUSE),
        (math.nan, None, Verdict.REFUSE),
        (-math.inf, None, Verdict.REFUSE),
    ],
)
def test_a_value_is_judged_with_its_interval(value, interval, expected):
    assert verdict(measured(value, interval)) is expected


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_gate_with_two_limits_is_the_worse_of_two_gates(value, low, high):
    low, high = sorted((low, high))
    two = [Gate(measure="sse", min=low), Gate(measure="sse", max=high)]
    found = measured(value, name="sse")
    assert verdict(found, gates=[Gate(measure="sse", min=low, max=high)]) is verdict(found, gates=two)


def test_a_missing_measurement_refuses():
    assert verdict({}) is Verdict.REFUSE
    assert verdict({"record_linkage": measured(0.01, name="sse")["sse"]}) is Verdict.REFUSE


def test_a_failed_check_refuses():
    assert verdict(measured(0.01), checks=(PASSED, FAILED)) is Verdict.REFUSE


def test_no_checks_refuse():
    decision = decide([LINKAGE], measured(0.01), [])
    assert decision.verdict is Verdict.REFUSE
    assert "gates.recheck" in str(GateRefused.by(decision))


def test_checks_alone_can_pass():
    assert verdict({}, gates=()) is Verdict.PASS


def test_every_gate_runs_and_the_worst_wins():
    gates = [LINKAGE, Gate(measure="sse", max=1), Gate(measure="il1s", max=1)]
    found = {**measured(0.9), **measured(0.5, (0.1, 2.0), name="sse"), **measured(0.5, name="il1s")}
    decision = decide(gates, found, [PASSED, FAILED])
    assert [(result.gate, result.verdict.word) for result in decision.results] == [
        ("group_sizes", "pass"),
        ("unchanged_columns", "refuse"),
        ("record_linkage", "refuse"),
        ("sse", "review"),
        ("il1s", "pass"),
    ]
    assert decision.verdict is Verdict.REFUSE


def test_the_public_decision_holds_no_value_interval_or_reason():
    decision = decide([LINKAGE], measured(0.031337, (0.0271828, 0.04)), [PASSED, FAILED])
    public = json.dumps(decision.public())
    assert "0.031337" not in public
    assert "0.0271828" not in public
    assert FAILED.found not in public
    assert decision.public()["results"][-1] == {
        "gate": "record_linkage",
        "rule": "record_linkage at most 0.04",
        "verdict": "pass",
    }
    assert json.loads(json.dumps(decision.as_dict()))["results"][-1]["value"] == 0.031337


def test_a_value_that_is_no_number_turns_into_json():
    decision = decide([LINKAGE], measured(math.nan, (math.nan, 1.0)), [PASSED])
    found = json.loads(json.dumps(decision.as_dict(), allow_nan=False))["results"][-1]
    assert (found["value"], found["interval"]) == (None, [None, 1.0])


def test_the_refusal_names_gates_and_rules_and_never_a_value():
    decision = decide([LINKAGE, Gate(measure="sse", max=1)], measured(0.271828), [PASSED, FAILED])
    refused = GateRefused.by(decision)
    assert [fault.field for fault in refused.faults] == [
        "gates.unchanged_columns",
        "gates.record_linkage",
        "gates.sse",
    ]
    assert "record_linkage at most 0.04" in str(refused)
    assert "0.271828" not in str(refused)
    assert (refused.code, refused.kind) == ("gate-refused", "gate")
    assert pickle.loads(pickle.dumps(refused)).faults == refused.faults
