from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import signal
import stat
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from penstock.records.files.digest import NotCanonical
from penstock.records.home import Home
from penstock.records.run import Run, RunDamaged, RunRefused
from tests.records.kill_points import in_child, kill_points

KEY = "spec-digest"


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def folders(home: Home) -> list[str]:
    return sorted(path.name for path in home.runs.iterdir() if path.is_dir())


def test_a_new_run_has_a_sortable_id_and_a_private_folder(home: Home, now: datetime) -> None:
    with Run.begin(home, KEY, now=now) as run:
        assert not run.resumed
        assert re.fullmatch(r"20261116T021500Z-[0-9a-f]{8}", run.id)
        assert run.folder == home.runs / run.id
        run.commit("ingest", {})
        assert stat.S_IMODE(run.folder.stat().st_mode) == 0o700
        assert {stat.S_IMODE(path.stat().st_mode) for path in run.folder.iterdir()} == {0o600}


def test_a_commit_is_found_by_the_run_that_resumes(home: Home, now: datetime) -> None:
    with Run.begin(home, KEY, now=now) as first:
        first.commit("protect", {"digest": "d", "rows": None})
        first.path("protected.parquet").write_bytes(b"x")
    with Run.begin(home, KEY, now=now + timedelta(hours=1)) as second:
        assert second.resumed
        assert second.id == first.id
        assert second.committed("protect") == {"digest": "d", "rows": None}
        assert second.committed("publish") is None
        assert second.path("protected.parquet").read_bytes() == b"x"


def test_another_spec_gets_another_run(home: Home, now: datetime) -> None:
    with Run.begin(home, KEY, now=now) as first:
        pass
    with Run.begin(home, "other", now=now) as second:
        assert not second.resumed
        assert second.id != first.id


def test_a_live_run_is_left_alone_also_in_one_process(home: Home, now: datetime) -> None:
    with Run.begin(home, KEY, now=now) as first, Run.begin(home, KEY, now=now) as second:
        assert not second.resumed
        assert second.id != first.id


def test_the_oldest_dead_run_is_resumed_first(home: Home, now: datetime) -> None:
    with Run.begin(home, KEY, now=now) as old, Run.begin(home, KEY, now=now + timedelta(seconds=1)):
        pass
    with Run.begin(home, KEY, now=now) as resumed:
        assert resumed.id == old.id


def test_a_run_of_a_live_process_is_left_alone_and_of_a_killed_one_resumed(home: Home, now: datetime) -> None:
    told, tell = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            run = Run.begin(home, KEY, now=now)
            run.commit("protect", {"by": "child"})
            os.write(tell, run.id.encode())
            signal.pause()
        finally:
            os._exit(1)
    os.close(tell)
    childs = os.read(told, 100).decode()
    os.close(told)
    with Run.begin(home, KEY, now=now) as live:
        assert not live.resumed
        live.finish({})
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with Run.begin(home, KEY, now=now) as resumed:
        assert (resumed.id, resumed.resumed) == (childs, True)
        assert resumed.committed("protect") == {"by": "child"}


def test_a_finished_run_is_never_resumed_and_keeps_what_was_named(home: Home, now: datetime) -> None:
    with Run.begin(home, KEY, now=now) as run:
        run.commit("protect", {})
        run.path("staged").mkdir()
        run.path("staged").joinpath("data.parquet").write_bytes(b"x")
        run.path("report.html").write_text("report")
        run.path("link").symlink_to(home.keys)
        run.finish({"verdict": "published"}, keep=("report.html", "decision.json"))
    assert names(run.folder) == ["outcome.json", "report.html"]
    assert json.loads((run.folder / "outcome.json").read_bytes()) == {
        "begun": "2026-11-16T02:15:00+00:00",
        "keep": ["report.html", "decision.json"],
        "key": KEY,
        "owners": [],
        "outcome": {"verdict": "published"},
        "run": run.id,
    }
    with Run.begin(home, KEY, now=now) as after:
        assert not after.resumed
    assert names(run.folder) == ["outcome.json", "report.html"]


def test_a_step_is_committed_once(home: Home, now: datetime) -> None:
    with Run.begin(home, KEY, now=now) as run:
        run.commit("protect", {"draw": 1})
        run.commit("protect", {"draw": 1})
        with pytest.raises(RunRefused, match="step protect refused: must be committed with the same facts as befo"):
            run.commit("protect", {"draw": 2})
        assert run.committed("protect") == {"draw": 1}


def test_facts_that_are_not_json_are_not_committed(home: Home, now: datetime) -> None:
    with Run.begin(home, KEY, now=now) as run:
        with pytest.raises(NotCanonical):
            run.commit("protect", {"draw": float("nan")})
        assert run.committed("protect") is None


def test_a_restart_forgets_commits_and_files_but_not_the_run(home: Home, now: datetime) -> None:
    with Run.begin(home, KEY, now=now) as run:
        run.commit("ingest", {"source": "old"})
        run.path("data.parquet").write_bytes(b"x")
        run.restart()
        assert run.committed("ingest") is None
        assert names(run.folder) == ["lock", "run.json"]
        run.commit("ingest", {"source": "new"})
    with Run.begin(home, KEY, now=now) as again:
        assert (again.id, again.committed("ingest")) == (run.id, {"source": "new"})


def test_a_named_run_is_begun_and_resumed_under_its_name(home: Home, now: datetime) -> None:
    with Run.begin(home, KEY, now=now), Run.begin(home, KEY, now=now, run_id="flow-1") as named:
        assert (named.id, named.resumed) == ("flow-1", False)
    with Run.begin(home, KEY, now=now, run_id="flow-1") as again:
        assert (again.id, again.resumed) == ("flow-1", True)


def test_a_named_run_that_lives_or_is_finished_or_of_another_spec_is_refused(home: Home, now: datetime) -> None:
    def refused(key: str) -> None:
        with pytest.raises(RunRefused, match=r"unfinished, of the same spec.*got 'flow-1'") as caught:
            Run.begin(home, key, now=now, run_id="flow-1")
        assert caught.value.code == "run-refused"

    with Run.begin(home, KEY, now=now, run_id="flow-1") as run:
        refused(KEY)
        run.close()
        refused("other")
    with Run.begin(home, KEY, now=now, run_id="flow-1") as run:
        run.finish({})
    refused(KEY)


@pytest.mark.parametrize("name", ["", "..", "a/b", "/a", ".hidden", "a\n", "x" * 101])
def test_names_cannot_leave_the_folder(home: Home, now: datetime, name: str) -> None:
    with pytest.raises(RunRefused, match="1 to 100 letters"):
        Run.begin(home, KEY, now=now, run_id=name)
    with Run.begin(home, KEY, now=now) as run:
        for use in (run.path, lambda name: run.finish({}, keep=(name,))):
            with pytest.raises(RunRefused, match="1 to 100 letters"):
                use(name)
        if name != "":
            with pytest.raises(RunRefused):
                run.commit(f"{name}/", {})


@pytest.mark.parametrize("name", ["run.json", "lock", "outcome.json", "restarting"])
def test_the_runs_own_names_are_taken(home: Home, now: datetime, name: str) -> None:
    with Run.begin(home, KEY, now=now) as run:
        with pytest.raises(RunRefused, match="must have a new name"):
            run.path(name)
        if name.endswith(".json"):
            with pytest.raises(RunRefused, match="must have a new name"):
                run.commit(name.removesuffix(".json"), {})


def test_a_run_that_was_let_go_changes_nothing_more(home: Home, now: datetime) -> None:
    with Run.begin(home, KEY, now=now) as run:
        pass
    for use in (lambda: run.commit("a", {}), run.restart, lambda: run.finish({})):
        with pytest.raises(RunRefused, match="must still be held"):
            use()
    run.close()


def test_a_moment_without_time_zone_begins_nothing(home: Home, now: datetime) -> None:
    with pytest.raises(RunRefused, match="time zone"):
        Run.begin(home, KEY, now=now.replace(tzinfo=None))


@pytest.mark.parametrize("content", [b"{", b"[]", b"{}", b"\xff"])
@pytest.mark.parametrize("name", ["run.json", "outcome.json"])
def test_a_damaged_folder_stops_the_next_run(home: Home, now: datetime, name: str, content: bytes) -> None:
    with Run.begin(home, KEY, now=now) as run:
        (run.folder / name).write_bytes(content)
    for _ in range(2):  # the first refusal must not leave the lock held
        with pytest.raises(RunDamaged, match=f"{run.id}/{name} refused") as caught:
            Run.begin(home, KEY, now=now)
        assert (caught.value.code, caught.value.kind) == ("run-damaged", "integrity")


def test_a_damaged_marker_is_refused(home: Home, now: datetime) -> None:
    with Run.begin(home, KEY, now=now) as run:
        run.path("protect.json").write_bytes(b"{")
        with pytest.raises(RunDamaged, match=r"protect\.json"):
            run.committed("protect")


def test_a_folder_whose_run_file_was_taken_away_is_not_swept(home: Home, now: datetime) -> None:
    with Run.begin(home, KEY, now=now) as run:
        run.commit("protect", {"draw": 1})
        (run.folder / "run.json").unlink()
    with pytest.raises(RunDamaged, match=r"run\.json"):
        Run.begin(home, KEY, now=now)
    assert "protect.json" in names(run.folder)


def go_on(home: Home, now: datetime, drawn: Path) -> None:
    """A run as a flow does it: what is drawn is noted outside, the moment it is drawn and committed."""
    with Run.begin(home, KEY, now=now) as run:
        if run.committed("protect") is None:
            run.path("staged.parquet").write_text(secrets.token_hex(8))
            run.commit("protect", {"draw": run.path("staged.parquet").read_text()})
        committed = run.committed("protect")
        assert committed == {"draw": run.path("staged.parquet").read_text()}
        drawn.write_text(committed["draw"])
        run.path("report.html").write_text(committed["draw"])
        run.finish({"draw": committed["draw"]}, keep=("report.html",))


def test_a_run_killed_at_any_point_goes_on_with_what_it_committed(tmp_path: Path, now: datetime) -> None:
    points = 0
    for point in kill_points(lambda at: go_on(Home.open(tmp_path / str(at)), now, tmp_path / f"drawn-{at}")):
        home, drawn = Home.open(tmp_path / str(point)), tmp_path / f"drawn-{point}"
        used = drawn.read_text() if drawn.exists() else None
        finished = any((home.runs / name / "outcome.json").exists() for name in folders(home))
        if finished:
            Run.begin(home, "sweep", now=now).finish({})
        else:
            go_on(home, now, drawn)
        assert used in (None, drawn.read_text())
        outcomes = [json.loads((home.runs / name / "outcome.json").read_bytes()) for name in folders(home)]
        ours = [outcome for outcome in outcomes if outcome["key"] == KEY]
        assert [outcome["outcome"]["draw"] for outcome in ours] == [drawn.read_text()]
        assert names(home.runs / ours[0]["run"]) == ["outcome.json", "report.html"]
        points += 1
    assert points > 40


@pytest.mark.slow
def test_a_restart_killed_at_any_point_forgets_all_or_nothing(tmp_path: Path, now: datetime) -> None:
    def restart(at: int) -> None:
        with Run.begin(Home.open(tmp_path / str(at)), KEY, now=now) as run:
            run.commit("ingest", {})
            run.commit("protect", {})
            (tmp_path / f"restarting-{at}").touch()
            run.restart()

    seen = set()
    for point in kill_points(restart):
        if (tmp_path / f"restarting-{point}").exists():
            with Run.begin(Home.open(tmp_path / str(point)), KEY, now=now) as run:
                assert run.resumed
                remembered = (run.committed("ingest") is not None, run.committed("protect") is not None)
            assert remembered in {(True, True), (False, False)}
            seen.add(remembered)
    assert seen == {(True, True), (False, False)}


def test_a_failure_to_begin_leaves_nothing_locked(home: Home, now: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", no_space)
        with pytest.raises(OSError, match="No space"):
            Run.begin(home, KEY, now=now, run_id="r")
    with Run.begin(home, KEY, now=now, run_id="r") as run:
        assert run.id == "r"


def test_nobody_else_looks_for_runs_while_one_is_being_made(
    home: Home, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its making and its locking a folder looks dead."""
    mkdir = os.mkdir
    seen = []

    def look_while_making(path: Path, mode: int) -> None:
        mkdir(path, mode)
        with (home.runs / ".lock").open() as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        seen.append(path)

    with monkeypatch.context() as patch:
        patch.setattr(os, "mkdir", look_while_making)
        run = Run.begin(home, KEY, now=now)
    run.close()
    assert seen == [run.folder]


def test_processes_that_begin_together_never_share_a_run(home: Home, now: datetime) -> None:
    """One dead run to resume, four processes that want it: one gets it, the others begin their own."""
    with Run.begin(home, KEY, now=now) as dead:
        dead.commit("ingest", {})
    told, tell = os.pipe()
    release, hold = os.pipe()
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            try:
                os.close(hold)
                run = Run.begin(home, KEY, now=now)
                os.write(tell, f"{run.id} {run.resumed}\n".encode())
                os.read(release, 1)  # hold the run until all have theirs
            finally:
                os._exit(0)
        children.append(child)
    os.close(tell)
    with os.fdopen(told) as stream:
        lines = [stream.readline().split() for _ in children]
    os.close(hold)
    os.close(release)
    for child in children:
        os.waitpid(child, 0)
    assert len({line[0] for line in lines}) == 4
    assert [line[0] for line in lines if line[1] == "True"] == [dead.id]


def test_the_lock_outlives_no_process(home: Home, now: datetime) -> None:
    assert in_child(lambda: Run.begin(home, KEY, now=now)) == 0
    with Run.begin(home, KEY, now=now) as run:
        assert run.resumed
