"""Bundles where they were published: in a local folder or in an object store, told apart here and nowhere else."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from penstock.mechanisms.refusal import Refusal
from penstock.records.bundle import bundle
from penstock.records.bundle._upload import upload
from penstock.records.bundle.outside import DestinationInHome, require_outside
from penstock.records.bundle.statement import LARGEST_MANIFEST, MANIFEST, MISSING, BundleAltered, fault, require_size
from penstock.records.files import object_store
from penstock.records.files.addresses import ObjectPath, Place

__all__ = [
    "DestinationInHome",
    "DestinationNotWritable",
    "appears_at_once",
    "at_hand",
    "bundles_below",
    "install",
    "is_there",
    "manifest_at",
    "plain_content",
    "public_report",
    "require_outside",
    "require_writable",
    "resolved",
]

PROBE = ".writable"
# Names of objects become names of files only if they look like names of a bundle's files, which may lie in folders.
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}(/[A-Za-z0-9_][A-Za-z0-9._-]{0,99}){0,3}")


def appears_at_once(place: Place) -> bool:
    """Return whether nothing of a bundle can be seen there before all of it can."""
    return isinstance(place, Path)


class DestinationNotWritable(Refusal):
    """The release cannot be written where it is to be published."""

    code = "destination-not-writable"
    kind = "failure"
    remedy = "Make the folder writable or choose another one, and run again; nothing was drawn."


def require_writable(place: Place) -> None:
    """Refuse a place below which nothing can be written, before anything is spent on what is to go there.

    A folder is made and removed again in the nearest one that exists. In a store nothing is ever deleted, so an empty
    object stays; if it is already there, the store is asked all the same.
    """
    if isinstance(place, ObjectPath):
        object_store.create(place / PROBE, b"")
        return
    nearest = place
    while not os.path.lexists(nearest) and nearest != nearest.parent:
        nearest = nearest.parent
    try:
        os.rmdir(tempfile.mkdtemp(prefix=".incoming-", dir=nearest))
    except OSError as error:
        raise DestinationNotWritable.at(
            "publish.path",
            rule=f"must be a folder that can be written to ({errno.errorcode.get(error.errno or 0, 'error')})",
            got=str(nearest),
            remedy="Mend it, or publish elsewhere; then run again. Nothing was drawn.",
        ) from None


def install(staged: Path, place: Place, key: Ed25519PublicKey) -> None:
    """Publish a sealed bundle, whole or not at all. key: the one that it was sealed with."""
    if isinstance(place, Path):
        bundle.install(staged, place)
    else:
        upload(staged, place, key)


def manifest_at(place: Place) -> bytes | None:
    """Return the bytes of the manifest of the bundle at a place; None if there is none; refuse one that is not a plain
    file."""
    if isinstance(place, ObjectPath):
        return object_store.read(place / MANIFEST, most=LARGEST_MANIFEST)  # whoever opens it refuses a larger one
    return bundle.manifest_of(place) if os.path.lexists(place / MANIFEST) else None


def is_there(place: Place) -> bool:
    """Return whether anything of a bundle is at a place; a bundle that was removed as a whole is not."""
    return os.path.isdir(place) if isinstance(place, Path) else bool(object_store.found_below(place))


def public_report(place: Place) -> bytes | None:
    """Return the public report of the bundle at a place, if it is a plain file there."""
    if isinstance(place, ObjectPath):
        return object_store.read(place / "report.html")
    return plain_content(place / "report.html")


def plain_content(path: Path) -> bytes | None:
    """Return the content of a plain file, else None: links lead elsewhere, and are not followed."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW)) as file:
            return file.read()
    except OSError:
        return None


def bundles_below(place: Place) -> list[Place]:
    """Return every place at or below this one that has a manifest."""
    if isinstance(place, Path):
        return [path.parent.resolve() for path in place.rglob(MANIFEST)]
    found: list[Place] = []
    for name in object_store.found_below(place):
        folder, _, last = name.rpartition("/")
        if last == MANIFEST:
            found.append(place / folder if folder else place)
    return found


def resolved(place: Place) -> Place:
    """Return the same place under its one canonical name."""
    return place.resolve() if isinstance(place, Path) else place


@contextmanager
def at_hand(place: Place) -> Iterator[Path]:
    """Yield the bundle as a local folder: the folder itself, or a private copy for as long as it is needed."""
    if isinstance(place, Path):
        yield place
        return
    found = object_store.found_below(place)
    if MANIFEST not in found:  # the place may be a whole bucket, which nobody meant to copy
        raise BundleAltered(fault(MANIFEST, MISSING))
    require_size(found[MANIFEST])
    _require_file_names(found)
    with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
        for name, size in found.items():
            copy = Path(folder, name)
            copy.parent.mkdir(parents=True, exist_ok=True)
            with copy.open("xb") as file:
                for block in object_store.blocks(place / name, size):
                    file.write(block)
        yield Path(folder)


def _require_file_names(names: dict[str, int]) -> None:
    folders = {name[:at] for name in names for at, sign in enumerate(name) if sign == "/"}
    BundleAltered.raise_for(
        fault(name, "must have the name of a plain file")
        for name in names
        if not _FILE.fullmatch(name) or name in folders
    )
