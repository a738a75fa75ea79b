"""The processes of `penstock serve`: one that does not become ready is refused and does not stay."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from penstock.flows.prefect_setup import ServerNotReady
from penstock.server import _child_process as child_process
from penstock.server import worker_process
from penstock.server._child_process import child
from penstock.server.worker_process import end_flow_runs
from tests.support.living_processes import MARK, processes


def pretend_python(folder: Path, script: str) -> str:
    """A program in the place of the interpreter, so that what it starts is not what was meant."""
    program = folder / "python"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o700)
    return str(program)


def test_one_that_ends_by_itself_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", pretend_python(tmp_path, "echo why; exit 1"))
    with (
        pytest.raises(ServerNotReady, match=r"worker refused: must not end by itself. See the end of .*worker.log"),
        child(tmp_path / "worker.log", "any") as started,
    ):
        started.wait_until(lambda: False)
    assert (tmp_path / "worker.log").read_text() == "why\n"


def test_one_that_neither_starts_nor_stops_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", pretend_python(tmp_path, "exec sleep 1000"))
    monkeypatch.setattr(child_process, "_START_SECONDS", 0)
    monkeypatch.setattr(child_process, "_STOP_SECONDS", 0.01)
    monkeypatch.setenv(MARK, str(tmp_path))
    with (
        pytest.raises(ServerNotReady, match="server refused: must be ready in time"),
        child(tmp_path / "server.log", "any") as started,
    ):
        started.wait_until(lambda: False)
    assert {pid for pid in processes(str(tmp_path)) if pid != os.getpid()} == set()


def test_one_that_is_ready_is_stopped_by_the_end_of_its_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", pretend_python(tmp_path, "cat; echo ended"))
    with child(tmp_path / "server.log", "any") as started:
        started.wait_until(lambda: True)
    assert started.process.returncode == 0
    assert (tmp_path / "server.log").read_text() == "ended\n"


def test_a_flow_run_that_ended_by_itself_keeps_no_worker_from_ending_the_others() -> None:
    gone, living = (subprocess.Popen(["sleep", "1000"]) for _ in range(2))
    known = [psutil.Process(each.pid) for each in (gone, living)]
    gone.kill()
    gone.wait()
    end_flow_runs(known)
    assert living.wait() == -signal.SIGTERM  # nobody else has collected it


def test_a_flow_run_that_does_not_end_when_asked_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "_GRACE", 0.01)
    deaf = subprocess.Popen(["sh", "-c", "trap '' TERM; echo ready; exec sleep 1000"], stdout=subprocess.PIPE)
    assert deaf.stdout is not None
    assert deaf.stdout.readline() == b"ready\n"
    end_flow_runs([psutil.Process(deaf.pid)])
    assert deaf.wait() == -signal.SIGKILL
    deaf.stdout.close()
