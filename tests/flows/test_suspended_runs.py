"""A deployment whose release waits is suspended; a decision in its form, or on the command line, lets it go on.

The deployment is real: a process serves it, and every start of a flow run is a process of its own. All
runs begin together, because most of their time is the start of processes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from prefect import get_client
from prefect.exceptions import ObjectNotFound

from penstock.flows.spec import load_spec
from penstock.records import Home, open_records
from penstock.records.run import outcomes
from penstock.tasks.verification.bundle import verify_bundle
from tests.support.ended_command import Typed
from tests.support.living_processes import LONGEST_WAIT, MARK, processes, wait_for_death
from tests.support.prefect_service import Service, named
from tests.support.waiting_release import actions, at_home, events, introduce, release
from tests.support.workplace import Workplace, files_of

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
NAME = "review-test"
LOOK_AGAIN = 0.5  # each look costs the server more than it costs us
DRAWN = ["RESERVED", "SPENT", "PROTECTING", "PROTECTED"]


class Suspended:
    """One flow run of the deployment, and the run of the release that it has in hand."""

    def __init__(self, client: Any, deployment: UUID, folder: Path, seed: int) -> None:
        folder.mkdir()
        self.place = Workplace(folder)
        self.place.write_survey(400, seed)  # the same records would be a second release
        self.place.raw["name"] = folder.name
        self.place.raw["approve"] = {"reviewers": 1, "allowed": ["anna"]}
        self.place.raw["gates"][0]["max"] = 0.06  # no measured value is a limit by chance
        spec = load_spec(self.place.write_spec()).model_dump(mode="json", exclude_none=True)
        self._client = client
        made = client.create_flow_run_from_deployment(deployment, parameters={"spec": spec, "started_by": "carl"})
        self.flow_run: UUID = made.id

    def until(self, reached: Callable[[Any], bool]) -> Any:
        """Ask Prefect for the state of the flow run until it is the one that is meant."""
        deadline = time.monotonic() + LONGEST_WAIT
        while True:
            state = self._client.read_flow_run(self.flow_run).state
            if reached(state):
                return state
            assert time.monotonic() < deadline, f"the flow run stayed {state.name}: {state.message}"
            assert not state.is_final(), f"the flow run ended {state.name}: {state.message}"
            time.sleep(LOOK_AGAIN)

    def form(self, before: str = "") -> str:
        """Wait for the form, or for the one after `before`; its name."""

        def is_shown(state: Any) -> bool:
            name = (state.state_details.run_input_keyset or {}).get("description", "")
            found = self._client.filter_flow_run_input(self.flow_run, key_prefix=name, limit=1, exclude_keys=set())
            return state.is_paused() and name not in ("", before) and len(found) > 0

        return str(self.until(is_shown).state_details.run_input_keyset["description"])

    def shown(self, form: str) -> tuple[Any, str]:
        """Schema and description of a form, as a browser gets them."""
        names = (form.replace("-description", "-schema"), form)
        schema, text = (self._client.read_flow_run_input(self.flow_run, name) for name in names)
        return json.loads(schema), json.loads(text)

    def send(self, **filled: str) -> str:
        """Send the form; what Prefect says to it."""
        return str(self._client.resume_flow_run(self.flow_run, run_input=filled).status.value)

    @property
    def run(self) -> str:
        """The run of the release."""
        [run] = {event.run for event in events() if event.facts.get("name") == self.place.raw["name"]}
        return run

    @property
    def staged(self) -> Path:
        return Home.open().runs / self.run / "bundle"

    def measured(self) -> set[str]:
        """Every measured value, as it might be written; those that any text may hold are left out."""
        assessment = json.loads((Home.open().runs / self.run / "assessment.json").read_bytes())
        values = [taken["value"] for taken in assessment["measurements"]]
        return {written for value in values for written in (repr(value), f"{value:.4g}") if len(written) > 3}

    @property
    def content(self) -> str:
        [content] = {event.facts["content"] for event in events(self.run) if event.action.value == "WAITING"}
        return str(content)

    def require_published_once(self, staged: dict[str, bytes]) -> None:
        [bundle] = self.place.bundles()
        published = files_of(bundle)
        del published["manifest.json"]
        assert published == staged
        verify_bundle(bundle, Home.open().public_key_path)
        assert [actions(self.run).count(action) for action in DRAWN] == [1, 1, 1, 1]
        [cost] = [cost for cost in open_records().ledger.books()[""].costs if cost.run == self.run]
        assert cost.state == "published"
        assert outcomes(Home.open())[self.run]["outcome"] == "published"


class Office:
    """A home with its reviewer, a deployment that is served, and three runs of it.

    One is approved by a command that knows no Prefect server; that takes its time, so it begins early and
    works beside the first test.
    """

    def __init__(self, folder: Path, client: Any) -> None:
        self.key = folder / "anna.pem"
        introduce(folder, "anna")
        deployment = _deployed(client)
        self.behind_its_back = Suspended(client, deployment, folder / "behind-its-back", seed=1)
        self.by_form = Suspended(client, deployment, folder / "by-form", seed=2)
        self.by_command = Suspended(client, deployment, folder / "by-command", seed=3)
        self.behind_its_back.form()
        self.staged_before = files_of(self.behind_its_back.staged)
        decision = ["approve", self.behind_its_back.run, "--reviewer", "anna", "--key", str(self.key)]
        unaware = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT")}
        self.approving = subprocess.Popen(
            [str(Path(sys.executable).with_name("penstock")), *decision],
            env={**unaware, MARK: str(folder)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )


def _deployed(client: Any) -> UUID:
    deadline = time.monotonic() + LONGEST_WAIT
    while True:
        try:
            return UUID(str(client.read_deployment_by_name(f"release/{NAME}").id))
        except ObjectNotFound:
            assert time.monotonic() < deadline, "nobody served the deployment"
            time.sleep(LOOK_AGAIN)


@pytest.fixture(scope="module")
def office(prefect_service: Service, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    folder = tmp_path_factory.mktemp("office")
    with named(prefect_service), pytest.MonkeyPatch.context() as patch, (folder / "serving.txt").open("w") as output:
        at_home(folder, patch)
        serving = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("served_release.py")), NAME],
            cwd=ROOT,
            env={**os.environ, MARK: str(folder), "PYTHONPATH": str(ROOT), "PREFECT_RUNNER_POLL_FREQUENCY": "1"},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            with get_client(sync_client=True) as client:
                yield Office(folder, client)
        finally:
            serving.kill()
            serving.wait()
            for pid in processes(str(folder)):
                os.kill(pid, signal.SIGKILL)
                wait_for_death(pid)


def test_a_suspended_run_shows_a_form_and_the_right_signature_publishes(office: Office, typed: Typed) -> None:
    suspended = office.by_form
    form = suspended.form()
    staged = files_of(suspended.staged)
    schema, text = suspended.shown(form)
    assert set(schema["properties"]) == {"decision", "reviewer", "signature", "reason"}
    assert schema["required"] == ["decision", "reviewer", "signature"]
    assert f"\npenstock sign {suspended.content} --key YOUR.pem\n" in text
    assert "**Gates:** All " in text
    assert "**Approvals missing:** 1 of 1. **Approved by:** nobody. **May decide:** anna." in text
    assert not [value for value in suspended.measured() if value in text + json.dumps(schema)]
    assert suspended.send(decision="approve", reviewer="anna") == "REJECT"  # it stays as it is

    over_another = typed("sign", "ab" * 32, "--key", office.key).out.strip()
    assert suspended.send(decision="approve", reviewer="anna", signature=over_another) == "ACCEPT"
    again = suspended.form(before=form)
    assert "decision-signature-wrong" in suspended.shown(again)[1]
    assert actions(suspended.run).count("DECISION_REFUSED") == 1
    assert suspended.place.public_files() == []

    signature = typed("sign", suspended.content, "--key", office.key).out.strip()
    assert suspended.send(decision="approve", reviewer="anna", signature=signature) == "ACCEPT"
    assert suspended.until(lambda state: state.is_final()).is_completed()
    suspended.require_published_once(staged)


def test_a_decision_on_the_command_line_lets_the_suspended_run_go_on_by_itself(office: Office, typed: Typed) -> None:
    suspended = office.by_command
    suspended.form()
    staged = files_of(suspended.staged)
    assert release(suspended.place).run == suspended.run  # somebody runs the spec by hand; that changes nothing
    decided = typed("approve", suspended.run, "--reviewer", "anna", "--key", office.key, "--json")
    assert (decided.code, decided.document()) == (0, {"run": suspended.run, "decision": "approve"})
    assert suspended.until(lambda state: state.is_final()).is_completed()
    suspended.require_published_once(staged)


def test_a_suspended_run_that_was_published_behind_its_back_begins_no_second_release(office: Office) -> None:
    suspended = office.behind_its_back
    output, _ = office.approving.communicate(timeout=LONGEST_WAIT)
    assert office.approving.returncode == 0, output.decode()
    suspended.require_published_once(office.staged_before)
    before = len(events())
    assert suspended.until(lambda state: state.is_paused()).name == "Suspended"
    assert suspended.send(decision="approve", reviewer="anna", signature="any") == "ACCEPT"
    ended = suspended.until(lambda state: state.is_final())
    assert ended.is_failed()
    assert "RunRefused" in ended.message
    assert len(events()) == before
    suspended.require_published_once(office.staged_before)
