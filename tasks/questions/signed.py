"""A published answer: one file that anybody can check, signed with the agency's key.

    <publish>/<name>/answers/<id>.json    a DSSE envelope of {"answer", "digest", "log_head"}                    (1)

How the log is held against these files: penstock.records.published_answers.

answer: the question, what was answered, the promise and the expected error, as the home stores it. digest: of the
stored answer, as the audit log has it. log_head: the digest of the last event of the log, which has the answer on
record.

An answer is on record before it is published. If the process dies between the two, whoever asks again publishes it; a
file that is there stays as it is. Answers about one individual are never published.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.refusal import Fault, Refusal, as_rule
from penstock.records.bundle.outside import require_outside
from penstock.records.files import durable
from penstock.records.files.addresses import ObjectPath, Place
from penstock.records.files.digest import NotCanonical, canonical
from penstock.records.home import Home
from penstock.records.published_answers import KIND, LARGEST, as_file, is_as_written
from penstock.records.signing import envelope
from penstock.records.signing.signing import SignatureWrong

__all__ = [
    "AnswerContent",
    "AnswerNotWritable",
    "PublishedAnswerAltered",
    "SignedAnswer",
    "opened",
    "publish",
    "read_published",
]

_REMEDY = "Do not use it; get the answer again from its publisher."


class PublishedAnswerAltered(Refusal):
    """The published answer is not as it was signed."""

    code = "published-answer-altered"
    kind = "integrity"
    remedy = "Do not use the answer; get it again from its publisher."


class AnswerNotWritable(Refusal):
    """The answer is on record, but cannot be written where it is to be published."""

    code = "answer-not-writable"
    kind = "failure"
    remedy = "Make the folder writable, and ask the same again: nothing is spent."


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class _Terms(_Part):
    adjacency: str
    whose: str | None
    rows_per_unit: int


class AnswerContent(_Part):
    """The answer, as the home stores it."""

    format: Literal[1]
    name: str
    edition: str | None
    query: dict[str, Any]
    text: str
    method: str
    epsilon: str
    terms: _Terms
    columns: dict[str, dict[str, Any]]
    prior: dict[str, Any] | None
    records: int | None
    guarantee: dict[str, Any]
    standard_error: float | None
    half_width: float | None
    confidence: str
    is_upper_bound: bool
    is_typical: bool
    expect: list[str]
    groups: list[str]
    values: list[int | float | str]
    errors: list[float] | None = None


class _LogHead(_Part):
    digest: str


class SignedAnswer(_Part):
    """The payload (1)."""

    answer: AnswerContent
    digest: str = Field(min_length=1)
    log_head: _LogHead

    @property
    def guarantee(self) -> Guarantee:
        """Return the promise."""
        return Guarantee.model_validate(self.answer.guarantee)


def publish(home: Home, place: Place, payload: dict[str, Any]) -> None:
    """Sign the payload (1) and put it there, unless a file is there already."""
    require_outside(place, home)
    content = as_file(envelope.sealed(canonical(payload), KIND, home.signing_key()))
    if isinstance(place, ObjectPath):
        from penstock.records.files import object_store

        object_store.create(place, content)
        return
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        if durable.create_once(place, content):
            place.chmod(0o644)
    except OSError as error:
        raise AnswerNotWritable.at(
            "questions.publish",
            rule=f"must be a folder that can be written to ({error.strerror})",
            got=str(place.parent),
            remedy="Mend it, and ask the same again: the answer is on record, and nothing is spent.",
        ) from None


def opened(content: bytes, key: Ed25519PublicKey) -> SignedAnswer:
    """Return what a published answer says, if it is signed with this key and has our form, to the last byte."""
    try:
        told = json.loads(content)
        payload = envelope.opened(told, KIND, key)
    except (ValueError, RecursionError, TypeError):
        raise PublishedAnswerAltered(Fault("answer", "must be a DSSE envelope", _REMEDY)) from None
    except SignatureWrong as wrong:
        raise PublishedAnswerAltered(*(Fault("answer", fault.rule, _REMEDY) for fault in wrong.faults)) from None
    if not is_as_written(content, told):
        rule = "must be written as it was published: nothing beside the signed content, and one signature"
        raise PublishedAnswerAltered(Fault("answer", rule, _REMEDY))
    try:
        statement = json.loads(payload)
        one_meaning = canonical(statement) == payload
    except (ValueError, RecursionError, NotCanonical):
        one_meaning = False
    if not one_meaning:
        raise PublishedAnswerAltered(Fault("answer", "must hold one JSON object in canonical form", _REMEDY))
    try:
        found = SignedAnswer.model_validate(statement)
        _ = found.guarantee
    except ValidationError as error:
        raise PublishedAnswerAltered(
            *(
                Fault(f"answer {'.'.join(map(str, each['loc']))}", as_rule(each["msg"]), _REMEDY)
                for each in error.errors(include_input=False, include_url=False)
            )
        ) from None
    return found


def read_published(path: Path) -> bytes:
    """Return the bytes of a published answer; refuse one that cannot be read, or is too large to be one."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise PublishedAnswerAltered(Fault(str(path), f"must be readable ({error.strerror})", _REMEDY)) from None
    if len(content) > LARGEST:
        raise PublishedAnswerAltered(Fault(str(path), f"must have at most {LARGEST >> 20} MiB", _REMEDY))
    return content
