"""Homes that have published, made with the real records and without Prefect; and older copies of their databases."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import create_engine, insert, select
from sqlalchemy.pool import NullPool

from penstock.records import Action, Home, Run, open_records
from penstock.records.approval.approval import Rule, decide, wait
from penstock.records.approval.decision import sign_decision
from penstock.records.bundle.bundle import install, seal, subjects
from penstock.records.people.trusted_keys import trust
from penstock.records.store.database import SCHEMA
from tests.records.reviewers import private, public

NOW = datetime(2026, 11, 16, 2, 15, tzinfo=UTC)
CONTENT = "ab" * 32
RELEASE = {"penstock": 1, "name": "survey", "reviewers": 0}


def publish(home: Home, folder: Path) -> Path:
    """One run from its plan to its bundle below `folder`; returns where that is."""
    log = open_records(home=home).log
    run = Run.begin(home, "spec", now=NOW)
    log.append(Action.PLANNED, run=run.id, actor="maker", facts={"name": "survey"}, occurred=NOW)
    staged = run.path("bundle")
    staged.mkdir()
    (staged / "data.csv").write_text("a\n1\n")
    seen = log.head()
    digest = seal(
        staged,
        subject=subjects(staged),
        release={**RELEASE, "release": run.id},
        approval={"required": 0, "decisions": []},
        log_head={"seq": seen.seq, "digest": seen.digest},
        key=home.signing_key(),
    )
    destination = folder / "survey" / run.id
    install(staged, destination)
    facts = {"manifest": digest, "destination": str(destination)}
    log.append(Action.PUBLISHED, run=run.id, actor="maker", facts=facts, occurred=NOW)
    head = log.head()
    run.finish({"outcome": "published", **facts, "log_head": {"seq": head.seq, "digest": head.digest}})
    return destination


def sealed_by(folder: Path, key: Ed25519PrivateKey, seq: int | None = 0, digest: str = "0" * 64) -> None:
    """Replace the manifest of a published bundle by one of this key, which saw this head of the log.

    Earlier versions wrote down its number as well.
    """
    (folder / "manifest.json").unlink()
    seal(
        folder,
        subject=subjects(folder),
        release=RELEASE,
        approval={"required": 0, "decisions": []},
        log_head={"digest": digest} if seq is None else {"seq": seq, "digest": digest},
        key=key,
    )


def decided(home: Home, run: str, reviewer: str, decision: str = "approve", reason: str = "read") -> None:
    """The reviewer gets a trusted key, the run waits, and the reviewer decides."""
    log = open_records(home=home).log
    trust(log, reviewer, public(reviewer), actor="admin", reason="met in person", now=NOW)
    rule = Rule(1, (reviewer,), timedelta(days=1))
    wait(log, run=run, content=CONTENT, rule=rule, started_by=["maker"], actor="maker", now=NOW)
    signature = sign_decision(private(reviewer), content=CONTENT, decision=decision, reason=reason)
    decide(
        log,
        run=run,
        content=CONTENT,
        reviewer=reviewer,
        decision=decision,
        signature=signature,
        reason=reason,
        actor="maker",
        now=NOW,
    )


def copied(home: Home) -> Callable[[], None]:
    """Copy the database; what is returned puts the copy back."""
    if home.database_url.startswith("sqlite:///"):
        database, copy = home.root / "penstock.db", home.root / "older.db"
        shutil.copy2(database, copy)

        def copy_back() -> None:
            shutil.copy2(copy, database)

        return copy_back
    engine = create_engine(home.database_url, poolclass=NullPool)
    with engine.begin() as connection:
        rows = {table: connection.execute(select(table)).mappings().all() for table in SCHEMA.sorted_tables}

    def put_back() -> None:
        with engine.begin() as connection:
            for table, kept in rows.items():
                connection.execute(table.delete())
                if kept:
                    connection.execute(insert(table), [dict(row) for row in kept])

    return put_back
