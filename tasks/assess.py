"""Assess: re-check the promise on the staged file, measure risk and utility, decide at the gates."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from measures import measure, measure_names
from measures.gates import Decision, decide
from measures.measurement import Measurement, MeasureUndefined
from measures.recheck import recheck
from tasks.ingest import Ingested
from tasks.job import Job
from tasks.protect import Staged
from tasks.step import step
from tasks.tables import load_columns, read_release

__all__ = ["assess"]

# Linkage searches every record's neighbourhood; it runs where a gate asks for it.
_ONLY_IF_GATED = frozenset({"record_linkage"})
# Associations between a masked and an unchanged column change too, so this one sees all columns.
_OVER_ALL_COLUMNS = frozenset({"correlation_change"})


@step("assess")
def assess(job: Job, source: Ingested, staged: Staged) -> Decision:
    """Every check and every gate runs; the decision and all values stay on the confidential side."""
    plan = job.plan
    original = load_columns(source.folder)
    secrets = load_columns(staged.secrets)
    origin = secrets.pop("origin")
    groups = {name.removeprefix("group "): labels for name, labels in secrets.items()}
    released = {name: _in_source_order(v, origin) for name, v in read_release(staged.data, plan.declared).items()}
    checks = recheck(original, released, plan.declared, plan.guarantee, staged.masked, groups)
    gated = {gate.measure for gate in plan.gates}
    measured: dict[str, Measurement] = {}
    undefined: list[str] = []
    for name in measure_names():
        if name in _ONLY_IF_GATED - gated:
            continue
        judged = released if name in _OVER_ALL_COLUMNS else {column: released[column] for column in staged.masked}
        try:
            measured[name] = measure(name)(original, judged, plan.declared, groups=groups)
        except MeasureUndefined:
            if name in gated:
                raise
            undefined.append(name)
    decision = decide(plan.gates, measured, checks)
    assessment = {
        "decision": decision.as_dict(),
        "checks": [check.as_dict() for check in checks],
        "measurements": [measurement.as_dict() for measurement in measured.values()],
        "undefined": undefined,
    }
    job.run.path("assessment.json").write_text(json.dumps(assessment, indent=2), encoding="utf-8")
    return decision


def _in_source_order(values: NDArray[Any], origin: NDArray[np.int64]) -> NDArray[Any]:
    aligned = np.empty_like(values)
    aligned[origin] = values
    return aligned
