"""A gateway with people, for the tests of this folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.records.home import Home
from penstock.records.people import _secrets as user_secrets
from tests.records.user_house import CHEAP
from tests.support.gateway_house import House, furnish


@pytest.fixture(autouse=True, scope="session")
def _cheap_passwords() -> Iterator[None]:
    """Nobody guesses here: passwords that take their time are tested beside them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(user_secrets, "_HASHER", CHEAP)
        yield


@pytest.fixture(scope="session")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A home with people, made once because passwords take their time, and the token of its program."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PENSTOCK_DB", raising=False)
        home = Home.open(tmp_path_factory.mktemp("furnished") / "home")
        return home.root, furnish(home)


@pytest.fixture
def house(furnished: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    """A house of one's own: a copy of the furnished home."""
    root, token = furnished
    shutil.copytree(root, tmp_path / "home")
    monkeypatch.delenv("PENSTOCK_DB", raising=False)
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    return House(Home.open(), token)
