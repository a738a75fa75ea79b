"""A promise that cannot be re-checked is refused, and the re-check shares no code with a mechanism."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

from penstock.measures import RecheckImpossible
from tests.measures.judged_columns import promise
from tests.measures.masked_records import DECLARED, Swapped, source


@pytest.mark.parametrize(
    ("guarantee", "rule"),
    [
        (promise("idp", epsilon="1"), "guarantee.model refused: must be one of k_anon, prob_k, .* got 'idp'"),
        (promise("dp", epsilon="1"), "guarantee.parameters.mechanism refused: must be one of .* got None"),
        (promise("prob_k", method="mdav_id", k=3), "one of mdav_swap, ir_swap, got 'mdav_id'"),
        (promise("k_anon", k=3), "one of mdav_id, got None"),
        (promise("prob_k", method="ir_swap", k=3), "whole number of at least 2, got None"),
        (promise("prob_k", method="mdav_swap", k=1), "whole number of at least 2, got 1"),
        (promise("prob_k", method="mdav_swap", k="3"), "whole number of at least 2, got '3'"),
        (promise("prob_k", method="mdav_swap", k=3, diversity=1), "diversity refused: must be a whole number .* got 1"),
        (promise("prob_k", ("group_sizes", "entropy"), method="mdav_swap", k=3), "must name only checks that are run"),
    ],
)
def test_a_promise_that_cannot_be_rechecked_refuses(guarantee, rule):
    output = Swapped()
    output.guarantee = guarantee
    with pytest.raises(RecheckImpossible, match=rule) as refused:
        output.failed()
    assert (refused.value.code, refused.value.kind) == ("recheck-impossible", "gate")


def test_a_promise_about_no_column_refuses():
    output = Swapped()
    output.declared = {name: column for name, column in DECLARED.items() if column.role != "confidential"}
    with pytest.raises(RecheckImpossible, match="must include one that the promise is about"):
        output.failed()


def test_records_that_are_not_aligned_refuse():
    output = Swapped()
    output.released["age"] = output.released["age"][:-1]
    with pytest.raises(RecheckImpossible, match="aligned row by row"):
        output.failed()


def test_no_records_refuse():
    output = Swapped()
    output.original = output.released = {name: values[:0] for name, values in source().items()}
    with pytest.raises(RecheckImpossible, match="aligned row by row"):
        output.failed()


@pytest.mark.parametrize(
    "module",
    [
        "recheck",
        "checks",
        "kernels",
        "rows",
        "records.block_checks",
        "records.comparison",
        "records.group_checks",
        "records.output",
    ],
)
def test_the_recheck_shares_no_code_with_a_mechanism(module):
    tree = ast.parse(Path(importlib.import_module(f"penstock.measures.{module}").__file__).read_text(encoding="utf-8"))
    imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    vocabulary = {
        "penstock.mechanisms.columns",
        "penstock.mechanisms.guarantee",
        "penstock.mechanisms.mechanism",
        "penstock.mechanisms.models",
        "penstock.mechanisms.parallel",
        "penstock.mechanisms.refusal",
    }
    assert {name for name in imported if name.startswith("penstock.mechanisms")} <= vocabulary
