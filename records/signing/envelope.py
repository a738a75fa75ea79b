"""Everything that is signed is a DSSE envelope, so that one check opens all of it.

    signature = Ed25519 over "DSSEv1" || |type| || type || |payload| || payload

The type is signed with the payload: a reviewer's decision can never pass as a manifest.
Source: Dead Simple Signing Envelope v1; the encoding and the checks are securesystemslib's.
"""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import FormatError, UnverifiedSignatureError, VerificationError
from securesystemslib.signer import CryptoSigner, SSlibKey

from penstock.records.signing.curve import is_sound_key
from penstock.records.signing.signing import SignatureWrong, key_id

__all__ = ["opened", "sealed"]


def sealed(payload: bytes, kind: str, key: Ed25519PrivateKey) -> dict[str, Any]:
    """Return the envelope of `payload`, of the media type `kind`, as JSON data."""
    envelope = Envelope(payload, kind, {})
    envelope.sign(CryptoSigner(key, _named(key.public_key())))
    return dict(envelope.to_dict())


def opened(envelope: Mapping[str, Any], kind: str, key: Ed25519PublicKey) -> bytes:
    """Return the payload, if it is of this kind and signed with this key."""
    try:
        # Only these fields: others are ignored, and the library modifies what it is given.
        signatures = [{"keyid": each["keyid"], "sig": each["sig"]} for each in envelope["signatures"]]
        found = Envelope.from_dict(
            {"payload": envelope["payload"], "payloadType": envelope["payloadType"], "signatures": signatures}
        )
        # Every signature that Penstock believes passes through here, including those under keys trusted long ago.
        right_kind = found.payload_type == kind and is_sound_key(key.public_bytes_raw())
        found.verify([_named(key)], 1)
    except (
        AttributeError,
        FormatError,
        KeyError,
        TypeError,
        UnverifiedSignatureError,
        ValueError,
        VerificationError,
        binascii.Error,
    ):
        right_kind = False
    if not right_kind:
        raise SignatureWrong.at(
            "signature",
            rule=f"must be made over this content, as {kind}, with key {key_id(key)}",
            remedy="Do not use the content; get it again from its publisher.",
        )
    return bytes(found.payload)


def _named(key: Ed25519PublicKey) -> SSlibKey:
    return SSlibKey.from_crypto(key, keyid=key_id(key))
