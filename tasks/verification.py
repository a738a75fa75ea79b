"""Verification of a published bundle, offline: what is checked and, as plainly, what cannot be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    claims = _claims(manifest)
    findings = [
        Finding("signature", True, f"The manifest is signed with key {signing.key_id(key)}."),
        Finding("digests", True, f"All {len(manifest['files'])} files are as listed, and there is no other."),
    ]
    tables, faults = _tables(folder, claims)
    for name, table in tables.items():
        faults += [_fault(name, rule) for rule in _broken(name, table, claims)]
    findings.append(
        Finding(
            "records", True, f"Every file has {claims.records:,} records, the listed columns and the stated promise."
        )
    )
    if claims.guarantee.model == "k_anon":
        text = f"Every combination of quasi-identifiers occurs at least {claims.k} times."
        findings.append(Finding("k-anonymity", True, text))
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


@dataclass(frozen=True, slots=True)
class _Claims:
    """What the manifest states; `roles` by column, `k` where k-anonymity is promised."""

    guarantee: Guarantee
    records: int
    roles: dict[str, str]
    k: int


def _claims(manifest: Mapping[str, Any]) -> _Claims:
    try:
        guarantee = Guarantee.model_validate(manifest["guarantee"])
        roles = {column["name"]: column["role"] for column in manifest["columns"]}
        k = int(guarantee.parameters["k"]) if guarantee.model == "k_anon" else 0
        return _Claims(guarantee, int(manifest["records"]), roles, k)
    except (KeyError, TypeError, ValueError):
        raise ClaimBroken(_fault("manifest.json", "must state guarantee, records and columns")) from None


def _tables(folder: Path, claims: _Claims) -> tuple[dict[str, pa.Table], list[Fault]]:
    """The data files; those that cannot be read are faults. CSV is read as text, so that nothing is guessed."""

    def read_csv(path: Path) -> pa.Table:
        return pyarrow.csv.read_csv(
            path,
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(claims.roles, pa.string())),
        )

    tables: dict[str, pa.Table] = {}
    faults: list[Fault] = []
    for name, read in (("data.parquet", pq.read_table), ("data.csv", read_csv)):
        if (folder / name).exists():
            try:
                tables[name] = read(folder / name)
            except (pa.ArrowException, OSError):
                faults.append(_fault(name, "cannot be read"))
    if not tables and not faults:
        faults.append(_fault("bundle", "holds neither data.parquet nor data.csv"))
    return tables, faults


def _broken(name: str, table: pa.Table, claims: _Claims) -> Iterator[str]:
    """What in one data file contradicts the manifest."""
    if table.num_rows != claims.records:
        yield "has another number of records than the manifest says"
    if name.endswith(".parquet") and _carried(table) != claims.guarantee:
        yield "carries another guarantee than the manifest"
    if table.column_names != list(claims.roles):
        yield "has other columns than the manifest lists"
    elif claims.k:
        keys = [column for column, role in claims.roles.items() if role in ("quasi_identifier", "weight")]
        if _smallest_class(table, keys) < claims.k:
            yield f"has a combination of quasi-identifiers that fewer than {claims.k} records share"


def _carried(table: pa.Table) -> Guarantee | None:
    try:
        return Guarantee.model_validate_json((table.schema.metadata or {}).get(GUARANTEE_KEY, b""))
    except ValueError:
        return None


def _smallest_class(table: pa.Table, keys: list[str]) -> int:
    counts = table.group_by(keys).aggregate([([], "count_all")]).column("count_all")
    return int(pa.compute.min(counts).as_py() or 0)


def _fault(field: str, rule: str) -> Fault:
    return Fault(field, rule, "Do not use it; get the bundle again from its publisher.")
