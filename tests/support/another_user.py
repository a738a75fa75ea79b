"""Processes of other users of the machine, where the tests run as root; and a production install for them to run.

The tree is laid out as deployments/install.sh does, but borrows its packages from the environment of the tests.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from numba.core.caching import UserProvidedCacheLocator

from tests.support.serving import Serving

ROOT = Path(__file__).parents[2]
ACCOUNTS = ("games", "news", "uucp", "daemon", "nobody")  # of every Linux; none is made, and none owns anything
VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True, slots=True)
class Layout:
    """tree: the install. nowhere: a HOME that cannot be written. shared: a folder that everybody may write to."""

    place: Path
    users: tuple[pwd.struct_passwd, pwd.struct_passwd]

    @property
    def tree(self) -> Path:
        return self.place / "opt"

    @property
    def nowhere(self) -> Path:
        return self.place / "nowhere"

    @property
    def shared(self) -> Path:
        return self.place / "shared"

    @property
    def penstock(self) -> str:
        return str(self.tree / "bin" / "penstock")

    def own(self, user: pwd.struct_passwd) -> Path:
        """The only folder that this user may write to, besides shared ones."""
        return self.place / user.pw_name

    def environment(self, **further: str) -> dict[str, str]:
        """Nothing of the environment of the tests; above all no TMPDIR."""
        libraries = str(self.place / "python" / "lib")  # of a copied interpreter; its own name for them is root's
        return {
            "PATH": os.defpath,
            "HOME": str(self.nowhere),
            "LANG": "C.UTF-8",
            "LD_LIBRARY_PATH": libraries,
            **further,
        }


def as_user(user: pwd.struct_passwd) -> dict[str, Any]:
    """What makes a subprocess one of this user's, whose files are for themselves only."""
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": [], "umask": 0o077}


@contextmanager
def production_layout() -> Iterator[Layout]:
    """A tree that belongs to root, and two users who may read it."""
    if os.geteuid() != 0:
        pytest.skip("only root can start processes of other users")
    known = {each.pw_name: each for each in pwd.getpwall()}
    users = [known[name] for name in ACCOUNTS if name in known]
    if len(users) < 2:
        pytest.skip(f"fewer than two of the accounts {', '.join(ACCOUNTS)} are here")
    place = Path(tempfile.mkdtemp(prefix="penstock-layout-", dir="/tmp"))  # pytest's own folders are root's alone
    before = os.umask(0o022)
    try:
        place.chmod(0o755)
        layout = Layout(place, (users[0], users[1]))
        layout.nowhere.mkdir()
        layout.shared.mkdir()
        layout.shared.chmod(0o1777)
        for user in layout.users:
            layout.own(user).mkdir(mode=0o700)
            os.chown(layout.own(user), user.pw_uid, user.pw_gid)
        _lay_out(layout)
        yield layout
    finally:
        os.umask(before)
        shutil.rmtree(place)


def _lay_out(layout: Layout) -> None:
    made = [_interpreter(layout), "-m", "venv", "--without-pip", str(layout.tree)]
    subprocess.run(made, env=layout.environment(), check=True)
    packages = layout.tree / "lib" / VERSION / "site-packages"
    borrowed = [each for each in sys.path if each.endswith("site-packages")]
    (packages / "borrowed.pth").write_text("\n".join(borrowed) + "\n")
    for name, folder in _package_folders().items():
        shutil.copytree(ROOT / folder, packages / name.replace(".", "/"), dirs_exist_ok=True)
    for kernels in {each.parent for each in packages.rglob("*.nbi")}:
        name = UserProvidedCacheLocator.get_suitable_cache_subpath(str(kernels.with_name("kernels.py")))
        shutil.copytree(kernels, layout.tree / "kernels" / name, ignore=shutil.ignore_patterns("*.pyc"))
    for path in (layout.tree, *layout.tree.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644 | path.stat().st_mode & 0o111)
    penstock = Path(layout.penstock)
    penstock.write_text(f"#!{layout.tree}/bin/python\nfrom penstock.cli.main import main\n\nmain()\n")
    penstock.chmod(0o755)
    for user in layout.users:
        tried = [layout.tree / "bin" / "python", "-c", "import numpy"]
        if subprocess.run(tried, cwd="/", env=layout.environment(), **as_user(user)).returncode != 0:
            pytest.skip("the packages of the tests lie where other users cannot read them")


def _package_folders() -> dict[str, str]:
    """Where the packages of the wheel come from; each with what is below it."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return dict(settings["tool"]["setuptools"]["package-dir"])


def _interpreter(layout: Layout) -> str:
    """This Python, or a copy of it where it lies in a folder of root's."""
    here = os.path.realpath(sys.executable)
    try:
        subprocess.run([here, "-c", ""], cwd="/", env=layout.environment(), check=True, **as_user(layout.users[0]))
    except OSError:
        copy = layout.place / "python"
        unneeded = shutil.ignore_patterns("site-packages", "test", "idlelib", "config-*", "*.a")
        shutil.copytree(Path(sys.base_prefix, "lib"), copy / "lib", symlinks=True, ignore=unneeded)
        (copy / "bin").mkdir()
        return shutil.copy2(here, copy / "bin")
    return here


class ServingAs(Serving):
    """`penstock serve` of the layout, as one of its users."""

    def __init__(self, layout: Layout, user: pwd.struct_passwd, home: Path, specs: Path) -> None:
        self._layout, self._user = layout, user
        super().__init__(home, specs)

    def start(self) -> None:
        with self._errors.open("ab") as errors:
            self.process = subprocess.Popen(
                [self._layout.penstock, "serve", "--port", str(self.port), "--json"],
                env=self.environment(),
                cwd="/",
                stdout=subprocess.PIPE,
                stderr=errors,
                **as_user(self._user),
            )

    def prepare(self) -> None:
        """Nothing: what is made here would be root's, and one server at least begins from nothing."""

    def typed(self, *arguments: object) -> str:
        command = [self._layout.penstock, *map(str, arguments)]
        done = subprocess.run(
            command, env=self.environment(), cwd="/", capture_output=True, text=True, check=False, **as_user(self._user)
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def environment(self) -> dict[str, str]:
        ours = {name: value for name, value in super().environment().items() if name.startswith("PENSTOCK")}
        return self._layout.environment(**ours)
