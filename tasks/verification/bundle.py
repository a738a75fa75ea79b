"""Verification of a published bundle, offline: what is checked and, as plainly, what cannot be.

It needs the bundle and the publisher's public key, and neither a home, a database nor a network, unless the bundle
lies in an object store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from penstock.mechanisms.guarantee import Guarantee, not_together, sum_in_short
from penstock.mechanisms.models import ADDS_UP
from penstock.mechanisms.refusal import Fault, Refusal
from penstock.records.approval.decision import APPROVE, DecisionRefused, verify_decision
from penstock.records.bundle import bundle
from penstock.records.bundle.places import at_hand
from penstock.records.bundle.statement import BundleMissing, fault
from penstock.records.files.addresses import Place
from penstock.records.signing import signing
from penstock.records.signing.curve import is_sound_key
from penstock.tasks.formats import FORMATS
from penstock.tasks.formats.published import form_faults, read_published
from penstock.tasks.outputs.claims import SEVERAL, SINGLE, Beside, Claims, claims_of, several_claims_of

__all__ = ["ClaimBroken", "Finding", "KeyMissing", "approval_faults", "verify_bundle"]

# What lies in a bundle beside the files of its outputs.
_REPORT, _METADATA = "report.html", "metadata"
_DESCRIPTIONS = ("codebook.xml", "dataset.jsonld", "deployment.json")

_MIXED_GATES = "The signature vouches for the verdicts of the gates; some of them rest on confidential measurements."
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
    if isinstance(place, Path) and not place.is_dir():
        raise BundleMissing.at("bundle", rule="must be a folder", got=str(place), remedy="Check the path.")
    with at_hand(place) as folder:
        return _findings(folder, signing.public_key(public_key))


def _findings(folder: Path, key: Ed25519PublicKey) -> list[Finding]:
    statement = bundle.check(folder, key)
    subject, predicate = statement["subject"], statement["predicate"]
    content = bundle.content_digest(subject, predicate["release"])
    outputs = _claims(predicate["release"])
    every = list(outputs.values())
    faults = approval_faults(predicate["approval"], content, every[0].reviewers)
    names = [file["name"] for file in subject]
    if every[0].bytes != {name: (folder / name).stat().st_size for name in names}:
        faults.append(fault("manifest.json", "must state the sizes that the files have"))
    faults += _unaccounted(names, outputs, predicate["release"])
    checked = {name: _checked(folder, names, claims) for name, claims in outputs.items()}
    # What is wrong with a file that outputs share is found for each of them.
    ClaimBroken.raise_for(dict.fromkeys([*faults, *(fault for broken, _ in checked.values() for fault in broken)]))
    spends = [claims.guarantee.model in ADDS_UP for claims in every]
    return [
        Finding("signature", True, f"The manifest is signed with key {signing.key_id(key)}."),
        Finding("digests", True, f"All {len(names)} files are as listed, and there is no other."),
        _approved(predicate["approval"], content),
        *(finding for name, (_, beside) in checked.items() for finding in _seen(name, outputs[name], beside)),
        *_together(predicate["release"]),
        *_in_files(predicate["release"]),
        Finding("gates", False, _GATES[all(spends)] if len(set(spends)) == 1 else _MIXED_GATES),
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


def _unaccounted(
    names: Sequence[str], outputs: Mapping[str | None, Claims], release: Mapping[str, Any]
) -> Iterator[Fault]:
    """Yield a fault for each file that is of no output: nothing is promised of it, and no sum includes it."""
    suffixes = [suffix for each in FORMATS.values() for suffix in each.media_types]
    told = [*outputs, *(file["name"] for file in release.get("files", ()))]
    known = {
        _REPORT,
        *(f"{stem}{suffix}" for claims in outputs.values() for stem in claims.stems for suffix in suffixes),
        *("/".join(filter(None, (_METADATA, of, name))) for of in told for name in _DESCRIPTIONS),
    }
    for name in names:
        if name not in known:
            yield fault(name, "must be of an output that the manifest states")


def _checked(folder: Path, names: Sequence[str], claims: Claims) -> tuple[list[Fault], Beside]:
    """Return what in the files of one output contradicts its claims, and what the tables beside it show."""
    tables: dict[str, dict[str, pa.Table]] = {}
    faults: list[Fault] = []
    for part in claims.parts:
        tables[part.stem], found = read_published(folder, names, part.stem, part.file_columns, escape=claims.escape)
        for suffix, table in tables[part.stem].items():
            found += [fault(f"{part.stem}{suffix}", rule) for rule in _broken(suffix, table, part)]
        faults += found
    if not faults:
        faults += [fault("bundle", rule) for rule in claims.disagreeing(tables)]
    mine = [name.removeprefix(claims.within) for name in names if name.startswith(claims.within)]
    beside = claims.beside(folder / claims.folder, mine, next(iter(tables.values())))
    return [*faults, *beside.faults], beside


def _seen(name: str | None, claims: Claims, beside: Beside) -> Iterator[Finding]:
    """Yield what was found of one output. name: where there are several."""
    of = "" if name is None else f"{name}: "
    yield Finding(f"{of}records", True, f"{of}{claims.counted}")
    yield from (Finding(f"{of}{what}", checked, f"{of}{text}") for what, checked, text in claims.seen(beside))


def _together(release: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what was checked of several outputs beside each other."""
    if release["penstock"] == SINGLE:
        return
    together = release["together"]
    guarantees = [Guarantee.model_validate(each) for each in together["guarantees"]]
    included = together.get("includes", {})
    sums = "; ".join(sum_in_short(each, included) for each in guarantees if each.model in ADDS_UP)
    if sums:
        yield Finding("together", True, f"What the outputs spend is the sum that is stated: {sums}.")
    if together["uncovered"]:
        yield Finding("together", False, not_together(together["uncovered"], len(release["outputs"])))


def _in_files(release: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield what was checked of files that outputs share, and what cannot be."""
    for file in release.get("files", ()):
        own = " and ".join(file["outputs"])
        yield Finding(f"{file['name']}: columns", True, f"The file has the columns of {own}, each once, and no others.")
        linkage = "How far its columns together give a record away was measured inside; nothing here shows it."
        yield Finding(f"{file['name']}: linkage", False, linkage)


def approval_faults(approval: Mapping[str, Any], content: str, reviewers: int) -> list[Fault]:
    """Return the faults in the approvals of this content: required, decisions [key_id, public_key, signature, reason].

    Every decision must hold, even beyond the number required, and one key counts once. `reviewers` is the number that
    the content itself asks for, which they signed with it.
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
    """Return the finding about approvals without fault."""
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
    """Yield what is bound of the pages that reviewers read; releases of earlier versions do not bind them."""
    if release.get("confidential"):
        pages = ", ".join(release["confidential"])
        text = f"What was read inside ({pages}) is bound by keyed digests; only the publisher can compare them."
        yield Finding("confidential pages", False, text)


def _claims(release: Mapping[str, Any]) -> dict[str | None, Claims]:
    """Return what is claimed of every output by its name; None stands for the only one."""
    outputs: dict[str | None, Claims] = {}
    if release.get("penstock") == SEVERAL:
        several = several_claims_of(release)
        if several is None:
            rule = (
                "must state the outputs, each with guarantee, records and columns, and what all promise together, "
                f"in format {SEVERAL}"
            )
            raise ClaimBroken(fault("manifest.json", rule))
        outputs.update(several)
        return outputs
    claims = claims_of(release)
    if claims is None:
        rule = f"must state guarantee, records, columns, bytes and reviewers in format {SINGLE}"
        raise ClaimBroken(fault("manifest.json", rule))
    return {None: claims}


def _broken(suffix: str, table: pa.Table, claims: Claims) -> Iterator[str]:
    """Yield what in one data file contradicts the manifest."""
    if table.num_rows != claims.records:
        yield "must have as many records as the manifest says"
    yield from form_faults(suffix, table, claims.carried, claims.file_columns)
    if table.column_names == list(claims.file_columns):
        yield from claims.broken(table.select(list(claims.roles)))
