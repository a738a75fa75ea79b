"""`penstock serve` where something else is there already: a Prefect server, or a PostgreSQL server for its own."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from penstock.records import Home
from penstock.records.ledger.lock import take_turn
from penstock.server.deployment_settings import DEPLOYMENTS
from tests.support.living_processes import processes
from tests.support.postgres import PostgresServer
from tests.support.prefect_service import Service
from tests.support.serving import PENSTOCK, Serving
from tests.support.workplace import Workplace

PREFECT = str(Path(PENSTOCK).with_name("prefect"))
pytestmark = pytest.mark.slow


def deployments_of(serving: Serving) -> Any:
    """Return what the server knows of each deployment, without what a settings file adds and without times."""
    added = {"tags", "schedules", "updated", "updated_by", "last_polled", "status", "version_id", "version_info"}
    found = serving.api("/deployments/filter", {})
    return {each["name"]: {key: value for key, value in each.items() if key not in added} for each in found}


def test_it_registers_with_a_server_that_is_there_and_stops_cleanly(
    prefect_service: Service, workplace: Workplace, tmp_path: Path
) -> None:
    url = prefect_service.url
    workplace.write_spec()
    serving = Serving(workplace.home, tmp_path, **prefect_service.environment)
    try:
        ready = serving.ready()
        assert (ready["address"], ready["reports"], ready["first_password"]) == (url.removesuffix("/api"), None, None)
        assert [line for line in processes(str(serving.home)).values() if "server_process" in line] == []
        with take_turn(Home.open(), str(workplace.source)):
            flow_run = serving.trigger("release-spec/release", spec="spec.yaml", started_by="carl")
            serving.until(flow_run, "RUNNING")
            # Stopped here it can neither be asked nor tell of its end: the worker cuts it off and tells in its place.
            [deaf] = [pid for pid, line in processes(str(serving.home)).items() if "flow_process" in line]
            os.kill(deaf, signal.SIGSTOP)
            assert serving.stop(signal.SIGTERM) == 0
        assert serving.api(f"/flow_runs/{flow_run}")["state"]["type"] == "CRASHED"
        assert workplace.public_files() == []
        registered = deployments_of(serving)
        by_hand = [PREFECT, "--no-prompt", "deploy", "--all", "--prefect-file", str(DEPLOYMENTS)]
        done = subprocess.run(by_hand, env=serving.environment(), cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        assert deployments_of(serving) == registered
    finally:
        serving.clear_away()


def test_its_server_can_use_postgresql(postgres: PostgresServer, tmp_path: Path) -> None:
    url = postgres.new_database()
    address = url.replace("postgresql+psycopg", "postgresql+asyncpg")
    serving = Serving(tmp_path / "home", tmp_path, PREFECT_SERVER_DATABASE_CONNECTION_URL=address)
    try:
        serving.ready()
        assert {each["name"] for each in serving.api("/deployments/filter", {})} >= {"release", "verify-log"}
        assert not (tmp_path / "home" / "prefect" / "prefect.db").exists()
        assert serving.stop(signal.SIGINT) == 0
    finally:
        serving.clear_away()
