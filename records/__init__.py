"""What must be remembered, and how it can be checked years later.

    home      the confidential folder: keys, runs, default database
    keyfile   keys made once and kept private
    durable   files that survive a kill and a power cut
    digest    canonical JSON, keyed and plain digests
    signing   Ed25519 signatures
    envelope  everything that is signed, in one form
    database  one writer at a time, commits on disk;  migrations: its schema, step by step
    chain     the digests that chain and seal the audit log, and how to find what was changed
    checkpoint  what is signed of the log, for those without its key
    log       the audit log
    accounts, sheet, limits, ledger   what may be spent, what was, and who allowed it
    people, decision, standing, approval   who may decide, and what they decided
    users, user_secrets, visits   who may sign in to the pages, with which roles, and what they did there
    store     `open_records`: everything in one database
    audit     everything checked together, with every manifest that can be reached
    backup    a copy of all of it, and how it comes back
    run       the working folder of one run: lock, commit markers, resume
    answers   tables that were drawn, found again by what they are made of
    pages, table_sheet, sdmx   reports for people, tables for other platforms
    statement, bundle   the public bundle: seal, install, check

Nothing here knows Prefect, and nothing here draws noise.
"""

from __future__ import annotations

from records.home import Home
from records.ledger import Ledger
from records.log import Action, Event, Head, Log, LogAltered, LogAppendFailed, Verified
from records.run import Run
from records.store import Records, RecordsAbsent, existing_records, open_records

__all__ = [
    "Action",
    "Event",
    "Head",
    "Home",
    "Ledger",
    "Log",
    "LogAltered",
    "LogAppendFailed",
    "Records",
    "RecordsAbsent",
    "Run",
    "Verified",
    "existing_records",
    "open_records",
]
