"""What other platforms are told of a release: its events, with codes and no value; and that nothing depends on it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings

from penstock.flows.forms._table_protections import ExactWithThreshold
from penstock.flows.forms.table import release_table
from penstock.mechanisms.refusal import SpecRefused
from penstock.records.log.log import Action
from penstock.tasks.run.events import tell, tell_damage
from tests.support.living_processes import LONGEST_WAIT
from tests.support.serving import LOOK_AGAIN, ask
from tests.support.waiting_release import events, introduce, release
from tests.support.workplace import Workplace

pytestmark = pytest.mark.usefixtures("prefect_home")


def told(resource: str, count: int, **labels: str) -> list[Any]:
    """Wait until the server has so many events about a resource; the oldest first."""
    about = {"id": [resource], "labels": {f"prefect.resource.{key}": label for key, label in labels.items()}}
    wanted = {"filter": {"resource": about, "event": {"prefix": ["penstock."]}}}
    deadline = time.monotonic() + LONGEST_WAIT
    while True:
        url, password = (os.environ[name] for name in ("PREFECT_API_URL", "PREFECT_API_AUTH_STRING"))
        found = ask(f"{url}/events/filter", wanted, credentials=password)["events"]
        if len(found) >= count:
            return sorted(found, key=lambda event: event["occurred"])
        assert time.monotonic() < deadline, found
        time.sleep(LOOK_AGAIN)


def test_a_waiting_release_is_told_once_however_often_it_is_asked_for(workplace: Workplace, tmp_path: Path) -> None:
    workplace.raw["approve"] = {"reviewers": 1, "allowed": ["anna"]}
    introduce(tmp_path, "anna")
    run = release(workplace).run
    assert release(workplace).run == run
    tell(Action.REFUSED, run=run, name="survey", spec="", code="the-end")  # so that there is an end to wait for
    found = told(f"penstock.release.{run}", 3)
    spec = next(event.facts["spec"] for event in events(run) if event.action is Action.PLANNED)
    assert [(event["event"], event["payload"]) for event in found[:-1]] == [
        (f"penstock.release.{word}", {"run": run, "name": "survey", "spec": spec, "code": ""})
        for word in ("planned", "waiting")
    ]
    assessed = json.loads((workplace.home / "runs" / run / "assessment.json").read_bytes())
    values = [repr(taken["value"]) for taken in assessed["measurements"] if len(repr(taken["value"])) > 6]
    assert values
    assert not [value for value in values if value in json.dumps(found)]


@pytest.mark.slow
def test_a_form_that_is_refused_before_a_run_begins_is_told_without_one(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_SPECS", str(workplace.folder))
    exact = ExactWithThreshold()
    with pytest.raises(SpecRefused, match="must be a file in the folder"):
        release_table(
            data="nowhere.yaml", table="never_begun", dimensions=["region"], protection=exact, started_by="carl"
        )
    [found] = told("penstock.release.unbegun", 1, name="never_begun")
    assert found["event"] == "penstock.release.refused"
    assert found["payload"] == {"run": "", "name": "never_begun", "spec": "", "code": "spec-refused"}


@pytest.mark.slow
def test_damage_is_told_with_its_code() -> None:
    before = told("penstock.log", 0)  # other tests share the server
    tell_damage("log-altered")
    found = told("penstock.log", len(before) + 1)[-1]
    assert (found["event"], found["payload"]) == ("penstock.log.damaged", {"code": "log-altered"})


@pytest.mark.parametrize("url", [None, "http://127.0.0.1:1/api"])
def test_a_release_goes_on_where_nobody_can_be_told(url: str | None) -> None:
    with temporary_settings({PREFECT_API_URL: url}):
        tell(Action.PUBLISHED, run="20260101T000000Z-00000000", name="survey", spec="", code="")
        tell_damage("log-altered")
