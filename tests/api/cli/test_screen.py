"""What stands on a terminal while a release runs: the present step, and nothing anywhere else."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import Any

import pytest

from penstock.cli._screen import Screen
from penstock.tasks.approve import Waiting
from penstock.tasks.publish import Receipt
from penstock.tasks.run.steps import STEPS


def run_through(screen: Screen) -> None:
    with screen.progress():
        for step in (*STEPS, "something else"):
            logging.getLogger("penstock").info(step)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("place", range(len(STEPS)))
def test_a_terminal_shows_the_present_step_and_how_many_there_are(
    capsys: pytest.CaptureFixture[str], place: int
) -> None:
    with Screen(as_json=False).progress():
        logging.getLogger("penstock").info(STEPS[place])
    printed = capsys.readouterr()
    assert f"{place + 1} of {len(STEPS)}: {STEPS[place]}" in printed.err
    assert printed.out == ""


@pytest.mark.usefixtures("terminal")
def test_nobody_else_hears_of_the_steps(caplog: pytest.LogCaptureFixture) -> None:
    run_through(Screen(as_json=False))  # Prefect, too, prints what arrives at the root
    assert caplog.records == []


@pytest.mark.usefixtures("terminal")
def test_the_log_is_as_before_when_the_release_is_over() -> None:
    logger = logging.getLogger("penstock")
    before = list(logger.handlers), logger.level, logger.propagate
    run_through(Screen(as_json=False))
    assert (logger.handlers, logger.level, logger.propagate) == before


def test_without_a_terminal_nothing_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    run_through(Screen(as_json=False))
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("terminal")
def test_with_json_nothing_is_shown_either(capsys: pytest.CaptureFixture[str]) -> None:
    run_through(Screen(as_json=True))
    assert capsys.readouterr() == ("", "")


def test_ids_are_not_folded_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    run, output = "20261119T043400Z-6d651269", "a_long_name_of_an_output_of_several"
    cost = {
        "run": run,
        "output": output,
        "occurred": "2026-11-19T04:34:00+00:00",
        "model": "dp",
        "epsilon": "1/5",
        "part": None,
        "state": "published",
        "whose": None,
    }
    Screen(as_json=False).show_budgets([{"dataset": "labour", "accounts": [], "releases": [cost]}])
    assert any(run in line and output in line and "published" in line for line in capsys.readouterr().out.splitlines())


GONE: tuple[dict[str, Any], ...] = (
    {"output": "fine", "because": ["largest_share", "p_percent"]},
    {"output": "finest", "because": ["k"]},
)


def ends(left_out: tuple[dict[str, Any], ...]) -> list[Receipt | Waiting]:
    text = dict.fromkeys(("name", "run", "confidential_report"), "x")
    receipt = dict.fromkeys(("rows_are", "promise", "path", "manifest", "public_report"), "x")
    waiting: dict[str, Any] = {
        "content": "x",
        "required": 1,
        "missing": 1,
        "allowed": ("a",),
        "until": "",
        "looks": "0",
    }
    return [
        Receipt(**text, **receipt, records=1, repeats=None, seconds={}, left_out=left_out),
        Waiting(**text, **waiting, left_out=left_out),
    ]


def test_one_row_is_not_called_rows(capsys: pytest.CaptureFixture[str]) -> None:
    receipt, _ = ends(())
    for number, told in ((1, "Published x, 1 cell\n"), (2, "Published x, 2 cells\n")):
        Screen(as_json=False).show_result(replace(receipt, rows_are="cells", records=number))
        assert told in capsys.readouterr().out


def test_an_output_that_was_left_out_is_named_with_what_refused_it(capsys: pytest.CaptureFixture[str]) -> None:
    for end in ends(GONE):
        Screen(as_json=False).show_result(end)
        assert "  left out            fine (largest_share, p_percent); finest (k)\n" in capsys.readouterr().out
        Screen(as_json=True).show_result(end)
        document = json.loads(capsys.readouterr().out)
        assert document.get("waiting", document)["left_out"] == list(GONE)


def test_where_nothing_was_left_out_nothing_is_said_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    for end in ends(()):
        Screen(as_json=False).show_result(end)
        assert "\n  left out " not in capsys.readouterr().out
        assert "left_out" not in end.as_dict()  # documents without one are as they always were
