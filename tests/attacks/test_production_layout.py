"""A tree that belongs to root, accounts that can write to nothing but their home, and another user who was first.

Before 0.4.0 the pages were missing (Prefect copies them into its own package), no release was possible (numba found no
folder for what it compiles), and the worker of the second user of a machine ended at once: Prefect's worker needs a
folder of a fixed name in the shared temporary folder, and it belonged to the first.
"""

from __future__ import annotations

import json
import os
import pwd
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from signal import SIGTERM

import pyarrow.parquet as pq
import pytest

from penstock.cli._demo import SPEC, synthetic_survey
from penstock.mechanisms.randomness import seeded
from tests.support.another_user import Layout, ServingAs, as_user, production_layout
from tests.support.serving import fetch

pytestmark = pytest.mark.slow

SHARED = (Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))
TAKEN = ("runner_storage", "prefect", "penstock", "dask-scratch-space", "numba")
# Whoever imports one of these from the folder that a command is called in does not get far.
PLANTED = ("penstock.py", "prefect.py", "flows.py", "sitecustomize.py", "uvicorn.py")


@pytest.fixture(scope="module")
def layout() -> Iterator[Layout]:
    with production_layout() as layout:
        yield layout


def make_workplace(layout: Layout, user: pwd.struct_passwd) -> Path:
    """A survey and its spec, which the user may read and not change; the name of the spec file."""
    place = layout.place / f"data-of-{user.pw_name}"
    for folder in ("confidential", "specs"):
        (place / folder).mkdir(parents=True)
    pq.write_table(synthetic_survey(20_000, seeded(user.pw_uid)), place / "confidential" / "survey.parquet")
    spec = place / "specs" / "survey.yaml"
    published = layout.own(user) / "published"
    spec.write_text(SPEC.replace("path: ../published", f"path: {published}"), encoding="utf-8")
    return spec


def belongings(layout: Layout) -> set[tuple[str, int, int]]:
    """Every file outside their own folders that is the users', and everything in the tree and in their HOME."""
    users = {user.pw_uid for user in layout.users}
    found = set()
    for top in (layout.tree, layout.nowhere, layout.shared, *SHARED):
        for folder, below, files in os.walk(top):
            if top in SHARED and Path(folder, layout.place.name) == layout.place:
                below.remove(layout.place.name)  # looked at by its parts
            for name in (*below, *files):
                try:
                    entry = os.lstat(Path(folder, name))
                except FileNotFoundError:
                    continue  # other tests come and go
                if top == layout.tree or entry.st_uid in users:
                    found.add((str(Path(folder, name)), entry.st_mtime_ns, entry.st_size))
    return found


@contextmanager
def names_taken(folder: Path, names: tuple[str, ...], by: pwd.struct_passwd) -> Iterator[None]:
    """Every name is a folder that only `by` can enter, or has been somebody else's before."""
    with ExitStack() as afterwards:
        for name in names:
            path = folder / name
            if not os.path.lexists(path):
                path.mkdir(mode=0o700)
                os.chown(path, by.pw_uid, by.pw_gid)
                afterwards.callback(_give_back, path)
        yield


def _give_back(path: Path) -> None:
    try:
        path.rmdir()
    except OSError:
        os.chown(path, 0, 0)  # other tests, of root, have put something there


def run(layout: Layout, user: pwd.struct_passwd, spec: Path) -> subprocess.Popen[bytes]:
    """`penstock run`, called in the folder that everybody can write to."""
    return subprocess.Popen(
        [layout.penstock, "run", str(spec), "--json"],
        env=layout.environment(PENSTOCK_HOME=str(layout.own(user) / "home")),
        cwd=layout.shared,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **as_user(user),
    )


def test_two_accounts_release_and_serve_and_write_nothing_outside_their_homes(layout: Layout) -> None:
    specs = {user: make_workplace(layout, user) for user in layout.users}
    attacker = layout.users[1]
    with ExitStack() as afterwards:
        afterwards.enter_context(names_taken(SHARED[0], TAKEN, attacker))
        for name in PLANTED:
            (layout.shared / name).write_text("raise SystemExit('imported from a shared folder')\n")
            os.chown(layout.shared / name, attacker.pw_uid, attacker.pw_gid)
        before = belongings(layout)

        commands = {user: run(layout, user, spec) for user, spec in specs.items()}
        for command in commands.values():
            afterwards.enter_context(command)
            afterwards.callback(command.kill)
        for user, command in commands.items():
            said, errors = command.communicate()
            assert command.returncode == 0, (said, errors)
            assert Path(json.loads(said)["path"]).is_relative_to(layout.own(user) / "published")

        serving = {}
        for user, spec in specs.items():
            serving[user] = ServingAs(layout, user, layout.own(user) / "home", spec.parent)
            afterwards.callback(serving[user].clear_away)
        for served in serving.values():
            served.ready()
        for served in serving.values():
            status, text, headers = served.page("/")
            assert (status, headers["content-type"].partition(";")[0]) == (200, "text/html")
            asset = re.search(r'src="(/[^"]+\.js)"', text)
            assert asset is not None, text
            assert served.page(asset[1])[0] == 200
            assert fetch(f"{served.address}/sign-in", None)[0] == 200
        # A flow run has a process of its own; what was published comes back.
        victim = serving[layout.users[0]]
        victim.until(victim.trigger("release-spec/release", spec="survey.yaml", started_by="someone"), "COMPLETED")
        for served in serving.values():
            assert served.stop(SIGTERM) == 0
        assert belongings(layout) == before

    for user in layout.users:
        home = layout.own(user) / "home"
        assert {path.name for path in home.iterdir()} >= {"tmp", "kernels", "prefect", "keys", "runs"}
        assert [path for path in home.rglob("*") if path.stat().st_uid != user.pw_uid] == []
        assert [path for path in (home, *home.iterdir()) if path.stat().st_mode & 0o077] == []


def test_settings_that_another_user_left_where_a_command_is_called_are_refused(layout: Layout) -> None:
    victim, attacker = layout.users
    spec = layout.place / f"data-of-{victim.pw_name}" / "specs" / "survey.yaml"
    if not spec.exists():
        make_workplace(layout, victim)
    trap = layout.shared / ".env"
    trap.write_text("PREFECT_LOGGING_SETTINGS_PATH=/tmp/runs-what-it-names.yml\n")
    os.chown(trap, attacker.pw_uid, attacker.pw_gid)
    try:
        command = run(layout, victim, spec)
        said, errors = command.communicate()
    finally:
        trap.unlink()
    assert command.returncode == 1, (said, errors)
    assert json.loads(said)["refused"] == "working-folder-refused"
