"""The plan: what a spec promises, what it costs, what to expect. Pure; spends nothing."""

from __future__ import annotations

import hashlib
from pathlib import Path

from flows.spec import ReleaseSpec
from mechanisms.guarantee import compose
from mechanisms.probabilistic_k_anonymity import promise
from records.digest import canonical
from tasks.plan import Plan

__all__ = ["draw_up_plan"]


def draw_up_plan(spec: ReleaseSpec) -> Plan:
    """Resolve a spec; the composed guarantee is computed here and nowhere else."""
    as_data = spec.model_dump(mode="json", exclude_none=True)
    guarantee = compose([promise(params, spec.columns) for params in spec.protect])
    return Plan(
        name=spec.name,
        source=spec.source.path,
        declared=spec.columns,
        suite=spec.validation.suite,
        min_rows=spec.validation.min_rows,
        params=spec.protect[0],
        gates=spec.gates,
        publish=Path(spec.publish.path),
        formats=spec.publish.formats,
        guarantee=guarantee,
        spec=as_data,
        spec_digest=hashlib.sha256(canonical(as_data)).hexdigest(),
    )
