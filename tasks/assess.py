"""Assess: re-check the promise on the staged file, measure risk and utility, decide at the gates."""

from __future__ import annotations

import json

import numpy as np

from measures import measure_names
from measures.comparison import Comparison, compare
from measures.gates import Decision, decide
from measures.measurement import Measurement, MeasureUndefined
from measures.recheck import recheck
from measures.registry import judge, public_measures
from mechanisms.columns import Columns
from mechanisms.guarantee import ADDS_UP
from tasks.ingest import Ingested
from tasks.job import Job
from tasks.protect import Staged
from tasks.step import step
from tasks.tables import load_columns, read_release

__all__ = ["assess"]

# Linkage searches every record's neighbourhood; it runs where a gate asks for it. Under noise it ends early, and no
# gate may ask for it where promises add up.
_ONLY_IF_GATED = frozenset({"record_linkage"})
# Associations between a masked and an unchanged column change too, so this one sees all columns.
_OVER_ALL_COLUMNS = frozenset({"correlation_change"})


@step("assess")
def assess(job: Job, source: Ingested, staged: Staged) -> Decision:
    """Every check and every gate runs; the decision and all values stay on the confidential side."""
    plan = job.plan
    secrets = load_columns(staged.secrets)
    origin, kept = secrets.pop("origin"), secrets.pop("kept", None)
    places = origin if kept is None else np.searchsorted(kept, origin)  # among the rows that were used
    original = load_columns(source.folder, kept)  # a released list of categories begins with the declared ones
    released = read_release(staged.data, plan.released, places)
    groups = {name.removeprefix("group "): labels for name, labels in secrets.items()}
    checks = recheck(original, released, plan.released, plan.guarantee, staged.masked, groups, staged.settled)
    gated = {gate.measure for gate in plan.gates}

    def compared(columns: Columns) -> Comparison:
        aligned = plan.guarantee.parameters.get("mode") != "marginals"
        return compare(original, columns, plan.released, groups, settled=staged.settled, aligned=aligned)

    everything, masked = compared(released), compared({name: released[name] for name in staged.masked})
    left_out = frozenset() if plan.guarantee.model in ADDS_UP else _ONLY_IF_GATED | public_measures()
    wanted = [name for name in measure_names() if name in gated or name not in left_out]

    def take(name: str) -> Measurement | None:
        try:
            return judge(name, everything if name in _OVER_ALL_COLUMNS else masked)
        except MeasureUndefined:
            if name in gated:
                raise
            return None

    taken = {name: take(name) for name in wanted}
    measured = {name: measurement for name, measurement in taken.items() if measurement is not None}
    decision = decide(plan.gates, measured, checks)
    assessment = {
        "records": staged.records,
        "decision": decision.as_dict(),
        "checks": [check.as_dict() for check in checks],
        "measurements": [measurement.as_dict() for measurement in measured.values()],
        "undefined": [name for name, measurement in taken.items() if measurement is None],
    }
    job.run.path("assessment.json").write_text(json.dumps(assessment, indent=2), encoding="utf-8")
    return decision
