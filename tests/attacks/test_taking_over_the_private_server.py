"""A command that needs no server has none to take over: it opens no port, starts no process, and asks nobody.

The attack is of any other user of the machine. The command used to start a Prefect server of its own: it chose a port,
let go of it, named it in the process list, and believed whoever answered there first. Whoever was faster than the
server answered with a stored result, and Prefect unpickled it as whoever had typed the command.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.attacks.port_taker import PortTaker
from tests.support.hostile_server import answering, stored_pickle
from tests.support.living_processes import MARK
from tests.support.workplace import Workplace

# Python tells of whatever it does to sockets and processes, before it is done, whichever library asks for it.
WATCHED = """
import sys
told = open(sys.argv.pop(1), "w", buffering=1)
EVENTS = ("socket.bind", "socket.connect", "socket.getaddrinfo", "socket.sendto",
          "subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec")
sys.addaudithook(lambda event, given: event in EVENTS and told.write(f"{event} {given[-1]!r:.200}\\n"))
"""
COMMAND = """
sys.argv = ["penstock", *sys.argv[1:]]
from penstock.cli import main as cli
cli.main()
"""
# In Python, as a platform calls it.
CALL = """
from pathlib import Path
from penstock.flows.release import release
from penstock.flows.spec import load_spec
release(load_spec(Path(sys.argv[2])))
"""
# urllib3 asks when it is imported whether this machine has IPv6. It does not listen, so nobody can reach it.
PROBE = "socket.bind ('::1', 0)"
# What the command did before: a flow where no server is named, which Prefect starts then.
BEFORE = """
from prefect import flow
flow(lambda: None, name="before")()
"""


def environment(home: Path, **more: str) -> dict[str, str]:
    """Of a user who has set nothing of Prefect's."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PREFECT", "PENSTOCK"))}
    return {**inherited, "PENSTOCK_HOME": str(home), **more}


def watched(folder: Path, script: str, home: Path, *arguments: object) -> tuple[int, list[str]]:
    """Run a script; its exit code, and whatever it did to sockets and processes."""
    told = folder / "told"
    command = [sys.executable, "-c", WATCHED + script, str(told), *map(str, arguments)]
    more = {"PREFECT_HOME": str(folder / "prefect")}
    ended = subprocess.run(command, env=environment(home, **more), cwd=folder, capture_output=True, check=False)
    return ended.returncode, [line for line in told.read_text().splitlines() if line != PROBE]


@pytest.mark.parametrize(
    "script", [pytest.param(COMMAND, id="command"), pytest.param(CALL, id="call", marks=pytest.mark.slow)]
)
def test_a_release_opens_no_port_asks_nobody_and_starts_no_process(
    workplace: Workplace, tmp_path: Path, script: str
) -> None:
    code, told = watched(tmp_path, script, workplace.home, "run", workplace.write_spec())
    assert (code, told) == (0, [])
    assert len(workplace.bundles()) == 1


@pytest.mark.slow
def test_nor_does_the_demo(tmp_path: Path) -> None:
    assert watched(tmp_path, COMMAND, tmp_path / "unused", "demo", "--folder", tmp_path / "demo") == (0, [])


# What Prefect does then, without Prefect.
LIKE_BEFORE = """
import socket, subprocess
with socket.socket() as server, socket.socket() as client:
    server.bind(("127.0.0.1", 0))
    server.listen()
    client.connect(server.getsockname())
subprocess.run([sys.executable, "-c", ""])
"""


@pytest.mark.parametrize("script", [LIKE_BEFORE, pytest.param(BEFORE, marks=pytest.mark.slow)], ids=["like it", "it"])
def test_the_watch_notices_the_server_that_prefect_would_start(tmp_path: Path, script: str) -> None:
    _, told = watched(tmp_path, script, tmp_path)
    assert {line.split()[0] for line in told} >= {"socket.bind", "socket.connect", "subprocess.Popen"}


def attacked(workplace: Workplace, command: list[Any], marker: Path) -> tuple[str, PortTaker]:
    """Run a command while somebody takes every port that its processes name; what it printed, and what they saw."""
    mark = str(workplace.folder)
    with PortTaker(mark, stored_pickle(workplace.folder, marker)) as taker:
        ended = subprocess.run(
            command, env=environment(workplace.home, **{MARK: mark}), capture_output=True, text=True, check=False
        )
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout, taker


@pytest.mark.slow
def test_nobody_who_reads_the_process_list_can_answer_in_the_place_of_a_server(
    workplace: Workplace, tmp_path: Path
) -> None:
    marker = tmp_path / "code-ran"
    penstock = Path(sys.executable).with_name("penstock")
    printed, taker = attacked(workplace, [penstock, "run", workplace.write_spec(), "--json"], marker)
    assert not marker.exists()
    assert len(taker.seen) == 1  # the command itself, and no process of its own
    assert taker.sockets == set()
    assert taker.taken == []
    assert workplace.bundles() == [Path(json.loads(printed)["path"])]


# A command as it was: it names a port in the process list, and asks whoever answers there.
NAMES_A_PORT = """
import socket, subprocess, sys, time, urllib.request
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
server = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", str(port)])
try:
    while True:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/health", timeout=60):
                break
        except OSError:
            time.sleep(0.01)
finally:
    server.kill()
    server.wait()
"""


def test_the_attacker_takes_the_port_of_a_command_that_names_one(workplace: Workplace, tmp_path: Path) -> None:
    _, taker = attacked(workplace, [sys.executable, "-c", NAMES_A_PORT], tmp_path / "code-ran")
    [taken] = taker.taken
    assert "GET /api/health" in taken.asked
    assert len(taker.seen) == 2


@pytest.mark.slow
def test_a_listener_that_was_there_before_is_not_asked(workplace: Workplace, tmp_path: Path) -> None:
    """Not even one that Prefect's own settings name, where the command is told of none."""
    marker = tmp_path / "code-ran"
    with answering(stored_pickle(tmp_path, marker)) as planted:
        (tmp_path / "prefect").mkdir()
        port = planted.url.split(":")[2].removesuffix("/api")
        more = {"PREFECT_SERVER_API_PORT": port, "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "1"}
        ended = subprocess.run(
            [str(Path(sys.executable).with_name("penstock")), "run", str(workplace.write_spec())],
            env=environment(workplace.home, **more),
            capture_output=True,
            check=False,
        )
    assert (ended.returncode, planted.asked, marker.exists()) == (0, [], False)
