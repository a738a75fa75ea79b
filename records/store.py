"""All records of one installation, opened together."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version

from sqlalchemy import Engine

from records.database import create_schema, open_engine
from records.home import Home
from records.log import Log, first_rows

__all__ = ["Records", "open_records"]


@dataclass(frozen=True, slots=True)
class Records:
    """What one database remembers."""

    engine: Engine
    log: Log


def open_records(url: str | None = None, home: Home | None = None) -> Records:
    """Open the records at `url` (else the home's database) under the home's key; make them if absent.

    A database in memory is for rehearsal, so it can only be asked for by `url`, never by a setting.
    """
    home = home if home is not None else Home.open()
    engine = open_engine(url if url is not None else home.database_url, lasting=url is None)
    key = home.secret_key()
    create_schema(engine, first_rows(key))
    return Records(engine, Log(engine, key, version("penstock")))
