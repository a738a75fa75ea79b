"""Reserve: the ledger sets aside what the draw will cost, before it, and finds what it overlaps with."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from penstock.measures.gates import GateRefused
from penstock.measures.possible import faults_known_before
from penstock.mechanisms.models import ADDS_UP
from penstock.mechanisms.registry import mechanism_of
from penstock.records.log.log import Action
from penstock.tasks.files.columns import load_columns
from penstock.tasks.ingest import Ingested
from penstock.tasks.leave_out import require_one_left, unless_left_out
from penstock.tasks.overlaps import record_overlaps, require_somebody_to_look
from penstock.tasks.protect import claim_of, staged_before
from penstock.tasks.repeat import drawn_before
from penstock.tasks.run.job import Job
from penstock.tasks.run.step import step

__all__ = ["reserve"]


@step("reserve")
def reserve(job: Job, source: Ingested) -> None:
    """Reserve the cost of every output, all or none, or refuse. What was drawn before, by this run or for the same
    question, has been charged already; but a table that comes out again is a release like any other, and is
    registered. A draw that had begun and was lost is reserved again."""
    job.stay_left_out(source.digest)
    claims, repeated = [], list[Job]()
    for each in job.outputs:
        if staged_before(each) is not None:
            continue
        with unless_left_out(each):
            _require_foreseen(each, source)
            answer = drawn_before(each, *source.digests)
            claims.append(claim_of(each, source, answer))
            repeated += [] if answer is None else [each]
    require_one_left(job)
    if not claims:
        return
    job.ledger.reserve_all(claims, run=job.run.id, actor=job.actor, now=datetime.now(UTC))
    repeats = {claim.output: claim.repeats for claim in claims}
    for each in repeated:
        name = each.plan.output_name
        job.record(Action.REPEATED, of=repeats[name], **({} if name is None else {"output": name}))
    record_overlaps(job, claims)
    require_somebody_to_look(job)


def _require_foreseen(job: Job, source: Ingested) -> None:
    """Refuse by the gates that public facts decide, before anything is spent."""
    plan = job.plan
    if plan.guarantee.model not in ADDS_UP:
        return  # gates of the other models are judged on the output
    chosen = mechanism_of(plan.params).chosen(plan.params, plan.declared, _records_used(job, source))
    GateRefused.raise_for(faults_known_before(plan.gates, chosen))


def _records_used(job: Job, source: Ingested) -> int:
    """Return how many records the mechanism will see: at most as many of each unit as the promise says."""
    if source.units is None:
        return source.rows
    each = np.bincount(load_columns(source.units)["unit"])
    return int(np.minimum(each, job.plan.guarantee.parameters["rows_per_unit"]).sum())
