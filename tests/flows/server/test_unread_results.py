"""A state that names a library: Prefect imports it, a process of ours does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from flows.server.no_pickles import _Library

# In a process of its own, because the change is for the whole process.
READ = """
from uuid import uuid4
from flows.server.no_pickles import leave_results_unread
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


@pytest.mark.parametrize("unread", [True, False])
def test_the_library_of_a_result_is_not_imported(tmp_path: Path, unread: bool) -> None:
    (tmp_path / "planted.py").write_text(PLANTED, encoding="utf-8")
    code = f"import sys; sys.path.append({str(tmp_path)!r})\n{READ.format(unread=unread)}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "marker").exists() is not unread


def test_nothing_is_written_or_read_with_what_stands_for_it() -> None:
    for use in (_Library().dumps, _Library().loads, _Library().compress, _Library().decompress):
        with pytest.raises(NotImplementedError):
            use(b"")
