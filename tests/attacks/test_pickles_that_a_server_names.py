"""A server that answers a flow run with a stored result runs no code: the file that it names is not unpickled.

The attack is of whoever answers at PREFECT_API_URL, or can write into the database behind it: the flow run is called
completed, with a result that lies in a file and is to be unpickled. The twin runs the same command with the guard taken
out, and there the code in the file runs as whoever typed the command.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.hostile_server import answering, stored_pickle
from tests.support.workplace import Workplace

COMMAND = """
import sys
from penstock.cli import main as cli
sys.argv = ["penstock", "run", sys.argv[1], "--json"]
cli.main()
"""
UNGUARDED = f"""
from penstock.flows import no_pickles
no_pickles.refuse_stored_results = lambda: None
{COMMAND}
"""
# As the worker starts it, but for the worker.
FLOW_RUN = ["-m", "penstock.server._flow_process"]


def attacked(workplace: Workplace, arguments: list[str], folder: Path) -> tuple[subprocess.CompletedProcess[str], bool]:
    """Run Python while a hostile server answers; how it ended, and whether code of the server ran."""
    marker = folder / "code-ran"
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT", "PENSTOCK"))}
    with answering(stored_pickle(folder, marker)) as server:
        ended = subprocess.run(
            [sys.executable, *arguments],
            env={
                **inherited,
                "PENSTOCK_HOME": str(workplace.home),
                "PREFECT_HOME": str(folder / "prefect"),
                "PREFECT_API_URL": server.url,
                "PENSTOCK_DEPLOYMENT": "verify-log",
                "PREFECT__FLOW_RUN_ID": "00000000-0000-0000-0000-000000000001",
                "PREFECT_LOGGING_TO_API_ENABLED": "false",
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert [asked for asked in server.asked if asked.endswith("/set_state")], (server.asked, ended)
    return ended, marker.exists()


def test_a_command_refuses_a_stored_result_and_runs_no_code(workplace: Workplace, tmp_path: Path) -> None:
    ended, code_ran = attacked(workplace, ["-c", COMMAND, str(workplace.write_spec())], tmp_path)
    assert not code_ran
    assert ended.returncode == 7, ended
    told = json.loads(ended.stdout)
    assert told["refused"] == "stored-result-refused"
    [fault] = told["faults"]
    assert fault["field"] == "PREFECT_API_URL"
    assert fault["rule"].startswith("must name a server that refers to no stored result")
    assert workplace.public_files() == []


@pytest.mark.slow
def test_the_process_of_a_flow_run_runs_no_code(workplace: Workplace, tmp_path: Path) -> None:
    ended, code_ran = attacked(workplace, FLOW_RUN, tmp_path)
    assert not code_ran
    assert ended.returncode == 0, ended  # it takes the state as it is told, and its result not at all


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["command", "flow run"])
def test_without_the_guard_the_code_runs(workplace: Workplace, tmp_path: Path, kind: str) -> None:
    command = ["-c", UNGUARDED, str(workplace.write_spec())]
    assert attacked(workplace, command if kind == "command" else ["-m", "prefect.engine"], tmp_path)[1]
