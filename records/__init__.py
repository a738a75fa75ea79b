"""What must be remembered, and how it can be checked years later.

    home      the confidential folder: keys, runs, default database
    keyfile   keys made once and kept private
    durable   files that survive a kill and a power cut
    digest    canonical JSON, keyed and plain digests
    signing   Ed25519 signatures
    database  one writer at a time, commits on disk
    chain     the digests that chain and seal the audit log, and how to find what was changed
    log       the audit log
    store     `open_records`: everything in one database
    run       the working folder of one run: lock, commit markers, resume
    bundle    the public bundle: seal, install, check

Nothing here knows Prefect, and nothing here draws noise.
"""

from __future__ import annotations

from records.home import Home
from records.log import Action, Event, Head, Log, LogAltered, LogAppendFailed, Verified
from records.run import Run
from records.store import Records, RecordsAbsent, existing_records, open_records

__all__ = [
    "Action",
    "Event",
    "Head",
    "Home",
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
