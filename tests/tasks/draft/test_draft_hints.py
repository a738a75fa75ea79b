"""The hints in a draft: comments that change nothing, and that are a spec where they are taken up."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from penstock.flows.spec import resolve_spec
from penstock.tasks.draft.spec import draft_spec


@pytest.fixture
def text(tmp_path: Path) -> str:
    path = tmp_path / "people.parquet"
    pq.write_table(pa.table({"age": [30] * 40, "region": ["North", "South"] * 20}), path)
    return draft_spec(path)


def test_hints_are_comments(text: str) -> None:
    raw = yaml.safe_load(text)
    assert set(raw["source"]) == {"path", "unit", "columns"}
    assert set(raw["source"]["columns"]) == {"age", "region"}
    assert max(map(len, re.findall(r"(?m)^  # .*$", text))) <= 120


def test_a_draft_with_its_hints_taken_up_is_a_spec(text: str, tmp_path: Path) -> None:
    source, _, columns = text.partition("  columns:")
    source = re.sub(r"(?m)^  # (edition|where): ", r"  \1: ", source)
    made = re.findall(r"(?m)^  #   ([a-z_]+: .*)$", source)
    head, _, rest = columns.partition("\n")
    raw = yaml.safe_load("\n".join([f"{source}  columns:{head}", *(f"    {line}" for line in made), rest]))
    assert (raw["source"]["edition"], set(raw["source"]["columns"])) == (
        "2026-11",
        {"age", "age_band", "land", "region"},
    )
    raw["source"]["columns"]["age"] |= {"role": "confidential", "domain": [0, 120]}
    raw["protect"] = [
        {
            "mechanism": "table",
            "table": "people",
            "dimensions": ["age_band", "land"],
            "means": ["age"],
            "model": "dp",
            "epsilon": "1",
            "adjacency": "add_remove",
        }
    ]
    raw |= {"gates": [{"measure": "privacy_loss", "max": 1}], "budget": {"dataset": "people", "epsilon": "1"}}
    spec = resolve_spec(raw, tmp_path)
    assert len(spec.conditions) == 2
    assert spec.columns["age_band"].categories == ("0 to under 18", "18 to under 65", "65 to 120")
