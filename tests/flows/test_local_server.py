"""The private Prefect server: one that does not start is refused, one that does not stop is killed."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from unittest import mock

import pytest
from living_processes import MARK, processes

from flows import local_server
from flows.local_server import ServerNotReady, prefect_server, quiet_settings

# Prefect reads its settings when it is imported, so the server of the other tests comes first.
pytestmark = pytest.mark.usefixtures("prefect_home")


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


def start(home: Path) -> None:
    with prefect_server(home):
        pytest.fail("there is no server to speak to")


def pretend_python(folder: Path, script: str) -> str:
    """A program in the place of the interpreter, so that what it starts is not a server."""
    program = folder / "python"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o700)
    return str(program)


def test_a_server_that_dies_at_once_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", pretend_python(tmp_path, "exit 1"))
    with pytest.raises(ServerNotReady, match="must start on loopback") as refused:
        start(tmp_path)
    assert refused.value.kind == "failure"
    assert "PREFECT_API_URL" not in os.environ


def test_a_server_that_neither_starts_nor_stops_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", pretend_python(tmp_path, "exec sleep 1000"))
    monkeypatch.setattr(local_server, "_START_SECONDS", 0)
    monkeypatch.setattr(local_server, "_STOP_SECONDS", 0.01)
    monkeypatch.setenv(MARK, str(tmp_path))
    with pytest.raises(ServerNotReady):
        start(tmp_path)
    assert {pid for pid in processes(str(tmp_path)) if pid != os.getpid()} == set()


def test_a_named_server_is_used_and_left_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", pretend_python(tmp_path, "exit 1"))
    with answering(200) as url, mock.patch.dict(os.environ, PREFECT_API_URL=url):
        with prefect_server(tmp_path):
            assert os.environ["PREFECT_API_URL"] == url
        assert os.environ["PREFECT_API_URL"] == url
    assert not (tmp_path / "prefect").exists()


def test_a_named_server_that_asks_for_a_password_is_one_that_answers(tmp_path: Path) -> None:
    with answering(401) as url, mock.patch.dict(os.environ, PREFECT_API_URL=url), prefect_server(tmp_path):
        pass


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/api", "https://user:pass-word@127.0.0.1:1/api", "no address"])
def test_a_named_server_that_does_not_answer_is_refused_without_its_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", url)
    with pytest.raises(ServerNotReady, match="must name a Prefect server that answers") as refused:
        start(tmp_path)
    assert url not in str(refused.value)
    assert "pass-word" not in str(refused.value)


def test_the_users_own_settings_win_over_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_LOGGING_LEVEL", "DEBUG")
    with answering(200) as url, mock.patch.dict(os.environ, PREFECT_API_URL=url), prefect_server(tmp_path):
        assert os.environ["PREFECT_LOGGING_LEVEL"] == "DEBUG"
        assert os.environ["DO_NOT_TRACK"] == "1"


def test_the_servers_files_are_for_their_owner_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", pretend_python(tmp_path, "exit 1"))
    with pytest.raises(ServerNotReady):
        start(tmp_path)
    assert quiet_settings(tmp_path)["PREFECT_HOME"] == str(tmp_path / "prefect")
    assert (tmp_path / "prefect").stat().st_mode & 0o077 == 0
