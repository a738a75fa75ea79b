"""One database for all records: who writes waits for the other writers, and a commit is on disk.

SQLite: BEGIN IMMEDIATE takes the write lock before anything is read, so what was read is still true
when something is written; others wait. synchronous=EXTRA also synchronises the folder after a commit, which
FULL does not do for a rollback journal. PostgreSQL: an advisory lock held to the end of the
transaction does the same, and readers see one snapshot. A writer that is stuck is cut off after a
while on both, so that no release waits for ever.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    Executable,
    MetaData,
    Table,
    create_engine,
    event,
    func,
    make_url,
    select,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool, QueuePool

from penstock.mechanisms.refusal import Refusal

__all__ = ["SCHEMA", "DatabaseRefused", "RecordsUnavailable", "open_engine", "put", "reading", "unavailable", "writing"]

SCHEMA = MetaData()

_BUSY_SECONDS = 30
_CONNECT_SECONDS = 10
_ADVISORY_LOCK = 0x50454E53  # "PENS"
_WRITES = "penstock_writes"
_POSTGRESQL = "postgresql+psycopg"
_IN_MEMORY = (None, "", ":memory:")
_POSTGRESQL_CONNECTION = {
    "connect_timeout": _CONNECT_SECONDS,
    "tcp_user_timeout": 1000 * _BUSY_SECONDS,  # a server that vanished silently is noticed
    "keepalives_idle": _CONNECT_SECONDS,
}
_POSTGRESQL_WRITER = (
    "synchronous_commit = on",  # whatever the server's default: a commit is on disk
    f"lock_timeout = '{_BUSY_SECONDS}s'",
    f"idle_in_transaction_session_timeout = '{_BUSY_SECONDS}s'",
)


class DatabaseRefused(Refusal):
    """The database URL is not one that Penstock can keep records in."""

    code = "database-refused"
    kind = "spec"
    remedy = "Correct PENSTOCK_DB, for example postgresql+psycopg://user@host/penstock."


class RecordsUnavailable(Refusal):
    """The database could not be opened or read."""

    code = "records-unavailable"
    remedy = "Check PENSTOCK_DB, the permissions of the file and the free space."


def open_engine(url: str, *, lasting: bool) -> Engine:
    """Return an engine on which `writing` and `reading` keep their word; `lasting` if it must outlive the process."""
    parsed = _parse(url)
    if lasting and parsed.get_backend_name() == "sqlite" and parsed.database in _IN_MEMORY:
        raise _refused("must outlive the process", "a database in memory")
    if parsed.get_backend_name() == "sqlite" and parsed.database in _IN_MEMORY:
        return _in_memory(parsed)
    if parsed.get_backend_name() == "sqlite":
        # Whatever folder the process works in later, the database is this one.
        parsed = parsed.set(database=os.path.abspath(str(parsed.database)))
        _make_private(Path(str(parsed.database)))
    return _lasting(parsed)


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """Open one transaction, excluding all other writers in all processes; commit on leaving."""
    with engine.connect().execution_options(**{_WRITES: True}) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            for setting in _POSTGRESQL_WRITER:
                connection.execute(text(f"SET LOCAL {setting}"))
            connection.execute(select(func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Open one transaction that sees one state of the database. Its errors quote nothing stored."""
    options = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
    try:
        with engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection
    except SQLAlchemyError:
        raise unavailable() from None


def put(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, all with the same columns, or replace those that have the same key."""
    connection.execute(_replacing(table, connection.dialect.name, tuple(rows[0])), list(rows))


@cache
def _replacing(table: Table, dialect: str, columns: tuple[str, ...]) -> Executable:
    new = (postgresql.insert if dialect == "postgresql" else sqlite.insert)(table)
    keys = [column.name for column in table.primary_key]
    kept = {name: new.excluded[name] for name in columns if name not in keys}
    return new.on_conflict_do_update(index_elements=keys, set_=kept)


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, ValueError):
        raise _refused("must be a database URL", None) from None  # it may hold a password
    if backend not in ("sqlite", "postgresql"):
        raise _refused("must be SQLite or PostgreSQL", parsed.drivername)
    if backend == "sqlite" and ("?" in url or parsed.drivername not in ("sqlite", "sqlite+pysqlite")):
        raise _refused("must be sqlite:/// and a plain path without '?' for SQLite", parsed.drivername)
    if backend == "postgresql" and parsed.drivername not in ("postgresql", _POSTGRESQL):
        raise _refused(f"must use the driver {_POSTGRESQL.partition('+')[2]} for PostgreSQL", parsed.drivername)
    return parsed.set(drivername=_POSTGRESQL) if backend == "postgresql" else parsed


def _in_memory(url: URL) -> Engine:
    """For rehearsal: gone with the process. One connection only, because each has a database of its own."""
    engine = create_engine(
        url,
        poolclass=QueuePool,
        pool_size=1,
        max_overflow=0,
        connect_args={"check_same_thread": False},
        hide_parameters=True,
    )
    return _as_sqlite(engine)


@lru_cache(maxsize=8)
def _lasting(url: URL) -> Engine:
    """Return the engine of a database, which a process makes once, because it has to compile every statement anew.

    It holds no connection between two transactions, so it outlives the file or the server, and a fork.
    """
    if url.get_backend_name() == "sqlite":
        connected = {"timeout": _BUSY_SECONDS}
        return _as_sqlite(create_engine(url, poolclass=NullPool, connect_args=connected, hide_parameters=True))
    return create_engine(url, poolclass=NullPool, connect_args=_POSTGRESQL_CONNECTION, hide_parameters=True)


def _as_sqlite(engine: Engine) -> Engine:
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # the module's own BEGIN would come too late, see _begin
    # Damaged text must reach the check of the log instead of stopping the read.
    connection.text_factory = lambda content: content.decode(errors="surrogateescape")
    connection.execute("PRAGMA synchronous = EXTRA").close()


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN DEFERRED")


def _make_private(path: Path) -> None:
    """Make the file private: SQLite would create it with the umask's mode, and its journals take the mode of the
    file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CREAT, 0o600)
        try:
            mode = os.fstat(descriptor).st_mode & 0o777
            if mode & 0o077:
                os.fchmod(descriptor, mode & 0o600)
        finally:
            os.close(descriptor)
    except OSError:
        raise unavailable() from None


def _refused(rule: str, driver: str | None) -> DatabaseRefused:
    remedy = "Correct PENSTOCK_DB, for example postgresql+psycopg://user@host/penstock."
    if driver is None:
        return DatabaseRefused.at("database", rule=rule, remedy=remedy)
    return DatabaseRefused.at("database", rule=rule, got=driver, remedy=remedy)


def unavailable() -> RecordsUnavailable:
    """Return the refusal that every failure of the database becomes."""
    # The database's own message can quote what is stored, so it is left out.
    return RecordsUnavailable.at(
        "database",
        rule="must exist as a database, be reachable and be readable",
        remedy="Check PENSTOCK_DB, the permissions of the file and the free space; the database's own log says more.",
    )
