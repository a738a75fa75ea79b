"""Who opens the records gets those of this home, and who only checks makes none."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from penstock.records import Action, Head, Home, LogAltered, RecordsAbsent, Run, existing_records, open_records
from penstock.records.log.sighting import SEEN
from penstock.records.run import RunDamaged
from penstock.records.store.database import DatabaseRefused, RecordsUnavailable
from penstock.records.store.store import seen_heads
from tests.records.published_home import NOW, copied, publish


@pytest.fixture
def named(either_home: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    """The home that PENSTOCK_HOME names, on each database."""
    monkeypatch.setenv("PENSTOCK_HOME", str(either_home.root))
    return either_home


def absent() -> None:
    with pytest.raises(RecordsAbsent, match="must be a home with its keys and its log, got") as caught:
        existing_records()
    assert (caught.value.code, caught.value.kind) == ("records-absent", "integrity")


def names(home: Home) -> set[str]:
    return {str(path.relative_to(home.root)) for path in home.root.rglob("*")}


def test_opened_records_are_found_again_with_their_ledger(named: Home) -> None:
    records = open_records()
    records.log.append(Action.PLANNED, run="r", actor="a", facts={}, occurred=NOW)
    for again in (open_records(home=named), open_records(named.database_url, named), existing_records()):
        assert again.log.head() == records.log.head()
        assert again.ledger.books() == {}


def test_who_checks_makes_neither_home_nor_keys_nor_database(named: Home) -> None:
    before = names(named)
    absent()
    assert names(named) == before
    shutil.rmtree(named.root)
    absent()
    assert not named.root.exists()


@pytest.mark.parametrize("lost", ["secret.key", "signing.pem"])
def test_a_lost_key_is_noticed_and_not_made_anew_by_who_checks(named: Home, lost: str) -> None:
    """With a new one every event, or every checkpoint, would look altered."""
    open_records()
    (named.keys / lost).unlink()
    before = names(named)
    absent()
    assert names(named) == before


@pytest.mark.parametrize("form", ["sqlite:///{}", "sqlite+pysqlite:///{}"])
def test_a_database_file_that_is_not_there_is_not_made_by_who_checks(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(home.root))
    open_records()
    elsewhere = tmp_path / "mistyped.db"
    monkeypatch.setenv("PENSTOCK_DB", form.format(elsewhere))
    absent()
    assert not elsewhere.exists()
    open_records()
    existing_records()
    assert elsewhere.exists()


@pytest.mark.parametrize("url", ["sqlite://", "mysql://host/x", "nonsense"])
def test_a_setting_that_names_no_database_is_refused_also_for_who_checks(
    home: Home, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(home.root))
    open_records()
    monkeypatch.setenv("PENSTOCK_DB", url)
    with pytest.raises(DatabaseRefused):
        existing_records()


def test_a_folder_or_noise_in_the_place_of_the_database_is_refused(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(home.root))
    open_records()
    database = home.root / "penstock.db"
    database.write_bytes(b"noise" * 1000)
    with pytest.raises(RecordsUnavailable):
        existing_records()
    database.unlink()
    database.mkdir()
    absent()


def test_another_database_is_refused_once_a_run_has_begun(
    named: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its budgets would be new as well."""
    open_records()
    elsewhere = f"sqlite:///{tmp_path / 'other.db'}"
    with monkeypatch.context() as settings:
        settings.setenv("PENSTOCK_DB", elsewhere)
        open_records()
    (tmp_path / "other.db").unlink()
    Run.begin(named, "spec", now=NOW).close()
    with monkeypatch.context() as settings:
        settings.setenv("PENSTOCK_DB", elsewhere)
        with pytest.raises(RecordsAbsent):
            open_records()
    open_records()


def test_the_last_run_that_ended_says_how_far_the_log_must_reach(named: Home, tmp_path: Path) -> None:
    publish(named, tmp_path / "public")
    put_back = copied(named)
    last = publish(named, tmp_path / "public")
    heads = seen_heads(named)
    assert sorted(head.seq for head in heads.values()) == [2, 4]
    log = open_records().log
    assert heads[last.name] == Head(4, log.events()[3].digest)
    log.append(Action.PLANNED, run="r", actor="a", facts={}, occurred=NOW)
    put_back()
    with pytest.raises(LogAltered, match=r"event 4 .* cut short or replaced") as caught:
        open_records()
    assert (caught.value.code, caught.value.kind) == ("log-altered", "integrity")
    shutil.rmtree(named.runs / last.name)
    with pytest.raises(LogAltered, match="event 4 "):  # the home itself remembers, besides its runs
        open_records()
    (named.root / SEEN).unlink()
    assert open_records().log.verify().count == 2


def test_a_run_that_spent_and_died_says_so_too(named: Home) -> None:
    """Otherwise an older copy of the database would give back what was spent."""
    log = open_records().log
    put_back = copied(named)
    log.append(Action.SPENT, run="r", actor="a", facts={}, occurred=NOW)
    with Run.begin(named, "spec", now=NOW) as run:
        run.remember({"seq": 1, "digest": log.head().digest})
        run.restart()
    assert seen_heads(named) == {run.id: log.head()}
    open_records()
    put_back()
    with pytest.raises(LogAltered, match=r"event 1 .* cut short or replaced"):
        open_records()


def test_a_damaged_memory_of_a_run_is_refused(named: Home) -> None:
    open_records()
    with Run.begin(named, "spec", now=NOW) as run:
        run.remember({"seq": 1, "digest": "d"})
    (run.folder / "seen.json").write_text("{}")
    with pytest.raises(RunDamaged, match=r"seen\.json"):
        open_records()


def test_a_database_named_by_the_caller_is_not_held_against_the_home(home: Home, tmp_path: Path) -> None:
    """Rehearsals and copies; no command does this."""
    publish(home, tmp_path / "public")
    assert open_records("sqlite://", home).log.verify().count == 0


def test_outcomes_of_the_first_version_remember_nothing(home: Home, tmp_path: Path) -> None:
    bundle = publish(home, tmp_path / "public")
    outcome = home.runs / bundle.name / "outcome.json"
    content = json.loads(outcome.read_text())
    del content["outcome"]["log_head"]
    outcome.write_text(json.dumps(content))
    assert seen_heads(home) == {}
    assert open_records(home=home).log.verify().count == 2


def test_a_home_whose_runs_were_removed_opens(named: Home, tmp_path: Path) -> None:
    publish(named, tmp_path / "public")
    shutil.rmtree(named.runs)
    assert seen_heads(named) == {}
    assert existing_records().log.verify().count == 2
