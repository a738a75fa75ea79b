"""All records of one installation, opened together."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from sqlalchemy import Engine

from mechanisms.refusal import Refusal
from records.database import open_engine
from records.home import Home
from records.ledger import Ledger
from records.log import Head, Log, first_rows
from records.migrations import bring_up_to_date, is_empty
from records.run import outcomes

__all__ = ["Records", "RecordsAbsent", "existing_records", "open_records"]


class RecordsAbsent(Refusal):
    """There are no records here to look at."""

    code = "records-absent"
    kind = "integrity"


@dataclass(frozen=True, slots=True)
class Records:
    """What one database remembers."""

    engine: Engine
    log: Log
    ledger: Ledger


def open_records(url: str | None = None, home: Home | None = None) -> Records:
    """Open the records at `url` (else the home's database) under the home's key; make them if absent.

    A database in memory is for rehearsal, so it can only be asked for by `url`, never by a setting. A
    database that is emptier or older than this home remembers is refused: its budgets would be as well.
    """
    home = home if home is not None else Home.open()
    engine = open_engine(url if url is not None else home.database_url, lasting=url is None)
    remembered = _last_seen(home) if url is None else None
    if remembered is not None and is_empty(engine):
        raise _absent(home)
    key = home.secret_key()
    bring_up_to_date(engine, first_rows(key))
    log = Log(engine, key, home.signing_key(), version("penstock"))
    if remembered is not None:
        log.require(remembered)
    return Records(engine, log, Ledger(log))


def existing_records() -> Records:
    """The records of this home, for those who check them: new ones, made on the spot, would look sound."""
    home = Home.located()
    files = [home.keys / "secret.key"]
    if home.database_url.startswith("sqlite:///"):
        files.append(Path(home.database_url.removeprefix("sqlite:///")))
    if not all(file.is_file() for file in files) or is_empty(open_engine(home.database_url, lasting=True)):
        raise _absent(home)
    return open_records(home=home)


def _last_seen(home: Home) -> Head | None:
    """Where the log stood when a run of this home ended last."""
    heads = [outcome["log_head"] for outcome in outcomes(home).values() if "log_head" in outcome]
    last = max(heads, key=lambda head: int(head["seq"]), default=None)
    return None if last is None else Head(last["seq"], last["digest"])


def _absent(home: Home) -> RecordsAbsent:
    return RecordsAbsent.at(
        "PENSTOCK_HOME",
        rule="must be a home with its key and its log",
        got=str(home.root),
        remedy="Set PENSTOCK_HOME, and PENSTOCK_DB if the log lies elsewhere; or restore the log.",
    )
