"""All records of one installation, opened together."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path

from sqlalchemy import Engine

from penstock.mechanisms.refusal import Refusal
from penstock.records.home import Home
from penstock.records.ledger.ledger import Ledger
from penstock.records.log.log import Head, Log, first_rows
from penstock.records.log.sighting import Memory
from penstock.records.run import RunDamaged, outcomes, sightings
from penstock.records.store.database import open_engine
from penstock.records.store.migrations import bring_up_to_date, is_empty
from penstock.records.store.restoring import require_restored

__all__ = ["Records", "RecordsAbsent", "existing_records", "open_records", "seen_heads"]


class RecordsAbsent(Refusal):
    """The home holds no records to look at."""

    code = "records-absent"
    kind = "integrity"
    remedy = "Set PENSTOCK_HOME, and PENSTOCK_DB if the log is elsewhere; or restore the log."


@dataclass(frozen=True, slots=True)
class Records:
    """The records in one database."""

    engine: Engine
    log: Log
    ledger: Ledger


def open_records(url: str | None = None, home: Home | None = None, *, whole: bool = True) -> Records:
    """Open the records at `url` (else the home's database) under the home's key; make them if absent.

    A database in memory is for rehearsal, so it can only be asked for by `url`, never by a setting. A database that is
    emptier or older than this home remembers is refused: its budgets would be too. whole: whether that is found by a
    scan of the log; those who only ask questions walk to its head instead (log/_walk.py), however long it is.
    """
    home = home if home is not None else Home.open()
    if url is None:
        require_restored(home)
        return _opened(home, whole=whole)
    engine = open_engine(url, lasting=False)
    return _records(engine, home, None)


def existing_records(*, looking: bool = False, whole: bool = True) -> Records:
    """Return the records of this home, for those who check them: new ones, made on the spot, would look sound.

    looking: also those of a restoration that was refused or killed, for callers that only read. whole: as for
    `open_records`.
    """
    home = Home.located()
    if not looking:
        require_restored(home)
    files = [home.keys / "secret.key", home.keys / "signing.pem"]
    dialect, is_path, database = home.database_url.partition(":///")
    if dialect.startswith("sqlite") and is_path:
        files.append(Path(database))
    if not all(map(os.path.isfile, files)) or is_empty(open_engine(home.database_url, lasting=True)):
        raise _absent(home)
    return _opened(home, looking=looking, whole=whole)


def _opened(home: Home, *, looking: bool = False, whole: bool = True) -> Records:
    """Return the records in the home's own database, if it is not older than the home remembers.

    looking: leave that check to the first reading, which reports everything that is wrong.
    """
    engine = open_engine(home.database_url, lasting=True)
    memory = Memory(home, frozenset((head.seq, head.digest) for head in seen_heads(home).values()))
    remembers = bool(memory.sightings())
    # A run begins after its records exist, so a home with any run once had records.
    begun = remembers or any(path.is_dir() for path in home.runs.glob("*"))
    if begun and is_empty(engine):
        raise _absent(home)
    records = _records(engine, home, memory)
    if remembers and not looking:
        records.log.require_seen(whole=whole)
    return records


def _records(engine: Engine, home: Home, memory: Memory | None) -> Records:
    key = home.secret_key()
    bring_up_to_date(engine, first_rows(key))
    log = Log(engine, key, home.signing_key(), _code(), memory)
    return Records(engine, log, Ledger(log))


@cache
def _code() -> str:
    """Return the version of this code, which events carry; it stands in a file of what is installed."""
    return version("penstock")


def seen_heads(home: Home) -> dict[str, Head]:
    """Return where the log stood when each run of this home spent or ended; the first version did not write it down."""
    found = {}
    sighted = {run: {"log_head": head} for run, head in sightings(home).items()}
    for run, outcome in {**sighted, **outcomes(home)}.items():
        match outcome:
            case {"log_head": {"seq": int(seq), "digest": str(digest)}}:
                found[run] = Head(seq, digest)
            case dict() if "log_head" not in outcome:
                continue
            case _:
                raise RunDamaged.at(
                    f"{run}/outcome.json",
                    rule="must be as it was written",
                    remedy="Restore it, and find out who changed it; nothing is spent or published until then.",
                )
    return found


def _absent(home: Home) -> RecordsAbsent:
    return RecordsAbsent.at(
        "PENSTOCK_HOME",
        rule="must be a home with its keys and its log",
        got=str(home.root),
        remedy="Set PENSTOCK_HOME, and PENSTOCK_DB if the log lies elsewhere; or restore the log.",
    )
