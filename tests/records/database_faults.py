"""Faults of a real database, and of the way to it. Each holds for the length of a `with` block.

While it holds, what is written through the given engine fails; when the block ends, it is mended.
"""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL
from sqlalchemy.pool import NullPool, Pool

from penstock.records.home import Home
from penstock.records.store.database import open_engine, writing
from tests.records.kill_points import die, in_child, was_killed
from tests.support.postgres import PostgresServer

MOST_MOMENTS = 400
LOG_TABLES = ("log_events", "log_head", "log_checkpoints")


def tamper(home: Home, *statements: str) -> None:
    """Change the database behind the back of Penstock."""
    _execute(home.database_url, *statements)


@contextmanager
def tampered(home: Home, *statements: str) -> Iterator[None]:
    """The same, and the tables of the log are put back when the block ends."""
    tamper(home, *(f"CREATE TABLE kept_{table} AS SELECT * FROM {table}" for table in LOG_TABLES), *statements)
    yield
    undoing = ("DELETE FROM {}", "INSERT INTO {} SELECT * FROM kept_{}", "DROP TABLE kept_{}")
    tamper(home, *(undo.replace("{}", table) for table in LOG_TABLES for undo in undoing))


def _execute(url: str | URL, *statements: str) -> None:
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))


def _is_sqlite(engine: Engine) -> bool:
    return engine.dialect.name == "sqlite"


@contextmanager
def listening(target: Any, name: str, listener: Callable[..., Any], **options: Any) -> Iterator[None]:
    event.listen(target, name, listener, **options)
    try:
        yield
    finally:
        event.remove(target, name, listener)


def _with_pragma(target: Engine | type[Pool], setting: str) -> AbstractContextManager[None]:
    return listening(target, "connect", lambda connection, _: connection.execute(f"PRAGMA {setting}").close())


@contextmanager
def refusing(engine: Engine, statement: str, table: str, sqlstate: str = "P0001") -> Iterator[None]:
    """The database refuses one kind of statement on a table, and its message quotes the row."""
    if _is_sqlite(engine):
        quoted = "'refused canary'"  # SQLite takes literals only
        body = f"BEGIN SELECT RAISE(ABORT, {quoted}); END"
        made, mended = [f"CREATE TRIGGER refusing BEFORE {statement} ON {table} {body}"], ["DROP TRIGGER refusing"]
    else:
        body = f"BEGIN RAISE EXCEPTION USING ERRCODE = '{sqlstate}', MESSAGE = NEW::text; END"
        made = [
            f"CREATE FUNCTION refusing() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$",
            f"CREATE TRIGGER refusing BEFORE {statement} ON {table} FOR EACH ROW EXECUTE FUNCTION refusing()",
        ]
        mended = ["DROP FUNCTION refusing CASCADE"]
    _execute(engine.url, *made)
    try:
        yield
    finally:
        _execute(engine.url, *mended)


@contextmanager
def read_only(engine: Engine) -> Iterator[None]:
    """For every engine. Not by file modes, which root ignores."""
    if _is_sqlite(engine):
        with _with_pragma(Pool, "query_only = on"):
            yield
        return
    # From outside: in the database itself taking it back would be a refused write too.
    outside, name = engine.url.set(database="postgres"), engine.url.database
    _execute(outside, f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    try:
        yield
    finally:
        _execute(outside, f"ALTER DATABASE {name} RESET default_transaction_read_only")


@contextmanager
def full_disk(engine: Engine) -> Iterator[None]:
    """SQLite's own SQLITE_FULL: the file may not grow, and each event wants a megabyte more. PostgreSQL's code for it.

    Without the megabyte a small event would still fit into the last page.
    """
    if not _is_sqlite(engine):
        with refusing(engine, "INSERT", "log_events", sqlstate="53100"):
            yield
        return
    filling = "BEGIN INSERT INTO filler VALUES (zeroblob(1000000)); END"
    _execute(
        engine.url,
        "CREATE TABLE filler (content BLOB)",
        f"CREATE TRIGGER filling BEFORE INSERT ON log_events {filling}",
    )
    try:
        with _with_pragma(engine, "max_page_count = 1"):  # SQLite makes of it: as many as there are
            yield
    finally:
        _execute(engine.url, "DROP TRIGGER filling", "DROP TABLE filler")


@contextmanager
def impatient(engine: Engine, setting: str = "lock_timeout") -> Iterator[None]:
    """What the engine would wait for at most half a minute, it waits for 50 ms; SQLite does not wait."""
    if _is_sqlite(engine):
        with _with_pragma(engine, "busy_timeout = 0"):
            yield
        return

    def shorten(_: Connection, __: object, statement: str, parameters: Any, *___: object) -> tuple[str, Any]:
        wanted = statement.startswith(f"SET LOCAL {setting} =")
        return (f"SET LOCAL {setting} = '50ms'" if wanted else statement), parameters

    with listening(engine, "before_cursor_execute", shorten, retval=True):
        yield


@contextmanager
def locked_by_another(engine: Engine) -> Iterator[None]:
    """Another writer is in the middle of its transaction, and stays there."""
    url = engine.url.render_as_string(hide_password=False)
    with impatient(engine), writing(open_engine(url, lasting=True)):
        yield


def _backend(connection: Connection) -> Any:
    return connection.connection.dbapi_connection


def _cut_off(connection: Connection) -> None:
    """The server ends the session of this connection; when this returns, it is ended."""
    number = _backend(connection).info.backend_pid
    _execute(connection.engine.url, f"SELECT pg_terminate_backend({number}, 10000)")


def _at_insert(engine: Engine, act: Callable[[Connection], None]) -> AbstractContextManager[None]:
    def watch(connection: Connection, _: object, statement: str, *__: object) -> None:
        if statement.startswith("INSERT"):
            act(connection)

    return listening(engine, "before_cursor_execute", watch)


def connection_lost_before_insert(engine: Engine, _: PostgresServer) -> AbstractContextManager[None]:
    """Inside the transaction, when the lock is held and the head was read."""
    return _at_insert(engine, _cut_off)


def connection_lost_before_commit(engine: Engine, _: PostgresServer) -> AbstractContextManager[None]:
    """All is written, and COMMIT does not reach the server."""
    return listening(engine, "commit", _cut_off)


def answer_to_commit_lost(engine: Engine) -> AbstractContextManager[None]:
    """COMMIT reaches the server and is done, and its answer does not come back: the one fault that leaves a doubt."""

    def commit_unheard(connection: Connection) -> None:
        wire = _backend(connection).pgconn
        wire.send_query(b"COMMIT")
        assert select.select([wire.socket], [], [], 60)[0], "the server did not answer"
        _cut_off(connection)

    return listening(engine, "commit", commit_unheard)


@contextmanager
def server_stopped(_: Engine, server: PostgresServer) -> Iterator[None]:
    """Nobody listens."""
    server.stop()
    try:
        yield
    finally:
        server.start()


@contextmanager
def server_crashes_before_insert(engine: Engine, server: PostgresServer) -> Iterator[None]:
    """Once, inside the transaction; it stays down until the block ends."""
    stopped: list[Connection] = []

    def crash(connection: Connection) -> None:
        if not stopped:
            server.stop()
            stopped.append(connection)

    try:
        with _at_insert(engine, crash):
            yield
    finally:
        if stopped:
            server.start()


SHARED_FAULTS: dict[str, Callable[[Engine], AbstractContextManager[None]]] = {
    "read-only": read_only,
    "full disk": full_disk,
    "locked by another": locked_by_another,
}
POSTGRES_FAULTS: dict[str, Callable[[Engine, PostgresServer], AbstractContextManager[None]]] = {
    "connection lost before the insert": connection_lost_before_insert,
    "connection lost before the commit": connection_lost_before_commit,
    "server stopped": server_stopped,
    "server crashes before the insert": server_crashes_before_insert,
}


@dataclass(frozen=True, slots=True)
class FaultyHome:
    """A home whose database can be broken in one way; after each of them nothing of the write is there."""

    home: Home
    fault: str
    server: PostgresServer | None

    def broken(self, engine: Engine) -> AbstractContextManager[None]:
        """What is written through this engine fails while the block lasts."""
        if self.fault in SHARED_FAULTS:
            return SHARED_FAULTS[self.fault](engine)
        assert self.server is not None
        return POSTGRES_FAULTS[self.fault](engine, self.server)


# "close" is the first moment after a commit, "commit" the last one before it; after one statement is before the next.
_MOMENTS: tuple[tuple[Any, str], ...] = (
    (Engine, "do_connect"),
    (Pool, "connect"),
    (Engine, "begin"),
    (Engine, "before_cursor_execute"),
    (Engine, "commit"),
    (Pool, "close"),
)


def killed_at_each_moment(action: Callable[[], object]) -> Iterator[str]:
    """Run the action in a child, killed with SIGKILL at its first moment, the next time at its second, and so on.

    Yields the name of the moment after each kill; ends after the child that lived to its end. Every
    engine opens connections of its own in the child, so none is shared with it.
    """
    for last in range(MOST_MOMENTS):
        reader, writer = os.pipe()
        status = in_child(partial(_dying_at, last, writer, action))
        os.close(writer)
        with os.fdopen(reader) as said:
            moment = said.read()
        if not was_killed(status):
            assert status == 0, "the action failed by itself"
            return
        yield moment
    raise AssertionError("more moments than expected")


def _dying_at(last: int, report: int, action: Callable[[], object]) -> None:
    seen: list[str] = []

    def reached(moment: str) -> Callable[..., None]:
        def note(*_: object, **__: object) -> None:
            if len(seen) == last:
                os.write(report, moment.encode())
                die()
            seen.append(moment)

        return note

    for target, name in _MOMENTS:
        event.listen(target, name, reached(name))
    action()
