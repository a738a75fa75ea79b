"""Somebody knows one confidential value of a person: what do they find in a release of `mdav_swap`?

The confidential values of a record move together, so the row that holds the known value holds all the others. That is
how the method works; the promise, the plan and the public report must say it, and say it only where it is so.
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from penstock.flows.preview import preview
from penstock.flows.spec import load_spec
from penstock.measures import GateRefused
from penstock.tasks.gate import pass_gates
from tests.support.private_release import begun
from tests.support.workplace import Workplace

TOGETHER = "move together"


def release(workplace: Workplace, method: str) -> tuple[str, dict[str, np.ndarray]]:
    """The public report, and the released columns."""
    workplace.use_mdav(method, 12)
    workplace.raw["gates"] = [{"measure": "average_risk", "max": 0.1}]
    if method == "ir_swap":
        workplace.raw["source"]["columns"]["savings"]["missing"] = "own_group"
    with begun(workplace, account=False) as line:
        line.stage()
        data = pq.read_table(line.job.bundle / "data.parquet")
        page = (line.job.bundle / "report.html").read_text(encoding="utf-8")
    return page, {name: data[name].to_numpy() for name in ("income", "savings")}


def found_by_income(workplace: Workplace, released: dict[str, np.ndarray]) -> float:
    """The share of persons with a unique income whose savings stand beside that income."""
    survey = pq.read_table(workplace.source)
    income, savings = (survey[name].to_numpy() for name in ("income", "savings"))
    values, counts = np.unique(income, return_counts=True)
    beside = dict(zip(released["income"].tolist(), released["savings"].tolist(), strict=True))
    known = [
        (x, y) for x, y in zip(income.tolist(), savings.tolist(), strict=True) if counts[values == x] == 1 and y == y
    ]
    assert len(known) > 100
    return sum(beside[x] == y for x, y in known) / len(known)


def test_one_known_value_finds_the_others_and_everybody_is_told(workplace: Workplace) -> None:
    page, released = release(workplace, "mdav_swap")
    assert found_by_income(workplace, released) == 1.0  # the attack succeeds, every time
    ahead = preview(load_spec(workplace.spec_file), count=False)
    assert any(TOGETHER in sentence for sentence in ahead["guarantee"]["not_promised"])
    assert "no confidential value of the record itself is known" in ahead["guarantee"]["assumptions"]
    assert any(TOGETHER in sentence for sentence in ahead["expect"])
    assert TOGETHER in page


def test_columns_that_move_by_themselves_lead_nowhere_and_nobody_is_warned(workplace: Workplace) -> None:
    page, released = release(workplace, "ir_swap")
    assert found_by_income(workplace, released) < 0.5
    assert TOGETHER not in page


@pytest.mark.parametrize("method", ["mdav_swap", "mdav_id"])
def test_with_one_confidential_column_there_is_nothing_else_to_find(workplace: Workplace, method: str) -> None:
    del workplace.raw["source"]["columns"]["savings"]
    workplace.raw["protect"] = [{"mechanism": "probabilistic_k_anonymity", "method": method, "k": 12}]
    ahead = preview(load_spec(workplace.write_spec()), count=False)
    assert not any(TOGETHER in sentence for sentence in [*ahead["guarantee"]["not_promised"], *ahead["expect"]])


@pytest.mark.parametrize(("method", "refused"), [("mdav_swap", True), ("ir_swap", False)])
def test_a_gate_on_what_is_found_stops_the_release_that_gives_it_away(
    workplace: Workplace, method: str, refused: bool
) -> None:
    workplace.use_mdav(method, 12)
    gate = {"measure": "informed_linkage", "knows": 1, "max": 0.5}
    workplace.raw["gates"] = [gate]
    if method == "ir_swap":
        workplace.raw["source"]["columns"]["savings"]["missing"] = "own_group"
    with begun(workplace, account=False) as line:
        _, _, decision = line.assess()
        assert [result.verdict.word for result in decision.results if result.gate == gate["measure"]] == [
            "refuse" if refused else "pass"
        ]
        found = json.loads(line.job.run.path("assessment.json").read_text(encoding="utf-8"))
        [measured] = [each for each in found["measurements"] if each["name"] == "informed_linkage"]
        assert (measured["value"] == 1.0) == refused
        assert measured["beside"]["guessing without the release"] < 0.1
        if refused:
            with pytest.raises(GateRefused) as stopped:
                pass_gates(line.job, decision)
            [fault] = stopped.value.faults
            assert fault.field == "gates.informed_linkage"
            assert fault.rule == "must hold for what is published: informed_linkage (knows 1) at most 0.5"
