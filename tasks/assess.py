"""Assess: re-check the promise on the staged file, measure risk and utility, decide at the gates."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from penstock.measures.asked import NOTHING
from penstock.measures.gates import Decision, Gate, GateRefused, GateResult, decide
from penstock.measures.measurement import Measurement, MeasureUndefined
from penstock.measures.registry import MEASURES, measure_names
from penstock.mechanisms.models import ADDS_UP
from penstock.mechanisms.registry import mechanism_of
from penstock.tasks.files.columns import load_columns
from penstock.tasks.gate import refuses
from penstock.tasks.ingest import Ingested
from penstock.tasks.leave_out import require_one_left, unless_left_out
from penstock.tasks.outputs.output import Judgement, Staged
from penstock.tasks.overlaps import differencing
from penstock.tasks.run.job import Job
from penstock.tasks.run.plan import File, Plan
from penstock.tasks.run.step import step
from penstock.tasks.shared_files import judge_file

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
        # A gate may have no value on these data; that is a refusal like any other, of this output alone.
        with unless_left_out(each, drawn=True):
            decision, assessed[name] = _assessed(each, source, drawn)
            # Where epsilon is spent, its gates were judged before the draw; what fails now is a defect.
            if each.plan.may_be_left_out and not each.plan.spends and refuses(job, decision):
                raise GateRefused.by(decision)
            decisions[name] = decision
            kept.append(drawn)
    require_one_left(job)
    shared: list[dict[str, Any]] = []
    for file in job.plan.files:
        drawn_parts = [(e, d) for e, d in zip(job.outputs, kept, strict=True) if e.plan.output_name in file.outputs]
        judgement = judge_file(job, file, source, drawn_parts)
        decisions[file.name], found = _assessed_file(file, judgement, drawn_parts[0][1].records)
        shared.append({"name": file.name, "outputs": list(file.outputs), **found})
    about_all = differencing(job)
    if job.plan.is_of_several:
        whole = Decision.together(decisions, *([] if about_all is None else [about_all]))
        outputs = [{"name": name, "left_out": name not in decisions, **found} for name, found in assessed.items()]
        assessment: dict[str, Any] = {"decision": whole.as_dict(), "outputs": outputs}
        assessment |= {"files": shared} if shared else {}
    else:
        whole = _with(decisions[None], about_all)
        assessment = {**assessed[None], "decision": whole.as_dict()}
    if not job.is_staged:
        job.run.path("assessment.json").write_text(json.dumps(assessment, indent=2), encoding="utf-8")
    return tuple(kept), whole


def _assessed(job: Job, source: Ingested, staged: Staged) -> tuple[Decision, dict[str, Any]]:
    """Return the decision about one output, and all that was found."""
    judgement = job.plan.output.judge(job, source, staged)
    wanted = _wanted(job.plan, {gate.measure for gate in job.plan.gates})
    decision, found = _judged(judgement, job.plan.gates, wanted, staged.records)
    return decision, {**found, **_used(job, staged)}


def _used(job: Job, staged: Staged) -> dict[str, int]:
    """Return how many records of the source were used, where it is a number of each unit; confidential."""
    if job.plan.unit is None or mechanism_of(job.plan.params).counts_units(job.plan.params):
        return {}
    return {"used": len(load_columns(staged.secrets, only=("kept",))["kept"])}


def _assessed_file(file: File, judgement: Judgement, records: int) -> tuple[Decision, dict[str, Any]]:
    """Return the decision about a file that several outputs share, and all that was found: linkage in any case."""
    gated = {gate.measure for gate in file.gates}
    wanted = (
        name
        for name in measure_names("records")
        if not MEASURES[name].public and (name in gated or not MEASURES[name].on_request)
    )
    return _judged(judgement, file.gates, wanted, records)


def _judged(
    judgement: Judgement, gates: Sequence[Gate], wanted: Iterable[str], records: int
) -> tuple[Decision, dict[str, Any]]:
    """Return the decision and all that was found."""
    gated = {gate.measure: gate for gate in gates}
    measured: dict[str, Measurement] = {}
    undefined: list[str] = []
    for name in wanted:
        try:
            measured[name] = judgement.take(name, gated.get(name, NOTHING))
        except MeasureUndefined:
            if name in gated:
                raise
            undefined.append(name)
    decision = decide(gates, measured, judgement.checks)
    found = {
        "records": records,
        "decision": decision.as_dict(),
        "checks": [check.as_dict() for check in judgement.checks],
        "measurements": [measurement.as_dict() for measurement in measured.values()],
        "undefined": undefined,
        "clamped": [column.as_dict() for column in judgement.clamped],
    }
    if judgement.relaxation is not None:
        found["relaxation"] = judgement.relaxation.as_dict()
    return decision, found


def _wanted(plan: Plan, gated: Collection[str]) -> Iterator[str]:
    """Yield the measures to take: those that a gate asks for, and all that are neither costly nor of public facts.

    Where promises add up, yield all: linkage ends early under noise, and no gate may ask for it.
    """
    for name in measure_names(plan.output.kind):
        chosen = MEASURES[name]
        cheap = plan.guarantee.model in ADDS_UP or not (chosen.costly or chosen.public)
        if name in gated or (cheap and not chosen.on_request):
            yield name


def _with(decision: Decision, result: GateResult | None) -> Decision:
    if result is None:
        return decision
    return Decision(max(decision.verdict, result.verdict), (*decision.results, result))
