"""What manifests, outcomes and signatures remember is held against the log."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock.mechanisms.refusal import Refusal
from penstock.records import Action, Home, Log, LogAltered, RecordsAbsent, Run, existing_records, open_records
from penstock.records.approval.decision import sign_decision
from penstock.records.audit import RecordsDisagree, verify_everything
from penstock.records.files.digest import plain_file
from penstock.records.log.log import LogReader
from penstock.records.log.sighting import SEEN
from penstock.records.people.trusted_keys import withdraw
from penstock.records.run import RunDamaged
from penstock.records.store.database import SCHEMA
from penstock.records.store.migrations import VERSION_TABLE
from tests.records.database_faults import tamper
from tests.records.published_home import CONTENT, NOW, copied, decided, publish, sealed_by
from tests.records.reviewers import private, public


@pytest.fixture
def public_folder(tmp_path: Path) -> Path:
    return tmp_path / "public"


@pytest.fixture
def checked(either_home: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    """The home that is checked, on each database."""
    monkeypatch.setenv("PENSTOCK_HOME", str(either_home.root))
    return either_home


@pytest.fixture
def small(home: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    """The same on SQLite alone, for what does not depend on the database."""
    monkeypatch.setenv("PENSTOCK_HOME", str(home.root))
    return home


def disagreements(*bundles: Path) -> list[tuple[str, str]]:
    """Where and what, in the order of the report."""
    with pytest.raises(RecordsDisagree) as caught:
        verify_everything(bundles)
    assert (caught.value.code, caught.value.kind) == ("records-disagree", "integrity")
    assert all("find out who" in fault.remedy for fault in caught.value.faults if "folder" not in fault.rule)
    return [(fault.field, fault.rule) for fault in caught.value.faults]


def refused_everywhere(error: type[Refusal], match: str) -> None:
    """Nobody spends, publishes or vouches on it."""
    for action in (open_records, existing_records, verify_everything):
        with pytest.raises(error, match=match) as caught:
            action()
        assert caught.value.kind == "integrity"


UNKNOWN = "must be a publication that the log knows of"


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


def test_a_manifest_signed_by_another_key_is_found(small: Home, public_folder: Path) -> None:
    bundle = publish(small, public_folder)
    sealed_by(bundle, private("stranger"))
    [(field, rule)] = disagreements()
    assert field == f"{bundle} manifest.json"
    assert "it names another key" in rule


def test_a_manifest_signed_again_by_the_home_is_found(small: Home, public_folder: Path) -> None:
    bundle = publish(small, public_folder)
    sealed_by(bundle, small.signing_key())
    replaced = (str(bundle), "must have the manifest that was published")
    assert disagreements() == [replaced, (str(bundle), UNKNOWN)]
    sealed_by(bundle, small.signing_key(), 1, "ab" * 32)
    assert disagreements()[2:] == [
        (str(bundle), "must have seen the same event 1: the log was cut short or replaced since")
    ]


def test_a_manifest_of_another_release_is_found(small: Home, public_folder: Path) -> None:
    bundle, other = publish(small, public_folder), publish(small, public_folder)
    shutil.copy2(other / "manifest.json", bundle / "manifest.json")
    assert disagreements() == [(str(bundle), "must have the manifest that was published")]


def as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def as_dangling_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def as_link(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")


def edited(path: Path) -> None:
    content = path.read_bytes()
    middle = content.index(b'"payload"') + 100
    path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (edited, "must be signed over its content"),
        (lambda path: path.write_bytes(b""), "must be a DSSE envelope"),
        (as_link, "must be a plain file"),
        (as_folder, "must be a plain file"),
        (as_dangling_link, "must be a plain file"),
    ],
    ids=["edited", "empty", "link", "folder", "dangling link"],
)
def test_a_manifest_that_is_no_longer_what_it_was_is_found(
    small: Home, public_folder: Path, change: Callable[[Path], None], rule: str
) -> None:
    bundle = publish(small, public_folder)
    change(bundle / "manifest.json")
    [(field, found)] = disagreements()
    assert field.startswith(str(bundle))
    assert rule in found


def test_a_manifest_that_cannot_be_read_is_found(
    small: Home, public_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = publish(small, public_folder)

    def denied(_: Path) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("penstock.records.bundle.bundle.manifest_of", denied)
    assert disagreements() == [(str(bundle), "must have a manifest that can be read (Permission denied)")]


def test_a_bundle_that_is_not_there_is_listed_and_no_failure(small: Home, public_folder: Path) -> None:
    """A public folder may lie on another machine."""
    kept, removed = publish(small, public_folder), publish(small, public_folder)
    shutil.rmtree(removed)
    found = verify_everything()
    assert (found["manifests"], found["not_reached"]) == (1, [str(removed)])
    shutil.rmtree(kept)
    assert verify_everything([public_folder])["not_reached"] == sorted([str(kept), str(removed)])


def test_a_bundle_that_the_log_does_not_know_is_found_where_it_is_looked_for(small: Home, public_folder: Path) -> None:
    bundle = publish(small, public_folder)
    strange = public_folder / "elsewhere" / "strange"
    shutil.copytree(bundle, strange)
    assert verify_everything([public_folder])["manifests"] == 2  # a copy is what was published
    sealed_by(strange, small.signing_key())
    assert verify_everything()["manifests"] == 1
    assert disagreements(public_folder) == [(str(strange), UNKNOWN)]


def test_a_folder_that_is_not_there_is_not_passed_over(small: Home, tmp_path: Path, public_folder: Path) -> None:
    publish(small, public_folder)
    (tmp_path / "file").touch()
    rule = "must be a folder; nothing in it was checked"
    for mistyped in (tmp_path / "pubic", tmp_path / "file"):
        assert disagreements(public_folder, mistyped) == [(str(mistyped), rule)]


def test_a_bundle_is_checked_once_however_its_folder_is_named(
    small: Home, tmp_path: Path, public_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(small, public_folder)
    (tmp_path / "link").symlink_to(public_folder)
    monkeypatch.chdir(tmp_path)
    for name in ("public", "./public/../public", "link"):
        assert verify_everything([Path(name)])["manifests"] == 1


def test_manifests_of_the_first_version_are_known_by_their_digest(small: Home, public_folder: Path) -> None:
    """They were no statements; the log has their digest."""
    records = open_records()
    old = public_folder / "old"
    old.mkdir(parents=True)
    (old / "manifest.json").write_text("{}")
    log = Log(records.engine, small.secret_key(), small.signing_key(), "0.1.0")
    facts = {"manifest": plain_file(old / "manifest.json"), "destination": str(old)}
    log.append(Action.PUBLISHED, run="r", actor="a", facts=facts, occurred=NOW)
    assert verify_everything([public_folder])["manifests"] == 1
    (old / "manifest.json").write_text("{} ")
    assert disagreements() == [(f"{old} manifest.json", "must be a DSSE envelope")]


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
