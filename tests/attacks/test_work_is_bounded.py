"""A command ends: with too little memory it refuses instead of hanging, and SIGTERM ends it wherever it is.

A release that could not be published is refused before it draws, so that nothing is spent on it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from penstock.flows.spec import load_spec
from penstock.records import open_records
from penstock.records.bundle.places import DestinationNotWritable
from penstock.records.files.object_store import StoreRefused
from penstock.records.home import Home
from penstock.records.ledger.lock import take_turn
from tests.support.living_processes import LONGEST_WAIT, MARK, processes, wait_for_death
from tests.support.s3_server import Bucket
from tests.support.workplace import Workplace, budget_of, make_private, open_dp_account

PENSTOCK = str(Path(sys.executable).with_name("penstock"))
HUNG = str(Path(__file__).parents[1] / "support" / "hung_release.py")
GIGABYTE = 1_000_000  # as `ulimit -v` counts, in KiB
TERMINATED = {-signal.SIGTERM, 128 + signal.SIGTERM}


def environment(place: Workplace) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT", "PENSTOCK"))}
    root = str(Path(__file__).parents[2])
    return {**inherited, "PENSTOCK_HOME": str(place.home), MARK: str(place.folder), "PYTHONPATH": root}


def wait_until(place: Workplace, sign: Path, command: subprocess.Popen[bytes]) -> None:
    """Wait for a state, and give up only when it can no longer come."""
    for _ in range(10 * LONGEST_WAIT):
        if sign.exists():
            return
        assert command.poll() is None, "it ended before"
        time.sleep(0.1)
    pytest.fail("it never came so far")


def require_resumable(place: Workplace) -> None:
    log = open_records(home=Home.open(place.home)).log
    log.verify()
    assert place.public_files() == []


def test_under_a_gigabyte_of_address_space_a_run_is_refused(workplace: Workplace) -> None:
    workplace.write_spec()
    ended = subprocess.run(
        ["bash", "-c", f'ulimit -v {GIGABYTE}; exec "$@"', "-", PENSTOCK, "run", str(workplace.spec_file), "--json"],
        env=environment(workplace),
        capture_output=True,
        text=True,
        timeout=LONGEST_WAIT,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (1, "")
    told = json.loads(ended.stdout)
    assert told["refused"] == "memory-too-small"
    assert "ulimit -v" in told["faults"][0]["remedy"]
    assert processes(str(workplace.folder)) == {}
    require_resumable(workplace)


@pytest.mark.slow
def test_sigterm_ends_a_run_that_hangs_in_a_library_and_all_its_processes(workplace: Workplace, tmp_path: Path) -> None:
    workplace.write_spec()
    sign = tmp_path / "hung"
    command = subprocess.Popen(
        [sys.executable, HUNG, str(workplace.spec_file), str(sign)],
        env=environment(workplace),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_until(workplace, sign, command)
    family = processes(str(workplace.folder))
    command.send_signal(signal.SIGTERM)
    printed = command.communicate(timeout=LONGEST_WAIT)
    assert command.returncode in TERMINATED
    assert b"Traceback" not in b"".join(printed)
    for pid in family:
        wait_for_death(pid)
    require_resumable(workplace)


def test_sigterm_puts_the_end_of_a_run_on_record(workplace: Workplace, tmp_path: Path) -> None:
    sign = tmp_path / "asleep"
    command = subprocess.Popen(
        [sys.executable, HUNG, str(workplace.write_spec()), str(sign), "asleep"],
        env=environment(workplace),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_until(workplace, sign, command)
    command.send_signal(signal.SIGTERM)
    assert command.communicate(timeout=LONGEST_WAIT) == (b"", b"")
    assert command.returncode == 128 + signal.SIGTERM
    require_resumable(workplace)
    last = open_records(home=Home.open(workplace.home)).log.events()[-1]
    assert (last.action.value, last.facts) == ("FAILED", {"code": "Terminated"})


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["run", "SPEC"], ["plan", "SPEC", "--count"]])
def test_sigterm_ends_a_command_that_waits_or_works(workplace: Workplace, arguments: list[str]) -> None:
    workplace.write_survey(200_000)
    workplace.write_spec()
    typed = [PENSTOCK, *(str(workplace.spec_file) if word == "SPEC" else word for word in arguments)]
    with take_turn(Home.open(workplace.home), str(workplace.source)):  # a run stands still here
        command = subprocess.Popen(typed, env=environment(workplace), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if arguments[0] == "run":
            wait_until(workplace, workplace.home / "penstock.db", command)  # made shortly before
        family = processes(str(workplace.folder))
        command.send_signal(signal.SIGTERM)
        printed = command.communicate(timeout=LONGEST_WAIT)
        assert command.returncode in TERMINATED
    assert b"Traceback" not in b"".join(printed)
    for pid in family:
        wait_for_death(pid)
    require_resumable(workplace)


def spend_nothing(place: Workplace) -> None:
    assert budget_of() == ("0", "4", [])
    assert "SPENT" not in [event.action.value for event in open_records().log.events()]


@pytest.fixture
def spending(workplace: Workplace) -> Workplace:
    make_private(workplace)
    workplace.write_spec()
    open_dp_account(4)
    return workplace


@pytest.mark.parametrize("obstacle", ["a file instead of the folder", "a file above it"])
def test_a_destination_that_cannot_be_written_is_noticed_before_the_draw(spending: Workplace, obstacle: str) -> None:
    from penstock.flows.release import release

    if obstacle == "a file above it":
        (spending.folder / "above").touch()
        spending.raw["publish"]["path"] = "above/published"
    else:
        spending.published.touch()
    with pytest.raises(DestinationNotWritable, match=r"publish\.path"):
        release(load_spec(spending.write_spec()))
    spend_nothing(spending)


def test_a_bucket_that_is_not_there_is_noticed_before_the_draw(spending: Workplace, bucket: Bucket) -> None:
    from penstock.flows.release import release

    spending.raw["publish"]["path"] = f"s3://{bucket.name}-missing/public"
    with pytest.raises(StoreRefused):
        release(load_spec(spending.write_spec()))
    spend_nothing(spending)
