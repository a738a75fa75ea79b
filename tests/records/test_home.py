from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from penstock.records.home import Home, HomeRefused
from penstock.records.signing import signing
from penstock.records.signing.keyfile import KeyDamaged, KeyExposed
from tests.records.kill_points import in_child, kill_points


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_home_is_for_its_owner_only(tmp_path: Path) -> None:
    home = Home.open(tmp_path / "deep" / "home")
    assert [mode(path) for path in (home.root, home.keys, home.runs)] == [0o700] * 3


def test_an_open_home_is_closed_and_a_closed_one_is_never_widened(tmp_path: Path) -> None:
    home = Home.open(tmp_path / "home")
    home.root.chmod(0o755)
    home.keys.chmod(0o777)
    home.runs.chmod(0o500)
    Home.open(home.root)
    assert [mode(path) for path in (home.root, home.keys, home.runs)] == [0o700, 0o700, 0o500]


def test_the_home_is_named_by_argument_then_environment_then_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PENSTOCK_HOME", raising=False)
    assert Home.open().root == tmp_path / ".penstock"
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "elsewhere"))
    assert Home.open().root == tmp_path / "elsewhere"
    assert Home.open(tmp_path / "given").root == tmp_path / "given"


def test_the_database_is_named_by_environment_else_in_the_home(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    assert home.database_url == f"sqlite:///{home.root}/penstock.db"
    monkeypatch.setenv("PENSTOCK_DB", "postgresql+psycopg://db/penstock")
    assert home.database_url == "postgresql+psycopg://db/penstock"


def test_a_home_that_cannot_be_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HomeRefused, match="folder that only its owner can enter") as caught:
        Home.open(tmp_path / "file")
    assert caught.value.code == "home-refused"


def test_keys_are_made_once_and_kept(home: Home) -> None:
    assert len(home.secret_key()) == 32
    assert home.secret_key() == Home.open(home.root).secret_key()
    assert home.signing_key().private_bytes_raw() == home.signing_key().private_bytes_raw()
    assert sorted(path.name for path in home.keys.iterdir()) == ["secret.key", "signing.pem", "signing.pub"]
    assert mode(home.keys / "secret.key") == mode(home.keys / "signing.pem") == 0o600


def test_the_public_key_lies_where_the_home_says(home: Home) -> None:
    private = home.signing_key()
    assert home.public_key_path.read_bytes() == signing.public_pem(private.public_key())


def test_two_homes_have_different_keys(tmp_path: Path) -> None:
    assert Home.open(tmp_path / "a").secret_key() != Home.open(tmp_path / "b").secret_key()


def test_processes_that_start_together_agree_on_the_keys(home: Home) -> None:
    starters = 8
    ready, go = os.pipe()
    answers, answer = os.pipe()
    children = []
    for _ in range(starters):
        child = os.fork()
        if child == 0:
            try:
                os.close(go)
                os.read(ready, 1)  # returns when the parent closes the pipe: all start at once
                os.write(answer, home.secret_key() + home.signing_key().private_bytes_raw())
            finally:
                os._exit(0)
        children.append(child)
    os.close(ready)
    os.close(go)
    os.close(answer)
    for child in children:
        os.waitpid(child, 0)
    with os.fdopen(answers, "rb") as stream:
        content = stream.read()
    assert content == (home.secret_key() + home.signing_key().private_bytes_raw()) * starters


@pytest.mark.parametrize("name", ["secret.key", "signing.pem"])
@pytest.mark.parametrize("wide", [0o640, 0o604, 0o620, 0o666])
def test_a_key_that_others_can_reach_is_refused(home: Home, name: str, wide: int) -> None:
    home.secret_key(), home.signing_key()
    (home.keys / name).chmod(wide)
    with pytest.raises(KeyExposed, match=rf"mode 0600\), got '{wide:04o}'") as caught:
        home.secret_key() if name == "secret.key" else home.signing_key()
    assert (caught.value.code, caught.value.kind) == ("key-exposed", "integrity")


def test_a_cut_secret_key_is_refused(home: Home) -> None:
    path = home.keys / "secret.key"
    path.write_bytes(home.secret_key()[:31])
    with pytest.raises(KeyDamaged, match="32 bytes"):
        home.secret_key()


def test_a_kill_while_the_key_is_made_leaves_no_half_key(tmp_path: Path) -> None:
    points = 0
    for point in kill_points(lambda point: Home.open(tmp_path / f"home-{point}").secret_key()):
        home = Home.open(tmp_path / f"home-{point}")
        key = home.secret_key()
        assert len(key) == 32
        assert home.secret_key() == key
        points += 1
    assert points >= 6


def test_a_forked_process_that_fails_is_seen_to_fail() -> None:
    assert in_child(lambda: 1 / 1) == 0
    assert in_child(lambda: 1 / 0) != 0
