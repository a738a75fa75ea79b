"""A reviewer's decision: one signature over one bundle, one word and one reason.

    payload   = canonical({"bundle": content, "decision": "approve" | "refuse", "reason": text})    (1)
    signature = Ed25519 over the DSSE encoding of (1), of the type KIND                            (2)

`content` is the SHA-256 of what is reviewed, so a signature holds for no other bundle; the word is
signed too, so a refusal can never pass as an approval. The signature is handed around alone, as
base64: whoever has the three fields can rebuild (1).
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from penstock.mechanisms.refusal import Fault, Refusal
from penstock.records.files.digest import canonical
from penstock.records.signing.envelope import opened, sealed
from penstock.records.signing.signing import SignatureWrong, key_id

__all__ = [
    "APPROVE",
    "KIND",
    "REFUSE",
    "DecisionRefused",
    "DecisionSignatureWrong",
    "is_content",
    "reason_faults",
    "sign_decision",
    "verify_decision",
]

KIND = "application/vnd.penstock.decision+json"
APPROVE, REFUSE = "approve", "refuse"

_CONTENT = re.compile(r"[0-9a-f]{64}")
_SIGNATURE_BYTES = 64
_LONGEST_REASON = 500


class DecisionRefused(Refusal):
    """The decision does not count, for a reason that lies in its own text."""

    code = "decision-refused"
    kind = "approval"
    remedy = "Correct the named part of the decision, and sign it again."


class DecisionSignatureWrong(DecisionRefused):
    """The signature was not made over this content, word and reason with the reviewer's key."""

    code = "decision-signature-wrong"
    remedy = "Sign again with the trusted key, over what waits now."


def sign_decision(private_key: Ed25519PrivateKey, *, content: str, decision: str, reason: str) -> str:
    """Return (2) as base64."""
    envelope = sealed(_payload(content, decision, reason), KIND, private_key)
    return str(envelope["signatures"][0]["sig"])


def verify_decision(public_key: Ed25519PublicKey, *, content: str, decision: str, reason: str, signature: str) -> None:
    """Refuse a signature that is not (2) of these fields under this key."""
    payload = _payload(content, decision, reason)
    envelope = {
        "payload": base64.b64encode(payload).decode(),
        "payloadType": KIND,
        "signatures": [{"keyid": key_id(public_key), "sig": signature}],
    }
    try:
        held = _is_plain_signature(signature) and opened(envelope, KIND, public_key) == payload
    except SignatureWrong:
        held = False
    if not held:
        raise DecisionSignatureWrong.at(
            "signature",
            rule=f"must be made over this content, decision and reason with key {key_id(public_key)}",
            remedy="Sign again with the trusted key, over what is waiting now.",
        )


def is_content(text: str) -> bool:
    """Return whether this can be the digest of a bundle's content."""
    return _CONTENT.fullmatch(text) is not None


def reason_faults(reason: str, *, needed: bool) -> Iterator[Fault]:
    """Yield what is wrong with a reason. It is never quoted: it may say what only the reviewer may know."""
    if needed and not reason.strip():
        yield Fault("reason", "must be given", "Give the reason in one sentence.")
    if len(reason) > _LONGEST_REASON:
        yield Fault("reason", f"must have at most {_LONGEST_REASON} characters", "Shorten it.", str(len(reason)))
    if any(_is_control(character) for character in reason):
        yield Fault("reason", "must have no control characters and no line breaks", "Write it as one line of text.")


def _payload(content: str, decision: str, reason: str) -> bytes:
    faults = []
    if not is_content(content):
        faults.append(Fault("content", "must be 64 hexadecimal digits in lower case", "Copy the digest that waits."))
    if decision not in (APPROVE, REFUSE):
        faults.append(Fault("decision", f"must be {APPROVE} or {REFUSE}", "Choose one of the two."))
    DecisionRefused.raise_for([*faults, *reason_faults(reason, needed=decision == REFUSE)])
    return canonical({"bundle": content, "decision": decision, "reason": reason})


def _is_control(character: str) -> bool:
    """Return whether it is a control character, is invisible or reverses the text around it: a reason must read the
    same wherever it is shown."""
    category = unicodedata.category(character)
    return category.startswith("C") or category in ("Zl", "Zp")


def _is_plain_signature(text: str) -> bool:
    """Return whether this is the one text of a signature: the decoder of the envelope would skip what is not base64."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return len(raw) == _SIGNATURE_BYTES and base64.b64encode(raw).decode() == text
