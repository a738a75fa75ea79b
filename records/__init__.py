"""Remember: what must be kept, and how it can be checked years later. No Prefect, no noise.

Begin with `store` (`open_records`), then `log`, `ledger` and `bundle`.

    approval/   named people approve what they reviewed, and nothing else
    audit       everything checked together: log, checkpoints, ledger, decisions, and what was published and can be
                reached
    bundle/     the public bundle: what its manifest says, how it is sealed, and how it appears whole or not at all
    files/      files as records need them: that survive a power cut, are digested, come from outside or lie in an
                object store
    home        the confidential side on disk: keys, runs and the default database, for its owner only
    ledger/     the budget ledger: what the releases of each data set may spend, and what they have spent
    log/        the audit log: append-only, chained, sealed and signed
    people/     who may decide, and who may sign in
    published_answers   published answers held against the log
    run         the working folder of one run, so that a killed run goes on where it stopped
    signing/    keys and signatures: Ed25519, and everything that is signed in one form
    store/      all records of one installation: its database, its schema, its backups
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.records.home import Home
    from penstock.records.ledger.ledger import Ledger
    from penstock.records.log.log import Action, Event, Head, Log, LogAltered, LogAppendFailed, Verified
    from penstock.records.run import Run
    from penstock.records.store.store import Records, RecordsAbsent, existing_records, open_records

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

# Imported when they are asked for, so that a command loads only what it uses.
_PLACES = {
    "home": ("Home",),
    "ledger.ledger": ("Ledger",),
    "log.log": ("Action", "Event", "Head", "Log", "LogAltered", "LogAppendFailed", "Verified"),
    "run": ("Run",),
    "store.store": ("Records", "RecordsAbsent", "existing_records", "open_records"),
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Return a public name from the module that has it."""
        for place, names in _PLACES.items():
            if name in names:
                return getattr(import_module(f"{__name__}.{place}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
