"""Kinds of output: every mechanism has its own, a plan knows it, and every manifest is read as that of its kind."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import parse_spec
from penstock.measures.kinds import KINDS as WORDS
from penstock.measures.recheck import _CHECKS
from penstock.measures.registry import MEASURES
from penstock.mechanisms.mechanism import Kind
from penstock.mechanisms.registry import MECHANISMS
from penstock.tasks.outputs.cells import Cells
from penstock.tasks.outputs.claims import _CLAIMS, claims_of
from penstock.tasks.outputs.groups import Groups
from penstock.tasks.outputs.kinds import _KINDS
from penstock.tasks.outputs.records import Records
from tests.flows.good_specs import DP, GOOD, TABLE
from tests.flows.spec.test_closeness_spec import CLOSE
from tests.support.rooms import MODULES, ROOT

SPECS = {"swapped": (GOOD, Records), "noisy": (DP, Records), "table": (TABLE, Cells), "buckets": (CLOSE, Groups)}


def test_every_kind_has_its_objects_checks_and_words() -> None:
    kinds = set(get_args(Kind))
    assert set(_KINDS) == set(_CLAIMS) == set(_CHECKS) == set(WORDS) == kinds
    assert {mechanism.kind for mechanism in MECHANISMS.values()} == kinds
    assert {kind for each in MEASURES.values() for kind in each.functions} == kinds


@pytest.mark.parametrize(("raw", "kind"), SPECS.values(), ids=SPECS)
def test_a_plan_has_the_output_of_its_mechanism(raw: dict[str, Any], kind: type) -> None:
    plan = draw_up_plan(parse_spec(raw))
    assert type(plan.output) is kind
    assert plan.about == plan.output.about
    assert set(plan.about) <= set(plan.data_columns)
    assert plan.claim("").table is plan.output.is_table


def test_only_what_comes_back_is_taken_back() -> None:
    output = draw_up_plan(parse_spec(GOOD)).output
    with pytest.raises(TypeError, match="never comes back"):
        output.take_back(None, None)  # type: ignore[arg-type]


def test_a_plan_is_made_without_prefect() -> None:
    code = "import sys, penstock.flows.planning; print('prefect' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize(
    "release", [{}, {"guarantee": None}, {"guarantee": {"parameters": {"mechanism": []}}}, {"guarantee": []}]
)
def test_a_manifest_that_states_no_promise_claims_nothing(release: dict[str, Any]) -> None:
    assert claims_of(release) is None


def asked(path: Path) -> set[str]:
    """Return every comparison with None of something that is called a layout."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot):
            found.add(ast.unparse(node.left).split(".")[-1])
    return found & {"layout"}


def test_nobody_asks_which_kind_of_output_it_is() -> None:
    # A trial in a notebook has no kind of output: it writes no files.
    found = [str(path.relative_to(ROOT)) for path in MODULES if asked(path)]
    assert [path for path in found if path != "api/_trial.py"] == []
