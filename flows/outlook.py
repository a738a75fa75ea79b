"""Looking ahead: what a spec promises, what to expect of it and what it costs, before it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flows.plan import draw_up_plan
from flows.spec import ReleaseSpec
from mechanisms.foresight import foresee
from tasks.expectations import whole_suite
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
    budget = f" of {spec.budget.epsilon} for {spec.budget.dataset}" if spec.budget else ""
    return {
        "name": plan.name,
        "spec_digest": plan.spec_digest,
        "guarantee": plan.guarantee.model_dump(mode="json"),
        "records": rows,
        "expect": list(foresee(plan.params, plan.declared, rows)),
        "gates": [gate.rule for gate in plan.gates],
        "cost": [f"Epsilon spent: 0{budget}. The promise is not differential privacy and has no epsilon.", source],
        "publishes_to": str(plan.publish / plan.name),
    }
