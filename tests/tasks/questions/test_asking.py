"""Asking: a stored answer is never drawn, damaged files are failures, and a page is made for one person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock.mechanisms.refusal import Refusal
from penstock.records import Home
from penstock.tasks.files import source_files
from penstock.tasks.questions import asking, identity
from penstock.tasks.questions.answered import is_page_of, page_of
from tests.support.question_house import asked, set_up
from tests.support.workplace import Workplace

NORTH = "count where region is North"


def test_an_answer_that_was_stored_is_never_drawn_again(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    data = set_up(workplace)
    asked(data, NORTH, epsilon="1/4")
    monkeypatch.setattr(asking, "ask", lambda *_, draw, **__: draw())
    with pytest.raises(RuntimeError, match="never drawn again"):
        asked(data, NORTH, epsilon="1/4")


@pytest.mark.parametrize("at", ["identity", "evaluation"])
def test_a_damaged_file_is_told_as_one_and_costs_nothing(
    at: str, workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = set_up(workplace)
    if at == "evaluation":
        monkeypatch.setattr(identity, "_AT_REST", 10**6)
        asked(data, "count where region is South", epsilon="1/4")
        monkeypatch.setattr(identity, "_state", lambda path: [["", 0, 0, 0, 0, 0]])
        monkeypatch.setattr(asking, "known_identity", lambda *_: None)
        known = identity.Identity("s", "v", "f", (), 400, [["", 0, 0, 0, 0, 0]])
        monkeypatch.setattr("penstock.flows.answer.identify", lambda *_, **__: known)
    content = bytearray(workplace.source.read_bytes())
    content[50:4000] = bytes(3950)
    workplace.source.write_bytes(content)
    with pytest.raises(Refusal) as refused:
        asked(data, NORTH, epsilon="1/4")
    assert (refused.value.code, refused.value.faults[0].field) == ("source-unreadable", "source.path")


@pytest.mark.parametrize("step", [0, 1])
def test_a_file_that_changes_while_it_is_read_is_refused(
    step: int, workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once while it is identified, once while it is evaluated."""
    data = set_up(workplace)
    states = iter(range(100))
    asked_before: list[int] = []

    def state(_: Any) -> Any:
        asked_before.append(next(states))
        return asked_before[-1] if len(asked_before) > 2 * step else "the same"

    monkeypatch.setattr(source_files, "source_state", state)
    with pytest.raises(Refusal, match="must not change while it is read"):
        asked(data, NORTH, epsilon="1/4")
    assert len(asked_before) == 2 * step + 2


def test_a_page_is_made_for_one_person(tmp_path: Path) -> None:
    home = Home.open(tmp_path / "home")
    path = page_of(home, "ab" * 32, "rita")
    _, _, key, proof = path.split("/")
    assert is_page_of(home, key, proof, "rita")
    assert not is_page_of(home, key, proof, "vera")
    assert not is_page_of(home, "cd" * 32, proof, "rita")
    assert not is_page_of(Home.open(tmp_path / "other"), key, proof, "rita")
