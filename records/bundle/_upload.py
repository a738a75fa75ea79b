"""A sealed bundle goes to an object store, where it is whole exactly when its manifest exists.

A store has no rename, so the order makes it whole:

    <name>/<release>.claim      the digest of the manifest that may appear there, created once     (1)
    <name>/<release>/..         every file, read back and compared with the signed digests         (2)
    <name>/<release>/manifest.json   created once, last                                            (3)

(1) keeps two different bundles of one release id from mixing their files. A killed upload is finished by
the next attempt with the same bundle: a file that is already there as signed is not sent again. Nothing is ever
deleted, so no right to delete is needed; without its manifest nothing is a release.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from penstock.mechanisms.refusal import Refusal
from penstock.records.bundle.bundle import check, exists
from penstock.records.bundle.statement import MANIFEST
from penstock.records.files import object_store
from penstock.records.files.addresses import ObjectPath

__all__ = ["UploadDamaged", "upload"]


class UploadDamaged(Refusal):
    """The store returned something other than what was sent."""

    code = "upload-damaged"
    remedy = "Look into the object store, and run again; nothing was published."


def upload(staged: Path, destination: ObjectPath, key: Ed25519PublicKey) -> None:
    """Publish a sealed bundle; refuse if the release exists, or another bundle has claimed its place."""
    files = check(staged, key)["subject"]
    manifest = (staged / MANIFEST).read_bytes()
    claim = hashlib.sha256(manifest).hexdigest().encode() + b"\n"
    claimed = destination.parent / f"{destination.name}.claim"
    if not object_store.create(claimed, claim) and object_store.read(claimed) != claim:
        raise exists(destination)
    if object_store.read(destination / MANIFEST) is not None:
        raise exists(destination)
    for file in files:
        _send(staged / file["name"], destination / file["name"], file["digest"]["sha256"])
    if not object_store.create(destination / MANIFEST, manifest):
        raise exists(destination)


def _send(file: Path, path: ObjectPath, digest: str) -> None:
    """Upload the file unless the store already has it, and read back what readers will get."""
    size = file.stat().st_size
    if object_store.digest_of(path, size) == digest:
        return
    object_store.put_file(path, file)
    if object_store.digest_of(path, size) != digest:
        raise UploadDamaged.at(
            str(path),
            rule="must come back from the store as it was sent",
            remedy="Look into the store, and run again; no manifest was put, so nothing is published.",
        )
