"""A promise of closeness that does not say enough, or more than is checked, refuses."""

from __future__ import annotations

import ast
import importlib
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.measures import RecheckImpossible
from penstock.measures.recheck import recheck
from tests.measures.bucket_maker import ANY, Made, N
from tests.measures.judged_columns import promise

every = pytest.mark.parametrize("chosen", ANY, ids=repr)


def bucket_promise(**changes):
    parameters = {"mechanism": "closeness", "method": "buckets", "output": "anatomy", "k": 4, "t": "2", "epsilon": None}
    return promise("t_close", **{**parameters, "buckets": 3, "several": None, **changes})


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"mechanism": "table"}, "must be closeness for groups to be re-checked, got 'table'"),
        ({"method": "ranked"}, "must be a method of the model of closeness, w"),
        ({"method": ["buckets"]}, "must be a method of the model of closeness, with its output"),
        ({"output": "generalised"}, "must be a method of the model of closeness, with its output"),
        ({"k": 1}, "k refused: must be a whole number of at least 2"),
        ({"k": "4"}, "k refused: must be a whole number of at least 2"),
        ({"k": True}, "k refused: must be a whole number of at least 2"),
        ({"t": 2}, "t refused: must be a fraction as text"),
        ({"t": "1e999999999"}, "t refused: must be a fraction as text"),
        ({"t": "1/0"}, "t refused: must be a fraction as text"),
        ({"epsilon": 0.5}, "epsilon refused: must be a fraction as text, or None where t w"),
        ({"epsilon": "-1"}, "epsilon refused"),
        ({"buckets": None}, "buckets refused: must be a whole number of at least 2"),
        ({"several": "joint"}, "several refused: must be joint or each for several confidentia"),
    ],
)
def test_a_promise_that_does_not_say_enough_refuses(changes, rule):
    made = Made(("income",))
    made.guarantee = bucket_promise(**changes)
    with pytest.raises(RecheckImpossible, match=rule) as refused:
        made.checks()
    assert (refused.value.code, refused.value.kind) == ("recheck-impossible", "gate")


@pytest.mark.parametrize("name", ["mechanism", "method", "output", "k", "t", "epsilon", "buckets", "several"])
def test_a_parameter_that_is_missing_refuses(name):
    made = Made(("income",))
    del made.parameters[name]
    with pytest.raises(RecheckImpossible, match=r"guarantee\.parameters"):
        made.checks()


@pytest.mark.parametrize("several", [None, "some"])
def test_several_columns_need_to_know_how(several):
    made = Made(several="joint")
    made.parameters["several"] = several
    with pytest.raises(RecheckImpossible, match="joint or each for several"):
        made.checks()


def test_a_promise_about_no_column_refuses():
    made = Made(("income",))
    del made.source["income"]
    with pytest.raises(RecheckImpossible, match="must include a confidential column, which the promise is about"):
        made.checks()


def test_every_fault_of_a_promise_is_told():
    made = Made(("income",))
    made.guarantee = bucket_promise(k=0, t=None, buckets="3")
    with pytest.raises(RecheckImpossible) as refused:
        made.checks()
    assert [fault.field.rsplit(".", 1)[-1] for fault in refused.value.faults] == ["k", "t", "buckets"]


@every
def test_a_check_that_is_named_and_does_not_exist_refuses(chosen):
    made = Made(**chosen)
    made.guarantee = made.guarantee.model_copy(update={"audit": (*made.guarantee.audit, "entropy")})
    with pytest.raises(RecheckImpossible, match="must name only checks that are run"):
        made.checks()


def test_a_check_of_another_output_refuses():
    made = Made(("income",))
    made.guarantee = made.guarantee.model_copy(update={"audit": ("permutation_within_groups",)})
    with pytest.raises(RecheckImpossible, match="must name only checks that are run"):
        made.checks()


def test_records_that_are_not_aligned_refuse():
    made = Made(("income",))
    made.released["age"] = made.released["age"][:-1]
    with pytest.raises(RecheckImpossible, match="aligned row by row"):
        made.checks()
    made = Made(("income",))
    with pytest.raises(RecheckImpossible, match="must be as many as the columns have"):
        recheck(replace(made.output(), records=N - 1))


MODULES = ("checks", "_counts", "_labels", "_loss", "measures", "output", "_promise", "_tables")


@pytest.mark.parametrize("module", [f"penstock.measures.groups.{name}" for name in MODULES])
def test_the_recheck_shares_no_code_with_the_mechanism(module):
    tree = ast.parse(Path(importlib.import_module(module).__file__).read_text(encoding="utf-8"))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    vocabulary = {
        "penstock.mechanisms.columns",
        "penstock.mechanisms.guarantee",
        "penstock.mechanisms.mechanism",
        "penstock.mechanisms.numbers.rounding",
        "penstock.mechanisms.protected",
        "penstock.mechanisms.refusal",
    }
    assert {name for name in imported if name.startswith("penstock.mechanisms")} <= vocabulary
