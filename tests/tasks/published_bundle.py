"""A bundle that a careless or dishonest holder of the key can change and sign again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from penstock.mechanisms import dp_microaggregation
from penstock.mechanisms.columns import Column
from penstock.mechanisms.probabilistic_k_anonymity import Params, protect
from penstock.mechanisms.randomness import seeded
from penstock.records.bundle import bundle
from penstock.records.signing import signing
from penstock.tasks.files.columns import write_csv, write_release
from penstock.tasks.verification.bundle import ClaimBroken, Finding, verify_bundle
from tests.tasks.signed_by_hand import content_by_hand

ROWS, K = 60, 5
DECLARED = {
    "age": Column(role="quasi_identifier", type="integer", domain=(0, 120)),
    "region": Column(role="quasi_identifier", type="nominal", categories=("N", "S"), missing="category"),
    "income": Column(role="confidential", type="continuous", domain=(0, 1e6)),
    "weight": Column(role="weight"),
}


class Published:
    """Made with the real mechanism, signed with a key of its own."""

    def __init__(self, folder: Path, method: str, **chosen: Any) -> None:
        self.folder = folder / "bundle"
        self.folder.mkdir()
        self.private = signing.private_key(folder / "signing.pem")
        self.public = folder / "signing.pub"
        chance = np.random.default_rng(1)
        columns = {
            "age": chance.integers(0, 120, ROWS),
            "region": chance.integers(-1, 2, ROWS),
            "income": chance.random(ROWS) * 1e6,
            "weight": chance.random(ROWS) + 1,
        }
        settings = Params(method=method, k=K, **chosen)  # type: ignore[arg-type]
        protected = protect(columns, DECLARED, settings, seeded(1))
        self.release(protected.columns, DECLARED, protected.guarantee)

    def release(self, columns: dict[str, Any], declared: dict[str, Column], guarantee: Any) -> None:
        rows = len(next(iter(columns.values())))
        write_release(self.folder / "data.parquet", columns, declared, guarantee, np.arange(rows))
        write_csv(self.folder / "data.parquet", self.folder / "data.csv")
        self.manifest: dict[str, Any] = {
            "penstock": 1,
            "reviewers": 0,
            "guarantee": guarantee.model_dump(mode="json"),
            "records": rows,
            "columns": [{"name": name, "role": column.role} for name, column in declared.items()],
        }
        self.measure()
        self.seal()

    def release_privately(self, mode: str) -> None:
        """Replace the release by a differentially private one of blocks of at least K records."""
        declared = {name: column for name, column in DECLARED.items() if name != "weight"}
        declared["region"] = declared["region"].model_copy(update={"missing": "refuse"})
        columns = {"age": np.arange(ROWS), "region": np.arange(ROWS) % 2, "income": np.arange(ROWS) * 1e4}
        settings = dp_microaggregation.Params(epsilon="9", adjacency="replace", k=K, mode=mode)  # type: ignore[arg-type]
        protected = dp_microaggregation.protect(columns, declared, settings, seeded(1))
        self.release(protected.columns, declared, protected.guarantee)
        self.manifest["settled"] = json.loads(json.dumps(protected.chosen))
        self.seal()

    @property
    def content(self) -> str:
        """What a reviewer of the present files signs."""
        return content_by_hand(bundle.subjects(self.folder), self.manifest)

    def seal(self, required: int = 0, *decisions: dict[str, Any]) -> None:
        """Seal the present files; `manifest` says how many reviewers were asked, as the content that they sign."""
        bundle.seal(
            self.folder,
            subject=bundle.subjects(self.folder),
            release=self.manifest,
            approval={"required": required, "decisions": list(decisions)},
            log_head={"seq": 12, "digest": "d"},
            key=self.private,
        )

    def measure(self) -> None:
        """State the sizes of the present files."""
        files = bundle.subjects(self.folder)
        self.manifest["bytes"] = {file["name"]: (self.folder / file["name"]).stat().st_size for file in files}

    def change(self, name: str, change: Callable[[pa.Table], pa.Table]) -> None:
        """Rewrite the table in one file and sign again."""
        path = self.folder / name
        if name.endswith(".csv"):
            pyarrow.csv.write_csv(change(pyarrow.csv.read_csv(path)), path)
        else:
            pq.write_table(change(pq.read_table(path)), path)
        self.measure()
        self.seal()

    def verify(self) -> list[Finding]:
        return verify_bundle(self.folder, self.public)


def broken(published: Published) -> ClaimBroken:
    with pytest.raises(ClaimBroken) as refused:
        published.verify()
    assert refused.value.kind == "integrity"
    return refused.value


def finding(published: Published, name: str) -> Finding:
    [found] = [found for found in published.verify() if found.name == name]
    return found
