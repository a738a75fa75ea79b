"""`penstock verify` and `penstock audit`: what was published and what was recorded, checked from outside."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from ended_command import Typed
from sqlalchemy import text
from workplace import Workplace

from flows import cli
from records import open_records

ACTIONS = [
    "PLANNED",
    "INGESTED",
    "VALIDATED",
    "RESERVED",
    "SPENT",
    "PROTECTING",
    "PROTECTED",
    "CHECKED",
    "PUBLISHING",
    "SETTLED",
    "PUBLISHED",
]


@pytest.fixture(scope="module")
def first_release(tmp_path_factory: pytest.TempPathFactory, prefect_home: Path) -> Path:
    """A workplace with one published release, made by `penstock run`; tests use copies of it."""
    place = Workplace(tmp_path_factory.mktemp("released"))
    with pytest.MonkeyPatch.context() as settings:
        settings.setenv("PENSTOCK_HOME", str(place.home))
        settings.delenv("PENSTOCK_DB", raising=False)
        settings.setattr(sys, "argv", ["penstock", "run", str(place.write_spec())])
        with pytest.raises(SystemExit) as ended:
            cli.main()
    assert not ended.value.code
    return place.folder


@pytest.fixture
def released(first_release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    folder = tmp_path / "copy"
    shutil.copytree(first_release, folder)
    place = Workplace(folder)
    monkeypatch.setenv("PENSTOCK_HOME", str(place.home))
    monkeypatch.delenv("PENSTOCK_DB", raising=False)
    return place


def test_a_bundle_is_verified_with_the_key_of_the_home_or_a_given_one(released: Workplace, typed: Typed) -> None:
    [bundle] = released.bundles()
    ended = typed("verify", bundle)
    assert (ended.code, ended.err) == (0, "")
    marks = [line.startswith("checked") for line in ended.out.splitlines()]
    assert marks == [True, True, False, True, False, False, False, False]
    key = released.folder / "agency.pub"
    shutil.copy(released.home / "keys" / "signing.pub", key)
    shutil.rmtree(released.home)
    document = typed("verify", bundle, "--key", key, "--json").document()
    assert document["bundle"] == str(bundle)
    assert [finding["name"] for finding in document["findings"] if finding["checked"]] == [
        "signature",
        "digests",
        "records",
    ]
    assert not released.home.exists()


def test_without_a_key_a_bundle_is_not_verified(released: Workplace, typed: Typed, tmp_path: Path) -> None:
    [bundle] = released.bundles()
    absent = typed("verify", bundle, "--key", tmp_path / "absent.pub", "--json")
    assert (absent.code, absent.document()["refused"]) == (7, "key-missing")
    shutil.rmtree(released.home)
    none = typed("verify", bundle, "--json")
    assert (none.code, none.document()["refused"]) == (7, "key-missing")
    assert not released.home.exists()


@pytest.mark.parametrize("name", ["data.parquet", "data.csv", "report.html", "manifest.json"])
def test_an_altered_bundle_exits_with_7(released: Workplace, typed: Typed, name: str) -> None:
    [bundle] = released.bundles()
    content = bytearray((bundle / name).read_bytes())
    content[len(content) // 2] ^= 1
    (bundle / name).write_bytes(bytes(content))
    ended = typed("verify", bundle, "--json")
    assert (ended.code, ended.document()["refused"]) == (7, "bundle-altered")


def test_the_log_is_shown_as_a_table_and_as_json(released: Workplace, typed: Typed) -> None:
    shown = typed("audit", "show")
    assert (shown.code, shown.err) == (0, "")
    assert [line.split()[4] for line in shown.out.splitlines()[1:]] == ACTIONS
    events = typed("audit", "show", "--json").document()["events"]
    assert [event["action"] for event in events] == ACTIONS


def test_the_log_of_one_run_is_shown(released: Workplace, typed: Typed) -> None:
    [bundle] = released.bundles()
    assert len(typed("audit", "show", "--run", bundle.name, "--json").document()["events"]) == len(ACTIONS)
    assert typed("audit", "show", "--run", "another", "--json").document() == {"events": []}


def test_the_log_is_verified(released: Workplace, typed: Typed) -> None:
    assert typed("audit", "verify").out.splitlines() == [
        "11 events, every one in its place and unaltered.",
        "1 signed checkpoints hold.",
        "3 events of the ledger, none missing, no limit exceeded.",
        "0 decisions of reviewers, their signatures hold.",
        "1 published manifests agree with the log.",
    ]
    document = typed("audit", "verify", "--json").document()
    assert (document["events"], document["head"]["seq"], document["manifests"]) == (11, 11, 1)


def test_the_log_is_exported_line_by_line_or_as_one_document(released: Workplace, typed: Typed) -> None:
    *lines, last = [json.loads(line) for line in typed("audit", "export").out.splitlines()]
    assert [event["action"] for event in lines] == ACTIONS
    assert set(last) == {"export"}
    assert typed("audit", "export", "--json").document() == {"events": lines}
    target = released.folder / "log.jsonl"
    assert typed("audit", "export", "-o", target, "--json").document() == {"path": str(target)}
    assert [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()][:-1] == lines
    again = typed("audit", "export", "-o", target, "--json")
    assert (again.code, again.document()["faults"][0]["field"]) == (1, "--output")


@pytest.mark.parametrize(
    "alter",
    [
        "UPDATE log_events SET actor = 'somebody else' WHERE seq = 3",
        "DELETE FROM log_events WHERE seq = 11",
        "DELETE FROM log_events WHERE seq = 4",
        "UPDATE log_head SET seq = 7",
    ],
)
def test_an_altered_log_exits_with_7_and_stops_the_next_run(
    prefect_home: Path, released: Workplace, typed: Typed, alter: str
) -> None:
    with open_records().engine.begin() as connection:
        connection.execute(text(alter))
    ended = typed("audit", "verify", "--json")
    assert (ended.code, ended.document()["refused"]) == (7, "log-altered")
    if "seq = 11" in alter or "log_head" in alter:
        stopped = typed("run", released.write_spec(), "--json")
        assert (stopped.code, stopped.document()["refused"]) == (7, "log-altered")
        assert len(released.bundles()) == 1


@pytest.mark.parametrize("action", ["show", "verify", "export"])
def test_a_home_that_is_not_there_has_no_log_to_vouch_for_and_is_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: Typed, action: str
) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "mistyped"))
    monkeypatch.delenv("PENSTOCK_DB", raising=False)
    ended = typed("audit", action, "--json")
    assert (ended.code, ended.document()["refused"]) == (7, "records-absent")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("lost", ["penstock.db", "keys/secret.key"])
def test_a_lost_log_or_key_is_noticed(released: Workplace, typed: Typed, lost: str) -> None:
    (released.home / lost).unlink()
    ended = typed("audit", "verify", "--json")
    assert (ended.code, ended.document()["refused"]) == (7, "records-absent")
    assert not (released.home / lost).exists()
