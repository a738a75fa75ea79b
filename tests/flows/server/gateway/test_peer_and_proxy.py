"""Whose process is at the other end, and the secret of a proxy."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from flows.server.gateway import peer
from flows.server.gateway.peer import owner_of
from flows.server.gateway.proxy import ProxyRefused, proxy_secret
from flows.server.private_api import LOOPBACK, listening


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux tells whose connection it is")
def test_the_kernel_says_whose_connection_it_is() -> None:
    with listening(LOOPBACK, 0) as held, socket.create_connection(held.getsockname()) as calling:
        assert owner_of(calling.getsockname(), held.getsockname()) == os.geteuid()
        assert owner_of((LOOPBACK, 1), held.getsockname()) is None


def test_where_nobody_can_say_nobody_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert owner_of(None, (LOOPBACK, 1)) is None
    assert owner_of(("192.0.2.1", 5), ("192.0.2.2", 1)) is None
    monkeypatch.setattr(peer, "_TABLE", tmp_path / "absent")
    assert owner_of((LOOPBACK, 5), (LOOPBACK, 1)) is None


def test_the_secret_of_a_proxy_comes_from_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PENSTOCK_PROXY_SECRET_FILE", raising=False)
    assert proxy_secret() is None
    file = tmp_path / "secret"
    monkeypatch.setenv("PENSTOCK_PROXY_SECRET_FILE", str(file))
    with pytest.raises(ProxyRefused, match="must be a readable file"):
        proxy_secret()
    file.write_text("a" * 32 + "\n")
    assert proxy_secret() == "a" * 32
    for wrong in ("", "a" * 31, "a" * 201, "é" * 40):
        file.write_text(wrong)
        with pytest.raises(ProxyRefused, match="must hold 32 to 200"):
            proxy_secret()
