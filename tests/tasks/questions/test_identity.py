"""Which records a question is about: found by one read of the source, kept while it rests, and sealed."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from penstock.mechanisms.columns import Column
from penstock.records import Home
from penstock.tasks.files.fingerprint import Fingerprint, digest_of_values, key_of_values
from penstock.tasks.files.source import open_source, read_source
from penstock.tasks.files.source_digest import digest_source
from penstock.tasks.files.source_files import SourceUnreadable, root_of
from penstock.tasks.questions import identity
from penstock.tasks.questions.identity import identify, known_identity
from tests.support.question_house import description_of, rested
from tests.support.workplace import Workplace


@pytest.fixture
def declared(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> dict[str, Column]:
    monkeypatch.setattr(identity, "_AT_REST", 10**6)
    rested(workplace.source)
    raw = description_of(workplace)["source"]["columns"]
    return {name: Column.model_validate(column) for name, column in raw.items()}


def kept(home: Home) -> Path:
    (file,) = (home.root / "sources").glob("*.json")
    return file


def test_it_is_what_a_release_finds(workplace: Workplace, declared: dict[str, Column]) -> None:
    home = Home.open()
    found = identify(home, str(workplace.source), declared)
    key, path = home.secret_key(), str(workplace.source)
    dataset = open_source(path, declared)
    told = digest_source(dataset, root_of(path), key)
    fingerprint = Fingerprint(key_of_values(key))
    read_source(dataset, declared, fingerprint=fingerprint)
    names = [name for name in declared if name != "person_id"]
    assert (found.source, found.formerly, found.files) == (told.content, told.formerly, told.files)
    assert found.values == digest_of_values(key, names, [fingerprint.sums()])
    assert found.records == 400


def test_it_is_kept_while_the_file_rests(
    workplace: Workplace, declared: dict[str, Column], monkeypatch: pytest.MonkeyPatch
) -> None:
    home, path = Home.open(), str(workplace.source)
    assert known_identity(home, path, declared) is None
    found = identify(home, path, declared)
    assert known_identity(home, path, declared) == found
    assert oct(kept(home).stat().st_mode)[-3:] == "600"
    monkeypatch.setattr(identity, "_read", None)
    assert identify(home, path, declared) == found


@pytest.mark.parametrize("how", ["rewritten", "same time", "exchanged", "touched"])
def test_a_file_that_changed_is_read_again(how: str, workplace: Workplace, declared: dict[str, Column]) -> None:
    home, path = Home.open(), str(workplace.source)
    before, stamp = identify(home, path, declared), os.stat(path).st_mtime_ns
    if how == "touched":
        os.utime(path)
    elif how == "exchanged":
        other = workplace.folder / "other.parquet"
        shutil.copy2(path, other)
        os.replace(other, path)
    else:
        workplace.write_survey(400, seed=2)
    if how == "same time":
        os.utime(path, ns=(stamp, stamp))  # the time of writing can be set, that of the last change cannot
    assert known_identity(home, path, declared) is None
    rested(workplace.source)
    assert (identify(home, path, declared).source == before.source) == (how in ("exchanged", "touched"))


@pytest.mark.parametrize("place", ["state", "identity", "seal", "all"])
def test_what_was_not_written_here_is_not_believed(
    place: str, workplace: Workplace, declared: dict[str, Column]
) -> None:
    home, path = Home.open(), str(workplace.source)
    found = identify(home, path, declared)
    told: dict[str, Any] = json.loads(kept(home).read_bytes())
    if place == "all":
        kept(home).write_bytes(b"[]")
    else:
        told[place] = {**told[place], "source": "0" * 64} if place == "identity" else "0" * 64
        kept(home).write_text(json.dumps(told), encoding="utf-8")
    assert known_identity(home, path, declared) is None
    assert identify(home, path, declared) == found


def test_a_file_that_was_just_written_is_not_kept(
    workplace: Workplace, declared: dict[str, Column], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "_AT_REST", 10**15)
    home, path = Home.open(), str(workplace.source)
    assert identify(home, path, declared) == identify(home, path, declared)
    assert not (home.root / "sources").exists()


def test_a_folder_is_known_by_all_its_files(workplace: Workplace, declared: dict[str, Column]) -> None:
    folder = workplace.folder / "many"
    folder.mkdir()
    table = pq.read_table(workplace.source)
    pq.write_table(table.slice(0, 100), folder / "a.parquet")
    pq.write_table(table.slice(100), folder / "b.parquet")
    rested(folder / "b.parquet")
    home = Home.open()
    whole, parts = identify(home, str(workplace.source), declared), identify(home, str(folder), declared)
    assert whole.values == parts.values
    assert whole.source != parts.source
    (folder / "b.parquet").unlink()
    assert known_identity(home, str(folder), declared) is None


def test_a_source_that_changed_since_is_refused(workplace: Workplace, declared: dict[str, Column]) -> None:
    home, path = Home.open(), str(workplace.source)
    found = identify(home, path, declared)
    found.require_still(path)
    workplace.write_survey(400, seed=2)
    with pytest.raises(SourceUnreadable) as refused:
        found.require_still(path)
    assert refused.value.faults[0].field == "source.path"
