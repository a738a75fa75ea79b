"""The tables of the audit log, and their rows as they are stored; whether they can be believed is for _scan.py to say.

There is no index except the keys: whoever administers the database decides what an index says.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import CheckConstraint, Column, Connection, Integer, Table, Text, insert, select, update

from penstock.records.log.chain import GENESIS, Entry, SealedHead
from penstock.records.store.database import SCHEMA

__all__ = ["HEAD", "add", "checkpoints", "entries_after", "entries_numbered", "head", "last_link"]

_EVENTS = Table(
    "log_events",
    SCHEMA,
    Column("seq", Integer, primary_key=True, autoincrement=False),
    *(Column(name, Text, nullable=False) for name in Entry._fields[1:]),
)
HEAD = Table(
    "log_head",
    SCHEMA,
    Column("id", Integer, CheckConstraint("id = 1"), primary_key=True, autoincrement=False),
    Column("seq", Integer, nullable=False),
    Column("digest", Text, nullable=False),
    Column("seal", Text, nullable=False),
    Column("ledger", Text, nullable=False, server_default=""),
)
_CHECKPOINTS = Table(
    "log_checkpoints",
    SCHEMA,
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("envelope", Text, nullable=False),
)
# SQLite takes at most some tens of thousands of values in one statement.
_AT_ONCE = 1000


def entries_after(connection: Connection, seq: int | None) -> list[Entry]:
    """Return every event beyond this number, in order; for None every event, even if its number was tampered with."""
    query = select(_EVENTS).order_by(_EVENTS.c.seq)
    if seq is not None:
        query = query.where(_EVENTS.c.seq > seq)
    return [Entry(*row) for row in connection.execute(query)]


def entries_numbered(connection: Connection, numbers: Sequence[int]) -> list[Entry]:
    """Return the events stored under these numbers, in order."""
    found: list[Entry] = []
    for start in range(0, len(numbers), _AT_ONCE):
        some = _EVENTS.c.seq.in_(numbers[start : start + _AT_ONCE])
        found += [Entry(*row) for row in connection.execute(select(_EVENTS).where(some))]
    return sorted(found)


def head(connection: Connection) -> SealedHead | None:
    """Return the head, if there is one."""
    row = connection.execute(
        select(HEAD.c.seq, HEAD.c.digest, HEAD.c.ledger, HEAD.c.seal).where(HEAD.c.id == 1)
    ).first()
    return None if row is None else SealedHead(*row)


def last_link(connection: Connection) -> tuple[int, str]:
    """Return the number and digest of the last event."""
    newest = select(_EVENTS.c.seq, _EVENTS.c.digest).order_by(_EVENTS.c.seq.desc()).limit(1)
    seq, digest = connection.execute(newest).first() or (0, GENESIS)
    return seq, digest


def checkpoints(connection: Connection) -> list[tuple[int, str]]:
    """Return every checkpoint: the number of its event, and its envelope."""
    return [(seq, text) for seq, text in connection.execute(select(_CHECKPOINTS).order_by(_CHECKPOINTS.c.seq))]


def add(connection: Connection, entry: Entry, under: SealedHead, checkpoint: str | None) -> None:
    """Write one event, the head that follows from it, and its checkpoint if it has one."""
    connection.execute(insert(_EVENTS).values(entry._asdict()))
    connection.execute(update(HEAD).values(under._asdict()))
    if checkpoint is not None:
        connection.execute(insert(_CHECKPOINTS).values(seq=entry.seq, envelope=checkpoint))
