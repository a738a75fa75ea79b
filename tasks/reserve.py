"""Reserve: the ledger sets aside what the draw will cost, before it."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction

from records.accounts import ADDS_UP, Claim
from tasks.ingest import Ingested
from tasks.job import Job
from tasks.plan import Plan
from tasks.protect import staged_before
from tasks.step import step

__all__ = ["claim_of", "reserve"]


@step("reserve")
def reserve(job: Job, source: Ingested) -> None:
    """Reserve the cost, or refuse. What was drawn before is charged already."""
    if staged_before(job) is None:
        job.ledger.reserve(claim_of(job.plan, source.digest), run=job.run.id, actor=job.actor, now=datetime.now(UTC))


def claim_of(plan: Plan, source: str) -> Claim:
    """What the plan asks of the ledger for the records with this digest."""
    guarantee = plan.guarantee
    column, part = plan.part if plan.part is not None else (None, None)
    return Claim(
        dataset=plan.dataset,
        source=source,
        model=guarantee.model,
        epsilon=Fraction(guarantee.parameters["epsilon"]) if guarantee.model in ADDS_UP else None,
        adjacency=guarantee.adjacency,
        unit=guarantee.unit,
        column=column,
        part=part,
        acknowledges=plan.acknowledges,
    )
