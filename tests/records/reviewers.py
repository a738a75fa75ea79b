"""Reviewers with fixed keys, for the tests of people, decisions and approvals."""

from __future__ import annotations

import hashlib

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

OLD, CONTENT, OTHER = ("1" * 64, "ab" * 32, "2" * 64)
REASON = "canary: read the report"


def private(owner: str) -> Ed25519PrivateKey:
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(owner.encode()).digest())


def public(owner: str) -> Ed25519PublicKey:
    return private(owner).public_key()
