"""Every way by which Prefect reads a stored result is closed, and what a server names is not even imported.

In a process of its own, because it is closed for good. The twin shows which of them are open without it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.flows.no_pickles import StoredResultRefused
from tests.support.hostile_server import stored_pickle

# Each way to read in its turn: how it ended, whether a module of the server's choice was imported, whether code ran.
SCRIPT = """
import json, sys
from pathlib import Path
from uuid import UUID
import prefect.results
from prefect.client.schemas.objects import State
from prefect.serializers import JSONSerializer
from prefect.states import get_state_exception
from penstock.flows.no_pickles import StoredResultRefused, refuse_stored_results

def read(kind, given):
    if kind == "block":
        return prefect.results.resolve_result_storage(UUID(int=1), _sync=True)
    if kind == "decoder":
        return JSONSerializer().loads(b'{"__exc_type__": "this.Anything", "message": ""}')
    state = State.model_validate(given)
    return get_state_exception(state) if kind == "failed" else state.result(retry_result_failure=False, _sync=True)

def became(kind, given, marker):
    sys.modules.pop("this", None)
    marker.unlink(missing_ok=True)
    try:
        read(kind, given)
        ended = "read"
    except StoredResultRefused as refused:
        ended = str(refused)
    except Exception as error:
        ended = type(error).__name__
    return ended, "this" in sys.modules, marker.exists()

guard, marker, ways = json.loads(sys.argv[1])
if guard:
    refuse_stored_results()
    refuse_stored_results()  # twice is as good as once
print(json.dumps({kind: became(kind, given, Path(marker)) for kind, given in ways.items()}))
"""


def became(folder: Path, *, guard: bool) -> dict[str, tuple[str, bool, bool]]:
    stored = stored_pickle(folder, folder / "code-ran")
    unimported = {"type": "pickle", "picklelib": "this"}  # a serializer is checked by importing its library
    compressed = {"type": "compressed", "compressionlib": "this", "serializer": {"type": "pickle"}}
    ways: dict[str, Any] = {
        "completed": {"type": "COMPLETED", "data": stored},
        "failed": {"type": "FAILED", "data": stored},
        "pickle library": {"type": "COMPLETED", "data": {**stored, "serializer": unimported}},
        "compression library": {"type": "COMPLETED", "data": {**stored, "serializer": compressed}},
        "decoder": None,
        "block": None,
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps([guard, str(folder / "code-ran"), ways])],
        capture_output=True,
        text=True,
        check=True,
    )
    return {kind: (ended, *seen) for kind, (ended, *seen) in json.loads(done.stdout.splitlines()[-1]).items()}


def test_nothing_that_a_server_names_is_unpickled_or_imported(tmp_path: Path) -> None:
    refused = (
        "PREFECT_API_URL refused: must name a server that refers to no stored result, because reading one runs the "
        "code in it. Find out who answers at this address, and who can write into its database; nothing was read."
    )
    found = became(tmp_path, guard=True)
    assert len(found) == 6
    assert found == dict.fromkeys(found, (refused, False, False))


def test_without_the_guard_it_is(tmp_path: Path) -> None:
    found = {kind: seen for kind, (_, *seen) in became(tmp_path, guard=False).items()}
    assert found["completed"] == [False, True]
    assert found["pickle library"] == found["compression library"] == found["decoder"] == [True, False]


def test_the_refusal_has_a_code_of_its_own() -> None:
    assert (StoredResultRefused.code, StoredResultRefused.kind) == ("stored-result-refused", "integrity")


# A worker goes on after a bad answer: it takes the reference and imports nothing for it.
READ = """
from uuid import uuid4
from penstock.flows.no_pickles import leave_results_unread
from prefect.client.schemas.objects import FlowRun

if {unread}:
    leave_results_unread()
for serializer in (
    {{"type": "pickle", "picklelib": "planted"}},
    {{"type": "compressed", "compressionlib": "planted", "serializer": "json"}},
):
    data = {{"storage_key": "key", "prefect_version": "3", "serializer": serializer}}
    state = {{"type": "SCHEDULED", "name": "Scheduled", "data": data}}
    FlowRun.model_validate({{"id": uuid4(), "flow_id": uuid4(), "name": "run", "state": state}})
"""
PLANTED = """
import pathlib
pathlib.Path(__file__).with_name("marker").touch()
dumps = loads = compress = decompress = print
"""


@pytest.mark.slow
@pytest.mark.parametrize("unread", [True, False])
def test_the_library_of_a_result_is_not_imported(tmp_path: Path, unread: bool) -> None:
    (tmp_path / "planted.py").write_text(PLANTED, encoding="utf-8")
    code = f"import sys; sys.path.append({str(tmp_path)!r})\n{READ.format(unread=unread)}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "marker").exists() is not unread
