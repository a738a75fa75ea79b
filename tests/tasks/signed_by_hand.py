"""Approvals as the protocol defines them, made with the cryptography library alone."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

DECISION = b"application/vnd.penstock.decision+json"


def encoded(kind: bytes, payload: bytes) -> bytes:
    """The pre-authentication encoding of DSSE v1: decimal lengths in bytes, single spaces."""
    return b" ".join([b"DSSEv1", str(len(kind)).encode(), kind, str(len(payload)).encode(), payload])


def content_by_hand(subject: object, release: object) -> str:
    """The digest that reviewers sign."""
    text = json.dumps(
        {"release": release, "subject": subject}, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    return hashlib.sha256(text.encode()).hexdigest()


def approved(key: Ed25519PrivateKey, content: str, reason: str = "", word: str = "approve") -> dict[str, Any]:
    """One entry of the approvals in a manifest."""
    text = json.dumps(
        {"bundle": content, "decision": word, "reason": reason}, separators=(",", ":"), ensure_ascii=False
    )
    public = key.public_key().public_bytes_raw()
    return {
        "key_id": hashlib.sha256(public).hexdigest()[:16],
        "public_key": public.hex(),
        "signature": base64.b64encode(key.sign(encoded(DECISION, text.encode()))).decode(),
        "reason": reason,
    }
