"""Tables that were drawn are found again by what they are made of, whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from penstock.records.home import Home
from penstock.records.ledger.answers import Answer, answer_key, find_answer, keep_answer

CONTENT = {"source": "abc", "settings": {"epsilon": "1"}, "columns": {}}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.open(tmp_path / "home")


def staged(folder: Path, run: str = "r1", content: bytes = b"figures") -> Answer:
    (folder / run / "secrets").mkdir(parents=True)
    data = folder / run / "data.parquet"
    data.write_bytes(content)
    (folder / run / "secrets" / "0.column").write_bytes(b"noise")
    return Answer(run, "d1", {"records": 3, "settled": {"cells": 3}}, data, folder / run / "secrets")


def test_an_answer_comes_back_as_it_was_kept(home: Home, tmp_path: Path) -> None:
    key = answer_key(home, CONTENT)
    assert find_answer(home, key) is None
    keep_answer(home, key, staged(tmp_path))
    found = find_answer(home, key)
    assert found is not None
    assert (found.run, found.digest, found.facts) == ("r1", "d1", {"records": 3, "settled": {"cells": 3}})
    assert found.data.read_bytes() == b"figures"
    assert (found.secrets / "0.column").read_bytes() == b"noise"


def test_the_first_answer_stays(home: Home, tmp_path: Path) -> None:
    key = answer_key(home, CONTENT)
    keep_answer(home, key, staged(tmp_path))
    keep_answer(home, key, staged(tmp_path, "r2", b"others"))
    found = find_answer(home, key)
    assert found is not None
    assert found.run == "r1"
    assert [path.name for path in home.answers.iterdir()] == [key]


def test_what_a_killed_attempt_left_is_no_answer_and_is_overwritten(home: Home, tmp_path: Path) -> None:
    key = answer_key(home, CONTENT)
    (home.answers / f".{key}-r1").mkdir()
    assert find_answer(home, key) is None
    keep_answer(home, key, staged(tmp_path))
    assert find_answer(home, key) is not None


def test_a_disk_that_fails_is_not_taken_for_an_answer_that_is_there(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(source: Path, destination: Path) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises(OSError, match="full"):
        keep_answer(home, answer_key(home, CONTENT), staged(tmp_path))


@pytest.mark.parametrize("part", ["source", "settings", "columns"])
def test_another_question_has_another_key(home: Home, tmp_path: Path, part: str) -> None:
    assert answer_key(home, CONTENT) != answer_key(home, {**CONTENT, part: "other"})
    assert answer_key(home, CONTENT) != answer_key(Home.open(tmp_path / "other"), CONTENT)
