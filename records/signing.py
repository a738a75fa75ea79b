"""Ed25519 signatures (RFC 8032) over manifests and decisions.

key id = first 16 hexadecimal digits of SHA-256(raw public key)
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from mechanisms.refusal import Refusal
from records import durable
from records.keyfile import KeyDamaged, kept_key

__all__ = ["SignatureWrong", "key_id", "private_key", "public_key", "public_pem", "sign", "verify"]


class SignatureWrong(Refusal):
    """The signature was not made over this content with this key."""

    code = "signature-wrong"
    kind = "integrity"


def private_key(path: Path) -> Ed25519PrivateKey:
    """The signing key kept at `path` (PEM, mode 0600), made on first use.

    Its public key lies beside it with the suffix `.pub`, to be handed to whoever checks bundles.
    """
    content = kept_key(path, _new_private_pem)
    try:
        key = load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise _damaged(path, "an unencrypted Ed25519 private key in PEM")
    beside = path.with_suffix(".pub")
    pem = public_pem(key.public_key())
    if not beside.exists() or beside.read_bytes() != pem:
        beside.unlink(missing_ok=True)
        durable.create_once(beside, pem)
    return key


def public_key(path: Path) -> Ed25519PublicKey:
    """The public key in a PEM file."""
    try:
        key = load_pem_public_key(path.read_bytes())
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise _damaged(path, "an Ed25519 public key in PEM")
    return key


def public_pem(public: Ed25519PublicKey) -> bytes:
    """The PEM text of a public key."""
    return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def key_id(public: Ed25519PublicKey) -> str:
    """The short name of a key."""
    return hashlib.sha256(public.public_bytes_raw()).hexdigest()[:16]


def sign(private: Ed25519PrivateKey, content: bytes) -> bytes:
    """The 64-byte signature of `content`."""
    return private.sign(content)


def verify(public: Ed25519PublicKey, content: bytes, signature: bytes) -> None:
    """Refuse a signature that `public` did not make over `content`."""
    try:
        public.verify(signature, content)
    except InvalidSignature:
        raise SignatureWrong.at(
            "signature",
            rule=f"must be made over this content with key {key_id(public)}",
            remedy="Do not use the content; get it again from its publisher.",
        ) from None


def _new_private_pem() -> bytes:
    return Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _damaged(path: Path, rule: str) -> KeyDamaged:
    return KeyDamaged.at(str(path), rule=f"must hold {rule}", remedy="Restore it from its backup.")
