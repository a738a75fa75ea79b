"""The schema of the records, step by step (Alembic). A step that was released is never changed.

`bring_up_to_date` takes whatever database it finds to the newest step, alone among all processes,
in one transaction: after a kill the database is as before or as after. An empty one gets the newest tables at once.

    env         how Alembic runs the steps: on the connection and in the transaction of the caller
    versions/   the steps, oldest first
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, Engine, MetaData, PrimaryKeyConstraint, String, Table, insert, inspect, text
from sqlalchemy.exc import SQLAlchemyError

from penstock.mechanisms.refusal import Refusal
from penstock.records.store.database import SCHEMA, reading, unavailable, writing

__all__ = ["NEWEST", "VERSION_TABLE", "SchemaRefused", "bring_up_to_date", "is_empty"]

NEWEST = "0004"
# Not Alembic's usual name: in a shared database that one can be another program's.
VERSION_TABLE = "penstock_schema"
_KNOWN = ("0001", "0002", "0003", NEWEST)
_FIRST_TABLES = ("log_events", "log_head")
_LATER_TABLES = ("question_answers", "question_pages")  # since 0004
_RESTORE = "Find out who could write to the database; restore it from its backup."


class SchemaRefused(Refusal):
    """The database holds other tables than this version of Penstock made."""

    code = "schema-refused"
    kind = "integrity"
    remedy = "Update Penstock, or restore the newest backup of the database."


def is_empty(engine: Engine) -> bool:
    """Return whether no records were ever made here, or all of them were removed."""
    with reading(engine) as connection:
        return _version(connection, _tables(connection)) is None


def bring_up_to_date(engine: Engine, first_rows: Mapping[str, list[dict[str, Any]]]) -> None:
    """Take the database to the newest step; new tables get their first rows, existing ones never.

    Reading comes first, so that records on a read-only copy can be opened.
    """
    with reading(engine) as connection:
        if _is_current(connection):
            return
    try:
        with writing(engine) as connection:
            if not _is_current(connection):
                _upgrade(connection, first_rows)
    except SQLAlchemyError:
        raise unavailable() from None


def _is_current(connection: Connection) -> bool:
    """Return whether nothing is to be done; refuse if tables that were made are missing, or are newer than this
    code."""
    there = _tables(connection)
    version = _version(connection, there)
    if version is not None and version not in _KNOWN:
        raise _refused(
            f"must have a schema that this version of Penstock knows; {version} is newer", "Update Penstock."
        )
    missing = _made_by(version) - there
    if missing:
        raise _refused(f"must hold {', '.join(sorted(missing))}, which was removed", _RESTORE)
    return version == NEWEST


def _made_by(version: str | None) -> set[str]:
    """Return the tables that a database at this step must have."""
    if version is None:
        return set()
    if version == "0001":
        return set(_FIRST_TABLES)
    return set(SCHEMA.tables) - (set(_LATER_TABLES) if version in ("0002", "0003") else set())


def _version(connection: Connection, there: set[str]) -> str | None:
    if VERSION_TABLE in there:
        found = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalars().all()
        if len(found) != 1:
            raise _refused(f"must hold one version in {VERSION_TABLE}, which was altered", _RESTORE)
        return str(found[0])
    if there & (set(SCHEMA.tables) - set(_FIRST_TABLES)):
        raise _refused(f"must hold {VERSION_TABLE}, which was removed", _RESTORE)
    return "0001" if there & set(_FIRST_TABLES) else None  # version 0.1.0 did not write down its step


def _upgrade(connection: Connection, first_rows: Mapping[str, list[dict[str, Any]]]) -> None:
    if _version(connection, _tables(connection)) is None:
        _make(connection, first_rows)
        return
    from alembic import command  # imported late: few processes find a database that is not up to date
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.attributes.update(connection=connection, first_rows=first_rows)
    if VERSION_TABLE not in _tables(connection):
        command.stamp(config, "0001")
    command.upgrade(config, "head")


def _make(connection: Connection, first_rows: Mapping[str, list[dict[str, Any]]]) -> None:
    """Make the tables of the newest step at once in an empty database; the steps lead to the same ones."""
    SCHEMA.create_all(connection, checkfirst=False)
    for name, rows in first_rows.items():
        if rows:
            connection.execute(insert(SCHEMA.tables[name]), rows)
    version = Table(  # as Alembic declares it
        VERSION_TABLE,
        MetaData(),
        Column("version_num", String(32), nullable=False),
        PrimaryKeyConstraint("version_num", name=f"{VERSION_TABLE}_pkc"),
    )
    version.create(connection)
    connection.execute(insert(version), {"version_num": NEWEST})


def _tables(connection: Connection) -> set[str]:
    return set(inspect(connection).get_table_names())


def _refused(rule: str, remedy: str) -> SchemaRefused:
    return SchemaRefused.at("database", rule=rule, remedy=remedy)
