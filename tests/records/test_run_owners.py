"""Who owns a run, what it is about, and how it ended."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from penstock.records.home import Home
from penstock.records.run import Run, RunDamaged, RunRefused, outcomes, unfinished
from tests.records.kill_points import kill_points

KEY = "spec-digest"


def folders(home: Home) -> list[str]:
    return sorted(path.name for path in home.runs.iterdir() if path.is_dir())


def test_who_begins_or_resumes_a_run_is_its_owner_the_last_one_last(home: Home, now: datetime) -> None:
    with Run.begin(home, KEY, now=now, owner="flow-1") as run:
        assert run.owners == ["flow-1"]
    for owner in ("flow-2", None, "flow-2"):
        with Run.begin(home, KEY, now=now, run_id=run.id, owner=owner) as resumed:
            assert resumed.owners == ["flow-1", "flow-2"]


def test_an_owner_gets_its_own_run_again_and_not_an_older_one(home: Home, now: datetime) -> None:
    with Run.begin(home, KEY, now=now, owner="flow-1") as old, Run.begin(home, KEY, now=now, owner="flow-2") as own:
        assert old.id != own.id
    with Run.begin(home, KEY, now=now, owner="flow-2") as again:
        assert (again.id, again.resumed) == (own.id, True)


def test_an_owner_whose_run_has_ended_begins_no_second_one(home: Home, now: datetime) -> None:
    with Run.begin(home, KEY, now=now, owner="flow-1"):
        pass
    with Run.begin(home, KEY, now=now, owner="flow-2") as run:
        run.finish({"outcome": "published"})
    for owner in ("flow-1", "flow-2"):
        with pytest.raises(RunRefused, match="must be unfinished"):
            Run.begin(home, KEY, now=now, owner=owner)
    assert folders(home) == [run.id]
    with Run.begin(home, KEY, now=now, owner="flow-3") as another:
        assert another.id != run.id


def test_an_owner_whose_run_is_in_other_hands_begins_no_second_one(home: Home, now: datetime) -> None:
    with Run.begin(home, KEY, now=now, owner="flow-1") as run:
        with pytest.raises(RunRefused, match="not running elsewhere"):
            Run.begin(home, KEY, now=now, owner="flow-1")
        assert folders(home) == [run.id]


def test_what_a_run_is_about_is_kept_until_it_ends(home: Home, now: datetime) -> None:
    with Run.begin(home, KEY, now=now, about={"name": "survey"}) as first:
        assert unfinished(home) == {first.id: {"name": "survey"}}
    with Run.begin(home, KEY, now=now, about={"name": "ignored"}) as again:
        assert unfinished(home) == {first.id: {"name": "survey"}}
        again.finish({"outcome": "refused"})
    assert unfinished(home) == {}
    assert b"survey" not in (first.folder / "outcome.json").read_bytes()


def test_unfinished_and_finished_runs_are_told_apart(home: Home, now: datetime) -> None:
    with (
        Run.begin(home, KEY, now=now, run_id="a", about={"n": 1}) as waits,
        Run.begin(home, KEY, now=now, run_id="b") as ends,
        Run.begin(home, KEY, now=now, run_id="c") as plain,
    ):
        ends.finish({"outcome": "published", "records": 3})
        assert unfinished(home) == {waits.id: {"n": 1}, plain.id: {}}
        assert outcomes(home) == {ends.id: {"outcome": "published", "records": 3}}


def test_a_run_that_was_killed_while_it_was_cleared_away_has_ended(home: Home, now: datetime) -> None:
    with Run.begin(home, KEY, now=now, run_id="a") as run:
        (run.folder / "outcome.json").write_text('{"keep": [], "outcome": {"outcome": "refused"}}')
        assert unfinished(home) == {}
        assert outcomes(home) == {"a": {"outcome": "refused"}}


def test_a_run_of_a_version_that_knew_no_owners_is_resumed_and_gets_one(home: Home, now: datetime) -> None:
    with Run.begin(home, KEY, now=now) as run:
        (run.folder / "run.json").write_text(json.dumps({"begun": now.isoformat(), "key": KEY}))
    assert unfinished(home) == {run.id: {}}
    with Run.begin(home, KEY, now=now, owner="flow-1") as resumed:
        assert (resumed.id, resumed.owners) == (run.id, ["flow-1"])


@pytest.mark.parametrize(("name", "look"), [("run.json", unfinished), ("outcome.json", outcomes)])
def test_a_damaged_folder_is_not_passed_over(
    home: Home, now: datetime, name: str, look: Callable[[Home], object]
) -> None:
    with Run.begin(home, KEY, now=now) as run:
        (run.folder / name).write_bytes(b"{}")
    with pytest.raises(RunDamaged, match=f"{run.id}/{name} refused"):
        look(home)


def test_an_owner_that_takes_over_killed_at_any_point_loses_nothing(tmp_path: Path, now: datetime) -> None:
    def take_over(at: int) -> None:
        home = Home.open(tmp_path / str(at))
        with Run.begin(home, KEY, now=now, owner="flow-1", about={"n": 1}, run_id="r") as run:
            run.commit("protect", {})
        (tmp_path / f"begun-{at}").touch()
        Run.begin(home, KEY, now=now, owner="flow-2", run_id="r").close()

    seen = set()
    for point in kill_points(take_over):
        if (tmp_path / f"begun-{point}").exists():
            home = Home.open(tmp_path / str(point))
            assert unfinished(home) == {"r": {"n": 1}}
            with Run.begin(home, KEY, now=now) as run:
                assert run.committed("protect") == {}
                seen.add(tuple(run.owners))
    assert seen == {("flow-1",), ("flow-1", "flow-2")}
