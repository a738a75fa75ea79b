"""The empty database of a Prefect server: made once, then copied.

A first start runs every migration of Prefect, which takes twice as long as all the rest of it. The first test that
needs a server makes the database with such a start; it is kept beside pytest's own notes, one for each version of
Prefect.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

__all__ = ["put"]

_KEPT = Path(__file__).parents[2] / ".pytest_cache" / "prefect" / version("prefect")
_NOTES = "memo_store.toml"  # what Prefect has registered in the database


def put(folder: Path, make: Callable[[Path], None]) -> None:
    """Put the files of the database into a folder. make: starts and stops a server whose files lie in home/prefect."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if (folder / "prefect.db").exists():
        return
    for kept in sorted(_made(make).iterdir()):
        shutil.copyfile(kept, folder / kept.name, follow_symlinks=False)
        (folder / kept.name).chmod(0o600)


def _made(make: Callable[[Path], None]) -> Path:
    _KEPT.parent.mkdir(parents=True, exist_ok=True)
    with (_KEPT.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other processes of this run wait for it
        if not _KEPT.exists():
            with tempfile.TemporaryDirectory(prefix="prefect", dir=_KEPT.parent) as temporary:
                home, whole = Path(temporary), Path(temporary) / "whole"
                (home / "prefect").mkdir(mode=0o700)
                make(home)
                whole.mkdir()
                with (
                    closing(sqlite3.connect(home / "prefect" / "prefect.db")) as source,
                    closing(sqlite3.connect(whole / "prefect.db")) as target,
                ):
                    source.backup(target)
                shutil.copyfile(home / "prefect" / _NOTES, whole / _NOTES)
                os.rename(whole, _KEPT)
    return _KEPT
