"""Whole releases, with a receiver of lineage events that takes, refuses or hangs."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from penstock.flows.overdue import end_overdue
from penstock.flows.spec import load_spec
from penstock.measures.gates import GateRefused
from penstock.records import open_records
from penstock.records.bundle.places import DestinationNotWritable
from tests.support.lineage_receiver import Receiver, read_event
from tests.support.shared_file import AMOUNTS, KEYS, make_shared
from tests.support.waiting_release import move_clock
from tests.support.workplace import Workplace


def release(workplace: Workplace) -> Any:
    from penstock.flows.release import release as flow

    return flow(load_spec(workplace.write_spec()))


def of_one_run(receiver: Receiver) -> list[str]:
    """The kinds of events, all of them sound and of the same run."""
    for event in receiver.events:
        read_event(event)
    assert len({event["run"]["runId"] for event in receiver.events}) == 1
    assert {event["job"]["name"] for event in receiver.events} == {"survey"}
    return receiver.kinds


def codes(receiver: Receiver) -> list[str | None]:
    return [event["run"]["facets"].get("errorMessage", {}).get("message") for event in receiver.events]


def test_a_release_begins_and_completes_in_the_flow_run_that_made_it(
    prefect_home: Path, workplace: Workplace, receiver: Receiver
) -> None:
    receipt = release(workplace)
    assert of_one_run(receiver) == ["START", "COMPLETE"]
    start, complete = receiver.events
    assert start["outputs"] == []
    assert complete["outputs"][0]["name"] == receipt.path
    assert start["inputs"][0]["name"] == str(workplace.source)
    parents = {event["run"]["facets"]["parent"]["run"]["runId"] for event in receiver.events}
    assert len(parents) == 1
    assert UUID(parents.pop())
    assert codes(receiver) == [None, None]
    assert start["eventTime"] < complete["eventTime"]
    assert not (workplace.home / "lineage.log").exists()


def test_a_release_without_a_server_begins_and_completes_in_no_flow_run(
    workplace: Workplace, receiver: Receiver
) -> None:
    receipt = release(workplace)
    assert of_one_run(receiver) == ["START", "COMPLETE"]
    assert receiver.events[1]["outputs"][0]["name"] == receipt.path
    assert not any("parent" in event["run"]["facets"] for event in receiver.events)


def test_a_refused_release_fails_with_its_code_only(workplace: Workplace, receiver: Receiver) -> None:
    workplace.raw["gates"] = [{"measure": "il1s", "max": 0}]
    with pytest.raises(GateRefused) as caught:
        release(workplace)
    assert of_one_run(receiver) == ["START", "FAIL"]
    assert codes(receiver) == [None, "gate-refused"]
    fail = receiver.events[1]
    assert fail["outputs"] == []
    assert "inputFacets" not in fail["inputs"][0]
    sent = json.dumps(receiver.events)
    assert not any(fault.rule in sent for fault in caught.value.faults)


def test_a_run_that_stops_is_aborted_and_completes_when_it_is_resumed(workplace: Workplace, receiver: Receiver) -> None:
    workplace.published.write_text("a file where a folder should be", encoding="utf-8")
    with pytest.raises(DestinationNotWritable):
        release(workplace)
    workplace.published.unlink()
    release(workplace)
    assert of_one_run(receiver) == ["START", "ABORT", "RUNNING", "COMPLETE"]
    assert codes(receiver) == [None, "destination-not-writable", None, None]


def test_a_run_that_finds_the_same_published_completes_without_a_bundle(
    workplace: Workplace, receiver: Receiver
) -> None:
    release(workplace)
    release(workplace)
    assert [event["eventType"] for event in receiver.events] == ["START", "COMPLETE"] * 2
    assert [bool(event["outputs"]) for event in receiver.events] == [False, True, False, False]


def test_a_release_that_waits_says_so_and_fails_when_nobody_decided(
    workplace: Workplace, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    workplace.raw["approve"] = {"reviewers": 1, "allowed": ["anna"], "within": "P1D"}
    waiting = release(workplace)
    assert of_one_run(receiver) == ["START", "OTHER"]
    move_clock(monkeypatch, timedelta(days=2))
    assert end_overdue() == [waiting.run]
    assert of_one_run(receiver) == ["START", "OTHER", "FAIL"]
    assert codes(receiver)[-1] == "approval-expired"


@pytest.mark.slow
def test_a_receiver_that_hangs_stops_no_release(workplace: Workplace, receiver: Receiver) -> None:
    receiver.hang = True  # it answers when the test is over, and not before
    receipt = release(workplace)
    assert not receiver.let_go.is_set()
    assert workplace.bundles() == [Path(receipt.path)]
    lines = (workplace.home / "lineage.log").read_text(encoding="utf-8").splitlines()
    assert [line.split(" ", 1)[1] for line in lines] == [
        f"{receipt.run} START not taken: no answer",
        f"{receipt.run} COMPLETE not taken: no answer",
    ]
    assert open_records().log.verify().count


def test_a_receiver_that_refuses_stops_no_release(
    workplace: Workplace, receiver: Receiver, capfd: pytest.CaptureFixture[str]
) -> None:
    receiver.answer = 500
    receipt = release(workplace)
    assert workplace.bundles() == [Path(receipt.path)]
    assert of_one_run(receiver) == ["START", "COMPLETE"]
    lines = (workplace.home / "lineage.log").read_text(encoding="utf-8").splitlines()
    assert [line.rpartition(": ")[2] for line in lines] == ["HTTP 500", "HTTP 500"]
    shown = capfd.readouterr()
    assert "not taken" not in shown.out + shown.err


def test_a_file_that_outputs_share_is_one_data_set_with_the_columns_of_all(
    workplace: Workplace, receiver: Receiver
) -> None:
    make_shared(workplace)
    receipt = release(workplace)
    [file] = receiver.events[-1]["outputs"]
    read_event(receiver.events[-1])
    assert file["name"] == f"{receipt.path}/people"
    assert [field["name"] for field in file["facets"]["schema"]["fields"]] == [*KEYS, *AMOUNTS]
    fields = file["facets"]["columnLineage"]["fields"]
    masking = {
        name: [how["masking"] for origin in field["inputFields"] for how in origin["transformations"]]
        for name, field in fields.items()
    }
    assert masking == {name: [True] for name in [*KEYS, *AMOUNTS]}
