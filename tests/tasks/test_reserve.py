"""What a draw costs is set aside before it, once, and refused if it cannot be had."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import load_spec
from penstock.records import Action
from penstock.records.files.digest import plain_file
from penstock.records.ledger.accounts import Claim, Cost
from penstock.records.ledger.ledger import AccountMissing, SecondRelease
from penstock.records.run import RunDamaged
from penstock.tasks import reserve as reserving
from penstock.tasks.ingest import Ingested
from penstock.tasks.run.job import Job, begin
from penstock.tasks.run.plan import Plan
from tests.support.workplace import Workplace

# Outside a flow the function of the step is called without Prefect.
reserve = reserving.reserve.fn  # type: ignore[attr-defined]

SOURCE = Ingested(Path("nowhere"), "digest-of-the-source", 400)


@pytest.fixture
def plan(workplace: Workplace) -> Plan:
    return draw_up_plan(load_spec(workplace.write_spec()))


def drawn_facts(drawn: Path) -> dict[str, Any]:
    known = {"masked": [], "records": 400, "settled": {}, "columns": [], "linked": []}
    return {"digest": plain_file(drawn), **known}


def costs(job: Job) -> tuple[Cost, ...]:
    book = job.ledger.books().get("")
    return () if book is None else book.costs


def actions(job: Job) -> list[Action]:
    return [event.action for event in job.log.events()]


def test_the_cost_is_on_record_before_anything_is_drawn(plan: Plan) -> None:
    with begin(plan) as job:
        reserve(job, SOURCE)
        [cost] = costs(job)
        assert (cost.run, cost.state, cost.claim) == (job.run.id, "reserved", plan.claim(SOURCE.digest))
        assert cost.claim.model == "prob_k"
        assert cost.claim.epsilon is None


def test_a_run_that_died_before_its_draw_finds_its_reservation(plan: Plan) -> None:
    for _ in range(2):
        with begin(plan) as job:
            reserve(job, SOURCE)
            assert actions(job) == [Action.RESERVED]


def test_what_was_drawn_is_not_charged_again(plan: Plan) -> None:
    with begin(plan) as job:
        reserve(job, SOURCE)
        job.ledger.spend(job.run.id, actor=job.actor, now=job.started)
        drawn = job.run.path("protected.parquet")
        drawn.write_bytes(b"drawn")
        job.run.commit("protected", drawn_facts(drawn))
        reserve(job, SOURCE)
        assert actions(job) == [Action.RESERVED, Action.SPENT]


def test_a_draw_that_was_lost_is_charged_again(plan: Plan) -> None:
    with begin(plan) as job:
        reserve(job, SOURCE)
        job.ledger.spend(job.run.id, actor=job.actor, now=job.started)
        reserve(job, SOURCE)
        assert [cost.state for cost in costs(job)] == ["spent", "reserved"]


def test_what_was_drawn_and_then_changed_is_neither_used_nor_charged_again(plan: Plan) -> None:
    with begin(plan) as job:
        drawn = job.run.path("protected.parquet")
        drawn.write_bytes(b"drawn")
        job.run.commit("protected", drawn_facts(drawn))
        drawn.write_bytes(b"other")
        with pytest.raises(RunDamaged, match="as it was staged"):
            reserve(job, SOURCE)
        assert actions(job) == []


def test_a_second_release_of_the_same_records_is_refused_before_its_draw(plan: Plan) -> None:
    with begin(plan) as first:
        reserve(first, SOURCE)
        with (
            begin(plan) as second,
            pytest.raises(
                SecondRelease,
                match="must list the earlier releases of the same records, because no theorem covers both",
            ),
        ):
            reserve(second, SOURCE)
        assert [cost.run for cost in costs(first)] == [first.run.id]


def test_a_release_that_spends_needs_an_account(plan: Plan) -> None:
    guarantee = plan.guarantee.model_copy(
        update={"model": "dp", "parameters": {"epsilon": "1/2"}, "adjacency": "replace"}
    )
    spending = replace(
        plan,
        entries=(replace(plan.entries[0], guarantee=guarantee),),
        dataset="income",
        part=("region", "North"),
        acknowledges=("run-1",),
        edition="2026-10",
    )
    assert spending.claim("s") == Claim(
        dataset="income",
        source="s",
        model="dp",
        epsilon=Fraction(1, 2),
        adjacency="replace",
        unit="row",
        column="region",
        part="North",
        acknowledges=("run-1",),
        about=("age", "region", "education", "income", "savings", "weight"),
        edition="2026-10",
        table=False,
    )
    with (
        pytest.raises(AccountMissing, match="must have an account of model dp"),
        begin(replace(spending, part=None)) as job,
    ):
        reserve(job, SOURCE)
    assert Action.RESERVED not in actions(job)
