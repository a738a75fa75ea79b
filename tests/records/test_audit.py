"""The audit compares databases, outcomes and signatures with the log."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock.mechanisms.refusal import Refusal
from penstock.records import Action, Home, Log, LogAltered, RecordsAbsent, Run, existing_records, open_records
from penstock.records.approval.decision import sign_decision
from penstock.records.audit import RecordsDisagree, verify_everything
from penstock.records.log.log import LogReader
from penstock.records.log.sighting import SEEN
from penstock.records.people.trusted_keys import withdraw
from penstock.records.run import RunDamaged
from penstock.records.store.database import SCHEMA
from penstock.records.store.migrations import VERSION_TABLE
from tests.records.audit_findings import UNKNOWN, disagreements, edited
from tests.records.database_faults import tamper
from tests.records.published_home import CONTENT, NOW, copied, decided, publish, sealed_by
from tests.records.reviewers import private, public


def refused_everywhere(error: type[Refusal], match: str) -> None:
    """Nobody spends, publishes or vouches on it."""
    for action in (open_records, existing_records, verify_everything):
        with pytest.raises(error, match=match) as caught:
            action()
        assert caught.value.kind == "integrity"


def test_a_sound_home_is_told_in_numbers(checked: Home, public_folder: Path) -> None:
    decided(checked, "r1", "rita")
    decided(checked, "r2", "sven", "refuse")
    for _ in range(2):
        publish(checked, public_folder)
    head = open_records().log.head()
    assert verify_everything() == {
        "events": 10,
        "head": {"seq": 10, "digest": head.digest},
        "checkpoints": 8,
        "ledger_events": 0,
        "decisions": 2,
        "manifests": 2,
        "not_reached": [],
        "backwards": [],
    }
    assert verify_everything([public_folder]) == verify_everything()


def test_an_older_copy_of_the_database_is_refused_because_a_run_ended_since(checked: Home, public_folder: Path) -> None:
    publish(checked, public_folder)
    put_back = copied(checked)
    publish(checked, public_folder)
    verify_everything()
    put_back()
    refused_everywhere(LogAltered, "event 4 refused: must be the one that this home has seen: the")


def test_an_older_copy_that_was_written_on_since_is_refused(checked: Home, public_folder: Path) -> None:
    """Its event has the number that the home has seen, and another digest."""
    publish(checked, public_folder)
    put_back, runs = copied(checked), checked.root / "kept"
    publish(checked, public_folder)
    checked.runs.rename(runs)
    (checked.root / SEEN).unlink()
    put_back()
    publish(Home.open(checked.root), public_folder)
    assert open_records().log.verify().count == 4
    shutil.copytree(runs, checked.runs, dirs_exist_ok=True)
    with pytest.raises(Refusal) as caught:  # which of the two comes first is chance
        verify_everything()
    assert isinstance(caught.value, LogAltered | RecordsDisagree)
    assert "4" in str(caught.value)


def test_a_database_as_it_was_on_the_first_day_is_refused(checked: Home, public_folder: Path) -> None:
    open_records()
    put_back = copied(checked)
    publish(checked, public_folder)
    put_back()
    refused_everywhere(LogAltered, "cut short or replaced")


def test_emptied_tables_are_refused(checked: Home, public_folder: Path) -> None:
    publish(checked, public_folder)
    tamper(checked, *(f"DELETE FROM {table}" for table in SCHEMA.tables))
    refused_everywhere(LogAltered, "cut short or replaced")


def test_a_database_without_tables_is_refused_and_stays_without(checked: Home, public_folder: Path) -> None:
    publish(checked, public_folder)
    for table in (*SCHEMA.tables, VERSION_TABLE):
        tamper(checked, f"DROP TABLE {table}")
    for _ in range(2):
        refused_everywhere(RecordsAbsent, "must be a home with its keys and its log")


def test_without_its_runs_a_home_still_verifies_and_bundles_show_that_the_log_was_cut(
    checked: Home, public_folder: Path
) -> None:
    first = publish(checked, public_folder)
    put_back = copied(checked)
    second = publish(checked, public_folder)
    shutil.rmtree(checked.runs)
    (checked.root / SEEN).unlink()
    assert verify_everything([public_folder])["manifests"] == 2
    put_back()
    assert verify_everything()["events"] == 2
    assert disagreements(public_folder) == [
        (str(second), UNKNOWN),
        (str(second), "must have seen the same event 3: the log was cut short or replaced since"),
    ]
    assert verify_everything([first])["manifests"] == 1


def test_an_outcome_that_saw_another_event_is_found(small: Home, public_folder: Path) -> None:
    first, _ = publish(small, public_folder), publish(small, public_folder)
    outcome = small.runs / first.name / "outcome.json"
    content = json.loads(outcome.read_text())
    content["outcome"]["log_head"]["digest"] = "ab" * 32
    outcome.write_text(json.dumps(content))
    refused_everywhere(LogAltered, "event 2 refused: must be the one that this home has seen: the")


@pytest.mark.parametrize(
    "outcome", [[], 1, None, {"log_head": None}, {"log_head": {"seq": "2", "digest": "d"}}, {"log_head": {"seq": 2}}]
)
def test_a_damaged_outcome_stops_everything(small: Home, public_folder: Path, outcome: object) -> None:
    bundle = publish(small, public_folder)
    (small.runs / bundle.name / "outcome.json").write_text(json.dumps({"keep": [], "outcome": outcome}))
    refused_everywhere(RunDamaged, f"{bundle.name}/outcome.json refused: must be as it was written")


def test_a_run_that_ends_during_the_check_contradicts_nothing(
    small: Home, public_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One before each look at the log, and one after it."""
    publish(small, public_folder)
    reader = Log.reader

    @contextmanager
    def with_others(log: Log) -> Iterator[LogReader]:
        with monkeypatch.context() as themselves:
            themselves.setattr(Log, "reader", reader)
            publish(small, public_folder)
        with reader(log) as opened:
            yield opened
        with monkeypatch.context() as themselves:
            themselves.setattr(Log, "reader", reader)
            publish(small, public_folder)

    monkeypatch.setattr(Log, "reader", with_others)
    assert verify_everything([public_folder])["manifests"] == 2


def test_a_decision_counts_if_its_reviewer_signed_it_with_the_key_trusted_then(small: Home) -> None:
    decided(small, "r1", "rita")
    withdraw(open_records().log, "rita", actor="admin", reason="left", now=NOW)
    assert verify_everything()["decisions"] == 1


def forged(**changes: Any) -> tuple[Action, dict[str, Any]]:
    """An event as `decide` writes it, with a true signature of rita's; then changed."""
    signature = sign_decision(private("rita"), content=CONTENT, decision="approve", reason="read")
    facts = {
        "content": CONTENT,
        "reviewer": "rita",
        "key_id": "not looked at",
        "public_key": public("rita").public_bytes_raw().hex(),
        "signature": signature,
        "reason": "read",
    }
    action = changes.pop("action", Action.APPROVED)
    return action, {**facts, **changes}


STRANGER = {
    "public_key": public("stranger").public_bytes_raw().hex(),
    "signature": sign_decision(private("stranger"), content=CONTENT, decision="approve", reason="read"),
}


@pytest.mark.parametrize(
    "changes",
    [
        {"content": "cd" * 32},
        {"reason": "read twice"},
        {"signature": "AAAA"},
        {"action": Action.DECLINED},
        {"content": "no digest"},
        {"reviewer": "nobody"},
        {"reviewer": "sven"},
        STRANGER,
    ],
    ids=["content", "reason", "signature", "word", "no content", "unknown", "withdrawn", "own key"],
)
def test_a_decision_that_the_reviewer_did_not_sign_is_found(checked: Home, changes: dict[str, Any]) -> None:
    """Written by somebody with all keys of the home, but not the reviewer's."""
    decided(checked, "r1", "rita")
    decided(checked, "r2", "sven")
    log = open_records().log
    withdraw(log, "sven", actor="admin", reason="left", now=NOW)
    action, facts = forged()
    log.append(action, run="r1", actor="maker", facts=facts, occurred=NOW)
    assert verify_everything()["decisions"] == 3  # or the twin below would show nothing
    if changes.get("reviewer") == "sven":  # his own signature, after his key was withdrawn
        signature = sign_decision(private("sven"), content=CONTENT, decision="approve", reason="read")
        changes = {**changes, "public_key": public("sven").public_bytes_raw().hex(), "signature": signature}
    action, facts = forged(**changes)
    event = log.append(action, run="r1", actor="maker", facts=facts, occurred=NOW)
    assert disagreements() == [(f"event {event.seq}", "must carry the signature of its reviewer, and does not")]


def test_all_disagreements_are_listed(small: Home, public_folder: Path) -> None:
    bundle, other = publish(small, public_folder), publish(small, public_folder)
    edited(bundle / "manifest.json")
    sealed_by(other, small.signing_key())
    action, facts = forged()
    open_records().log.append(action, run="r1", actor="maker", facts=facts, occurred=NOW)
    assert len(disagreements(public_folder, Path("absent"))) == 5


def test_an_unfinished_run_remembers_that_there_were_records(checked: Home) -> None:
    """Nothing has ended yet, but budgets may have been opened and spent."""
    open_records()
    Run.begin(checked, "spec", now=NOW).close()
    existing_records()
    for table in (*SCHEMA.tables, VERSION_TABLE):
        tamper(checked, f"DROP TABLE {table}")
    refused_everywhere(RecordsAbsent, "must be a home")


def test_who_checks_leaves_no_trace(small: Home, public_folder: Path) -> None:
    publish(small, public_folder)

    def state() -> dict[str, tuple[int, bytes]]:
        files = (path for root in (small.root, public_folder) for path in root.rglob("*") if path.is_file())
        return {str(path): (os.stat(path).st_mtime_ns, path.read_bytes()) for path in files}

    before = state()
    verify_everything([public_folder])
    assert state() == before
