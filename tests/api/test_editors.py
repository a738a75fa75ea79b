"""Editors find the schema of a drafted spec: beside it, by its first line, from no other host."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from penstock.flows.spec import json_schema
from penstock.tasks.draft.spec import draft_spec
from tests.support.workplace import Workplace


def penstock(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "penstock", *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def named_in(draft: str) -> str:
    """The schema that the first line of a draft names to the language server of YAML."""
    return draft.splitlines()[0].removeprefix("# yaml-language-server: $schema=")


def test_a_draft_begins_with_the_schema_that_the_command_writes(tmp_path: Path) -> None:
    draft = draft_spec(Workplace(tmp_path).source)
    name = named_in(draft)
    assert "://" not in name
    assert Path(name).name == name
    assert f"penstock schema -o {name}" in draft.splitlines()[1]

    written = penstock(tmp_path, "schema", "-o", name)
    assert (written.returncode, written.stderr) == (0, "")
    assert written.stdout == f"Schema written to {name}.\n"
    schema = json.loads((tmp_path / name).read_text(encoding="utf-8"))
    assert schema == json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("name", ["there.json", "no/such/folder.json"])
def test_a_schema_replaces_no_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "there.json").write_text("mine", encoding="utf-8")
    refused = penstock(tmp_path, "schema", "-o", name, "--json")
    assert json.loads(refused.stdout)["refused"] == "output-refused"
    assert (tmp_path / "there.json").read_text(encoding="utf-8") == "mine"
