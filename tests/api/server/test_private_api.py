"""Prefect's own API: the port is held, and server and client prove themselves to each other."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from penstock.server._private_api import LOOPBACK, PrivateApi, listening
from tests.support.living_processes import LONGEST_WAIT


@contextmanager
def answering(api: PrivateApi, certificate: Path, key: Path) -> Iterator[None]:
    """Answer whoever calls at the port of an API, with this certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    over = threading.Event()
    api.socket.settimeout(0.1)

    def answer() -> None:
        while not over.is_set():
            # Nobody calls, or hangs up because we are not whom they wanted.
            with suppress(OSError), api.socket.accept()[0] as caller:
                caller.settimeout(LONGEST_WAIT)
                with context.wrap_socket(caller, server_side=True) as talking:
                    talking.recv(1000)
                    talking.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ntrue")

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_a_port_that_waits_for_its_server_cannot_be_taken() -> None:
    with listening(LOOPBACK, 0) as held:
        port = held.getsockname()[1]
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            for host in (LOOPBACK, "0.0.0.0"):
                with socket.socket() as other:
                    other.setsockopt(socket.SOL_SOCKET, option, 1)
                    with pytest.raises(OSError, match="in use"):
                        other.bind((host, port))
        with pytest.raises(OSError, match="in use"):
            listening(LOOPBACK, port)


def test_it_is_healthy_with_its_own_certificate_and_with_no_other(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    api, other = PrivateApi.made(tmp_path), PrivateApi.made(tmp_path / "other")
    with api.socket, other.socket:
        with answering(api, api.certificate, api.key):
            assert api.is_healthy()
        with answering(api, other.certificate, other.key):
            assert not api.is_healthy()


def test_each_start_has_secrets_of_its_own_that_others_cannot_read(tmp_path: Path) -> None:
    first = PrivateApi.made(tmp_path)
    before = first.certificate.read_bytes()
    second = PrivateApi.made(tmp_path)
    assert first.token != second.token
    assert second.certificate.read_bytes() != before
    assert [f"{path.stat().st_mode & 0o777:o}" for path in (second.certificate, second.key)] == ["600", "600"]
    assert second.settings()["PREFECT_API_URL"].startswith("https://127.0.0.1:")
    assert second.settings()["PREFECT_SERVER_API_AUTH_STRING"] == second.settings()["PREFECT_API_AUTH_STRING"]
    for each in (first, second):
        each.socket.close()


ASK = """
import asyncio, sys
from prefect import get_client
async def main():
    async with get_client() as client:
        await client.hello()
try:
    asyncio.run(main())
    print("believed")
except Exception as error:
    print(type(error).__name__)
"""


@pytest.mark.slow
def test_prefects_client_believes_no_other_server_on_the_same_port(tmp_path: Path) -> None:
    """A process that outlived the server would else tell its token to whoever took the port, and do what it says."""
    (tmp_path / "other").mkdir()
    api, other = PrivateApi.made(tmp_path), PrivateApi.made(tmp_path / "other")
    environment = {**os.environ, **api.settings(), "PREFECT_HOME": str(tmp_path), "PREFECT_CLIENT_MAX_RETRIES": "0"}

    def asked() -> str:
        return subprocess.run([sys.executable, "-c", ASK], env=environment, capture_output=True, text=True).stdout

    with api.socket, other.socket:
        with answering(api, other.certificate, other.key):
            assert asked().strip() == "ConnectError"
        with answering(api, api.certificate, api.key):
            assert asked().strip() == "believed"
