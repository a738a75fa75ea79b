"""However a run ends, its end is on record, its lock is free, and only unfinished runs leave work behind."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import load_spec
from penstock.mechanisms.refusal import Refusal, ValueMissing
from penstock.records import Action, Event, Home, LogAppendFailed, Run, open_records
from penstock.tasks.run.job import Job, begin
from penstock.tasks.run.plan import Plan
from penstock.tasks.run.step import StepFailed
from tests.support.workplace import Workplace

REFUSED = ValueMissing.at(
    "source.columns.income", rule="must have a value in every record", remedy="Complete the data."
)
FAILED = StepFailed.at("protect", rule="must run to its end", remedy="Run again.")


@pytest.fixture
def plan(workplace: Workplace) -> Plan:
    return draw_up_plan(load_spec(workplace.write_spec()))


def end(plan: Plan, error: BaseException) -> Path:
    """Begin a run, leave a working file and a report, end with this error; the run's folder."""

    def run() -> None:
        with begin(plan) as job:
            folders.append(job.run.folder)
            job.record(Action.PLANNED, name=plan.name)
            job.run.path("protected.parquet").write_bytes(b"working file")
            job.run.path("report.html").write_text("report", encoding="utf-8")
            raise error

    folders: list[Path] = []
    with pytest.raises(type(error)) as ended:
        run()
    assert ended.value is error
    return folders[0]


def last() -> Event:
    return open_records().log.events()[-1]


def is_free(plan: Plan, folder: Path) -> bool:
    """Whether another process could take the run over: its lock was let go."""
    with Run.begin(Home.open(), plan.spec_digest, now=datetime.now(UTC)) as run:
        return run.folder == folder and run.resumed


def test_a_refusal_is_recorded_with_its_reasons_and_finishes_the_run(plan: Plan) -> None:
    folder = end(plan, REFUSED)
    assert (last().action, last().run) == (Action.REFUSED, folder.name)
    assert last().facts == {"code": "value-missing", "reasons": [str(fault) for fault in REFUSED.faults]}
    outcome = json.loads((folder / "outcome.json").read_text(encoding="utf-8"))
    head = {"seq": last().seq, "digest": last().digest}
    assert outcome["outcome"] == {"outcome": "refused", "code": "value-missing", "log_head": head}
    assert {path.name for path in folder.iterdir()} == {"outcome.json", "report.html"}
    with begin(plan) as job:
        assert job.run.folder != folder
        assert not job.run.resumed


@pytest.mark.parametrize(
    ("error", "code"),
    [(FAILED, "step-failed"), (KeyboardInterrupt(), "KeyboardInterrupt"), (SystemExit(1), "SystemExit")],
    ids=["failure", "interrupt", "exit"],
)
def test_a_failure_or_interrupt_is_recorded_and_the_run_can_be_resumed(
    plan: Plan, error: BaseException, code: str
) -> None:
    folder = end(plan, error)
    assert (last().action, last().run, last().facts) == (Action.FAILED, folder.name, {"code": code})
    assert not (folder / "outcome.json").exists()
    assert (folder / "protected.parquet").read_bytes() == b"working file"
    assert is_free(plan, folder)


def test_a_foreign_error_is_recorded_by_its_kind_and_never_by_its_text(plan: Plan) -> None:
    end(plan, ValueError("could not convert Anna-Maria-4711"))
    assert last().facts == {"code": "ValueError"}
    assert not any(b"Anna-Maria" in path.read_bytes() for path in Home.open().root.rglob("*") if path.is_file())


def test_what_cannot_be_recorded_stops_the_run_and_leaves_it_to_be_resumed(plan: Plan) -> None:
    with open_records().engine.begin() as connection:
        connection.execute(text("CREATE TRIGGER full BEFORE INSERT ON log_events BEGIN SELECT RAISE(ABORT, ''); END"))
    with pytest.raises(LogAppendFailed), begin(plan) as job:
        job.record(Action.PLANNED, name=plan.name)
    assert open_records().log.events() == []
    assert is_free(plan, job.run.folder)


def test_a_refusal_that_cannot_be_recorded_is_no_quiet_end(plan: Plan) -> None:
    with open_records().engine.begin() as connection:
        connection.execute(text("CREATE TRIGGER full BEFORE INSERT ON log_events BEGIN SELECT RAISE(ABORT, ''); END"))
    with pytest.raises(LogAppendFailed), begin(plan) as job:
        raise REFUSED
    assert not (job.run.folder / "outcome.json").exists()
    assert is_free(plan, job.run.folder)


def test_a_run_that_ends_well_is_left_to_its_last_step(plan: Plan) -> None:
    with begin(plan) as job:
        job.record(Action.PLANNED, name=plan.name)
    assert [event.action for event in open_records().log.events()] == [Action.PLANNED]
    assert is_free(plan, job.run.folder)


def test_two_runs_of_one_spec_at_once_are_two_runs(plan: Plan) -> None:
    with begin(plan) as first, begin(plan) as second:
        assert first.run.id != second.run.id


def test_the_bundle_lies_on_the_confidential_side_until_it_is_published(plan: Plan, workplace: Workplace) -> None:
    with begin(plan) as job:
        assert isinstance(job, Job)
        assert job.bundle.is_relative_to(workplace.home)
        assert job.destination == workplace.published / "survey" / job.run.id
        assert job.actor


def test_an_event_names_the_run_and_the_person(plan: Plan) -> None:
    with begin(plan) as job:
        job.record(Action.INGESTED, records=400)
    assert (last().run, last().actor, last().facts) == (job.run.id, job.actor, {"records": 400})


def test_every_refusal_but_a_failure_finishes_the_run(plan: Plan) -> None:
    for kind in ("spec", "data", "gate", "budget", "approval", "integrity"):
        refusal = type("Refused", (Refusal,), {"kind": kind, "code": f"test-{kind}"})
        folder = end(plan, refusal.at("field", rule="rule", remedy="remedy"))
        assert last().action is Action.REFUSED
        assert (folder / "outcome.json").exists()
