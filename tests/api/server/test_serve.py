"""`penstock serve` as it is used: one command, then releases by reference over REST, webhooks, reports, its end.

One served process for all of it, because most of its time is the start of processes; tests run in order.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from benchmarks import gateway
from penstock.records import Home
from penstock.records.ledger.lock import take_turn
from penstock.server.deployment_settings import DEPLOYMENTS
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.living_processes import MARK, processes
from tests.support.serving import LONGEST_START, LOOK_AGAIN, PENSTOCK, Serving, fetch, free_port
from tests.support.waiting_release import actions, at_home, events
from tests.support.workplace import PASSED, Workplace

START_RELEASE = DEPLOYMENTS.with_name("platform") / "start_release.py"
PREFECT = str(Path(PENSTOCK).with_name("prefect"))


class Receiver:
    """A web server on loopback that keeps what is posted to it."""

    def __init__(self) -> None:
        posted: queue.Queue[Any] = queue.Queue()

        class Keep(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                posted.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._posted = posted
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Keep)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/a-token"

    def next(self) -> Any:
        return self._posted.get(timeout=LONGEST_START)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class Agency:
    """A home that is served, a workplace whose folder holds the specs, and a receiver of webhooks."""

    def __init__(self, folder: Path) -> None:
        self.place = Workplace(folder)
        self.place.raw["gates"][0]["max"] = 0.06
        self.place.write_spec()
        self.refused = self._write("refused.yaml", name="strict", gates=[{"measure": "il1s", "max": 0}])
        self.receiver = Receiver()
        self.serving = Serving(self.place.home, folder, PENSTOCK_WEBHOOK_URL=self.receiver.url)
        self.ready = self.serving.ready()

    def _write(self, file: str, **changes: Any) -> str:
        (self.place.folder / file).write_text(json.dumps({**self.place.raw, **changes}), encoding="utf-8")
        return file

    def release(self, spec: str, *ends: str) -> Any:
        flow_run = self.serving.trigger("release-spec/release", spec=spec, started_by="carl")
        return self.serving.until(flow_run, *ends)

    def run_of(self, name: str) -> str:
        [run] = {event.run for event in events() if event.facts.get("name") == name}
        return run


@pytest.fixture(scope="module")
def agency(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agency]:
    folder = tmp_path_factory.mktemp("agency")
    with pytest.MonkeyPatch.context() as patch:
        at_home(folder, patch)
        made = Agency(folder)
        try:
            yield made
        finally:
            made.serving.clear_away()
            made.receiver.close()


def test_when_it_is_ready_deployments_are_registered_and_nothing_starts_by_itself(agency: Agency) -> None:
    address = f"http://127.0.0.1:{agency.serving.port}"
    assert agency.ready["address"] == address
    assert {"release", "verify-log"} <= set(agency.ready["deployments"])
    found = {each["name"]: each for each in agency.serving.api("/deployments/filter", {})}
    assert set(found) == set(agency.ready["deployments"])
    release = found["release"]
    assert {"penstock", "rehearsal"} <= set(release["tags"])
    assert release["description"].startswith("Release by reference")
    assert release["global_concurrency_limit"]["limit"] == 1
    assert release["concurrency_options"]["collision_strategy"] == "ENQUEUE"
    assert release["parameter_openapi_schema"]["required"] == ["spec"]  # who starts it has signed in
    assert "started_by" not in release["parameter_openapi_schema"]["properties"]
    assert "relative to it" in release["parameter_openapi_schema"]["properties"]["spec"]["description"]
    schedules = [schedule for each in found.values() for schedule in each["schedules"]]
    assert [schedule["active"] for schedule in schedules] == [False] * len(schedules)
    assert {schedule["schedule"]["timezone"] for schedule in schedules} == {"Europe/Paris"}
    pages = agency.serving.page("/ui-settings")[1]
    assert json.loads(pages)["api_url"] == f"{address}/api"
    assert json.loads(pages)["default_ui"] == "v1"
    assert agency.serving.behind("/admin/settings")["server"]["analytics_enabled"] is False


def test_the_benchmark_of_the_gateway_reaches_its_end(agency: Agency, capsys: pytest.CaptureFixture[str]) -> None:
    gateway.REQUESTS = 16
    ours = (f"{agency.ready['address']}/api", str(agency.serving.credentials), None)
    gateway.compare({"Prefect": gateway.private_door(agency.serving.process), "gateway": ours})
    assert capsys.readouterr().out.count("ratio") == 2


def test_a_release_that_a_platform_starts_by_reference_is_published_and_told(agency: Agency) -> None:
    started = subprocess.run(
        [sys.executable, str(START_RELEASE), "spec.yaml"],
        env={
            **os.environ,
            "PREFECT_API_URL": f"{agency.ready['address']}/api",
            "PREFECT_API_AUTH_STRING": str(agency.serving.credentials),
        },
        capture_output=True,
        text=True,
    )
    assert started.returncode == 0, started.stderr
    assert started.stdout.splitlines() == [str(bundle) for bundle in agency.place.bundles()]
    run = agency.run_of("survey")
    assert actions(run) == PASSED
    assert events(run)[0].facts["started_by"] == "carl"
    [bundle] = agency.place.bundles()
    verify_bundle(bundle, Home.open().public_key_path)
    public = [bundle, bundle.parent, bundle.parent.parent]
    assert [f"{path.stat().st_mode & 0o777:o}" for path in public] == ["755"] * 3  # the service's umask is not theirs
    assert agency.receiver.next() == {
        "event": "penstock.release.published",
        "run": run,
        "name": "survey",
        "spec": events(run)[0].facts["spec"],
        "code": "",
    }


@pytest.mark.slow
def test_a_refused_release_is_told_with_its_code_and_no_value(agency: Agency) -> None:
    agency.place.write_survey(400, seed=4)  # the same records would be refused before they are assessed
    state = agency.release("refused.yaml", "FAILED")
    run = agency.run_of("strict")
    assert actions(run)[-1] == "REFUSED"
    code = events(run)[-1].facts["code"]
    told = agency.receiver.next()
    assert told == {
        "event": "penstock.release.refused",
        "run": run,
        "name": "strict",
        "spec": events(run)[0].facts["spec"],
        "code": code,
    }
    assessed = json.loads((Home.open().runs / run / "assessment.json").read_bytes())
    values = [repr(taken["value"]) for taken in assessed["measurements"] if len(repr(taken["value"])) > 6]
    assert values
    assert not [value for value in values if value in json.dumps([told, state])]


@pytest.mark.slow
def test_a_spec_that_is_refused_before_its_run_begins_is_told_too(agency: Agency) -> None:
    (agency.place.folder / "broken.yaml").write_text("name: broken\nunknown: 1\n", encoding="utf-8")
    state = agency.release("broken.yaml", "FAILED")
    assert (state["name"], state["message"].partition(":")[0]) == ("Refused", "spec-refused")
    assert agency.receiver.next() == {
        "event": "penstock.release.refused",
        "run": "",
        "name": "broken.yaml",
        "spec": "",
        "code": "spec-refused",
    }


def test_reports_are_shown_to_those_who_may_read_them(agency: Agency) -> None:
    run = agency.run_of("survey")
    status, page, headers = agency.serving.page(f"/reports/{run}")
    assert (status, page) == (200, (Home.open().runs / run / "report.html").read_text())
    assert headers["Cache-Control"] == "no-store"
    status, page, _ = agency.serving.page(f"/reports/{run}/public")
    assert (status, page) == (200, (agency.place.bundles()[0] / "report.html").read_text())
    assert fetch(f"{agency.serving.address}/reports/{run}", None)[0] == 401
    assert ("REPORT_READ", "carl") in {(event.action.value, event.actor) for event in events(run)}


@pytest.mark.slow
def test_a_damaged_bundle_is_found_by_the_nightly_check_and_told(agency: Agency) -> None:
    if not agency.place.bundles():  # where this test runs without the one that publishes
        agency.release("spec.yaml", "COMPLETED")
        assert agency.receiver.next()["event"] == "penstock.release.published"
    flow_run = agency.serving.trigger("verify-log/verify-log")
    agency.serving.until(flow_run, "COMPLETED")
    [bundle] = agency.place.bundles()
    with (bundle / "data.csv").open("a") as file:
        file.write("x")
    flow_run = agency.serving.trigger("verify-log/verify-log")
    assert "BundleAltered" in agency.serving.until(flow_run, "FAILED")["message"]
    assert agency.receiver.next() == {"event": "penstock.log.damaged", "code": "bundle-altered"}
    written = agency.serving.api("/artifacts/filter", {"sort": "CREATED_DESC"})
    shown = [artifact["data"] for artifact in written if artifact["key"] == "verify-log"]
    assert shown[0].startswith(f"* **Refused: bundle-altered**\n* `{bundle} data.csv` must have the listed digest")
    assert "1 published bundles are what their manifests say" in shown[1]


def refused_command(*arguments: str, **environment: str) -> Any:
    done = subprocess.run([PENSTOCK, "serve", *arguments, "--json"], env=environment, capture_output=True, cwd="/")
    return done.returncode, json.loads(done.stdout or done.stderr)


@pytest.mark.slow
def test_a_second_one_for_the_same_home_or_port_is_refused(agency: Agency, tmp_path: Path) -> None:
    environment = {**agency.serving.environment(), MARK: str(tmp_path)}
    code, refused = refused_command("--port", str(free_port()), **environment)
    assert (code, refused["refused"], refused["faults"][0]["field"]) == (1, "already-served", "PENSTOCK_HOME")
    environment["PENSTOCK_HOME"] = str(tmp_path / "other")
    code, refused = refused_command("--port", str(agency.serving.port), **environment)
    assert (code, refused["refused"], refused["faults"][0]["field"]) == (1, "already-served", "--port")
    code, refused = refused_command("--host", "0.0.0.0", **environment)
    assert (code, refused["refused"]) == (2, "host-refused")


@pytest.mark.slow
def test_a_killed_command_takes_everything_with_it_and_the_next_one_closes_its_runs(agency: Agency) -> None:
    serving = agency.serving
    agency.place.write_survey(400, seed=2)
    with take_turn(Home.open(), str(agency.place.source)):  # the release waits here, wherever it is killed
        flow_run = serving.trigger("release-spec/release", spec="spec.yaml", started_by="carl")
        serving.until(flow_run, "RUNNING")
        running = processes(str(agency.place.home))
        assert len(running) == 4
        # The server first, so that the flow run can tell nobody of its end.
        os.kill(serving.process.pid, signal.SIGSTOP)
        [server] = [pid for pid, line in running.items() if "server_process" in line]
        os.kill(server, signal.SIGKILL)
        assert serving.stop(signal.SIGKILL) == -signal.SIGKILL
    before = len(agency.place.bundles())
    serving.start()
    serving.ready()
    assert (
        serving.until(flow_run, "CRASHED")["message"] == "Its worker ended. Run it again: it goes on where it stopped."
    )
    agency.release("spec.yaml", "COMPLETED")  # also: the dead run does not stand in the queue
    assert len(agency.place.bundles()) == before + 1


@pytest.mark.slow
def test_a_worker_that_dies_ends_its_flow_runs_and_the_command(agency: Agency) -> None:
    serving = agency.serving
    agency.place.write_survey(400, seed=3)
    with take_turn(Home.open(), str(agency.place.source)):
        flow_run = serving.trigger("release-spec/release", spec="spec.yaml", started_by="carl")
        serving.until(flow_run, "RUNNING")
        [worker] = [pid for pid, line in processes(str(agency.place.home)).items() if "worker_process" in line]
        os.kill(worker, signal.SIGKILL)
        assert serving.process.wait(LONGEST_START) == 1
        deadline = time.monotonic() + LONGEST_START
        while processes(str(agency.place.home)):
            assert time.monotonic() < deadline
            time.sleep(LOOK_AGAIN)
