"""An exact table that was refused comes out as the repeat of itself, and nobody counts it as a release."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.measures.gates import GateRefused
from penstock.records import open_records
from penstock.records.ledger.accounts import Cost
from penstock.records.ledger.ledger import SecondRelease
from penstock.records.log.log import Action
from penstock.tasks.gate import pass_gates
from penstock.tasks.publish import Receipt
from tests.support.private_release import begun
from tests.support.workplace import Workplace, make_table, open_dp_account

EXACT: dict[str, Any] = {"model": "k_anon", "epsilon": None, "adjacency": None, "k": 2}
REVIEWED = {"reviewers": 1, "allowed": ["anna"]}


@pytest.fixture
def place(either_workplace: Workplace) -> Workplace:
    """A survey with an exact table of it."""
    either_workplace.write_survey(2000)
    make_table(either_workplace, **EXACT)
    return either_workplace


def refuse(place: Workplace) -> str:
    """Let a gate refuse the table that the spec says; the run."""
    gates = place.raw["gates"]
    place.raw |= {"name": "refused", "gates": [{"measure": "smallest_frequency", "min": 10**6}]}
    seen: list[str] = []
    with pytest.raises(GateRefused):
        _gated(place, seen)
    place.raw["gates"] = gates
    return seen[0]


def _gated(place: Workplace, seen: list[str]) -> None:
    with begun(place, account=False) as line:
        seen.append(line.job.run.id)
        _, _, decision = line.assess()
        pass_gates(line.job, decision)


def publish(place: Workplace, name: str, *acknowledged: str, **settings: Any) -> Receipt:
    place.raw["name"] = name
    place.raw["protect"][0] |= settings
    place.raw["budget"] = {**place.raw.get("budget", {}), "acknowledges": list(acknowledged)}
    with begun(place, account=False) as line:
        return line.publish()


def costs() -> dict[str, Cost]:
    return {cost.run: cost for book in open_records().ledger.books().values() for cost in book.costs}


def test_the_repeat_of_a_refused_table_stops_later_exact_tables(place: Workplace) -> None:
    refused = refuse(place)
    out = publish(place, "again")
    assert out.repeats == refused
    assert costs()[out.run].state == "published"
    with pytest.raises(SecondRelease, match=out.run):
        publish(place, "other", dimensions=["region"])
    open_records().ledger.verify()


def test_the_repeat_of_a_refused_table_acknowledges_what_came_out_since(place: Workplace) -> None:
    refuse(place)
    between = publish(place, "between", dimensions=["region"])
    with pytest.raises(SecondRelease, match=between.run):
        publish(place, "again", dimensions=["region", "education"])
    with pytest.raises(GateRefused, match="differencing"):
        publish(place, "again", between.run)
    place.raw["approve"] = REVIEWED
    with begun(place, account=False) as line:
        _, _, decision = line.assess()
    [flag] = [result for result in decision.results if result.gate == "differencing"]
    assert between.run in flag.reason
    assert "no theorem covers both" in flag.reason
    assert open_records().log.events(line.job.run.id)[-1].action is Action.PROTECTED


def test_a_table_that_is_out_comes_out_again_without_acknowledging_itself(place: Workplace) -> None:
    first = publish(place, "first")
    second = publish(place, "second")
    third = publish(place, "third")
    assert second.repeats == third.repeats == first.run
    assert {run: cost.state for run, cost in costs().items()} == dict.fromkeys(
        (first.run, second.run, third.run), "published"
    )
    with pytest.raises(SecondRelease):
        publish(place, "other", dimensions=["region"])
    place.raw["approve"] = REVIEWED
    with begun(place, account=False) as line, pytest.raises(SecondRelease):
        line.stage()
    place.raw["budget"] = {"acknowledges": [second.run]}  # whichever it is, all three are one table
    with begun(place, account=False) as line:
        line.stage()


def test_the_repeat_of_a_refused_dp_table_stops_exact_tables_and_costs_nothing(place: Workplace) -> None:
    """It was charged when it was drawn, and nobody who releases an exact table was asked about it."""
    open_dp_account(1)
    make_dp = {"model": "dp", "epsilon": "1", "adjacency": "replace"}
    del place.raw["protect"][0]["k"]
    place.raw["protect"][0] |= make_dp
    place.raw |= {"gates": [{"measure": "privacy_loss", "max": 1}], "budget": {"dataset": "survey", "epsilon": "1"}}
    with begun(place, account=False) as line:
        line.protect()
        line.job.settle("refused")  # as a reviewer's refusal does
        line.job.run.finish({"outcome": "refused"}, keep=())
    place.raw["name"] = "again"
    with begun(place, account=False) as line:
        out = line.publish()
    assert out.repeats is not None
    assert costs()[out.run].claim.epsilon is None
    [account] = open_records().ledger.book("survey").as_dict("survey")["accounts"]
    assert account["spent"] == "1"
    place.raw["protect"][0] = {name: place.raw["protect"][0][name] for name in ("mechanism", "table", "dimensions")} | {
        "model": "k_anon",
        "k": 2,
    }
    place.raw |= {"gates": [{"measure": "smallest_frequency", "min": 2}], "budget": {"dataset": "survey"}}
    with pytest.raises(SecondRelease, match=out.run):
        publish(place, "exact")
