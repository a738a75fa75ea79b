"""One database for all records: who writes waits for the other writers, and a commit is on disk.

SQLite: BEGIN IMMEDIATE takes the write lock before anything is read, so what was read still holds
when it is written; others wait. synchronous=EXTRA also synchronises the folder after a commit, which
FULL does not do for a rollback journal. PostgreSQL: an advisory lock held to the end of the
transaction does the same, and readers see one snapshot.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, MetaData, create_engine, event, func, inspect, make_url, select
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool, QueuePool

from mechanisms.refusal import Refusal

__all__ = ["SCHEMA", "DatabaseRefused", "RecordsUnavailable", "create_schema", "open_engine", "reading", "writing"]

SCHEMA = MetaData()

_BUSY_SECONDS = 30
_ADVISORY_LOCK = 0x50454E53  # "PENS"
_WRITES = "penstock_writes"
_IN_MEMORY = (None, "", ":memory:")


class DatabaseRefused(Refusal):
    """The database URL is not one that Penstock can keep records in."""

    code = "database-refused"
    kind = "spec"


class RecordsUnavailable(Refusal):
    """The database could not be opened or read."""

    code = "records-unavailable"


def open_engine(url: str, *, lasting: bool) -> Engine:
    """An engine on which `writing` and `reading` hold what they say; `lasting` if it must outlive the process."""
    parsed = _parse(url)
    if lasting and parsed.get_backend_name() == "sqlite" and parsed.database in _IN_MEMORY:
        raise _refused("must outlive the process", "a database in memory")
    if parsed.get_backend_name() == "sqlite":
        return _sqlite(parsed)
    try:
        engine = create_engine(parsed, poolclass=NullPool, hide_parameters=True)
    except (ImportError, SQLAlchemyError):
        engine = None
    if engine is None or engine.dialect.is_async:
        raise _refused("its driver must be installed and synchronous", parsed.drivername)
    return engine


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """One transaction, alone among all writers of all processes; committed on leaving."""
    with engine.connect().execution_options(**{_WRITES: True}) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """One transaction that sees one state of the database. Its errors quote nothing stored."""
    options = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name == "postgresql" else {}
    try:
        with engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection
    except SQLAlchemyError:
        raise _unavailable() from None


def create_schema(engine: Engine, initial: dict[str, list[dict[str, Any]]]) -> None:
    """Create the tables that are absent, each with its initial rows.

    A table that exists gets no row, so that a deleted row stays noticed. Reading comes first, so
    that records on a read-only copy can be opened.
    """
    with reading(engine) as connection:
        absent = set(SCHEMA.tables) - set(inspect(connection).get_table_names())
    if not absent:
        return
    try:
        with writing(engine) as connection:
            there = set(inspect(connection).get_table_names())
            for table in SCHEMA.sorted_tables:
                if table.name not in there:
                    table.create(connection)
                    if initial.get(table.name):
                        connection.execute(table.insert(), initial[table.name])
    except SQLAlchemyError:
        raise _unavailable() from None


def _parse(url: str) -> URL:
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, ValueError):
        raise _refused("must be a database URL", None) from None  # it may hold a password
    if backend not in ("sqlite", "postgresql"):
        raise _refused("must be SQLite or PostgreSQL", parsed.drivername)
    if backend == "sqlite" and ("?" in url or parsed.drivername not in ("sqlite", "sqlite+pysqlite")):
        raise _refused("an SQLite URL is sqlite:/// and a plain path without '?'", parsed.drivername)
    return parsed


def _sqlite(url: URL) -> Engine:
    if url.database in _IN_MEMORY:
        # For rehearsal: gone with the process. One connection, because each one has a database of its own.
        engine = create_engine(
            url,
            poolclass=QueuePool,
            pool_size=1,
            max_overflow=0,
            connect_args={"check_same_thread": False},
            hide_parameters=True,
        )
    else:
        _make_private(Path(str(url.database)))
        engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": _BUSY_SECONDS}, hide_parameters=True)
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # the module's own BEGIN would come too late, see _begin
    # Damaged text must reach the check of the log, not stop the reading of it.
    connection.text_factory = lambda content: content.decode(errors="surrogateescape")
    connection.execute("PRAGMA synchronous = EXTRA").close()


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN DEFERRED")


def _make_private(path: Path) -> None:
    """SQLite would create the file with the umask's mode; its journals take the mode of the file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CREAT, 0o600)
        try:
            mode = os.fstat(descriptor).st_mode & 0o777
            if mode & 0o077:
                os.fchmod(descriptor, mode & 0o600)
        finally:
            os.close(descriptor)
    except OSError:
        raise _unavailable() from None


def _refused(rule: str, driver: str | None) -> DatabaseRefused:
    remedy = "Correct PENSTOCK_DB, for example postgresql+psycopg://user@host/penstock."
    if driver is None:
        return DatabaseRefused.at("database", rule=rule, remedy=remedy)
    return DatabaseRefused.at("database", rule=rule, got=driver, remedy=remedy)


def _unavailable() -> RecordsUnavailable:
    # The database's own message can quote what is stored, so it is left out.
    return RecordsUnavailable.at(
        "database",
        rule="must exist as a database, be reachable and be readable",
        remedy="Check PENSTOCK_DB, the permissions of the file and the free space; the database's own log says more.",
    )
