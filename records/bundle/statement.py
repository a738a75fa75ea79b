"""What a manifest says: an in-toto Statement in a DSSE envelope.

    {"_type", "subject": [{"name", "digest": {"sha256"}}, ..], "predicateType",
     "predicate": {"release", "approval", "log_head"}}

    content digest = SHA-256(canonical({"subject", "release"}))                 (1)

Reviewers sign (1), which is settled before they are asked. Approval and log head come later, so they
are not part of it; the publisher's signature covers everything.

Source: in-toto Attestation Framework v1, Statement and parsing rules. Where those rules let a reader
pass over an unknown field, this predicate does not: one text must have one meaning, so the payload
is canonical JSON and a field that nobody knows is refused. Protobuf would also read `predicate_type`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from google.protobuf.json_format import ParseDict, ParseError  # type: ignore[import-untyped]
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.v1.statement_pb2 import Statement as StatementMessage
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from penstock.mechanisms.refusal import Fault, Refusal, as_rule
from penstock.records.files.digest import NotCanonical, canonical
from penstock.records.signing import envelope
from penstock.records.signing.signing import SignatureWrong, key_id

__all__ = [
    "LARGEST_MANIFEST",
    "MANIFEST",
    "MISSING",
    "REMEDY",
    "BundleAltered",
    "BundleMissing",
    "BundleRefused",
    "content_digest",
    "fault",
    "opened",
    "require_size",
    "sealed",
]

MANIFEST = "manifest.json"
LARGEST_MANIFEST = 64 << 20  # bytes; several times what a spec may hold at most
_MOST_SIGNATURES = 100
KIND = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:penstock:release:v1"

MISSING = "must exist"
_TOO_LARGE = f"must have at most {LARGEST_MANIFEST >> 20} MiB"
REMEDY = "Do not use it; get the bundle again from its publisher."


class BundleRefused(Refusal):
    """The folder cannot become a bundle."""

    code = "bundle-refused"
    remedy = "Remove what is not a plain file, or report this defect."


class BundleMissing(Refusal):
    """There is no folder at the path of the bundle."""

    code = "bundle-missing"
    kind = "integrity"
    remedy = "Correct the path: it is that of one release, PUBLISHED/NAME/RELEASE."


class BundleAltered(Refusal):
    """The bundle is not as it was staged or signed."""

    code = "bundle-altered"
    kind = "integrity"
    remedy = "Do not use the bundle; get it again from its publisher."


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class _Digest(_Part):
    sha256: str


class _Subject(_Part):
    name: str
    digest: _Digest


class _Decision(_Part):
    key_id: str
    public_key: str
    signature: str
    reason: str


class _Approval(_Part):
    required: Annotated[int, Field(ge=0)]
    decisions: list[_Decision]


class _LogHead(_Part):
    """Earlier versions gave the number too; between two publications it tells how many runs were refused."""

    seq: Annotated[int, Field(ge=0)] = 0
    digest: str


class _Predicate(_Part):
    release: dict[str, Any]
    approval: _Approval
    log_head: _LogHead


class _Statement(_Part):
    type: Literal["https://in-toto.io/Statement/v1"] = Field(alias="_type")
    subject: list[_Subject]
    predicateType: Literal["urn:penstock:release:v1"]
    predicate: _Predicate


class _Signature(BaseModel):
    keyid: str
    sig: str


class _Envelope(BaseModel):
    """The three fields of an envelope; others are passed over, as its specification says."""

    model_config = ConfigDict(strict=True)

    payload: str
    payloadType: str
    signatures: list[_Signature] = Field(max_length=_MOST_SIGNATURES)


def content_digest(subject: Sequence[Mapping[str, Any]], release: Mapping[str, Any]) -> str:
    """Return the digest (1), which a reviewer signs."""
    return hashlib.sha256(canonical({"subject": list(subject), "release": dict(release)})).hexdigest()


def sealed(subject: Sequence[Mapping[str, Any]], predicate: Mapping[str, Any], key: Ed25519PrivateKey) -> bytes:
    """Return the bytes of manifest.json; refuse if the check that opens it later would object."""
    payload = canonical(
        {"_type": STATEMENT, "subject": list(subject), "predicateType": PREDICATE, "predicate": dict(predicate)}
    )
    BundleRefused.raise_for(_checked(payload)[1])
    manifest = json.dumps(envelope.sealed(payload, KIND, key), indent=2).encode() + b"\n"
    if len(manifest) > LARGEST_MANIFEST:
        raise BundleRefused.at(MANIFEST, rule=_TOO_LARGE, remedy="Declare fewer or shorter categories.")
    return manifest


def opened(manifest: bytes, key: Ed25519PublicKey) -> dict[str, Any]:
    """Return the statement in the bytes of a manifest.json, if it is signed with this key and has our form."""
    require_size(len(manifest))
    try:
        found = _Envelope.model_validate_json(manifest)
    except ValidationError:
        raise BundleAltered(fault(MANIFEST, "must be a DSSE envelope")) from None
    if key_id(key) not in {signature.keyid for signature in found.signatures}:
        raise BundleAltered(fault(MANIFEST, f"must be signed with key {key_id(key)}; it names another key"))
    try:
        payload = envelope.opened(found.model_dump(), KIND, key)
    except SignatureWrong:
        rule = f"must be signed over its content, as {KIND}, with key {key_id(key)}"
        raise BundleAltered(fault(MANIFEST, rule)) from None
    statement, faults = _checked(payload)
    BundleAltered.raise_for(faults)
    return statement


def require_size(size: int) -> None:
    """Refuse a manifest that is too large, before it is read where that is possible: it has not been verified yet."""
    if size > LARGEST_MANIFEST:
        raise BundleAltered(fault(MANIFEST, _TOO_LARGE))


def fault(field: str, rule: str, remedy: str = REMEDY) -> Fault:
    """Return a fault of a file or field of a bundle, whose name may be anything but is shown as one plain line."""
    return Fault(field if field.isprintable() else ascii(field)[1:-1], rule, remedy)


def _checked(payload: bytes) -> tuple[dict[str, Any], list[Fault]]:
    """Return the statement, and everything that is wrong with its form."""
    try:
        statement = json.loads(payload)
        one_meaning = isinstance(statement, dict) and canonical(statement) == payload
    except (ValueError, RecursionError, NotCanonical):
        one_meaning = False
    if not one_meaning:
        return {}, [fault(MANIFEST, "must hold one JSON object in canonical form")]
    return statement, list(_form_faults(statement))


def _form_faults(statement: dict[str, Any]) -> Iterator[Fault]:
    # The message is only used for the check: its Struct turns whole numbers into floats.
    try:
        Statement.copy_from_pb(ParseDict(statement, StatementMessage())).validate()
    except (ParseError, ValueError, OverflowError, RecursionError):
        # The texts of these errors quote the content.
        yield fault(MANIFEST, "must be an in-toto Statement v1 of at least one file")
    try:
        _Statement.model_validate(statement)
    except ValidationError as error:
        for found in error.errors(include_input=False, include_url=False):
            yield fault(f"{MANIFEST} {'.'.join(map(str, found['loc']))}", as_rule(found["msg"]))
