"""The public bundle: sealed on the confidential side, installed whole or not at all, checked anywhere.

    manifest.json   what it is, and SHA-256 and size of every other file
    manifest.sig    {"algorithm", "key_id", "signature"}: Ed25519 over the bytes of manifest.json

Who trusts the public key and finds `check` silent has exactly the files that were sealed.
Nothing secret is written here; the caller decides what the manifest says.
"""

from __future__ import annotations

import base64
import binascii
import errno
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from mechanisms.refusal import Fault, Refusal
from records import durable, signing
from records.digest import canonical, plain_file

__all__ = ["BundleAltered", "BundleExists", "BundleRefused", "check", "install", "seal"]

_MANIFEST, _SIGNATURE = "manifest.json", "manifest.sig"
_OWN = (_MANIFEST, _SIGNATURE)
_REMEDY = "Do not use it; get the bundle again from its publisher."


class BundleRefused(Refusal):
    """The folder cannot become a bundle."""

    code = "bundle-refused"


class BundleExists(Refusal):
    """Something is already published at the destination; a release never replaces another."""

    code = "bundle-exists"


class BundleAltered(Refusal):
    """The bundle is not what was signed."""

    code = "bundle-altered"
    kind = "integrity"


def seal(
    folder: Path, manifest: Mapping[str, Any], private_key: Ed25519PrivateKey, public_key: Ed25519PublicKey
) -> str:
    """Write the manifest and its signature into `folder`; return the SHA-256 of manifest.json.

    Sealing again after a kill writes both files anew.
    """
    if "files" in manifest:
        raise BundleRefused.at("manifest.files", rule="is written by the seal", remedy="Leave it out.")
    for name in _OWN:
        (folder / name).unlink(missing_ok=True)
    content = {**manifest, "files": {name: _described(folder / name) for name in _require_plain(folder)}}
    canonical(content)  # refuses what JSON cannot carry exactly
    encoded = (json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n").encode()
    signature = signing.sign(private_key, encoded)
    signing.verify(public_key, encoded, signature)  # keys that do not belong together are noticed here
    statement = {
        "algorithm": "Ed25519",
        "key_id": signing.key_id(public_key),
        "signature": base64.b64encode(signature).decode(),
    }
    durable.write(folder / _MANIFEST, encoded)
    durable.write(folder / _SIGNATURE, json.dumps(statement, indent=2).encode() + b"\n")
    durable.sync_tree(folder)
    return hashlib.sha256(encoded).hexdigest()


def install(staged: Path, destination: Path) -> None:
    """Move a sealed bundle to `destination`, where it appears whole or not at all.

    A rename does it; across file systems a hidden copy beside the destination is renamed. After a kill
    either nothing is there and this can be repeated, or the whole bundle is, and repeating is refused.
    """
    names = _require_plain(staged)
    missing = [name for name in _OWN if name not in _names(staged)]
    if missing:
        raise BundleRefused.at("bundle", rule="must be sealed before it is installed", remedy="Seal it.", got=missing)
    _make_folders(destination.parent)
    _make_public(staged, [*names, *_OWN])
    durable.sync_tree(staged)
    incoming = destination.with_name(f".incoming-{destination.name}")
    if incoming.exists():
        shutil.rmtree(incoming)  # a killed attempt's
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


def check(folder: Path, public_key: Ed25519PublicKey) -> dict[str, Any]:
    """The manifest, if every byte of the bundle is as signed; else BundleAltered with all that is wrong.

    Only names found by listing the folder are opened, never a path that the manifest gives.
    """
    names = _names(folder)
    faults = [_fault(name, "must be a plain file") for name, plain in names.items() if not plain]
    faults += [_fault(name, "missing") for name in _OWN if name not in names]
    manifest: dict[str, Any] = {}
    if names.get(_MANIFEST):
        encoded = (folder / _MANIFEST).read_bytes()
        if names.get(_SIGNATURE):
            faults += _signature_faults(encoded, (folder / _SIGNATURE).read_bytes(), public_key)
        manifest = _object(encoded)
        listed = manifest.get("files")
        if not isinstance(listed, dict):
            faults.append(_fault(_MANIFEST, "must be an object that lists its files"))
        else:
            faults += _file_faults(folder, names, listed)
    BundleAltered.raise_for(faults)
    return manifest


def _signature_faults(encoded: bytes, stated: bytes, public_key: Ed25519PublicKey) -> Iterator[Fault]:
    statement = _object(stated)
    if statement.get("key_id") != signing.key_id(public_key):
        yield _fault(f"{_SIGNATURE} key_id", f"must be {signing.key_id(public_key)}; it names another key")
    try:
        signing.verify(public_key, encoded, base64.b64decode(str(statement.get("signature")), validate=True))
    except (signing.SignatureWrong, binascii.Error, ValueError):
        yield _fault(_SIGNATURE, "must be made over manifest.json with the given key")


def _file_faults(folder: Path, names: Mapping[str, bool], listed: Mapping[str, Any]) -> Iterator[Fault]:
    for name, described in listed.items():
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or str(path) != name or name in _OWN:
            yield _fault(repr(name), "a listed file must lie inside the bundle")
        elif name not in names:
            yield _fault(name, "missing")
        elif names[name] and described != _described(folder / name):
            yield _fault(name, "altered: size or digest is not as listed")
    for name in names:
        if name not in listed and name not in _OWN:
            yield _fault(name, "additional: it is not listed")


def _names(folder: Path) -> dict[str, bool]:
    """Relative names of everything below the folder that is not a folder, and whether it is a plain file."""
    found: dict[str, bool] = {}
    for parent, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            path = Path(parent, name)
            if path.is_symlink() or not path.is_dir():
                found[path.relative_to(folder).as_posix()] = path.is_file() and not path.is_symlink()
    return dict(sorted(found.items()))


def _require_plain(folder: Path) -> list[str]:
    names = _names(folder)
    BundleRefused.raise_for(
        Fault(name, "a bundle holds plain files only", "Remove it.") for name, plain in names.items() if not plain
    )
    return [name for name in names if name not in _OWN]


def _described(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": plain_file(path)}


def _object(encoded: bytes) -> dict[str, Any]:
    try:
        content = json.loads(encoded)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _exists(destination: Path) -> BundleExists:
    return BundleExists.at(
        "publish.path",
        rule="the destination of a release must not exist",
        got=str(destination),
        remedy="Check what is there; publish under another name or release id.",
    )


def _rename(source: Path, destination: Path) -> None:
    if os.path.lexists(destination):  # rename would replace an empty folder without a word
        raise _exists(destination)
    try:
        os.rename(source, destination)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise _exists(destination) from None
        raise
    durable.sync(destination.parent)


def _make_folders(folder: Path) -> None:
    if not folder.exists():
        _make_folders(folder.parent)
        folder.mkdir(exist_ok=True)
        durable.sync(folder.parent)


def _make_public(folder: Path, names: list[str]) -> None:
    """The staged files lie below a private folder until the rename, so nobody sees them early."""
    for name in names:
        (folder / name).chmod(0o644)
    for parent, _, _ in os.walk(folder):
        Path(parent).chmod(0o755)


def _fault(field: str, rule: str) -> Fault:
    printable = field.encode(errors="backslashreplace").decode()  # file names need not be Unicode
    return Fault(printable, rule, _REMEDY)
