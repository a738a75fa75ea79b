"""A workplace for tests of the whole line: a confidential survey, a spec, a home of its own, an officer's account."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from penstock.cli._demo import synthetic_survey
from penstock.mechanisms.models import Model
from penstock.mechanisms.randomness import seeded
from penstock.records import open_records
from penstock.records.ledger.accounts import Account
from penstock.records.ledger.limits import Officer, open_account
from penstock.records.people.trusted_keys import people, trust

ROWS = 400
OFFICER = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
# Written so that the declared categories are neither all concepts nor the first of them.
REGIONS = {
    "anywhere": [],
    "coast": ["anywhere"],
    "inland": ["anywhere"],
    "West": ["coast"],
    "East": ["inland"],
    "North": ["coast"],
    "South": ["inland"],
}

# Of every bundle.
DESCRIPTIONS = ("metadata/codebook.xml", "metadata/dataset.jsonld", "metadata/deployment.json")
# The events of `open_dp_account`.
OPENED = ["KEY_TRUSTED", "BUDGET_OPENED"]
# The events of a run that nobody reviews and that passes.
PASSED = [
    "PLANNED",
    "LOOKED",
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
        self.write_survey(ROWS)

    def write_survey(self, rows: int, seed: int = 1) -> pa.Table:
        survey = synthetic_survey(rows, seeded(seed))
        pq.write_table(survey, self.source)
        return survey

    def use_mdav(self, method: str, k: int) -> None:
        """Switch to a method that forms groups on the quasi-identifiers."""
        self.raw["protect"] = [{"mechanism": "probabilistic_k_anonymity", "method": method, "k": k}]
        self.raw["source"]["columns"]["savings"]["missing"] = "category"

    def write_spec(self) -> Path:
        raw = json.loads(json.dumps(self.raw))  # a part that is used twice would be written as an alias
        self.spec_file.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
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


def files_of(bundle: Path) -> dict[str, bytes]:
    """Every file of a bundle by its name in it."""
    return {path.relative_to(bundle).as_posix(): path.read_bytes() for path in bundle.rglob("*") if path.is_file()}


def predicate(bundle: Path) -> dict[str, Any]:
    """What the manifest of a bundle says, without its envelope."""
    envelope = json.loads((bundle / "manifest.json").read_bytes())
    return dict(json.loads(base64.b64decode(envelope["payload"]))["predicate"])


def make_private(workplace: Workplace, **settings: Any) -> None:
    """Switch the workplace to a release that spends 1 of what its data set may."""
    columns = workplace.raw["source"]["columns"]
    for name in ("savings", "weight"):
        del columns[name]
    columns["income"] |= {"domain": [0, 100_000], "outside": "clamp"}
    columns["region"]["taxonomy"] = REGIONS
    workplace.raw |= {
        "budget": {"dataset": "survey", "epsilon": "2"},
        "protect": [
            {"mechanism": "dp_microaggregation", "epsilon": "1", "adjacency": "replace", "k": "auto", **settings}
        ],
        "gates": [{"measure": "expected_error", "max": 1}],
    }


# For answers from refined priors: two columns that are answered together.
COMBINATIONS = [{"region": "South", "education": ["bachelor", "master"]}, {"region": "East", "education": "primary"}]


def make_refined(workplace: Workplace, **settings: Any) -> None:
    """Switch the workplace to answers from refined priors, of every kind, that spend 1 of what its data set may."""
    make_private(workplace)
    priors = {
        "age": {"kind": "distribution", "name": "norm", "parameters": {"loc": 45, "scale": 18}},
        "region": {"kind": "masses", "masses": {"North": "1/4", "South": "1/4", "East": "1/2"}},
        "education": {"kind": "uniform"},
        "income": {"kind": "histogram", "bounds": [0, 20_000, 50_000, 100_000], "masses": ["1/4", "1/2", "1/4"]},
    }
    workplace.raw["protect"] = [
        {"mechanism": "refinement", "epsilon": "1", "adjacency": "replace", "priors": priors, **settings}
    ]
    workplace.raw["gates"] = [{"measure": "expected_error", "max": 1}, {"measure": "privacy_loss", "max": 1}]


def make_table(workplace: Workplace, **settings: Any) -> None:
    """Switch the workplace to a table of its records, under add_remove unless the settings say otherwise."""
    columns = workplace.raw["source"]["columns"]
    for name in ("savings", "weight", "age"):
        del columns[name]
    columns["income"] |= {"domain": [0, 100_000], "outside": "clamp"}
    chosen = {
        "mechanism": "table",
        "table": "incomes",
        "dimensions": ["region", "education"],
        "sums": ["income"],
        "means": ["income"],
        "model": "dp",
        "epsilon": "1",
        "adjacency": "replace",
        **settings,
    }
    spends = chosen["model"] != "k_anon"
    workplace.raw |= {
        "protect": [{name: value for name, value in chosen.items() if value is not None}],
        "gates": [{"measure": "privacy_loss", "max": 1} if spends else {"measure": "smallest_frequency", "min": 2}],
        "publish": {"path": "published", "formats": ["parquet", "csv", "sdmx"]},
    }
    if spends:
        workplace.raw["budget"] = {"dataset": "survey", "epsilon": "2"}


def make_close(workplace: Workplace, confidential: Sequence[str], settings: Mapping[str, Any]) -> None:
    """Switch the workplace to groups that are close to the whole."""
    columns = workplace.raw["source"]["columns"]
    columns.pop("savings", None)
    for name in ("region", "education", "income"):
        columns[name]["role"] = "confidential" if name in confidential else "quasi_identifier"
    workplace.raw |= {
        "protect": [{"mechanism": "closeness", **settings}],
        "gates": [{"measure": "smallest_group", "min": settings["k"]}],
    }


def make_units(workplace: Workplace, most: int, records_of_each: int = 4) -> None:
    """Let every so many records in a row be one person's, and use at most `most` of them."""
    workplace.raw["source"]["unit"] = "person_id"
    workplace.raw["protect"][0]["rows_per_unit"] = most
    survey = workplace.write_survey(ROWS)
    whose = pa.array([f"person {row // records_of_each}" for row in range(ROWS)])
    place = survey.column_names.index("person_id")
    pq.write_table(survey.set_column(place, "person_id", whose), workplace.source)


def open_dp_account(
    limit: int,
    *,
    dataset: str = "survey",
    unit: str = "row",
    model: Model = "dp",
    adjacency: str = "replace",
    partition: str | None = None,
    delta: Fraction = Fraction(0),
) -> None:
    """An officer is trusted and lets the releases of a data set spend so much together."""
    log, how = open_records().log, {"actor": "olga", "now": datetime.now(UTC)}
    if "olga" not in people(log):
        trust(log, "olga", OFFICER.public_key(), reason="met in person", **how)
    account = Account(
        dataset=dataset,
        model=model,
        limit=Fraction(limit),
        adjacency=adjacency,
        unit=unit,
        partition=partition,
        delta=delta,
    )
    open_account(log, account, Officer("olga", OFFICER, "agreed in the board"), **how)


def budget_of(dataset: str = "survey") -> tuple[str, str, list[str]]:
    """What the account of a data set has spent, what is left, and the state of every draw that it was charged for."""
    book = open_records().ledger.book(dataset).as_dict(dataset)
    [account] = book["accounts"]
    return account["spent"], account["left"], [each["state"] for each in book["releases"]]
