"""Verification of a published bundle, offline: what is checked and, as plainly, what cannot be."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from mechanisms.guarantee import Guarantee
from mechanisms.refusal import Fault, Refusal
from records import bundle, signing
from tasks.tables import GUARANTEE_KEY

__all__ = ["ClaimBroken", "Finding", "KeyMissing", "verify_bundle"]


class KeyMissing(Refusal):
    """There is no public key to check the signature with."""

    code = "key-missing"
    kind = "integrity"


class ClaimBroken(Refusal):
    """The released data contradict the promise in the manifest."""

    code = "claim-broken"
    kind = "integrity"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked and held, or that cannot be checked from outside."""

    name: str
    checked: bool
    text: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def verify_bundle(folder: Path, public_key: Path) -> list[Finding]:
    """Check signature, digests, record counts and what the promise shows of itself; raise on the first that fails."""
    if not public_key.is_file():
        raise KeyMissing.at(
            "--key", rule="must be the publisher's public key file", got=str(public_key), remedy="Ask the publisher."
        )
    key = signing.public_key(public_key)
    manifest = bundle.check(folder, key)
    guarantee = Guarantee.model_validate(manifest["guarantee"])
    findings = [
        Finding("signature", True, f"The manifest is signed with key {signing.key_id(key)}."),
        Finding("digests", True, f"All {len(manifest['files'])} files are as listed, and there is no other."),
    ]
    tables = _tables(folder)
    faults = [
        Fault(name, "has another number of records than the manifest says", "Do not use it.")
        for name, table in tables.items()
        if table.num_rows != manifest["records"]
    ]
    faults += [
        Fault(name, "carries another guarantee than the manifest", "Do not use it.")
        for name, table in tables.items()
        if name.endswith(".parquet") and _carried(table) != guarantee
    ]
    findings.append(Finding("records", True, f"Every file has {manifest['records']:,} records and the stated promise."))
    if guarantee.model == "k_anon":
        keys = [column["name"] for column in manifest["columns"] if column["role"] in ("quasi_identifier", "weight")]
        k = guarantee.parameters["k"]
        faults += [
            Fault(name, f"has a combination of quasi-identifiers that fewer than {k} records share", "Do not use it.")
            for name, table in tables.items()
            if _smallest_class(table, keys) < k
        ]
        findings.append(
            Finding("k-anonymity", True, f"Every combination of quasi-identifiers occurs at least {k} times.")
        )
    else:
        findings.append(
            Finding("swapping", False, "That values were swapped at random in groups cannot be seen in the data.")
        )
    ClaimBroken.raise_for(faults)
    findings.append(
        Finding(
            "gates",
            False,
            "The verdicts of the gates rest on confidential measurements; the signature vouches for them.",
        )
    )
    return findings


def _tables(folder: Path) -> dict[str, pa.Table]:
    readers = {"data.parquet": pq.read_table, "data.csv": pyarrow.csv.read_csv}
    return {name: read(folder / name) for name, read in readers.items() if (folder / name).exists()}


def _carried(table: pa.Table) -> Guarantee | None:
    text = (table.schema.metadata or {}).get(GUARANTEE_KEY)
    return None if text is None else Guarantee.model_validate_json(text)


def _smallest_class(table: pa.Table, keys: list[str]) -> int:
    counts = table.group_by(keys).aggregate([([], "count_all")]).column("count_all")
    return int(pa.compute.min(counts).as_py())
