"""Verification of a published bundle, offline: what is checked and, as plainly, what cannot be.

It needs the bundle and the publisher's public key, and neither a home, a database nor a network, unless the bundle
lies in an object store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import BaseModel, Field, ValidationError

from penstock.mechanisms.guarantee import ADDS_UP, Guarantee, Model
from penstock.mechanisms.refusal import Fault, Refusal
from penstock.records.approval.decision import APPROVE, DecisionRefused, verify_decision
from penstock.records.bundle import bundle
from penstock.records.bundle.places import at_hand
from penstock.records.bundle.statement import fault
from penstock.records.files.addresses import Place
from penstock.records.signing import signing
from penstock.records.signing.curve import is_sound_key
from penstock.tasks.verification._cell_claims import LayoutClaim, table_faults
from penstock.tasks.verification._group_claims import (
    Beside,
    ColumnClaim,
    GroupsClaim,
    LinkedClaim,
    fits,
    seen_of_groups,
    tables_beside,
)
from penstock.tasks.verification._published_files import form_faults, read_published

__all__ = ["FORMAT", "ClaimBroken", "Finding", "KeyMissing", "approval_faults", "verify_bundle"]

FORMAT = 1  # of the release part of a manifest

_NOISE = ("noise", "That noise of the promised size was drawn cannot be seen in the data.")
# What each model promises and nobody outside can see; k-anonymity shows itself.
_UNSEEN: dict[Model, tuple[str, str]] = {
    "prob_k": ("swapping", "That values were swapped at random in groups cannot be seen in the data."),
    "dp": _NOISE,
    "idp": _NOISE,
    "bdp": _NOISE,
    "t_close": (
        "closeness",
        "How close the groups are to the whole cannot be recomputed: no table of buckets is here.",
    ),
}


_GATES = {
    False: "The verdicts of the gates rest on confidential measurements; the signature vouches for them.",
    True: "The gates were judged by public facts, before the draw; the signature vouches for their verdicts.",
}


class KeyMissing(Refusal):
    """No public key was given to check the signature with."""

    code = "key-missing"
    kind = "integrity"
    remedy = "Ask the publisher for the public key file."


class ClaimBroken(Refusal):
    """The released data, or the approvals, do not bear out what the manifest says."""

    code = "claim-broken"
    kind = "integrity"
    remedy = "Do not rely on the release; ask its publisher."


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked and held, or that cannot be checked from outside."""

    name: str
    checked: bool
    text: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def verify_bundle(place: Place, public_key: Path) -> list[Finding]:
    """Check signature, digests, approvals, record counts and what the promise shows of itself; list all that fails.

    A bundle that is not as signed is refused before anything in it is believed. One in a store is copied first.
    """
    if not public_key.is_file():
        raise KeyMissing.at(
            "--key", rule="must be the publisher's public key file", got=str(public_key), remedy="Ask the publisher."
        )
    with at_hand(place) as folder:
        return _findings(folder, signing.public_key(public_key))


def _findings(folder: Path, key: Ed25519PublicKey) -> list[Finding]:
    statement = bundle.check(folder, key)
    subject, predicate = statement["subject"], statement["predicate"]
    content = bundle.content_digest(subject, predicate["release"])
    claims = _claims(predicate["release"])
    faults = approval_faults(predicate["approval"], content, claims.reviewers)
    names = [file["name"] for file in subject]
    if claims.bytes != {name: (folder / name).stat().st_size for name in names}:
        faults.append(fault("manifest.json", "must state the sizes that the files have"))
    stem = "data" if claims.layout is None else f"tables/{claims.layout.table}"
    tables, unreadable = read_published(folder, names, stem, claims.roles, escape=claims.escape)
    faults += unreadable
    for suffix, table in tables.items():
        faults += [fault(f"{stem}{suffix}", rule) for rule in _broken(suffix, table, claims)]
    beside, groups = Beside(), claims.groups
    if groups is not None:
        readable = {suffix: table for suffix, table in tables.items() if table.column_names == list(claims.roles)}
        beside = tables_beside(folder, names, readable, claims.linked, claims.guarantee, groups, escape=claims.escape)
    ClaimBroken.raise_for([*faults, *beside.faults])
    return [
        Finding("signature", True, f"The manifest is signed with key {signing.key_id(key)}."),
        Finding("digests", True, f"All {len(names)} files are as listed, and there is no other."),
        _approved(predicate["approval"], content),
        Finding("records", True, _counted(claims)),
        *_promised(claims, beside.ratio),
        Finding("gates", False, _GATES[claims.guarantee.model in ADDS_UP]),
        *_bound(predicate["release"]),
        Finding(
            "log head",
            False,
            "The manifest names the last event of the publisher's audit log by its digest; only that log can "
            "confirm it.",
        ),
        Finding(
            "environment", False, "Which software made the release is stated by the publisher; nothing here shows it."
        ),
    ]


def _counted(claims: _Claims) -> str:
    if claims.linked:
        return (
            f"Every file of records has {claims.records:,} of them; it and the tables beside it have the listed "
            "columns and the stated promise."
        )
    if claims.layout is None:
        return f"Every file has {claims.records:,} records, the listed columns and the stated promise."
    return (
        f"Every file has {claims.records:,} cells and totals, all that were declared, and the stated promise; every "
        "total is the sum of its cells."
    )


def approval_faults(approval: Mapping[str, Any], content: str, reviewers: int) -> list[Fault]:
    """What is wrong with the approvals of this content: required, decisions [key_id, public_key, signature, reason].

    Every decision must hold, also beyond the number required, and one key counts once. `reviewers` is the
    number that the content itself asks for, which they signed with it.
    """
    faults: list[Fault] = []
    held: set[bytes] = set()
    for place, decision in enumerate(approval["decisions"], start=1):
        field = f"approval {place}"
        key = _raw_key(decision["public_key"])
        if key is None or not is_sound_key(key.public_bytes_raw()) or signing.key_id(key) != decision["key_id"]:
            faults.append(fault(field, "must name an Ed25519 public key and its id"))
        elif key.public_bytes_raw() in held:
            faults.append(fault(field, "must not be made with a key that approved before: each reviewer counts once"))
        elif not _holds(key, decision, content):
            faults.append(fault(field, "must be signed over exactly this content and reason with its stated key"))
        else:
            held.add(key.public_bytes_raw())
    if approval["required"] != reviewers:
        faults.append(fault("approval", "must ask for as many reviewers as the content that they signed"))
    if len(held) < approval["required"]:
        faults.append(fault("approval", "must be given by as many reviewers as were required"))
    return faults


def _holds(key: Ed25519PublicKey, decision: Mapping[str, Any], content: str) -> bool:
    reason, signature = decision["reason"], decision["signature"]
    try:
        verify_decision(key, content=content, decision=APPROVE, reason=reason, signature=signature)
    except DecisionRefused:
        return False
    return True


def _raw_key(text: str) -> Ed25519PublicKey | None:
    try:
        return Ed25519PublicKey.from_public_bytes(bytes.fromhex(text))
    except ValueError:
        return None


def _approved(approval: Mapping[str, Any], content: str) -> Finding:
    """Of approvals without fault."""
    keys = [decision["key_id"] for decision in approval["decisions"]]
    if not keys:
        return Finding("approval", False, "No review was asked for.")
    reviewers = "1 reviewer" if len(keys) == 1 else f"{len(keys)} reviewers"
    return Finding(
        "approval",
        True,
        f"{reviewers} approved exactly this content ({content}), {approval['required']} required: "
        f"{', '.join(keys)}. Who they are is vouched for by the publisher's signature.",
    )


def _bound(release: Mapping[str, Any]) -> Iterator[Finding]:
    """Releases of earlier versions do not bind what reviewers read."""
    if release.get("confidential"):
        pages = ", ".join(release["confidential"])
        text = f"What was read inside ({pages}) is bound by keyed digests; only the publisher can compare them."
        yield Finding("confidential pages", False, text)


def _promised(claims: _Claims, ratio: Fraction | None) -> Iterator[Finding]:
    if claims.linked and claims.groups is not None:
        yield from (Finding(*told) for told in seen_of_groups(claims.groups, ratio))
        return
    if claims.guarantee.model == "k_anon" and claims.layout is None:
        yield Finding("k-anonymity", True, f"Every combination of quasi-identifiers occurs at least {claims.k} times.")
        return
    if claims.guarantee.model == "k_anon":
        counted = any(figure.statistic == "count" for figure in claims.layout.figures) if claims.layout else False
        seen = "has" if counted else "is said to have"
        yield Finding("k-anonymity", counted, f"Every cell that is not empty {seen} at least {claims.k} records.")
        return
    if claims.settled.parts:
        told = [
            f"every {'value' if len(part.columns) == 1 else 'combination'} of {', '.join(part.columns)} "
            f"occurs at least {part.k:,} times"
            for part in claims.settled.parts
        ]
        yield Finding("blocks", True, f"As in blocks of records, {'; '.join(told)}.")
    name, text = _UNSEEN[claims.guarantee.model]
    yield Finding(name, False, text)


class _PartClaim(BaseModel):
    """Columns that were cut into blocks of at least k records together."""

    k: Annotated[int, Field(strict=True, ge=1)]
    columns: dict[str, Any] = Field(min_length=1)


class _SettledClaim(BaseModel):
    parts: list[_PartClaim] = []


class _Claims(BaseModel):
    """What the release part states about files that can be looked at; a promise about blocks states them as settled."""

    penstock: Literal[1]
    guarantee: Guarantee
    records: Annotated[int, Field(strict=True, ge=0)]
    columns: list[ColumnClaim]
    settled: _SettledClaim = _SettledClaim()
    layout: LayoutClaim | None = None
    linked: list[LinkedClaim] = []
    spreadsheet: Literal["escape"] | None = None
    bytes: dict[str, int]
    reviewers: Annotated[int, Field(strict=True, ge=0)]

    @property
    def roles(self) -> dict[str, str]:
        return {column.name: column.role for column in self.columns}

    @property
    def escape(self) -> bool:
        return self.spreadsheet is not None

    @property
    def k(self) -> int:
        """Where k-anonymity is promised, else 0."""
        return int(self.guarantee.parameters["k"]) if self.guarantee.model == "k_anon" else 0

    @property
    def groups(self) -> GroupsClaim | None:
        """What is promised about groups, where it is."""
        parameters = self.guarantee.parameters
        return GroupsClaim.model_validate(parameters) if parameters.get("mechanism") == "closeness" else None

    @property
    def covers_columns(self) -> bool:
        """Whether a table has its layout, groups their tables, and every column of records was cut into blocks once
        where they promise it.

        All columns together where rows are records.
        """
        parts, groups = self.settled.parts, self.groups
        if groups is not None:
            alone = self.layout is None and not parts
            return alone and fits(groups, self.guarantee.model, self.linked, self.roles)
        if self.linked:
            return False
        if self.guarantee.parameters.get("mechanism") in ("table", "statistics"):
            layout = self.layout
            return layout is not None and layout.is_sound and list(layout.layout.columns) == list(self.roles)
        if self.layout is not None:
            return False
        if "block_sizes" not in self.guarantee.audit:
            return not parts
        together = self.guarantee.parameters.get("mode") != "records" or len(parts) == 1
        return together and sorted(name for part in parts for name in part.columns) == sorted(self.roles)


def _claims(release: Mapping[str, Any]) -> _Claims:
    try:
        claims = _Claims.model_validate(release)
        sound = claims.covers_columns and (claims.guarantee.model != "k_anon" or claims.k > 0)
    except (ValidationError, KeyError, TypeError, ValueError):
        sound = False
    if not sound:
        rule = f"must state guarantee, records, columns, bytes and reviewers in format {FORMAT}"
        raise ClaimBroken(fault("manifest.json", rule))
    return claims


def _broken(suffix: str, table: pa.Table, claims: _Claims) -> Iterator[str]:
    """What in one data file contradicts the manifest."""
    if table.num_rows != claims.records:
        yield "must have as many records as the manifest says"
    yield from form_faults(suffix, table, claims.guarantee, claims.roles)
    if table.column_names != list(claims.roles):
        return
    if claims.layout is not None:
        yield from table_faults(table, claims.layout.layout, claims.k)
        return
    keys = [column for column, role in claims.roles.items() if role in ("quasi_identifier", "weight")]
    if claims.k and _smallest_class(table, keys) < claims.k:
        yield f"must have at least {claims.k} records for every combination of quasi-identifiers"
    for part in claims.settled.parts:
        if _smallest_class(table, list(part.columns)) < part.k:
            yield f"must have at least {part.k} records for every combination of {', '.join(part.columns)}"


def _smallest_class(table: pa.Table, keys: list[str]) -> int:
    counts = table.group_by(keys).aggregate([([], "count_all")]).column("count_all")
    return int(pc.min(counts).as_py() or 0)
