"""The page of refusals says what the classes say, and every code is on it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.cli._refusals_page import meaning, refusals_page
from penstock.cli._screen import Screen
from penstock.mechanisms.refusal import Refusal, TableEmpty

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "refusals.md"
ROOMS = ("mechanisms", "measures", "records", "reports", "tasks", "flows", "api")


def _classes() -> Iterator[tuple[str, ast.ClassDef, dict[str, str]]]:
    """Every class of the product with a code: its code, itself, and its attributes that are text."""
    for path in sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                texts = {
                    ast.unparse(each.targets[0]): str(each.value.value)
                    for each in node.body
                    if isinstance(each, ast.Assign) and isinstance(each.value, ast.Constant)
                }
                if "code" in texts:
                    yield texts["code"], node, texts


def test_the_page_in_docs_is_written_from_the_classes() -> None:
    assert PAGE.read_text(encoding="utf-8") == refusals_page(), "run `make docs`"


def test_every_code_is_on_the_page_once() -> None:
    headings = [line.removeprefix("### ") for line in PAGE.read_text("utf-8").splitlines() if line.startswith("### ")]
    assert sorted(headings) == sorted(code for code, _, _ in _classes())


def test_every_refusal_says_what_was_wrong_and_what_to_do() -> None:
    for code, node, texts in _classes():
        sentence = " ".join((ast.get_docstring(node) or "").split())
        assert sentence.endswith("."), code
        assert not sentence.startswith(("What ", "Of ", "It ")), code
        assert texts.get("remedy", "").endswith((".", "...")), code


def test_the_meaning_is_the_first_sentence() -> None:
    class Two(Refusal):
        """One
        sentence. Another one."""

    assert meaning(Two) == "One sentence."
    assert meaning(TableEmpty) == "The source has no records."


def test_a_refusal_in_text_points_to_the_page_and_one_in_json_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    document = {"refused": TableEmpty.code, "exit_code": 3, "faults": []}
    Screen(False).show_refusal(document)
    assert "See docs/refusals.md#table-empty" in capsys.readouterr().err
    Screen(True).show_refusal(document)
    shown = capsys.readouterr()
    assert "docs/refusals.md" not in shown.out + shown.err
