"""The same question in two outputs of one spec: each would be drawn by itself, and readers could average the noises.

The second is charged like the first, so nothing was broken but the rule that an answer comes back; nobody gains by two.
"""

from __future__ import annotations

from typing import Any

import pytest

import penstock
from penstock.mechanisms.refusal import Refusal
from tests.support.workplace import Workplace, make_table

DP = {"mechanism": "table", "model": "dp", "epsilon": "1/4", "adjacency": "replace"}
ONE = {**DP, "table": "one", "dimensions": ["region", "education"], "means": ["income"], "totals": [["region"], []]}
LINKED = {**DP, "name": "one", "tables": {"by_region": ["region", "sex"], "by_education": ["sex", "education"]}}
FIGURES = [{"statistic": "median", "of": "income"}, {"statistic": "count"}]
STATISTICS = {**DP, "mechanism": "statistics", "table": "one", "groups": ["region", "sex"], "figures": FIGURES}


def faults(workplace: Workplace, *outputs: dict[str, Any]) -> list[str]:
    """The fields of a spec with these outputs that are refused."""
    make_table(workplace)
    workplace.raw["source"]["columns"]["sex"] = {
        "role": "quasi_identifier",
        "type": "nominal",
        "categories": ["f", "m"],
    }
    workplace.raw["source"]["path"] = "prepared_later.parquet"
    workplace.raw["protect"], workplace.raw["publish"]["formats"] = list(outputs), ["parquet"]
    try:
        penstock.plan(penstock.load_spec(workplace.write_spec()))
    except Refusal as refusal:
        return [fault.field for fault in refusal.faults]
    return []


@pytest.mark.parametrize(
    ("one", "changes"),
    [
        (ONE, {}),
        (ONE, {"name": "n", "formats": ["csv"], "gates": [{"measure": "privacy_loss", "max": 2}]}),
        (ONE, {"columns": ["region", "education", "income"]}),
        (ONE, {"dimensions": ["education", "region"], "totals": [[], ["region"]]}),
        (ONE, {"noise": "laplace"}),
        (LINKED, {"name": "other", "tables": {"a": ["education", "sex"], "b": ["sex", "region"]}}),
        (STATISTICS, {"groups": ["sex", "region"], "figures": FIGURES[::-1]}),
    ],
)
def test_a_question_is_asked_once_in_a_release(
    workplace: Workplace, one: dict[str, Any], changes: dict[str, Any]
) -> None:
    assert faults(workplace, one, {**one, "table": "two", **changes}) == [f"protect.1 ({changes.get('name', 'two')})"]


@pytest.mark.parametrize(
    ("one", "changes"),
    [
        (ONE, {"totals": [[]]}),
        (ONE, {"dimensions": ["region", "sex"]}),
        (ONE, {"means": [], "sums": ["income"]}),
        (ONE, {"epsilon": "1/8"}),
        (STATISTICS, {"figures": FIGURES[:1]}),
    ],
)
def test_another_question_is_another_output(workplace: Workplace, one: dict[str, Any], changes: dict[str, Any]) -> None:
    assert faults(workplace, one, {**one, "table": "two", **changes}) == []


def test_exact_tables_have_no_noise_to_be_averaged(workplace: Workplace) -> None:
    exact = {"mechanism": "table", "model": "k_anon", "k": 2, "dimensions": ["region"]}
    make_table(workplace, model="k_anon", k=2, epsilon=None, adjacency=None, sums=(), means=())
    workplace.raw["budget"] = {"acknowledges": ["one", "two"]}
    workplace.raw["protect"] = [{"table": "one", **exact}, {"table": "two", **exact}]
    workplace.raw["publish"]["formats"] = ["parquet"]
    penstock.load_spec(workplace.write_spec())
