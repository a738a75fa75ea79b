"""The public bundle: sealed on the confidential side, installed whole or not at all, checked anywhere.

    manifest.json   what it is, and the SHA-256 of every other file, signed (see statement.py)

Whoever trusts the public key, and for whom `check` finds no fault, has exactly the files that were sealed.
Nothing secret is written here; the caller decides what the release part of the manifest says.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from penstock.mechanisms.refusal import Fault, Refusal
from penstock.records.bundle import statement
from penstock.records.bundle.statement import (
    MANIFEST,
    MISSING,
    REMEDY,
    BundleAltered,
    BundleRefused,
    content_digest,
    fault,
)
from penstock.records.files import durable
from penstock.records.files.addresses import Place
from penstock.records.files.digest import plain_file

__all__ = [
    "MISSING",
    "BundleAltered",
    "BundleExists",
    "BundleRefused",
    "alterations",
    "check",
    "content_digest",
    "exists",
    "install",
    "manifest_of",
    "seal",
    "statement_of",
    "subjects",
]

_CHANGED = "Find out who changed it. This run ends here; the next one begins anew."


class BundleExists(Refusal):
    """Something is already published at the destination; a release never replaces another."""

    code = "bundle-exists"
    remedy = "Look at what is there; publish under another path or name."


def subjects(folder: Path) -> list[dict[str, Any]]:
    """Return every file of the folder except its manifest as an in-toto ResourceDescriptor, by name."""
    return [{"name": name, "digest": {"sha256": plain_file(folder / name)}} for name in _require_plain(folder)]


def alterations(folder: Path, subject: Sequence[Mapping[str, Any]]) -> list[Fault]:
    """Return where a staged folder differs from the subject it was staged with; empty if nowhere."""
    names = _names(folder)
    return [*_not_plain(names, _CHANGED), *_file_faults(folder, names, subject, _CHANGED)]


def seal(
    folder: Path,
    *,
    subject: Sequence[Mapping[str, Any]],
    release: Mapping[str, Any],
    approval: Mapping[str, Any],
    log_head: Mapping[str, Any],
    key: Ed25519PrivateKey,
) -> str:
    """Write manifest.json into `folder`; return its SHA-256.

    Refuse if the folder holds anything other than `subject`: what was approved would not be what is signed. Sealing
    again after a kill writes the manifest again.
    """
    predicate = {"release": dict(release), "approval": dict(approval), "log_head": dict(log_head)}
    manifest = statement.sealed(subject, predicate, key)
    (folder / MANIFEST).unlink(missing_ok=True)
    BundleAltered.raise_for(alterations(folder, subject))
    durable.write(folder / MANIFEST, manifest)
    durable.sync_tree(folder)
    return hashlib.sha256(manifest).hexdigest()


def install(staged: Path, destination: Path) -> None:
    """Move a sealed bundle to `destination`, where it appears whole or not at all.

    This is done by a rename; across file systems a hidden copy beside the destination is renamed. After a kill either
    nothing is there and this can be repeated, or the whole bundle is, and repeating is refused.
    """
    names = _require_plain(staged)
    if not (staged / MANIFEST).exists():
        raise BundleRefused.at("bundle", rule="must be sealed before it is installed", remedy="Seal it.")
    _make_folders(destination.parent)
    _make_public(staged, [*names, MANIFEST])
    durable.sync_tree(staged)
    incoming = destination.with_name(f".incoming-{destination.name}")
    if incoming.exists():
        shutil.rmtree(incoming)  # left by a killed attempt
    try:
        _rename(staged, destination)
        durable.sync(staged.parent)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.copytree(staged, incoming)
        durable.sync_tree(incoming)
        _rename(incoming, destination)
        shutil.rmtree(staged)


def statement_of(manifest: Path | bytes, public_key: Ed25519PublicKey) -> dict[str, Any]:
    """Return the statement of a bundle, from its folder or from the bytes of its manifest; its files are not read."""
    return statement.opened(manifest if isinstance(manifest, bytes) else manifest_of(manifest), public_key)


def manifest_of(folder: Path) -> bytes:
    """Return the bytes of a bundle's manifest."""
    path = folder / MANIFEST
    if not os.path.lexists(path):
        raise BundleAltered(fault(MANIFEST, MISSING))
    if path.is_symlink() or not path.is_file():
        raise BundleAltered(fault(MANIFEST, "must be a plain file"))
    statement.require_size(path.stat().st_size)
    return path.read_bytes()


def check(folder: Path, public_key: Ed25519PublicKey) -> dict[str, Any]:
    """Return the statement, if every byte of the bundle is as signed; else raise BundleAltered with everything that is
    wrong.

    Only names found by listing the folder are opened, never a path that the manifest gives. What a
    manifest lists counts only if its signature holds.
    """
    names = _names(folder)
    faults = list(_not_plain(names))
    stated: dict[str, Any] = {}
    try:
        stated = statement_of(folder, public_key)
        faults += _file_faults(folder, names, stated["subject"])
    except BundleAltered as altered:
        faults += altered.faults
    BundleAltered.raise_for(faults)
    return stated


def _file_faults(
    folder: Path, names: Mapping[str, bool], subject: Sequence[Mapping[str, Any]], remedy: str = REMEDY
) -> Iterator[Fault]:
    listed: set[str] = set()
    for described in subject:
        name = described["name"]
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or str(path) != name or name == MANIFEST:
            yield fault(repr(name), "must lie inside the bundle", remedy)
        elif name in listed:
            yield fault(name, "must be listed only once", remedy)
        elif name not in names:
            yield fault(name, MISSING, remedy)
        elif names[name] and described["digest"]["sha256"] != plain_file(folder / name):
            yield fault(name, "must have the listed digest; it was altered", remedy)
        listed.add(name)
    for name in names:
        if name not in listed and name != MANIFEST:
            yield fault(name, "must be listed; it was added", remedy)
    for name in _empty_folders(folder):
        if not any(each.startswith(f"{name}/") for each in listed):  # otherwise the files not in it are already missing
            yield fault(name, "must be listed; it was added", remedy)


def _not_plain(names: Mapping[str, bool], remedy: str = REMEDY) -> Iterator[Fault]:
    """Yield a fault for each name that is not a plain file, except the manifest, which `statement_of` checks."""
    for name, plain in names.items():
        if not plain and name != MANIFEST:
            yield fault(name, "must be a plain file", remedy)


def _names(folder: Path) -> dict[str, bool]:
    """Return the relative names of everything below the folder that is not a folder, and whether each is a plain
    file."""
    found: dict[str, bool] = {}
    for parent, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            path = Path(parent, name)
            if path.is_symlink() or not path.is_dir():
                found[path.relative_to(folder).as_posix()] = path.is_file() and not path.is_symlink()
    return dict(sorted(found.items()))


def _empty_folders(folder: Path) -> Iterator[str]:
    """Yield the relative names of folders below that are empty or cannot be listed."""
    for parent, folders, _ in os.walk(folder):
        for path in (Path(parent, name) for name in sorted(folders)):
            try:
                empty = not path.is_symlink() and not os.listdir(path)
            except OSError:
                empty = True
            if empty:
                yield path.relative_to(folder).as_posix()


def _require_plain(folder: Path) -> list[str]:
    names = _names(folder)
    BundleRefused.raise_for(
        Fault(name, "must be a plain file", "Remove it.") for name, plain in names.items() if not plain
    )
    return [name for name in names if name != MANIFEST]


def exists(destination: Place) -> BundleExists:
    """Return the refusal to replace what is there."""
    return BundleExists.at(
        "publish.path",
        rule="must not exist before the release",
        got=str(destination),
        remedy="Check what is there; publish under another name or release id.",
    )


def _rename(source: Path, destination: Path) -> None:
    if os.path.lexists(destination):  # rename would silently replace an empty folder
        raise exists(destination)
    try:
        os.rename(source, destination)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise exists(destination) from None
        raise
    durable.sync(destination.parent)


def _make_folders(folder: Path) -> None:
    if not folder.exists():
        _make_folders(folder.parent)
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)  # whatever umask a service has
        durable.sync(folder.parent)


def _make_public(folder: Path, names: list[str]) -> None:
    """Make the staged files readable by everyone; they lie below a private folder until the rename, so nobody sees them
    early."""
    for name in names:
        (folder / name).chmod(0o644)
    for parent, _, _ in os.walk(folder):
        Path(parent).chmod(0o755)
