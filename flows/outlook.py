"""Looking ahead: what a spec promises, what to expect of it and what it costs, before it runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flows.plan import draw_up_plan
from flows.spec import ReleaseSpec
from mechanisms.foresight import foresee
from records.approval import Rule
from tasks.expectations import whole_suite
from tasks.plan import Plan
from tasks.source import count_rows, open_source

__all__ = ["look_ahead"]


def look_ahead(spec: ReleaseSpec, *, count: bool) -> dict[str, Any]:
    """The plan as one document. Reads the source's schema if it is there and, if asked, its number of records."""
    plan = draw_up_plan(spec)
    whole_suite(plan.declared, plan.min_rows, plan.suite)  # a suite that cannot run is refused here already
    rows = None
    source = "The source does not exist yet; its columns were not checked."
    if count or Path(plan.source).exists():
        dataset = open_source(plan.source, plan.declared)
        source = "The source has every declared column in the declared type."
        rows = count_rows(dataset) if count else None
    return {
        "name": plan.name,
        "spec_digest": plan.spec_digest,
        "guarantee": plan.guarantee.model_dump(mode="json"),
        "records": rows,
        "expect": list(foresee(plan.params, plan.declared, rows)),
        "gates": [gate.rule for gate in plan.gates],
        "cost": [*_cost(plan), source],
        "review": _review(plan.rule),
        "publishes_to": str(plan.publish / plan.name),
    }


def _cost(plan: Plan) -> Iterator[str]:
    epsilon = plan.claim("").epsilon
    where = f"data set {plan.dataset}" if plan.dataset is not None else "the digest of its source"
    if epsilon is None:
        yield f"Epsilon: none, the promise is not differential privacy. The release is registered under {where}."
        yield "Another release of the same records is refused unless its spec acknowledges this one by its id."
    else:
        part = "" if plan.part is None else f", part {plan.part[1]} of {plan.part[0]}"
        yield f"Epsilon: {epsilon} of the {plan.guarantee.model} account of {where}{part}, whatever becomes of the run."


def _review(rule: Rule | None) -> list[str]:
    if rule is None:
        return ["Nobody is asked; it is published when every gate passes."]
    who = ", ".join(rule.allowed)
    time = str(rule.within).removesuffix(", 0:00:00")
    return [f"{rule.reviewers} of {who} must approve within {time}; who starts the run does not count."]
