"""What outputs promise together is what the ledger charges for them together.

A release spent 1 under differential privacy and 1 under its individual relaxation, on the same column. Whoever compares
with the actual data alone learns from both, so the ledger charged the idp account 2, or 3 where the first promise is
about a record more or less. Manifest, receipt, report and plan said 1 and 1, and that nothing else was there.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import Any, NamedTuple

import pytest

import penstock
from penstock.mechanisms.models import MODELS
from penstock.mechanisms.refusal import Refusal, SpecRefused
from penstock.records import open_records
from tests.support.workplace import Workplace, make_table, open_dp_account, predicate


class Case(NamedTuple):
    """outputs: model and adjacency of each, which spends 1. charged: what the account of each model is charged."""

    outputs: tuple[tuple[str, str], ...]
    charged: dict[str, int]
    includes: dict[str, list[str]]
    least: int  # what budget.epsilon must allow


IDP, BDP = ("idp", "from_D"), ("bdp", "bootstrap_replace")
RELAXED: dict[str, dict[str, Any]] = {
    "dp": {},
    "idp": {"acknowledges": ["idp"]},
    "bdp": {"acknowledges": ["bdp"], "scale": "one", "empty_cells": "noise"},
}
CASES = {
    "replaced": Case((("dp", "replace"), IDP), {"dp": 1, "idp": 2}, {"dp": ["dp"], "idp": ["dp", "idp"]}, 2),
    "added or removed": Case((("dp", "add_remove"), IDP), {"dp": 1, "idp": 3}, {"dp": ["dp"], "idp": ["dp", "idp"]}, 3),
    "among the actual records": Case(
        (("dp", "add_remove"), BDP), {"dp": 1, "bdp": 3}, {"dp": ["dp"], "bdp": ["dp", "bdp"]}, 3
    ),
    "both relaxations": Case(
        (("dp", "replace"), IDP, BDP),
        {"dp": 1, "idp": 2, "bdp": 2},
        {"dp": ["dp"], "idp": ["dp", "idp"], "bdp": ["dp", "bdp"]},
        3,
    ),
}


def use(workplace: Workplace, case: Case, epsilon: object = 3) -> None:
    """Switch the workplace to these outputs, of one column, each named by its model."""
    if workplace.raw["protect"][0]["mechanism"] != "table":
        make_table(workplace)
    workplace.raw["protect"] = [
        {
            "table": model,
            "mechanism": "table",
            "dimensions": ["region"],
            "model": model,
            "epsilon": "1",
            "adjacency": adjacency,
            **RELAXED[model],
        }
        for model, adjacency in case.outputs
    ]
    beside = [model for model, _ in case.outputs if model != "dp"] if len(case.outputs) > 2 else []
    workplace.raw["budget"] = {"dataset": "survey", "epsilon": str(epsilon), "acknowledges": beside}
    if beside:  # no sum covers both, so somebody must look
        workplace.raw["approve"] = {"reviewers": 1, "allowed": ["anna"]}
    workplace.raw["publish"]["formats"] = ["parquet"]


def open_accounts(case: Case) -> None:
    for model, adjacency in case.outputs:
        open_dp_account(10, model=model, adjacency=adjacency)  # type: ignore[arg-type]


def sums(promises: list[Any]) -> dict[str, Fraction]:
    return {each["model"]: Fraction(each["parameters"]["epsilon"]) for each in promises}


@pytest.mark.parametrize("case", [CASES["replaced"], CASES["added or removed"], CASES["among the actual records"]])
def test_a_release_says_of_every_sum_what_its_account_is_charged(workplace: Workplace, case: Case) -> None:
    use(workplace, case)
    open_accounts(case)
    spec = penstock.load_spec(workplace.write_spec())
    planned = penstock.plan(spec)
    receipt = penstock.release(spec)
    book = open_records().ledger.book("survey")
    charged = {model: account.spent(book.costs) for model, account in book.accounts.items()}
    together = predicate(workplace.bundles()[0])["release"]["together"]
    assert charged == case.charged
    assert sums(together["guarantees"]) == sums(planned["together"]["guarantees"]) == charged
    assert together["includes"] == planned["together"]["includes"] == case.includes
    [relaxed] = case.charged.keys() - {"dp"}
    said = f"{relaxed}, epsilon = {case.charged[relaxed]}"
    assert said in receipt.promise
    page = (workplace.bundles()[0] / "report.html").read_text(encoding="utf-8")
    assert f"{case.charged[relaxed]}-{MODELS[relaxed].title}" in page
    assert any(f"Epsilon: {case.charged[relaxed]} of the {relaxed} account" in sentence for sentence in planned["cost"])
    found = [finding.text for finding in penstock.verify(receipt.path) if finding.name == "together"]
    assert any(said in text for text in found)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_plan_says_which_outputs_every_sum_includes_in_any_order(workplace: Workplace, case: Case) -> None:
    for outputs in permutations(case.outputs):
        use(workplace, case._replace(outputs=outputs))
        together = penstock.plan(penstock.load_spec(workplace.write_spec()))["together"]
        assert sums(together["guarantees"]) == case.charged
        found = {model: set(names) for model, names in together["includes"].items()}
        assert found == {model: set(names) for model, names in case.includes.items()}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_budget_allows_what_the_account_is_charged_that_is_charged_most(workplace: Workplace, case: Case) -> None:
    use(workplace, case, epsilon=case.least)
    penstock.plan(penstock.load_spec(workplace.write_spec()))
    use(workplace, case, epsilon=Fraction(case.least) - Fraction(1, 100))
    with pytest.raises(SpecRefused, match=f"must be at least {case.least}"):
        penstock.plan(penstock.load_spec(workplace.write_spec()))


def test_a_promise_that_a_sum_cannot_count_is_refused_beside_it(workplace: Workplace) -> None:
    """A replacement keeps the number of records, so it says nothing about a record that comes or goes."""
    use(workplace, Case((("dp", "replace"), ("bdp", "bootstrap_add_remove")), {}, {}, 2))
    with pytest.raises(Refusal) as refused:
        penstock.load_spec(workplace.write_spec())
    assert [fault.field for fault in refused.value.faults] == ["protect.0 (dp).adjacency"]
