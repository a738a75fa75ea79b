"""`penstock verify` and `penstock audit`: what was published and what was recorded, checked from outside."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from penstock.cli import main as cli
from penstock.records import Action, open_records
from penstock.records.bundle.bundle import seal, subjects
from penstock.records.signing import signing
from tests.support.ended_command import Typed
from tests.support.workplace import PASSED, Workplace


@pytest.fixture(scope="module")
def first_release(tmp_path_factory: pytest.TempPathFactory) -> Path:
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
    assert [line.split()[4] for line in shown.out.splitlines()[1:]] == PASSED
    events = typed("audit", "show", "--json").document()["events"]
    assert [event["action"] for event in events] == PASSED


def test_the_log_of_one_run_is_shown(released: Workplace, typed: Typed) -> None:
    [bundle] = released.bundles()
    assert len(typed("audit", "show", "--run", bundle.name, "--json").document()["events"]) == len(PASSED)
    assert typed("audit", "show", "--run", "another", "--json").document() == {"events": []}


def test_the_log_is_verified(released: Workplace, typed: Typed) -> None:
    assert typed("audit", "verify").out.splitlines() == [
        "12 events, every one in its place and unaltered.",
        "1 signed checkpoint holds.",
        "4 events of the ledger, none missing, no limit exceeded.",
        "0 decisions of reviewers, their signatures hold.",
        "1 published manifest agrees with the log.",
    ]
    document = typed("audit", "verify", "--json").document()
    assert (document["events"], document["head"]["seq"], document["manifests"]) == (12, 12, 1)


def test_the_log_is_exported_line_by_line_or_as_one_document(released: Workplace, typed: Typed) -> None:
    *lines, last = [json.loads(line) for line in typed("audit", "export").out.splitlines()]
    assert [event["action"] for event in lines] == PASSED
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
def test_an_altered_log_exits_with_7_and_stops_the_next_run(released: Workplace, typed: Typed, alter: str) -> None:
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


def older_log(place: Workplace) -> None:
    """As if the file of the first day had been put back."""
    (place.home / "penstock.db").unlink()
    memory = [place.home / name for name in ("runs", "seen.json")]
    for path in memory:
        path.rename(path.with_suffix(".away"))
    open_records()
    memory[0].rmdir()
    for path in memory:
        path.with_suffix(".away").rename(path)


def edited(place: Workplace) -> None:
    manifest = place.bundles()[0] / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"payload": "ey', '"payload": "fy'))


def signed_by_another(place: Workplace) -> None:
    bundle = place.bundles()[0]
    (bundle / "manifest.json").unlink()
    seal(
        bundle,
        subject=subjects(bundle),
        release={},
        approval={"required": 0, "decisions": []},
        log_head={"seq": 0, "digest": "0" * 64},
        key=signing.private_key(place.folder / "other.pem"),
    )


def signed_and_unknown(place: Workplace) -> None:
    shutil.copy2(place.home / "keys" / "signing.pem", place.folder / "other.pem")
    signed_by_another(place)


def damaged_outcome(place: Workplace) -> None:
    [outcome] = (place.home / "runs").glob("*/outcome.json")
    outcome.write_text('{"keep": [], "outcome": []}')


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (older_log, "log-altered"),
        (edited, "records-disagree"),
        (signed_by_another, "records-disagree"),
        (signed_and_unknown, "records-disagree"),
        (damaged_outcome, "run-damaged"),
    ],
    ids=lambda part: getattr(part, "__name__", part),
)
def test_whatever_contradicts_the_log_exits_with_7(
    released: Workplace, typed: Typed, change: Callable[[Workplace], None], code: str
) -> None:
    assert typed("audit", "verify", "--bundles", released.published, "--json").document()["manifests"] == 2
    change(released)
    ended = typed("audit", "verify", "--bundles", released.published, "--json")
    assert (ended.code, ended.document()["refused"]) == (7, code)
    assert "Refused" in typed("audit", "verify", "--bundles", released.published).err


def test_a_mistyped_folder_of_bundles_exits_with_7(released: Workplace, typed: Typed) -> None:
    ended = typed("audit", "verify", "--bundles", released.folder / "pubished", "--json")
    assert (ended.code, ended.document()["refused"]) == (7, "records-disagree")


def test_bundles_that_are_not_there_are_named(first_release: Path, released: Workplace, typed: Typed) -> None:
    published, away = first_release / "published", first_release / "away"
    published.rename(away)
    try:
        shown = typed("audit", "verify")
        assert (shown.code, shown.err) == (0, "")
        [bundle] = released.bundles()
        assert shown.out.splitlines()[-2:] == [
            "0 published manifests agree with the log.",
            f"not reached {published / 'survey' / bundle.name}",
        ]
        assert typed("audit", "verify", "--bundles", released.published, "--json").document()["manifests"] == 1
    finally:
        away.rename(published)


def test_options_that_would_be_passed_over_are_refused(released: Workplace, typed: Typed) -> None:
    export, key = released.folder / "log.jsonl", released.home / "keys" / "signing.pub"
    typed("audit", "export", "-o", export)
    for options, field in (
        (("--export", export, "--bundles", released.published), "--bundles"),
        (("--key", key), "--key"),
    ):
        ended = typed("audit", "verify", *options, "--json")
        assert (ended.code, ended.document()["faults"][0]["field"]) == (2, field)


def test_an_export_is_verified_with_the_key_of_the_home_or_a_given_one(released: Workplace, typed: Typed) -> None:
    export, key = released.folder / "log.jsonl", released.folder / "agency.pub"
    typed("audit", "export", "-o", export)
    shutil.copy(released.home / "keys" / "signing.pub", key)
    shown = typed("audit", "verify", "--export", export)
    assert (shown.code, shown.out) == (0, "12 events, every one in its place and unaltered.\n")
    shutil.rmtree(released.home)
    found = typed("audit", "verify", "--export", export, "--key", key, "--json").document()
    assert (found["events"], found["head"]["seq"]) == (12, 12)
    without = typed("audit", "verify", "--export", export, "--json")
    assert (without.code, without.document()["refused"]) == (7, "key-damaged")
    assert not released.home.exists()


def test_a_changed_export_exits_with_7(released: Workplace, typed: Typed) -> None:
    export = released.folder / "log.jsonl"
    typed("audit", "export", "-o", export)
    export.write_text(export.read_text().replace("PLANNED", "PLANTED"))
    ended = typed("audit", "verify", "--export", export, "--json")
    assert (ended.code, ended.document()["refused"]) == (7, "export-altered")


def test_a_log_that_is_not_sound_is_not_exported(released: Workplace, typed: Typed) -> None:
    with open_records().engine.begin() as connection:
        connection.execute(text("UPDATE log_events SET actor = 'x' WHERE seq = 3"))
    export = released.folder / "log.jsonl"
    for options in ((), ("-o", export)):
        ended = typed("audit", "export", *options)
        assert (ended.code, ended.out) == (7, "")
    assert not export.exists()


def test_an_export_is_made_and_verified_far_from_home(released: Workplace, tmp_path: Path) -> None:
    """Its bytes do not depend on the terminal; the check needs the public key, and makes nothing."""

    def penstock(*arguments: object, **settings: str) -> subprocess.CompletedProcess[bytes]:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK")}
        return subprocess.run(
            [sys.executable, "-m", "penstock.cli.main", *map(str, arguments)],
            env={**inherited, "PYTHONPATH": str(Path(__file__).parents[3]), **settings},
            cwd=empty,
            capture_output=True,
            check=False,
        )

    empty, export, key = tmp_path / "empty", tmp_path / "log.jsonl", tmp_path / "agency.pub"
    empty.mkdir()
    open_records().log.append(
        Action.PLANNED, run="r", actor="a", facts={"reason": "прочитано"}, occurred=datetime.now(UTC)
    )
    made = penstock("audit", "export", PENSTOCK_HOME=str(released.home), PYTHONIOENCODING="latin-1")
    assert (made.returncode, made.stderr) == (0, b"")
    export.write_bytes(made.stdout)
    shutil.copy(released.home / "keys" / "signing.pub", key)
    nowhere = {"PENSTOCK_HOME": str(tmp_path / "nothing"), "PENSTOCK_DB": "postgresql://nowhere.invalid/x"}
    found = penstock("audit", "verify", "--export", export, "--key", key, "--json", **nowhere)
    assert (found.returncode, found.stderr) == (0, b"")
    assert json.loads(found.stdout)["events"] == 13
    export.write_bytes(made.stdout[:-100])
    assert penstock("audit", "verify", "--export", export, "--key", key, **nowhere).returncode == 7
    assert list(empty.iterdir()) == []
    assert not (tmp_path / "nothing").exists()


def test_published_files_are_read_on_request_and_one_that_is_gone_exits_with_7(
    released: Workplace, typed: Typed
) -> None:
    [bundle] = released.bundles()  # a copy; the log knows of the place where it was published too
    verify = ("audit", "verify", "--bundles", released.published)
    found = typed(*verify, "--files", "--json").document()
    assert found["files"] == 2 * (sum(path.is_file() for path in bundle.rglob("*")) - 1)  # all but the manifest
    assert "published files are as their manifests say" in typed(*verify, "--files").out
    (bundle / "report.html").unlink()
    assert typed(*verify).code == 0
    ended = typed(*verify, "--files", "--json")
    assert (ended.code, ended.document()["refused"]) == (7, "published-missing")


def test_an_export_has_no_published_files(released: Workplace, typed: Typed) -> None:
    ended = typed("audit", "verify", "--export", "log.jsonl", "--files")
    assert ended.code == 2
    assert "--files" in ended.err
