"""Where our processes write besides the records: below the home, whatever the machine looks like.

    <home>/tmp/         0700   temporary files, in place of a folder that others share and can fill with names
    <home>/kernels/     0700   compiled kernels, where Penstock's own folders cannot be written to
    <home>/prefect/ui/         the pages of Prefect, which its server copies before it serves them

A production install belongs to root, and the HOME of a service account may be missing. Prefect then has no pages, numba
refuses to compile, and Prefect's worker needs a folder of a fixed name in the shared temporary folder, which belongs
to whoever came first. Server, worker and flow runs inherit what is set here.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path

from penstock.mechanisms.refusal import Refusal
from penstock.records.home import make_private

__all__ = ["WorkingFolderRefused", "is_own_folder", "keep_inside"]

COMPILED = Path(sys.prefix) / "kernels"  # where deployments/install.sh puts them
# Prefect and numba obey these in the folder that they are started in; some of their settings name code to run.
_OBEYED = (".env", "prefect.toml", "pyproject.toml", ".numba_config.yaml")


class WorkingFolderRefused(Refusal):
    """Another user has left settings in the folder that the command is called in."""

    code = "working-folder-refused"
    remedy = "Call the command in a folder of your own."


def is_own_folder(path: Path) -> bool:
    """Return whether a folder exists and belongs to whoever runs this process."""
    try:
        found = os.stat(path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()


def keep_inside(home: Path) -> None:
    """Set what libraries read when they are imported or started; what the user has set stays."""
    _require_own_settings()
    chosen = {
        "TMPDIR": home / "tmp",
        "PREFECT_SERVER_UI_STATIC_DIRECTORY": home / "prefect" / "ui",
    }
    if COMPILED.is_dir() or not os.access(Path(__file__).parent, os.W_OK):
        chosen["NUMBA_CACHE_DIR"] = home / "kernels"
    for name, value in chosen.items():
        os.environ.setdefault(name, str(value))
    if os.environ["TMPDIR"] == str(home / "tmp"):
        make_private(home / "tmp")
        tempfile.tempdir = None  # whoever asked before got the shared one
    if os.environ.get("NUMBA_CACHE_DIR") == str(home / "kernels"):
        make_private(home / "kernels")
        _copy_newer(COMPILED, home / "kernels")


def _require_own_settings() -> None:
    for name in _OBEYED:
        try:
            owner = os.lstat(name).st_uid
        except OSError:
            continue  # it is not there
        if owner not in (0, os.getuid()):
            raise WorkingFolderRefused.at(
                name,
                rule="must not be another user's, because Prefect would obey it",
                got=os.path.abspath(name),
                remedy="Call the command in a folder of your own.",
            )


def _copy_newer(compiled: Path, kernels: Path) -> None:
    """Copy what the install has compiled; numba takes nothing from a folder that it cannot write to.

    What has since been compiled here, for another processor, is newer and stays. Data are copied before the index that
    names them, and a file is replaced as a whole, because another command may read or copy it at the same time.
    """
    for source in sorted(compiled.glob("*/*.nb[ci]")):
        target = kernels / source.relative_to(compiled)
        if target.exists() and target.stat().st_mtime_ns >= source.stat().st_mtime_ns:
            continue
        target.parent.mkdir(mode=0o700, exist_ok=True)
        part = target.with_name(f".{target.name}.{os.getpid()}")
        shutil.copyfile(source, part)
        os.utime(part, ns=(source.stat().st_atime_ns, source.stat().st_mtime_ns))
        part.replace(target)
