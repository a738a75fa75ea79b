"""A second check of an exported log, from the description in records/log/export.py, with `cryptography` alone."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

KIND = "application/vnd.penstock.export+json"


def holds(path: Path, public_key: Path) -> bool:
    """Whether the lines are those that were signed, numbered from 1 and linked, and the last one is the head."""
    key = load_pem_public_key(public_key.read_bytes())
    assert isinstance(key, Ed25519PublicKey)
    lines = path.read_bytes().splitlines(keepends=True)
    envelope = json.loads(lines[-1])["export"]
    payload, kind = base64.b64decode(envelope["payload"]), envelope["payloadType"].encode()
    signed = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
    try:
        key.verify(base64.b64decode(envelope["signatures"][0]["sig"]), signed)
    except InvalidSignature:
        return False
    said = json.loads(payload)
    if kind != KIND.encode() or said["sha256"] != hashlib.sha256(b"".join(lines[:-1])).hexdigest():
        return False
    events = [json.loads(line) for line in lines[:-1]]
    digests = ["0" * 64, *(event["digest"] for event in events)]
    return (
        [event["seq"] for event in events] == list(range(1, said["events"] + 1))
        and [event["previous"] for event in events] == digests[:-1]
        and said["head"] == digests[-1]
    )
