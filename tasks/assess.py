"""Assess: re-check the promise on the staged file, measure risk and utility, decide at the gates."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator

from penstock.measures.gates import Decision, GateResult, decide
from penstock.measures.measurement import Measurement, MeasureUndefined
from penstock.measures.registry import MEASURES, measure_names
from penstock.mechanisms.models import ADDS_UP
from penstock.tasks.ingest import Ingested
from penstock.tasks.outputs.output import Staged
from penstock.tasks.overlaps import differencing
from penstock.tasks.run.job import Job
from penstock.tasks.run.plan import Plan
from penstock.tasks.run.step import step

__all__ = ["assess"]


@step("assess")
def assess(job: Job, source: Ingested, staged: Staged) -> Decision:
    """Run every check and every gate; the decision and all values stay on the confidential side."""
    judgement = job.plan.output.judge(job, source, staged)
    gated = {gate.measure for gate in job.plan.gates}
    measured: dict[str, Measurement] = {}
    undefined: list[str] = []
    for name in _wanted(job.plan, gated):
        try:
            measured[name] = judgement.take(name)
        except MeasureUndefined:
            if name in gated:
                raise
            undefined.append(name)
    decision = _with(decide(job.plan.gates, measured, judgement.checks), differencing(job))
    assessment = {
        "records": staged.records,
        "decision": decision.as_dict(),
        "checks": [check.as_dict() for check in judgement.checks],
        "measurements": [measurement.as_dict() for measurement in measured.values()],
        "undefined": undefined,
        "clamped": [column.as_dict() for column in judgement.clamped],
    }
    if not job.is_staged:
        job.run.path("assessment.json").write_text(json.dumps(assessment, indent=2), encoding="utf-8")
    return decision


def _wanted(plan: Plan, gated: Collection[str]) -> Iterator[str]:
    """Yield the measures to take: those that a gate asks for, and all that are neither costly nor of public facts.

    Where promises add up, yield all: linkage ends early under noise, and no gate may ask for it.
    """
    for name in measure_names(plan.output.kind):
        chosen = MEASURES[name]
        if name in gated or plan.guarantee.model in ADDS_UP or not (chosen.costly or chosen.public):
            yield name


def _with(decision: Decision, result: GateResult | None) -> Decision:
    if result is None:
        return decision
    return Decision(max(decision.verdict, result.verdict), (*decision.results, result))
