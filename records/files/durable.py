"""Files that survive a power cut: written whole or not at all, and on disk before the call returns.

A rename is atomic but not durable; the folder that holds the name must be synchronised as well.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

__all__ = ["create_once", "fresh_name", "sync", "sync_tree", "write", "write_whole"]

PRIVATE = 0o600


def fresh_name(stem: str) -> str:
    """Return a name that nobody else has: neither another process nor an attempt that died."""
    return f"{stem}-{secrets.token_hex(8)}"


def sync(path: Path) -> None:
    """Wait until a file's content, or a folder's list of names, is on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(folder: Path, *, skip: str | None = None) -> None:
    """Call `sync` on every regular file and folder below `folder`, the folder itself last, except what lies in
    `skip`."""
    for parent, _, names in os.walk(folder, topdown=False):
        if skip is not None and Path(parent).is_relative_to(folder / skip):
            continue
        for name in names:
            path = Path(parent, name)
            if path.is_file() and not path.is_symlink():
                sync(path)
        sync(Path(parent))


def write(path: Path, content: bytes, *, flags: int = os.O_TRUNC) -> None:
    """Write and synchronise one private file in place; a kill can leave it incomplete."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | flags, PRIVATE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def write_whole(path: Path, content: bytes) -> None:
    """Replace `path` by `content`; after a kill it holds the old content or the new, never a part.

    The temporary name is fixed, so the next attempt overwrites what a killed one left. Callers hold
    the lock of the folder.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    write(temporary, content)
    os.rename(temporary, path)
    sync(path.parent)


def create_once(path: Path, content: bytes) -> bool:
    """Create `path` with `content` unless it exists; of several callers exactly one succeeds.

    A hard link is used because, unlike a rename, it fails when the name is taken, and unlike
    opening with O_EXCL it never shows a reader half a file.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        write(temporary, content, flags=os.O_EXCL)
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        temporary.unlink(missing_ok=True)
    sync(path.parent)
    return True
