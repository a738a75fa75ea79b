"""Ed25519 keys (RFC 8032) for manifests and decisions; `envelope` signs with them.

key id = first 16 hexadecimal digits of SHA-256(raw public key)
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from penstock.mechanisms.refusal import Refusal
from penstock.records.files import durable
from penstock.records.files.outside_text import OutsideFile
from penstock.records.signing.curve import is_sound_key
from penstock.records.signing.keyfile import KeyDamaged, kept_key

__all__ = [
    "KeyNotMade",
    "SignatureWrong",
    "existing_private_key",
    "key_id",
    "new_key_pair",
    "private_key",
    "public_key",
    "public_pem",
]


class SignatureWrong(Refusal):
    """The signature was not made over this content with this key."""

    code = "signature-wrong"
    kind = "integrity"
    remedy = "Do not use the content; get it again from its publisher."


class KeyNotMade(Refusal):
    """A key pair cannot be made where it was asked for."""

    code = "key-not-made"
    remedy = "Choose another path in a folder that you can write to."


def private_key(path: Path) -> Ed25519PrivateKey:
    """Return the signing key kept at `path` (PEM, mode 0600); make it on first use.

    Its public key lies beside it with the suffix `.pub`, to be given to whoever checks bundles.
    """
    key = _read_private(path, kept_key(path, _new_private_pem))
    beside = path.with_suffix(".pub")
    pem = public_pem(key.public_key())
    if not beside.exists() or beside.read_bytes() != pem:
        beside.unlink(missing_ok=True)
        durable.create_once(beside, pem)
    return key


def existing_private_key(path: Path) -> Ed25519PrivateKey:
    """Return the private key in a person's own PEM file, which others cannot read. It is never made or changed here."""

    def refuse_to_make() -> bytes:
        raise _damaged(path, "a private key; it does not exist")

    try:
        pem = kept_key(path, refuse_to_make)
    except OSError:
        raise _damaged(path, "a private key that you can read") from None
    return _read_private(path, pem)


def new_key_pair(path: Path) -> Ed25519PublicKey:
    """Make a person's key pair: `path` (PEM, mode 0600), and the public key in `path`.pub, readable by everyone."""
    beside = path.with_name(f"{path.name}.pub")
    pem = _new_private_pem()
    public = _read_private(path, pem).public_key()
    try:
        made = not beside.exists() and durable.create_once(path, pem)
    except OSError:
        made = False
    if not made:
        raise KeyNotMade.at(
            str(path),
            rule="must lie in a folder that you can write to, and neither it nor its .pub may exist",
            remedy="Choose another path; a key is never replaced.",
        )
    durable.write(beside, public_pem(public), flags=os.O_EXCL)
    beside.chmod(0o644)
    return public


def public_key(path: Path) -> Ed25519PublicKey:
    """Return the public key in a PEM file."""
    try:
        key = load_pem_public_key(OutsideFile(path, str(path), KeyDamaged).content())
    except (KeyDamaged, ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise _damaged(path, "an Ed25519 public key in PEM that you can read")
    if not is_sound_key(key.public_bytes_raw()):
        raise _damaged(path, "a public key in canonical form and not of small order: anybody could sign under it")
    return key


def public_pem(public: Ed25519PublicKey) -> bytes:
    """Return the PEM text of a public key."""
    return public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def key_id(public: Ed25519PublicKey) -> str:
    """Return the short name of a key."""
    return hashlib.sha256(public.public_bytes_raw()).hexdigest()[:16]


def _read_private(path: Path, pem: bytes) -> Ed25519PrivateKey:
    try:
        key = load_pem_private_key(pem, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise _damaged(path, "an unencrypted Ed25519 private key in PEM")
    return key


def _new_private_pem() -> bytes:
    return Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _damaged(path: Path, rule: str) -> KeyDamaged:
    return KeyDamaged.at(str(path), rule=f"must hold {rule}", remedy="Restore it from its backup.")
