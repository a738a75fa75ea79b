"""Digests: keyed for anything confidential, plain for public files only.

The plain hash of a small table can be found by trying all small tables, so whatever leaves the
confidential side, or lies beside data that does, is digested with a key (HMAC-SHA256, RFC 2104):

    keyed(K, p_1 .. p_m) = HMAC(K, m || |p_1| || p_1 || .. || |p_m| || p_m)     (1)

m and the lengths are 8-byte big-endian integers, so different lists of parts never give the same
input. A file enters (1) as ("file", SHA-256 of its content).
"""

from __future__ import annotations

import hashlib
import hmac
import json
from pathlib import Path

from penstock.mechanisms.refusal import Refusal

__all__ = ["NotCanonical", "canonical", "keyed", "keyed_file", "plain_file"]


# Made once: a log of many events is encoded again each time it is checked.
_ENCODER = json.JSONEncoder(sort_keys=True, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


class NotCanonical(Refusal):
    """The data have no single JSON form, so a digest of them would mean nothing."""

    code = "not-canonical"
    remedy = "Convert the facts to text, whole numbers, lists and objects before recording them."


def canonical(data: object) -> bytes:
    """Return the one JSON text of `data`: keys sorted, no spaces, UTF-8, floats in shortest exact form.

    Refused: NaN and infinities (not JSON), keys that are not text (JSON would turn 1 into "1"),
    text that is not Unicode, and every type that JSON does not have.
    """
    try:
        encoded = _ENCODER.encode(data).encode()
    except (TypeError, ValueError, RecursionError):
        encoded = b""
    if not encoded or not _keys_are_text(data):
        # json's error quotes the value, so it is replaced, not chained.
        raise NotCanonical.at(
            "facts",
            rule="must be text, whole numbers, finite floats, true, false, null, lists, and objects with text keys",
            remedy="Convert the facts before recording them; write fractions as text.",
        )
    return encoded


def _keys_are_text(data: object) -> bool:
    if isinstance(data, dict):
        return all(isinstance(key, str) for key in data) and _keys_are_text(list(data.values()))
    if isinstance(data, list | tuple):
        return all(_keys_are_text(item) for item in data if isinstance(item, dict | list | tuple))
    return True


def keyed(key: bytes, *parts: bytes | str) -> str:
    """Return the digest (1) as hexadecimal text; text parts count as their UTF-8 bytes."""
    framed = [len(parts).to_bytes(8, "big")]
    for part in parts:
        content = part.encode() if isinstance(part, str) else part
        framed += (len(content).to_bytes(8, "big"), content)
    return hmac.digest(key, b"".join(framed), "sha256").hex()


def keyed_file(key: bytes, path: Path) -> str:
    """Return the keyed digest of a file's content, read in pieces."""
    return keyed(key, "file", plain_file(path))


def plain_file(path: Path) -> str:
    """Return the SHA-256 of a file's content. For public files only."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
