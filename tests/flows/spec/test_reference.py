"""The spec reference says what the models say."""

from __future__ import annotations

from pathlib import Path

from penstock.flows.spec import json_schema
from penstock.flows.spec.reference import reference
from penstock.mechanisms.registry import MECHANISMS


def test_the_page_in_docs_is_written_from_the_models() -> None:
    page = Path(__file__).parents[3] / "docs" / "spec.md"
    assert page.read_text(encoding="utf-8") == reference(), "run `make docs`"


def test_every_key_of_every_section_is_described() -> None:
    page = reference()
    for model in [json_schema(), *json_schema()["$defs"].values()]:
        for key, facts in model["properties"].items():
            assert facts.get("description"), key
            assert f"| `{key}` |" in page


def test_each_mechanism_has_a_heading_of_its_own() -> None:
    sections = reference().split("\n## ")
    for name, mechanism in MECHANISMS.items():
        (section,) = (each for each in sections if each.startswith(f"`protect: {name}`"))
        assert f"| `mechanism` | `{name}` | needed |" in section
        assert all(f"| `{key}` |" in section for key in mechanism.params.model_fields)
