"""How Prefect is set up for a command: a named server must answer, none is ever started, the user's settings stay."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from unittest import mock

import pytest

from penstock.flows.prefect_setup import ServerNotReady, be_quiet, quiet_settings, set_up_prefect


@pytest.fixture(autouse=True)
def own_environment() -> Iterator[None]:
    """No server is named, and whatever is set here is forgotten afterwards."""
    with mock.patch.dict(os.environ):
        for name in [name for name in os.environ if name.startswith("PREFECT")]:
            del os.environ[name]
        yield


@contextmanager
def answering(status: int) -> Iterator[str]:
    """A server on loopback that answers every request with this status."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/api"
        finally:
            server.shutdown()
            thread.join()


def test_a_named_server_is_left_as_it_is(tmp_path: Path) -> None:
    with answering(200) as url, mock.patch.dict(os.environ, PREFECT_API_URL=url):
        set_up_prefect(tmp_path)
        assert os.environ["PREFECT_API_URL"] == url
    assert not (tmp_path / "prefect").exists()


def test_a_named_server_that_asks_for_a_password_is_one_that_answers(tmp_path: Path) -> None:
    with answering(401) as url, mock.patch.dict(os.environ, PREFECT_API_URL=url):
        set_up_prefect(tmp_path)


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/api", "https://user:pass-word@127.0.0.1:1/api", "no address"])
def test_a_named_server_that_does_not_answer_is_refused_without_its_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", url)
    with pytest.raises(ServerNotReady, match="must name a Prefect server that answers") as refused:
        set_up_prefect(tmp_path)
    assert refused.value.kind == "failure"
    assert url not in str(refused.value)
    assert "pass-word" not in str(refused.value)


def test_the_users_own_settings_win_over_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_LOGGING_LEVEL", "DEBUG")
    be_quiet(tmp_path)
    assert os.environ["PREFECT_LOGGING_LEVEL"] == "DEBUG"
    assert os.environ["DO_NOT_TRACK"] == "1"
    assert os.environ["PREFECT_HOME"] == str(tmp_path / "prefect") == quiet_settings(tmp_path)["PREFECT_HOME"]


# A flow that asks for a server where none is named; Prefect's default profile would let it start one.
FORGOTTEN = """
import sys
from pathlib import Path
from penstock.flows.prefect_setup import be_quiet
be_quiet(Path(sys.argv[1]))
from prefect import flow
@flow
def forgotten():
    print("it ran")
try:
    forgotten()
except ValueError as refused:
    sys.exit(str(refused))
"""


def test_no_setting_lets_prefect_start_a_server_of_its_own(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", FORGOTTEN, str(tmp_path)],
        env={**os.environ, "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "No Prefect API URL provided" in ended.stderr
    assert (tmp_path / "prefect").stat().st_mode & 0o077 == 0
