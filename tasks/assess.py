"""Assess: re-check the promise on the staged file, measure risk and utility, decide at the gates."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from penstock.measures.gates import Decision, GateRefused, GateResult, decide
from penstock.measures.measurement import Measurement, MeasureUndefined
from penstock.measures.registry import MEASURES, measure_names
from penstock.mechanisms.models import ADDS_UP
from penstock.tasks.gate import refuses
from penstock.tasks.ingest import Ingested
from penstock.tasks.leave_out import require_one_left, unless_left_out
from penstock.tasks.outputs.output import Staged
from penstock.tasks.overlaps import differencing
from penstock.tasks.run.job import Job
from penstock.tasks.run.plan import Plan
from penstock.tasks.run.step import step

__all__ = ["assess"]


@step("assess")
def assess(job: Job, source: Ingested, staged: Sequence[Staged]) -> tuple[tuple[Staged, ...], Decision]:
    """Run every check and every gate of every output; the decision and all values stay on the confidential side.

    Return what is left: an output that is refused may be left out.
    """
    decisions: dict[str | None, Decision] = {}
    assessed: dict[str | None, dict[str, Any]] = {}
    kept: list[Staged] = []
    for each, drawn in zip(job.outputs, staged, strict=True):
        name = each.plan.output_name
        decision, assessed[name] = _assessed(each, source, drawn)
        with unless_left_out(each):
            # Where epsilon is spent, its gates were judged before the draw; what fails now is a defect.
            if each.plan.may_be_left_out and not each.plan.spends and refuses(job, decision):
                raise GateRefused.by(decision)
            decisions[name] = decision
            kept.append(drawn)
    require_one_left(job)
    about_all = differencing(job)
    if job.plan.is_of_several:
        whole = Decision.together(decisions, *([] if about_all is None else [about_all]))
        outputs = [{"name": name, "left_out": name not in decisions, **found} for name, found in assessed.items()]
        assessment: dict[str, Any] = {"decision": whole.as_dict(), "outputs": outputs}
    else:
        whole = _with(decisions[None], about_all)
        assessment = {**assessed[None], "decision": whole.as_dict()}
    if not job.is_staged:
        job.run.path("assessment.json").write_text(json.dumps(assessment, indent=2), encoding="utf-8")
    return tuple(kept), whole


def _assessed(job: Job, source: Ingested, staged: Staged) -> tuple[Decision, dict[str, Any]]:
    """Return the decision about one output, and all that was found."""
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
    decision = decide(job.plan.gates, measured, judgement.checks)
    found = {
        "records": staged.records,
        "decision": decision.as_dict(),
        "checks": [check.as_dict() for check in judgement.checks],
        "measurements": [measurement.as_dict() for measurement in measured.values()],
        "undefined": undefined,
        "clamped": [column.as_dict() for column in judgement.clamped],
    }
    return decision, found


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
