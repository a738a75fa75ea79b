"""Commands as processes of their own: our lines only, and no process outlives them, not even under kill -9."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from penstock.records import open_records
from penstock.records.home import Home
from tests.support.ended_command import Ended
from tests.support.living_processes import LONGEST_WAIT, MARK, processes
from tests.support.workplace import Workplace

ROOT = Path(__file__).parents[3]
HUNG = str(ROOT / "tests" / "support" / "hung_release.py")


def environment(home: Path, mark: str) -> dict[str, str]:
    """A user's environment without any setting of Prefect or Penstock but the home; `mark` finds its processes."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT", "PENSTOCK"))}
    return {**inherited, "PENSTOCK_HOME": str(home), MARK: mark}


def command(*arguments: object) -> list[str]:
    return [str(Path(sys.executable).with_name("penstock")), *map(str, arguments)]


def wait_until(sign: Path, command: subprocess.Popen[bytes]) -> None:
    """Wait for a state, and give up only when it can no longer come."""
    for _ in range(10 * LONGEST_WAIT):
        if sign.exists():
            return
        assert command.poll() is None, "it ended before"
        time.sleep(0.1)
    pytest.fail("the release never read its source")


@pytest.mark.slow  # test_wheel.py runs the demo too
def test_the_demo_releases_and_prints_our_lines_only(tmp_path: Path) -> None:
    ended = subprocess.run(
        command("demo", "--folder", "place"),
        cwd=tmp_path,
        env=environment(tmp_path / "unused", str(tmp_path)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert processes(str(tmp_path)) == {}
    assert (ended.returncode, ended.stderr) == (0, "")
    place = tmp_path / "place"
    [manifest] = (place / "published").rglob("manifest.json")
    home, bundle = place / "confidential" / "penstock", manifest.parent
    [report] = (home / "runs").rglob("report.html")
    assert ended.stdout.splitlines() == [
        "Published demo-survey, 20,000 records",
        "  promise             prob_k, k = 400, ir_swap",
        f"  bundle              {bundle}",
        f"  public report       {bundle}/report.html",
        f"  confidential report {report}",
        "",
        "The bundle verifies, and the audit log has 12 events, every one in its place.",
        "Look further:",
        f"  cat {place}/specs/survey.yaml",
        f"  penstock plan {place}/specs/survey.yaml",
        f"  PENSTOCK_HOME={home} penstock audit show",
        f"  penstock verify {bundle} --key {home}/keys/signing.pub",
        f"  PENSTOCK_HOME={home} PENSTOCK_SPECS={place}/specs penstock serve",
    ]
    assert not (tmp_path / "unused").exists()


@pytest.mark.slow
def test_no_process_outlives_a_killed_or_a_finished_command_and_a_rerun_publishes(tmp_path: Path) -> None:
    place, mark = Workplace(tmp_path), str(tmp_path)
    sign = tmp_path / "hung"
    run = subprocess.Popen(
        [sys.executable, HUNG, str(place.write_spec()), str(sign)],  # it stands still where we want it
        cwd=tmp_path,
        env={**environment(place.home, mark), "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_until(sign, run)
    family = processes(mark)
    assert set(family) == {run.pid}  # it is one process, and starts none
    os.kill(run.pid, signal.SIGKILL)
    assert run.wait(LONGEST_WAIT) == -signal.SIGKILL
    assert run.communicate() == (b"", b"")
    assert processes(mark) == {}
    assert place.bundles() == []

    again = subprocess.run(
        command("run", place.spec_file, "--json"),
        cwd=tmp_path,
        env=environment(place.home, mark),
        capture_output=True,
        text=True,
        check=False,
    )
    assert processes(mark) == {}
    assert again.returncode == 0
    receipt = Ended(again.returncode, again.stdout, again.stderr).document()
    assert place.bundles() == [Path(receipt["path"])]
    assert set(receipt) == {
        "name",
        "run",
        "records",
        "rows_are",
        "repeats",
        "promise",
        "path",
        "manifest",
        "public_report",
        "confidential_report",
        "seconds",
        "earlier",
    }
    log = open_records(home=Home.open(place.home)).log
    log.verify()
    assert [event.action.value for event in log.events()][:2] == ["PLANNED", "RESUMED"]
