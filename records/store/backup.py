"""A copy of everything that must be remembered, and how it comes back after a disaster.

    <backup>/
        home/keys, home/runs, home/answers   the confidential folder; of a run in progress only what it is about
        home/seen.json                       where the log stood when the home last saw it
        records.jsonl                        every row of the database, of one moment, whatever database it is
        backup.json                          the head of the log then; written last, so that without it there is none

The home is copied before the database: it remembers where the log stood, and a log that is older than that is
refused. A run whose lock is free is copied whole, under its lock; one in progress would be copied in the middle of
a step, so it begins again after a restoration, and what it had drawn stays spent.

A backup is older than the present. Restoring it forgets what was spent since, so the published bundles must
be shown: if the restored log does not know one of the releases, the restoration is refused.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, insert, select

from penstock.mechanisms.refusal import Refusal
from penstock.records.audit import verify_everything
from penstock.records.files import durable
from penstock.records.files.addresses import Place
from penstock.records.files.digest import canonical, plain_file
from penstock.records.home import Home
from penstock.records.log.log import Action
from penstock.records.log.sighting import SEEN
from penstock.records.people.users import users_turn
from penstock.records.run import copied_runs
from penstock.records.store.database import SCHEMA, open_engine, reading, writing
from penstock.records.store.migrations import NEWEST, bring_up_to_date, is_empty
from penstock.records.store.restoring import begin_restoring, end_restoring
from penstock.records.store.store import existing_records

__all__ = ["Backup", "BackupDamaged", "BackupRefused", "back_up", "restore"]

_HOME, _ROWS, _COMPLETE = "home", "records.jsonl", "backup.json"
_FOLDERS = ("keys", "runs", "answers")
_AT_ONCE = 500
# Steps of the schema whose rows the tables of today can hold.
_SAME_TABLES = ("0002", "0003", NEWEST)


class BackupRefused(Refusal):
    """The backup cannot be made there, or cannot be restored here."""

    code = "backup-refused"
    remedy = "Choose an empty place, and name every place that was published to."


class BackupDamaged(Refusal):
    """The backup is not as it was written, or not complete."""

    code = "backup-damaged"
    kind = "integrity"
    remedy = "Take another backup."


@dataclass(frozen=True, slots=True)
class Backup:
    """The result of a backup: how many events of the log and runs were copied, and which runs were in progress."""

    path: Path
    events: int
    runs: int
    going_on: tuple[str, ...]


def back_up(target: Path) -> Backup:
    """Copy this home and its database to a new private folder; complete when this returns."""
    records, home = existing_records(), Home.located()
    try:
        target.mkdir(mode=0o700, parents=True)
    except OSError as error:
        raise BackupRefused.at(
            "FOLDER", rule=f"must be a new folder ({error.strerror})", got=str(target), remedy="Choose another name."
        ) from None
    shutil.copytree(home.answers, target / _HOME / "answers", symlinks=True)
    (target / _HOME / "runs").mkdir(mode=0o700)
    runs, going_on = copied_runs(home, target / _HOME / "runs")
    with users_turn(home):  # nobody changes a password between its file and its event
        shutil.copytree(home.keys, target / _HOME / "keys", symlinks=True)
        if (home.root / SEEN).exists():
            shutil.copy2(home.root / SEEN, target / _HOME / SEEN)
        head = _write_rows(records.engine, target / _ROWS)
    durable.sync_tree(target)
    complete = {"head": head, "schema": NEWEST, "rows": plain_file(target / _ROWS)}
    durable.write_whole(target / _COMPLETE, canonical(complete))
    return Backup(target, head["seq"], runs, tuple(going_on))


def restore(source: Path, bundles: Sequence[Place], *, nothing_published: bool = False) -> dict[str, Any]:
    """Bring a backup back into an empty home and an empty database, then check everything; return what was checked.

    bundles: every place that the home published to. A bundle there that the log does not know was published after the
    backup; then what is left here is only for inspection, and nothing is released from it (restoring.py).
    nothing_published: given instead by whoever knows that the home never published anything; nothing else could show
    that the backup is older than a publication.
    """
    if bool(bundles) is nothing_published:
        raise BackupRefused.at(
            "--bundles",
            rule="must name every place that this home published to: a publication after the backup shows only there",
            remedy="Give each with --bundles; only if this home never published anything, say --nothing-published.",
        )
    home, complete = Home.located(), _complete(source)
    engine = _require_empty(home)
    if complete["schema"] not in _SAME_TABLES:
        raise BackupRefused.at(
            "FOLDER",
            rule=f"must have been made under schema {' or '.join(_SAME_TABLES)}",
            got=complete["schema"],
            remedy="Restore it with the version of Penstock that made it, then update.",
        )
    begin_restoring(home)  # on disk before anything that could be released from
    Home.open()
    for name in _FOLDERS:
        shutil.copytree(source / _HOME / name, home.root / name, symlinks=True, dirs_exist_ok=True)
    if (source / _HOME / SEEN).exists():
        shutil.copy2(source / _HOME / SEEN, home.root / SEEN)
    durable.sync_tree(home.root)
    bring_up_to_date(engine, {"log_head": []})
    with writing(engine) as connection:
        _read_rows(connection, source / _ROWS)
    found = verify_everything(bundles, restoring=True)
    if nothing_published:
        _require_nothing_published()
    end_restoring(home)
    return found


def _require_nothing_published() -> None:
    if any(event.action is Action.PUBLISHED for event in existing_records(looking=True).log.events()):
        raise BackupRefused.at(
            "--nothing-published",
            rule="must be true; the log knows of a publication",
            remedy="Restore into a new home and an empty database, with every --bundles.",
        )


def _write_rows(engine: Engine, path: Path) -> dict[str, Any]:
    """Write every row of every table as one line, all of one moment; return the head of the log at that moment."""
    head: dict[str, Any] = {}
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, durable.PRIVATE)
    with os.fdopen(descriptor, "wb") as file, reading(engine) as connection:
        for name, table in sorted(SCHEMA.tables.items()):
            for row in connection.execution_options(yield_per=_AT_ONCE).execute(select(table)).mappings():
                file.write(canonical({"table": name, "row": dict(row)}) + b"\n")
                if name == "log_head":
                    head = {"seq": row["seq"], "digest": row["digest"]}
    return head


def _read_rows(connection: Connection, path: Path) -> None:
    for name, rows in _batches(path):
        connection.execute(insert(SCHEMA.tables[name]), rows)


def _batches(path: Path) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the rows of one table after the other, some hundreds at a time."""
    name, rows = "", list[dict[str, Any]]()
    with path.open("rb") as file:
        for line in file:
            read = json.loads(line)
            if rows and (read["table"] != name or len(rows) == _AT_ONCE):
                yield name, rows
                rows = []
            name = read["table"]
            rows.append(read["row"])
    if rows:
        yield name, rows


def _complete(source: Path) -> dict[str, Any]:
    """Return what a complete backup says about itself; refuse any other."""
    try:
        complete = json.loads((source / _COMPLETE).read_bytes())
        sound = complete["rows"] == plain_file(source / _ROWS) and {"head", "schema"} <= complete.keys()
    except (OSError, ValueError, KeyError, TypeError):
        sound = False
    if not sound:
        raise BackupDamaged.at(
            "FOLDER", rule="must be a whole backup, as it was written", got=str(source), remedy="Take another backup."
        )
    return dict(complete)


def _require_empty(home: Home) -> Engine:
    """Return the database to restore into; a home or a database that holds anything is never mixed with a backup."""
    held = [name for name in _FOLDERS if any((home.root / name).glob("*"))]
    if not held:
        home.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        engine = open_engine(home.database_url, lasting=True)
        if is_empty(engine):
            return engine
    raise BackupRefused.at(
        "PENSTOCK_HOME",
        rule="must be empty, with its database, before a backup is restored",
        got=str(home.root),
        remedy="Move them away, or set PENSTOCK_HOME and PENSTOCK_DB to new ones.",
    )
