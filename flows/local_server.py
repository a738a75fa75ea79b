"""A Prefect server for the length of one command.

Where PREFECT_API_URL names a server, that one is used. Otherwise a private one is started on
loopback with its files under PENSTOCK_HOME. It watches the pipe to the command that started it and
ends with it, also when that command is killed; it prints nothing.
"""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flows.surroundings import keep_inside
from mechanisms.refusal import Refusal

__all__ = [
    "MemoryTooSmall",
    "ServerNotReady",
    "be_quiet",
    "prefect_server",
    "quiet_settings",
    "require_address_space",
    "require_answer",
    "stop_child",
]

ADDRESS_SPACE = 4 << 30  # libraries and their threads reserve it whether they use it or not
_START_SECONDS = 120
_STOP_SECONDS = 10


class MemoryTooSmall(Refusal):
    """Under this limit of memory a release would stop somewhere in a library, and hang."""

    code = "memory-too-small"
    kind = "failure"


class ServerNotReady(Refusal):
    """The private Prefect server did not start."""

    code = "server-not-ready"
    kind = "failure"


def quiet_settings(home: Path) -> dict[str, str]:
    """No analytics, no banner, and the server's files beside ours, readable by the owner only."""
    return {
        "PREFECT_HOME": str(home / "prefect"),
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_CLOUD_ENABLE_ORCHESTRATION_TELEMETRY": "false",
        "PREFECT_TELEMETRY_ENABLE_RESOURCE_METRICS": "false",
        "PREFECT_LOGGING_LEVEL": "CRITICAL",
        "PREFECT_LOGGING_SERVER_LEVEL": "CRITICAL",
        "PREFECT_CLI_WRAP_LINES": "false",
    }


def be_quiet(home: Path) -> None:
    """Set what Prefect reads when it is imported; what the user has set stays."""
    keep_inside(home)
    for name, value in quiet_settings(home).items():
        os.environ.setdefault(name, value)


@contextmanager
def prefect_server(home: Path) -> Iterator[None]:
    """Have a Prefect API to speak to. Call before prefect is imported, or `be_quiet` before."""
    require_address_space()
    be_quiet(home)
    if "PREFECT_API_URL" in os.environ:
        require_answer(os.environ["PREFECT_API_URL"])
        yield
        return
    os.environ.setdefault("PREFECT_LOGGING_TO_API_ENABLED", "false")  # nobody can read the logs of a server that ends
    Path(os.environ["PREFECT_HOME"]).mkdir(mode=0o700, parents=True, exist_ok=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-P", "-m", "flows.local_server", str(port)],  # -P: nothing is imported from where we are
        stdin=subprocess.PIPE,  # its end is the sign to stop
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1", "PREFECT__SERVER_FINAL": "1"},
    )
    os.environ["PREFECT_API_URL"] = f"http://127.0.0.1:{port}/api"
    for name in ("NO_PROXY", "no_proxy"):  # an agency's proxy does not lead to this machine's loopback
        os.environ[name] = ",".join(filter(None, (os.environ.get(name), "127.0.0.1")))
    try:
        from prefect.settings import PREFECT_FLOWS_HEARTBEAT_FREQUENCY, temporary_settings

        _wait_until_ready(server, port)
        # Heartbeats tell a lasting server that a run is alive; here they only cost a second at the end.
        with temporary_settings({PREFECT_FLOWS_HEARTBEAT_FREQUENCY: None}):
            yield
    finally:
        del os.environ["PREFECT_API_URL"]
        stop_child(server, _STOP_SECONDS)


def require_address_space() -> None:
    """Threads that cannot start leave others waiting for them without end, here and in the server."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < ADDRESS_SPACE:
        raise MemoryTooSmall.at(
            "memory",
            rule=f"a release needs an address space of at least {ADDRESS_SPACE >> 20} MiB in each process",
            got=f"{limit >> 20} MiB",
            remedy="Raise the limit (ulimit -v). What a release holds in memory is limited by run.memory.",
        )


def stop_child(process: subprocess.Popen[bytes], seconds: float) -> None:
    """End the input of a process, which is its sign to stop; kill it if it does not."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def require_answer(url: str) -> None:
    """Prefect itself would end in a traceback. The URL is not quoted, because it can hold a password."""
    try:
        with urllib.request.urlopen(f"{url.rstrip('/')}/health", timeout=10):
            return
    except urllib.error.HTTPError:
        return  # it answers; whether it lets us in is for Prefect to find out
    except (OSError, ValueError):
        raise ServerNotReady.at(
            "PREFECT_API_URL", rule="must name a Prefect server that answers", remedy="Start it, or unset the variable."
        ) from None


def _wait_until_ready(server: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/health", timeout=5):
                return
        except OSError:
            time.sleep(0.05)
    raise ServerNotReady.at(
        "PREFECT_API_URL",
        rule="a private Prefect server must start on loopback",
        remedy="Start one yourself and set PREFECT_API_URL.",
    )


def _serve(port: int) -> None:
    import uvicorn
    from prefect.server.api.server import create_app

    server = uvicorn.Server(
        uvicorn.Config(create_app, factory=True, host="127.0.0.1", port=port, log_level="critical", lifespan="on")
    )

    def end_with_parent() -> None:
        sys.stdin.buffer.read()
        server.should_exit = True
        time.sleep(_STOP_SECONDS / 2)
        os._exit(0)

    threading.Thread(target=end_with_parent, daemon=True).start()
    server.run()


if __name__ == "__main__":
    _serve(int(sys.argv[1]))
