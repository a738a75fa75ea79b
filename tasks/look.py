"""What the data answer is told only to a run that may look (records/ledger/looks.py)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

from penstock.mechanisms.refusal import Refusal
from penstock.records.files.digest import canonical, keyed
from penstock.records.ledger.looks import look
from penstock.tasks.files.source_digest import SourceDigest
from penstock.tasks.files.source_files import SourceUnreadable
from penstock.tasks.run.job import Job

__all__ = ["answered"]

Read = TypeVar("Read")


def answered(
    job: Job,
    source: Callable[[], SourceDigest],
    read: Callable[[], Read],
    values: Callable[[], str | None] = lambda: None,
) -> Read:
    """Read the data; put the look on record, or refuse it, before the outcome is known outside.

    source, values: return the digests of the source, and of its values where all were read. A file that cannot be read
    has revealed nothing, so it is no look.
    """
    outcome: Read | Refusal
    try:
        outcome = read()
    except Refusal as refusal:
        if isinstance(refusal, SourceUnreadable) or refusal.kind == "failure":
            raise
        outcome = refusal
    # Not inside the handler: a refused look would carry the answer with it in every traceback.
    told = source()
    claim = job.plan.outputs[0].claim(told.content, values(), told.formerly, told.files)
    look(
        job.log,
        dataset=claim.dataset,
        source=claim.source,
        known_by=claim.known_by,
        declared=_declared(job),
        may_leave_out=sum(each.may_be_left_out and not each.spends for each in job.plan.outputs),
        run=job.run.id,
        actor=job.actor,
        now=datetime.now(UTC),
    )
    if isinstance(outcome, Refusal):
        raise outcome
    return outcome


def _declared(job: Job) -> list[str]:
    """Return keyed digests of all that a release which spends declares about its data, and is refused for if untrue."""
    if not job.plan.spends:
        return []
    key = job.home.secret_key()
    return [keyed(key, "declaration", canonical(each)) for each in job.plan.declarations]
