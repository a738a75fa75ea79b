"""The spec reference, written from the models: python -m penstock.flows.spec.reference > docs/spec.md"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

from penstock.flows.spec import json_schema
from penstock.flows.spec.data_description import description_schema
from penstock.mechanisms.registry import MECHANISMS

__all__ = ["reference"]

_SECTIONS = {
    "ReleaseSpec": "The whole spec",
    "Source": "source",
    "Column": "source.columns.NAME",
    "Recode": "source.columns.NAME.recode",
    "Validate": "validate",
    "Budget": "budget",
    **{name: f"protect: {name}" for name in MECHANISMS},
    **{
        kind.capitalize(): f"protect.priors.NAME: {kind}" for kind in ("masses", "uniform", "histogram", "distribution")
    },
    "CellBounds": "protect.bounds.NAME",
    "Weight": "protect.weight",
    "Statistic": "protect.figures",
    "Gate": "gates",
    "Approve": "approve",
    "Publish": "publish",
    "Describe": "describe",
    "Run": "run",
}
_DESCRIPTION = {
    "DataDescription": "A data description for questions",
    "DatasetBudget": "budget, of a data description",
    "Questions": "questions",
}
_TITLES = (_SECTIONS["ReleaseSpec"], _DESCRIPTION["DataDescription"])
_OPENING = """# The spec, key by key

One YAML or JSON file describes one release. This page is written from the code's own models
(`make docs`); `penstock schema` prints the same as JSON Schema, so an editor can complete a spec, and `penstock schema
--data` that of a data description for questions, which ends this page.
Paths are relative to the spec file, and `${VAR}` in a path is replaced by the variable, unless its name is
usual for a secret (`AWS_…`, `…_KEY`, `…PASSWORD`): paths are shown. A key that is not listed here is refused. Privacy
parameters, bounds and gates have no defaults.
"""


def reference() -> str:
    """Return the page as Markdown."""
    schema = json_schema()
    models = {**schema["$defs"], "ReleaseSpec": schema}
    described = description_schema()
    models |= {**described["$defs"], "DataDescription": described}
    sections = {**_SECTIONS, **_DESCRIPTION}
    return "\n".join([_OPENING, *(line for name, title in sections.items() for line in _section(title, models[name]))])


def _section(title: str, model: dict[str, Any]) -> Iterator[str]:
    yield f"## `{title}`\n" if title not in _TITLES else f"## {title}\n"
    yield f"{model['description']}\n"
    yield "| key | value | default | meaning |"
    yield "|---|---|---|---|"
    for key, facts in model["properties"].items():
        default = "needed" if key in model.get("required", []) else _default(facts)
        yield f"| `{key}` | {_values(facts)} | {default} | {facts.get('description', '')} |"
    yield ""


def _default(facts: dict[str, Any]) -> str:
    value = facts.get("default")
    if value in (None, {}, []):
        return "none"
    return f"`{', '.join(value) if isinstance(value, list) else value}`"


def _values(facts: dict[str, Any]) -> str:
    if "const" in facts:
        return f"`{facts['const']}`"
    if "enum" in facts:
        return ", ".join(f"`{value}`" for value in facts["enum"])
    choices = facts.get("anyOf") or facts.get("oneOf")
    if choices:
        options = [_values(option) for option in choices if option.get("type") != "null"]
        return " or ".join(dict.fromkeys(options))
    if "$ref" in facts:
        name = facts["$ref"].rpartition("/")[2]
        return f"`{_SECTIONS.get(name) or _DESCRIPTION[name]}`"
    if facts.get("type") == "array":
        inside = facts.get("items") or next(iter(facts.get("prefixItems", [{}])))
        return f"list of {_values(inside)}"
    if facts.get("type") == "object":
        inside = facts["additionalProperties"]
        return "keys and values" if inside is True else f"NAME: {_values(inside)}"
    words = {"string": "text", "integer": "whole number"}
    kinds: list[str] = facts["type"] if isinstance(facts["type"], list) else [facts["type"]]
    return " or ".join(words.get(kind, kind) for kind in kinds)


if __name__ == "__main__":
    sys.stdout.write(reference())
