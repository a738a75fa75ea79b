"""The process of a flow run: it runs our flow, and takes nothing from the server but parameters.

That it unpickles no result is shown by an attack in a process of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from prefect import get_client
from prefect.client.schemas.objects import FlowRun, State
from prefect.flow_engine import run_flow

from penstock.records import open_records
from penstock.server._flow_process import run_own_flow
from penstock.server._orders import own_deployment
from tests.support.workplace import Workplace


def new_flow_run() -> FlowRun:
    with get_client(sync_client=True) as client:
        return client.create_flow_run(own_deployment("verify-log").flow(), name="hostile")


def state_of(flow_run: UUID) -> State[Any]:
    with get_client(sync_client=True) as client:
        state = client.read_flow_run(flow_run).state
    assert state is not None
    return state


def test_it_runs_the_flow_of_a_deployment_of_ours(prefect_home: Path, workplace: Workplace) -> None:
    open_records()
    flow_run = new_flow_run()
    run_own_flow(flow_run.id, "verify-log")
    assert state_of(flow_run.id).is_completed()


def test_a_flow_that_fails_is_told_and_the_process_ends_well(prefect_home: Path, workplace: Workplace) -> None:
    flow_run = new_flow_run()
    run_own_flow(flow_run.id, "verify-log")  # there is no log in this home
    assert "RecordsAbsent" in (state_of(flow_run.id).message or "")


def test_a_name_that_is_not_ours_ends_it_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(**_: Any) -> None:
        pytest.fail("the server was asked")

    monkeypatch.setattr("prefect.get_client", ask)
    with pytest.raises(SystemExit) as ended:
        run_own_flow(uuid4(), "os.system")
    assert ended.value.code == 1


def test_the_server_is_not_asked_where_results_are_stored(
    prefect_home: Path, workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would name a block, which is loaded from the server."""
    asked: list[None] = []
    monkeypatch.setattr("prefect.results._read_server_default_result_storage_block_id", lambda: asked.append(None))
    run_own_flow(new_flow_run().id, "verify-log")
    assert asked == []
    run_flow(own_deployment("verify-log").flow(), flow_run=new_flow_run(), return_type="state")
    assert asked != []
