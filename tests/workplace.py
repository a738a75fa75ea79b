"""A workplace for tests of the whole line: a confidential survey, a spec, a home of its own."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from flows.demo import synthetic_survey
from mechanisms.randomness import seeded

# The events of a run that nobody reviews and that passes.
PASSED = [
    "PLANNED",
    "INGESTED",
    "VALIDATED",
    "RESERVED",
    "SPENT",
    "PROTECTING",
    "PROTECTED",
    "CHECKED",
    "PUBLISHING",
    "SETTLED",
    "PUBLISHED",
]


class Workplace:
    """A folder with a confidential survey, a spec, and a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.source = folder / "survey.parquet"
        self.spec_file = folder / "spec.yaml"
        self.home = folder / "home"
        self.published = folder / "published"
        self.raw: dict[str, Any] = {
            "name": "survey",
            "source": {
                "path": "survey.parquet",
                "unit": "row",
                "columns": {
                    "person_id": {"role": "identifier"},
                    "age": {"role": "quasi_identifier", "type": "integer", "domain": [16, 100]},
                    "region": {
                        "role": "quasi_identifier",
                        "type": "nominal",
                        "categories": ["North", "South", "East", "West"],
                    },
                    "education": {
                        "role": "quasi_identifier",
                        "type": "ordinal",
                        "categories": ["primary", "secondary", "bachelor", "master"],
                    },
                    "income": {"role": "confidential", "type": "continuous", "domain": [0, 1000000]},
                    "savings": {
                        "role": "confidential",
                        "type": "continuous",
                        "domain": [0, 1000000],
                        "missing": "own_group",
                    },
                    "weight": {"role": "weight"},
                },
            },
            "protect": [{"mechanism": "probabilistic_k_anonymity", "method": "ir_swap", "k": 20}],
            "gates": [{"measure": "average_risk", "max": 0.05}, {"measure": "mean_change", "max": 1e-9}],
            "publish": {"path": "published", "formats": ["parquet", "csv"]},
        }
        self.write_survey(400)

    def write_survey(self, rows: int, seed: int = 1) -> pa.Table:
        survey = synthetic_survey(rows, seeded(seed))
        pq.write_table(survey, self.source)
        return survey

    def use_mdav(self, method: str, k: int) -> None:
        """Switch to a method that forms groups on the quasi-identifiers."""
        self.raw["protect"] = [{"mechanism": "probabilistic_k_anonymity", "method": method, "k": k}]
        self.raw["source"]["columns"]["savings"]["missing"] = "category"

    def write_spec(self) -> Path:
        self.spec_file.write_text(yaml.safe_dump(self.raw, sort_keys=False), encoding="utf-8")
        return self.spec_file

    def bundles(self) -> list[Path]:
        """Every published bundle."""
        return sorted(path.parent for path in self.published.rglob("manifest.json"))

    def public_files(self) -> list[str]:
        """Everything below the public folder, hidden files included."""
        return sorted(str(path.relative_to(self.published)) for path in self.published.rglob("*") if path.is_file())

    def working_files(self) -> list[str]:
        """What runs left behind on the confidential side beside their outcome, reports and lock."""
        allowed = {"outcome.json", "report.html", "validation.html", "assessment.json", ".lock"}
        runs = self.home / "runs"
        return sorted(
            str(path.relative_to(runs)) for path in runs.rglob("*") if path.is_file() and path.name not in allowed
        )


def predicate(bundle: Path) -> dict[str, Any]:
    """What the manifest of a bundle says, without its envelope."""
    envelope = json.loads((bundle / "manifest.json").read_bytes())
    return dict(json.loads(base64.b64decode(envelope["payload"]))["predicate"])
