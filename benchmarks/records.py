"""Appends to the audit log and reservations in the ledger, against a bare durable commit on the same database.

    make bench

A bare commit is one INSERT and COMMIT through SQLAlchemy with the same engine, in the same run. Both
databases wait for the disk. Printed for an empty ledger and after 10,000 charges to one data set, for one
process and for 8 that write together: how many a second all of them do, how many bare commits a second
just before, and their ratio, the cost of one in bare commits.
A reservation reads all earlier ones, so few are made: an empty ledger would not stay empty.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Column, Integer, MetaData, Table, insert

from benchmarks.sizes import SHARE, sized
from penstock.records import Action, Home, LogAppendFailed, Records, open_records
from penstock.records.ledger._transactions import LedgerWriter
from penstock.records.ledger.accounts import Account, Claim
from penstock.records.ledger.limits import Officer, open_account
from penstock.records.people.trusted_keys import trust
from tests.support.postgres import running_server

CHARGES = sized(10_000, least=10)
CHARGES_OF_ONE_SOURCE = 100
PROCESSES = (1, 8)
SECONDS = 3.0 * SHARE
RESERVATIONS = sized(48, least=max(PROCESSES))
ATTEMPTS = 10
NOW = datetime(2026, 11, 16, tzinfo=UTC)
BARE = Table("bare", MetaData(), Column("id", Integer, primary_key=True))

Work = Callable[[Records, str], object]


def bare(records: Records, _: str) -> None:
    with records.engine.begin() as connection:
        connection.execute(insert(BARE))


def append(records: Records, name: str) -> None:
    records.log.append(Action.PLANNED, run=name, actor="bench", facts={"name": "survey"}, occurred=NOW)


def reserve(records: Records, name: str) -> None:
    records.ledger.reserve(claim(CHARGES - 1), run=name, actor="bench", now=NOW)


def claim(number: int) -> Claim:
    """One of many small charges; the records are a new version from time to time."""
    return Claim(
        dataset="survey",
        source=f"source {number // CHARGES_OF_ONE_SOURCE}",
        model="dp",
        epsilon=Fraction(1, 1000),
        adjacency="add_remove",
        unit="row",
    )


def open_budget(records: Records) -> None:
    key = Ed25519PrivateKey.generate()
    trust(records.log, "officer", key.public_key(), actor="bench", reason="benchmark", now=NOW)
    account = Account(
        dataset="survey", model="dp", limit=Fraction(10**6), adjacency="add_remove", unit="row", partition=None
    )
    open_account(records.log, account, Officer("officer", key, "benchmark"), actor="bench", now=NOW)


def charge(records: Records) -> None:
    """All earlier charges, each reserved, spent and settled, as `reserve` and its kin write them.

    Those of one source in one transaction: PostgreSQL keeps every head of the log until the transaction ends.
    """
    for start in range(0, CHARGES, CHARGES_OF_ONE_SOURCE):
        with records.log.transaction() as writer:
            entries = LedgerWriter(writer, actor="bench", now=NOW)
            for number in range(start, min(start + CHARGES_OF_ONE_SOURCE, CHARGES)):
                wanted = claim(number)
                for action, facts in (
                    (Action.RESERVED, wanted.facts()),
                    (Action.SPENT, {}),
                    (Action.SETTLED, {"outcome": "published"}),
                ):
                    facts = {**facts, "attempt": 1}
                    entries.write(action, run=f"earlier-{number}", facts=facts, subjects=wanted.subjects)


def patiently(work: Work, records: Records, name: str) -> None:
    """On a slow machine one of many writers waits longer for its turn than the database lets it; then it asks again."""
    for _ in range(ATTEMPTS - 1):
        try:
            work(records, name)
            return
        except LogAppendFailed:
            continue
    work(records, name)


def per_second(home: Home, work: Work, processes: int) -> float:
    """How often a second all processes together do the work; each at least once."""
    most = RESERVATIONS // processes if work is reserve else sys.maxsize
    context = multiprocessing.get_context("fork")
    ready, done = context.Barrier(processes + 1), context.SimpleQueue()

    def loop() -> None:
        records, count = open_records(home=home), 0
        ready.wait()
        began = time.monotonic()
        while count == 0 or (count < most and time.monotonic() < began + SECONDS):
            patiently(work, records, f"{os.getpid()}-{time.monotonic_ns()}")
            count += 1
        done.put(count)

    children = [context.Process(target=loop) for _ in range(processes)]
    for child in children:
        child.start()
    ready.wait()
    began = time.monotonic()
    for child in children:
        child.join()
    seconds = time.monotonic() - began
    if any(child.exitcode for child in children):
        sys.exit("a process failed; its error stands above")
    return sum(done.get() for _ in children) / seconds


def measure(database: str, home: Home) -> None:
    records = open_records(home=home)
    BARE.metadata.create_all(records.engine)
    open_budget(records)
    for charges in (0, CHARGES):
        if charges:
            charge(records)
        for processes in PROCESSES:
            for name, work in (("append", append), ("reservation", reserve)):
                commits, rate = per_second(home, bare, processes), per_second(home, work, processes)
                figures = f"{rate:10.1f}{commits:14.1f}{commits / rate:8.1f}"
                print(f"{database:12}{charges:8,}{processes:11}   {name:12}{figures}", flush=True)
    records.log.verify()
    records.ledger.verify()


def main() -> None:
    titles = f"{'a second':>10}{'bare commits':>14}{'ratio':>8}"
    print(f"{'database':12}{'charges':>8}{'processes':>11}   {'':12}{titles}")
    with ExitStack() as places:
        folder = Path(places.enter_context(tempfile.TemporaryDirectory()))
        os.environ.pop("PENSTOCK_DB", None)
        measure("SQLite", Home.open(folder / "sqlite"))
        server = places.enter_context(running_server(fsync=True))
        os.environ["PENSTOCK_DB"] = server.new_database()
        measure("PostgreSQL", Home.open(folder / "postgresql"))


if __name__ == "__main__":
    main()
