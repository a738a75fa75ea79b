"""An exact table beside a noisy one: who looks at the pair does not depend on which came first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.measures.gates import GateRefused, GateResult, Verdict
from tests.support.private_release import Line, begun
from tests.support.workplace import Workplace, make_table, open_dp_account

TABLES: dict[str, dict[str, Any]] = {
    "k_anon": {"model": "k_anon", "k": 2},
    "dp": {"model": "dp", "epsilon": "1", "adjacency": "replace"},
    "bdp": {
        "model": "bdp",
        "epsilon": "1",
        "adjacency": "bootstrap_replace",
        "scale": "per_cell",
        "empty_cells": "noise",
        "acknowledges": ["bdp"],
    },
    "idp": {"model": "idp", "epsilon": "1", "adjacency": "from_D", "acknowledges": ["idp"]},
}
RECORDS: dict[str, Any] = {"mechanism": "probabilistic_k_anonymity", "method": "ir_swap", "k": 20}
ADJACENCY = {name: table["adjacency"] for name, table in TABLES.items() if "adjacency" in table}
TOGETHER, NONE, COMMON = "the ledger counts both together", "no theorem covers both", "only what both compare"
PAIRS = {
    ("k_anon", "dp"): NONE,
    ("k_anon", "bdp"): NONE,
    ("k_anon", "idp"): NONE,
    ("dp", "bdp"): TOGETHER,
    ("dp", "idp"): TOGETHER,
    ("bdp", "idp"): COMMON,
    ("k_anon", "records"): NONE,
    ("dp", "records"): NONE,
}


@pytest.fixture
def place(workplace: Workplace) -> Workplace:
    workplace.write_survey(2000)
    make_table(workplace)
    workplace.raw["source"]["columns"]["income"] |= {"domain": [0, 1_000_000], "outside": "refuse"}
    for model, adjacency in ADJACENCY.items():
        open_dp_account(9, model=model, adjacency=adjacency)  # type: ignore[arg-type]
    return workplace


def ask(place: Workplace, kind: str, *acknowledged: str, reviewed: bool = True) -> None:
    """Write the spec of one kind of release."""
    kept = {name: place.raw["protect"][0].get(name) for name in ("mechanism", "table", "dimensions")}
    tabled = {"mechanism": "table", "table": "incomes", "dimensions": ["region"]} | {
        name: value for name, value in kept.items() if value is not None and name != "mechanism"
    }
    spends = kind in ADJACENCY
    gate: dict[str, Any] = {"measure": "privacy_loss", "max": 1} if spends else {"measure": "average_risk", "max": 1}
    place.raw |= {
        "name": f"release-{kind.replace('_', '-')}",
        "protect": [RECORDS if kind == "records" else tabled | TABLES[kind]],
        "gates": [{"measure": "smallest_frequency", "min": 2} if kind == "k_anon" else gate],
        "budget": {"dataset": "survey", "acknowledges": list(acknowledged)} | ({"epsilon": "1"} if spends else {}),
        "publish": {"path": "published", "formats": ["parquet"]},
        "approve": {"reviewers": 1, "allowed": ["anna"]} if reviewed else {},
    }


def looked_at(line: Line) -> GateResult:
    _, _, decision = line.assess()
    [flag] = [result for result in decision.results if result.gate == "differencing"]
    assert decision.verdict is flag.verdict
    return flag


def one_after_the_other(place: Workplace, ask: Callable[..., None], first: str, second: str) -> tuple[str, GateResult]:
    """The id of the first release, and what the gates of the second say of it. ask: writes the spec of a kind."""
    ask(place, first)
    with begun(place, account=False) as line:
        line.stage()
    earlier = line.job.run.id
    ask(place, second, earlier)
    with begun(place, account=False) as line:
        return earlier, looked_at(line)


@pytest.mark.parametrize("swapped", [False, True], ids=["this order", "the other order"])
@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
def test_the_reason_is_true_in_either_order(place: Workplace, pair: tuple[str, str], swapped: bool) -> None:
    first, second = reversed(pair) if swapped else pair
    earlier, flag = one_after_the_other(place, ask, first, second)
    assert flag.verdict is (Verdict.PASS if PAIRS[pair] == TOGETHER else Verdict.REVIEW)
    assert flag.reason.startswith(f"{earlier} shares ")
    assert PAIRS[pair] in flag.reason


def test_where_nobody_could_look_it_is_refused_before_anything_is_spent(place: Workplace) -> None:
    ask(place, "k_anon")
    with begun(place, account=False) as line:
        line.stage()
    ask(place, "dp", line.job.run.id, reviewed=False)
    with pytest.raises(GateRefused, match="differencing"), begun(place, account=False) as line:
        line.protect()
    [account] = [
        account for account in line.job.ledger.book("survey").as_dict("survey")["accounts"] if account["model"] == "dp"
    ]
    assert (account["spent"], line.job.run.committed("protected")) == ("0", None)
