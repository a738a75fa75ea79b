"""Attack: the server, or whoever reaches its API, tells the worker to run something else than our flows.

A real Prefect server that is not ours, the worker of `penstock serve`, and orders that each plant a file. None is
followed; each ends as a crashed flow run with the code, and an honest run afterwards is published. One worker for
all of it, because most of its time is the start of processes; tests run in order.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.records import Home
from penstock.records.ledger.lock import take_turn
from tests.attacks.hostile_owner import ORDERS, OURS, HostileOwner, running_prefect
from tests.support.living_processes import LONGEST_WAIT, MARK, processes
from tests.support.order import telling
from tests.support.serving import LOOK_AGAIN, PENSTOCK, Serving
from tests.support.waiting_release import actions, at_home, events, introduce
from tests.support.workplace import PASSED, Workplace

pytestmark = pytest.mark.slow  # which orders are refused, one by one: tests/api/server/test_orders.py

CANCEL = {"state": {"type": "CANCELLING", "name": "Cancelling"}}


class Served:
    """A home whose worker belongs to a server of somebody else."""

    def __init__(self, api: str, folder: Path) -> None:
        self.api, self.place = api, Workplace(folder)
        self.place.raw["gates"][0]["max"] = 0.06
        self.place.write_spec()
        self.owners: list[HostileOwner] = []
        self.serving = Serving(self.place.home, folder, PREFECT_API_URL=api)
        self.serving.ready()

    def release(self) -> str:
        return self.serving.trigger(OURS, spec="spec.yaml", started_by="carl")

    def flow_process(self) -> int:
        [pid] = [pid for pid, line in processes(str(self.place.home)).items() if "flow_process" in line]
        return pid


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    with pytest.MonkeyPatch.context() as patch, running_prefect(tmp_path_factory.mktemp("foreign")) as api:
        at_home(folder, patch)
        made = Served(api, folder)
        try:
            yield made
        finally:
            made.serving.clear_away()


@pytest.fixture
def owner(served: Served, tmp_path: Path) -> HostileOwner:
    served.owners.append(HostileOwner(served.api, tmp_path / "hostile"))
    return served.owners[-1]


def test_an_honest_run_is_published_from_a_folder_of_our_own(served: Served) -> None:
    with take_turn(Home.open(), str(served.place.source)):
        flow_run = served.release()
        served.serving.until(flow_run, "RUNNING")
        folder = Path(os.readlink(f"/proc/{served.flow_process()}/cwd"))
        assert folder == served.place.home / "prefect" / "flow-runs"
        assert f"{folder.stat().st_mode & 0o777:o}" == "700"
    served.serving.until(flow_run, "COMPLETED")
    [run] = {event.run for event in events()}
    assert actions(run) == PASSED
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    "order", telling(ORDERS, "command of a flow run", "pull step", "foreign entrypoint", "run in a changed pool")
)
def test_an_order_for_something_else_is_refused(served: Served, owner: HostileOwner, order: str) -> None:
    give, fields = ORDERS[order]
    given: Any = give(owner)
    with given if hasattr(given, "__enter__") else contextlib.nullcontext(given) as flow_run:
        state = served.serving.until(flow_run, "CRASHED")
    code, _, reasons = state["message"].partition(": ")
    assert code == "order-refused"
    assert [field for field in fields if f"{field} refused: must be" in reasons] == [*fields]
    assert str(owner.folder) not in state["message"]  # nothing that the server wrote is repeated
    assert not owner.marker.exists()


@pytest.mark.parametrize("end", telling(["CANCELLED", "CRASHED"], "CRASHED"))
def test_the_flow_of_a_changed_deployment_is_not_loaded_when_its_run_is_cancelled_or_dies(
    served: Served, owner: HostileOwner, end: str
) -> None:
    """Prefect's worker loads it into its own process, to look for what is to be done then."""
    with take_turn(Home.open(), str(served.place.source)):
        flow_run = served.release()
        served.serving.until(flow_run, "RUNNING")
        with owner.our_entrypoint_changed():
            if end == "CANCELLED":
                owner.ask(f"/flow_runs/{flow_run}/set_state", CANCEL)
            else:
                os.kill(served.flow_process(), signal.SIGKILL)
            served.serving.until(flow_run, end)
    assert not owner.marker.exists()


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "1000"])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def test_a_process_that_the_server_names_is_not_ended(
    served: Served, owner: HostileOwner, bystander: subprocess.Popen[bytes]
) -> None:
    named = {"infrastructure_pid": str(bystander.pid)}
    with take_turn(Home.open(), str(served.place.source)):
        flow_run = served.release()
        served.serving.until(flow_run, "RUNNING")
        waiting = served.release()  # one at a time: it has not begun
        for each in (waiting, flow_run):
            owner.ask(f"/flow_runs/{each}", named, "PATCH")
            owner.ask(f"/flow_runs/{each}/set_state", CANCEL)
        served.serving.until(flow_run, "CANCELLED")
    owner.ask(f"/flow_runs/{waiting}/set_state", {"state": {"type": "CANCELLED"}, "force": True})
    assert bystander.poll() is None


@pytest.mark.slow
def test_after_all_that_an_honest_run_is_published_and_nothing_was_planted(served: Served) -> None:
    served.serving.until(served.release(), "COMPLETED")
    assert len(served.owners) > len(ORDERS)
    assert [owner.marker for owner in served.owners if owner.marker.exists()] == []


@pytest.mark.slow
def test_a_run_that_waits_for_its_reviewer_goes_on_in_another_process(served: Served) -> None:
    served.place.write_survey(400, seed=7)
    served.place.raw["approve"] = {"reviewers": 1, "allowed": ["anna"]}
    served.place.write_spec()
    introduce(served.place.folder, "anna")
    flow_run = served.release()
    assert served.serving.until(flow_run, "PAUSED")["name"] == "Suspended"
    deadline = time.monotonic() + LONGEST_WAIT
    while any("flow_process" in line for line in processes(str(served.place.home)).values()):
        assert time.monotonic() < deadline
        time.sleep(LOOK_AGAIN)
    [run] = {event.run for event in events() if event.action.value == "WAITING"}
    decision = ["approve", run, "--reviewer", "anna", "--key", str(served.place.folder / "anna.pem")]
    done = subprocess.run([PENSTOCK, *decision], env=served.serving.environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    served.serving.until(flow_run, "COMPLETED")
    assert actions(run)[-1] == "PUBLISHED"


@pytest.mark.slow
def test_a_changed_pool_keeps_another_worker_from_starting(served: Served, owner: HostileOwner, tmp_path: Path) -> None:
    environment = {**served.serving.environment(), MARK: str(tmp_path), "PENSTOCK_HOME": str(tmp_path / "other")}
    with owner.pool_changed():
        done = subprocess.run([PENSTOCK, "serve", "--json"], env=environment, capture_output=True, cwd="/")
    refused = json.loads(done.stdout or done.stderr)
    assert (done.returncode, refused["refused"]) == (1, "order-refused")
    assert [fault["field"] for fault in refused["faults"]] == ["work_pool.base_job_template"]
    assert processes(str(tmp_path)) == {}
    assert not owner.marker.exists()
