"""Reserve: the ledger sets aside what the draw will cost, before it."""

from __future__ import annotations

from datetime import UTC, datetime

from tasks.ingest import Ingested
from tasks.job import Job
from tasks.protect import staged_before
from tasks.step import step

__all__ = ["reserve"]


@step("reserve")
def reserve(job: Job, source: Ingested) -> None:
    """Reserve the cost, or refuse. What was drawn before is charged already."""
    if staged_before(job) is None:
        job.ledger.reserve(job.plan.claim(source.digest), run=job.run.id, actor=job.actor, now=datetime.now(UTC))
