"""The spec reference says what the models say."""

from __future__ import annotations

from pathlib import Path

from flows.reference import reference
from flows.spec import json_schema


def test_the_page_in_docs_is_written_from_the_models() -> None:
    page = Path(__file__).parents[2] / "docs" / "spec.md"
    assert page.read_text(encoding="utf-8") == reference(), "run `make docs`"


def test_every_key_of_every_section_is_described() -> None:
    for model in [json_schema(), *json_schema()["$defs"].values()]:
        for key, facts in model["properties"].items():
            assert facts.get("description"), key
            assert f"| `{key}` |" in reference()
