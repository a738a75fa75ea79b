"""The identity that is kept of a source in an object store is believed until the store says that it was written."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from penstock.mechanisms.columns import Column
from penstock.records import Home
from penstock.records.files import object_store
from penstock.records.files.addresses import place_of
from penstock.records.files.object_store import Stored, StoreUnreachable
from penstock.tasks.files.source_files import SourceUnreadable
from penstock.tasks.questions import identity
from penstock.tasks.questions.identity import identify, known_identity
from tests.support.question_house import asked, description_of, set_up
from tests.support.s3_server import Bucket, nowhere, use_store
from tests.support.workplace import Workplace


@pytest.fixture
def declared(workplace: Workplace) -> dict[str, Column]:
    raw = description_of(workplace)["source"]["columns"]
    return {name: Column.model_validate(column) for name, column in raw.items()}


@pytest.fixture
def at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if every object had been written long ago."""
    monkeypatch.setattr(identity, "_AT_REST_IN_STORE", -(10**12))


def in_store(workplace: Workplace, bucket: Bucket) -> str:
    bucket.put("data/survey.parquet", workplace.source.read_bytes())
    return bucket.address("data/survey.parquet")


@pytest.mark.parametrize("whole", [True, False], ids=["file", "folder"])
def test_it_is_kept_while_the_store_tells_of_no_writing(
    whole: bool,
    workplace: Workplace,
    bucket: Bucket,
    declared: dict[str, Column],
    at_rest: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home, path = Home.open(), in_store(workplace, bucket) if whole else bucket.address("data")
    in_store(workplace, bucket)
    assert known_identity(home, path, declared) is None
    found = identify(home, path, declared)
    assert found.source == identify(home, str(workplace.source), declared).source
    assert known_identity(home, path, declared) == found
    monkeypatch.setattr(identity, "_read", None)
    assert identify(home, path, declared) == found


def test_what_was_written_lately_is_read_again(
    workplace: Workplace, bucket: Bucket, declared: dict[str, Column]
) -> None:
    """The store's clock may be another one, and may not have moved on since."""
    home, path = Home.open(), in_store(workplace, bucket)
    identify(home, path, declared)
    assert known_identity(home, path, declared) is None


@pytest.mark.parametrize("change", ["time", "size", "tag", "name", "more", "endpoint"])
def test_whatever_the_store_tells_otherwise_is_read_again(
    change: str,
    workplace: Workplace,
    bucket: Bucket,
    declared: dict[str, Column],
    at_rest: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home, path = Home.open(), in_store(workplace, bucket)
    identify(home, path, declared)
    [told] = object_store.told_of(place_of(path))  # type: ignore[arg-type]
    changed = {
        "time": [Stored(told.name, told.size, told.tag, told.written.replace(year=2000))],
        "size": [Stored(told.name, told.size + 1, told.tag, told.written)],
        "tag": [Stored(told.name, told.size, '"another"', told.written)],  # as forged by nobody: it may only differ
        "name": [Stored(f"{told.name}2", told.size, told.tag, told.written)],
        "more": [told, told],
        "endpoint": [told],
    }
    assert known_identity(home, path, declared) is not None
    monkeypatch.setattr(object_store, "told_of", lambda _: changed[change])
    if change == "endpoint":
        use_store(monkeypatch, nowhere())
    assert known_identity(home, path, declared) is None


def test_a_store_without_tags_is_read_for_every_question(
    workplace: Workplace, bucket: Bucket, declared: dict[str, Column], at_rest: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, path = Home.open(), in_store(workplace, bucket)
    [told] = object_store.told_of(place_of(path))  # type: ignore[arg-type]
    monkeypatch.setattr(object_store, "told_of", lambda _: [Stored(told.name, told.size, "", told.written)])
    identify(home, path, declared)
    assert known_identity(home, path, declared) is None


def test_content_that_is_exchanged_is_another_source(
    workplace: Workplace, bucket: Bucket, declared: dict[str, Column], at_rest: None
) -> None:
    home, path = Home.open(), in_store(workplace, bucket)
    before = identify(home, path, declared)
    workplace.write_survey(400, seed=2)
    in_store(workplace, bucket)
    assert identify(home, path, declared).source != before.source


def test_an_object_that_is_written_while_it_is_read_is_refused(
    workplace: Workplace, bucket: Bucket, declared: dict[str, Column], monkeypatch: pytest.MonkeyPatch
) -> None:
    home, path, read = Home.open(), in_store(workplace, bucket), identity._read

    def writing(*given: Any) -> Any:
        found = read(*given)
        workplace.write_survey(400, seed=2)
        in_store(workplace, bucket)
        return found

    monkeypatch.setattr(identity, "_read", writing)
    with pytest.raises(SourceUnreadable, match="must not change while it is read"):
        identify(home, path, declared)


def test_a_store_that_does_not_answer_is_a_failure(
    workplace: Workplace, bucket: Bucket, declared: dict[str, Column], at_rest: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, path = Home.open(), in_store(workplace, bucket)
    identify(home, path, declared)
    use_store(monkeypatch, nowhere())
    with pytest.raises(StoreUnreachable):
        known_identity(home, path, declared)


def test_a_question_reads_a_few_columns_of_an_object_that_rests(
    workplace: Workplace, bucket: Bucket, at_rest: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = in_store(workplace, bucket)
    data = set_up(workplace)
    data = data.model_copy(update={"source": data.source.model_copy(update={"path": path})})
    first = asked(data, "count where region is North", epsilon="1/4")
    monkeypatch.setattr(identity, "_read", None)
    assert asked(data, "count where region is North", epsilon="1/4").id == first.id
    assert not asked(data, "count where region is South", epsilon="1/4").repeated


def test_a_store_tells_of_one_object_or_of_all_below(bucket: Bucket) -> None:
    for name in ("data/a", "data/b/c", "database"):
        bucket.put(name, name.encode())
    told = object_store.told_of(place_of(bucket.address("data")))  # type: ignore[arg-type]
    assert [(each.name, each.size) for each in told] == [("data/a", 6), ("data/b/c", 8)]
    [one] = object_store.told_of(place_of(bucket.address("data/a")))  # type: ignore[arg-type]
    assert one == told[0]
    assert one.tag.strip('"') == hashlib.md5(b"data/a", usedforsecurity=False).hexdigest()
    assert object_store.told_of(place_of(bucket.address("nothing"))) == []  # type: ignore[arg-type]
