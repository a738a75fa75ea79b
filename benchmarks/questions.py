"""The cost of a question after many others: charged, stored and on disk, in processor time, on both databases.

    make bench

Printed at 0, 10,000 and 100,000 earlier questions of one analyst, and a tenth as many about one individual each, in
milliseconds of this process's own processor time: one question in a process that has asked before; one about an
individual; one that was asked before; what is left to spend; one reservation of a release, where a scan was made
before; opening the records to ask in a new process; and, for comparison, opening them with a scan of the whole log, as
releases do. Waiting for the disk and the server's own work are not in it. The last column is a bare durable commit on
the same database.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Column, Integer, MetaData, Table, insert

from benchmarks.sizes import sized
from penstock.records import Home, Records, open_records
from penstock.records.ledger import questions
from penstock.records.ledger._transactions import LedgerWriter
from penstock.records.ledger.accounts import Account, Claim, dataset_subject
from penstock.records.ledger.limits import Officer, open_account
from penstock.records.people.trusted_keys import trust
from tests.support.postgres import running_server

EARLIER = (0, sized(10_000, least=4), sized(100_000, least=8))
AT_ONCE = 1_000
REPEATS = sized(15, least=2)
EPSILON = Fraction(1, 1000)
NOW = datetime(2026, 11, 16, tzinfo=UTC)
HOW = {"actor": "bench", "now": NOW}
BARE = Table("bare", MetaData(), Column("id", Integer, primary_key=True))
COLUMNS = ("question", "individual", "repeated", "standing", "reservation", "open to ask", "open, scan", "bare commit")


def claim(dataset: str) -> Claim:
    people = dataset == "people"
    return Claim(
        dataset=dataset,
        source=f"source of {dataset}",
        model="dp",
        epsilon=EPSILON,
        adjacency="presence" if people else "add_remove",
        unit="individual" if people else "row",
        whose="person" if people else None,
        values=f"values of {dataset}",
        table=True,
    )


def ask(records: Records, dataset: str, key: str) -> None:
    questions.ask(
        records.log,
        claim(dataset),
        analyst="ann",
        key=f"{dataset} {key}",
        individual=f"person {key}" if dataset == "people" else None,
        draw=lambda: b'{"answer": [1234]}',
        facts={"query": {"statistic": "count"}, "method": "laplace"},
        **HOW,  # type: ignore[arg-type]
    )


def fill(records: Records, dataset: str, first: int, last: int) -> None:
    """Earlier questions, each written as `ask` writes it, many in one transaction."""
    for start in range(first, last, AT_ONCE):
        with records.log.transaction(whole=False) as writer:
            ledger = LedgerWriter(writer, **HOW)  # type: ignore[arg-type]
            ledger.book(dataset_subject(dataset))
            for number in range(start, min(start + AT_ONCE, last)):
                wanted = questions._Question(
                    claim=claim(dataset),
                    analyst="ann",
                    key=f"{dataset} {number}",
                    individual=f"person {number}" if dataset == "people" else None,
                    facts={"query": {"statistic": "count"}, "method": "laplace"},
                    destination=None,
                )
                questions._charge(ledger, writer, wanted, questions._seats(ledger, writer, wanted), b"1234")


def prepare(records: Records) -> None:
    BARE.metadata.create_all(records.engine)
    key = Ed25519PrivateKey.generate()
    trust(records.log, "officer", key.public_key(), reason="benchmark", **HOW)  # type: ignore[arg-type]
    officer = Officer("officer", key, "benchmark")
    for dataset in ("survey", "people"):
        wanted = claim(dataset)
        account = Account(
            dataset=dataset,
            model="dp",
            limit=Fraction(10**6),
            adjacency=wanted.adjacency,
            unit=wanted.unit,
            partition=None,
        )
        open_account(records.log, account, officer, **HOW)  # type: ignore[arg-type]
        questions.allow_analyst(records.log, dataset, "dp", "ann", Fraction(10**6), officer, **HOW)  # type: ignore[arg-type]
        ask(records, dataset, "the first")


def milliseconds(work: Callable[[int], object], repeats: int = REPEATS) -> float:
    """The median, in processor time; one before that is not counted."""
    work(-1)
    taken = []
    for number in range(max(1, repeats)):
        began = time.process_time()
        work(number)
        taken.append(1000 * (time.process_time() - began))
    return statistics.median(taken)


def reserve(records: Records, run: str) -> None:
    records.ledger.reserve(claim("survey"), run=run, **HOW)  # type: ignore[arg-type]


def bare(records: Records) -> None:
    with records.engine.begin() as connection:
        connection.execute(insert(BARE))


def measured(home: Home, earlier: int) -> list[float]:
    records = open_records(home=home, whole=False)
    scanned = open_records(home=home)
    return [
        milliseconds(lambda number: ask(records, "survey", f"new {earlier} {number}")),
        milliseconds(lambda number: ask(records, "people", f"new {earlier} {number}")),
        milliseconds(lambda _: ask(records, "survey", "the first")),
        milliseconds(lambda _: questions.standing(records.log, dataset="survey", model="dp", analyst="ann")),
        # Few, because each of them is an event that all later questions of the data set read.
        milliseconds(lambda n: reserve(scanned, f"release-{earlier}-{n}"), REPEATS // 5),
        milliseconds(lambda _: open_records(home=home, whole=False)),
        milliseconds(lambda _: open_records(home=home), REPEATS // 5),
        milliseconds(lambda _: bare(records)),
    ]


def measure(database: str, home: Home) -> None:
    records = open_records(home=home)
    prepare(records)
    before = 0
    for earlier in EARLIER:
        fill(records, "survey", before, earlier)
        fill(records, "people", before // 10, earlier // 10)
        before = earlier
        figures = "".join(f"{figure:13.1f}" for figure in measured(home, earlier))
        print(f"{database:12}{earlier:>9,}{figures}", flush=True)
    open_records(home=home).ledger.verify()


def main() -> None:
    print(f"{'database':12}{'questions':>9}" + "".join(f"{name:>13}" for name in COLUMNS))
    with ExitStack() as places:
        folder = Path(places.enter_context(tempfile.TemporaryDirectory()))
        os.environ.pop("PENSTOCK_DB", None)
        measure("SQLite", Home.open(folder / "sqlite"))
        server = places.enter_context(running_server(fsync=True))
        os.environ["PENSTOCK_DB"] = server.new_database()
        measure("PostgreSQL", Home.open(folder / "postgresql"))


if __name__ == "__main__":
    main()
