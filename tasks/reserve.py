"""Reserve: the ledger sets aside what the draw will cost, before it."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from measures.foreseen import worst_error
from measures.gates import GateRefused
from mechanisms.refusal import Fault
from mechanisms.registry import mechanism_of
from tasks.ingest import Ingested
from tasks.job import Job
from tasks.protect import staged_before
from tasks.step import step
from tasks.tables import load_columns

__all__ = ["reserve"]


@step("reserve")
def reserve(job: Job, source: Ingested) -> None:
    """Reserve the cost, or refuse. What was drawn before is charged already."""
    if staged_before(job) is None:
        _require_foreseen(job, source)
        job.ledger.reserve(job.plan.claim(source.digest), run=job.run.id, actor=job.actor, now=datetime.now(UTC))


def _require_foreseen(job: Job, source: Ingested) -> None:
    """A gate that public facts decide refuses before anything is spent."""
    plan = job.plan
    gates = [gate for gate in plan.gates if gate.measure == "expected_error"]
    if not gates:
        return
    settled = mechanism_of(plan.params).settled_facts(plan.params, plan.declared, _records_used(job, source))
    worst, error = worst_error(settled)
    GateRefused.raise_for(
        Fault(
            f"gates.{gate.measure}",
            gate.rule,
            f"Allow more for {worst}, or spend more epsilon.",
            f"{error:.4g}",
        )
        for gate in gates
        if not gate.holds(error)
    )


def _records_used(job: Job, source: Ingested) -> int:
    """How many records the mechanism will see: of each unit at most as many as the promise says."""
    if source.units is None:
        return source.rows
    each = np.bincount(load_columns(source.units)["unit"])
    return int(np.minimum(each, job.plan.guarantee.parameters["rows_per_unit"]).sum())
