"""Whose process is at the other end, and the secret of a proxy."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from penstock.server._private_api import LOOPBACK, listening
from penstock.server.gateway import peer
from penstock.server.gateway.peer import NOBODY, OwnSocket, owner_of
from penstock.server.gateway.proxy import ProxyRefused, proxy_secret

ON_LINUX = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux tells whose connection it is")


@ON_LINUX
def test_the_kernel_says_whose_connection_it_is() -> None:
    with listening(LOOPBACK, 0) as held, socket.create_connection(held.getsockname()) as calling:
        assert owner_of(calling.getsockname(), held.getsockname()) == os.geteuid()
        assert owner_of((LOOPBACK, 1), held.getsockname()) == NOBODY


@ON_LINUX
def test_a_connection_of_both_kinds_of_address_is_found() -> None:
    with listening(LOOPBACK, 0) as held, socket.socket(socket.AF_INET6) as calling:
        calling.connect((f"::ffff:{LOOPBACK}", held.getsockname()[1]))
        assert owner_of((LOOPBACK, calling.getsockname()[1]), held.getsockname()) == os.geteuid()


@ON_LINUX
def test_a_connection_that_was_closed_belongs_to_nobody_although_the_kernel_says_root() -> None:
    with listening(LOOPBACK, 0) as held:
        calling = socket.create_connection(held.getsockname())
        taken, client = held.accept()
        calling.close()
        with taken:
            assert taken.recv(1) == b""
            assert owner_of(client, held.getsockname()) == NOBODY


@ON_LINUX
def test_the_private_socket_takes_connections_of_its_own_user_only(monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(LOOPBACK, 0) as held, OwnSocket(fileno=os.dup(held.fileno())) as own:
        with socket.create_connection(held.getsockname()), own.accept()[0]:
            pass
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
        with socket.create_connection(held.getsockname()) as other:
            with pytest.raises(ConnectionAbortedError):
                own.accept()
            assert other.recv(1) == b""


def test_where_nobody_can_say_nobody_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert owner_of(None, (LOOPBACK, 1)) is None
    assert owner_of(("192.0.2.1", 5), ("192.0.2.2", 1)) is None
    monkeypatch.setattr(peer, "_TABLES", (tmp_path / "absent",))
    assert owner_of((LOOPBACK, 5), (LOOPBACK, 1)) is None


def test_the_secret_of_a_proxy_comes_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PENSTOCK_PROXY_SECRET_FILE", raising=False)
    assert proxy_secret() is None
    file = tmp_path / "secret"
    monkeypatch.setenv("PENSTOCK_PROXY_SECRET_FILE", str(file))
    with pytest.raises(ProxyRefused, match="must be a readable file"):
        proxy_secret()
    file.write_text("a" * 32 + "\n")
    for mode in (0o644, 0o660, 0o602):
        file.chmod(mode)
        with pytest.raises(ProxyRefused, match="must be closed to other users"):
            proxy_secret()
    file.chmod(0o640)
    assert proxy_secret() == "a" * 32
    for wrong in ("", "a" * 31, "a" * 201, "é" * 40):
        file.write_text(wrong)
        with pytest.raises(ProxyRefused, match="must hold 32 to 200"):
            proxy_secret()
