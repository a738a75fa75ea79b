"""The cells of a table's records: counted part by part, or in one pass for several tables of a release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.mechanisms.mechanism import ByCell
from penstock.mechanisms.registry import AnyParams, mechanism_of
from penstock.tasks.files.columns import load_columns

if TYPE_CHECKING:
    from penstock.mechanisms.columns import Column
    from penstock.tasks.ingest import Ingested
    from penstock.tasks.run.job import Job

__all__ = ["cells_of"]


def cells_of(job: Job, source: Ingested) -> Any:
    """Return the cells of all records; None where the mechanism is to count for itself."""
    plan, how = job.plan, mechanism_of(job.plan.params).in_parts
    if not isinstance(how, ByCell):
        return None
    whole = None if job.whole is None or plan.unit is not None else _table_for_several(job.whole, plan.output_name, how)
    if whole is None:
        return _counted(job, source, plan.used_columns, plan.params, how) if source.parts else None
    shared = (job.whole or job).counted
    key = whole.model_dump_json()
    if key not in shared:
        used = (job.whole or job).plan.used_columns
        wanted = {n for n in used if n in (*whole.dimensions, *whole.sums)} or set(tuple(used)[:1])
        shared[key] = _counted(job, source, {n: column for n, column in used.items() if n in wanted}, whole, how)
    return how.taken(shared[key], whole, plan.params)


def _table_for_several(release: Job, name: str | None, how: ByCell) -> Any:
    """Return the settings of a table whose cells serve this output and others; None where there is none."""
    tables = {
        str(plan.output_name): plan.params for plan in release.plan.outputs if mechanism_of(plan.params).in_parts is how
    }
    return how.together(tables, release.plan.declared).get(str(name))


def _counted(job: Job, source: Ingested, used: dict[str, Column], params: AnyParams, how: ByCell) -> Any:
    if source.parts:
        from penstock.tasks.parts.cells import counted_cells  # a plan is made without Prefect

        return counted_cells(source.parts, used, params, how, job.plan.address)  # a cluster may fail
    read = load_columns(source.folder, only=used, as_stored=True)  # codes are looked up, values put on a grid
    return how.count({name: read[name] for name in used}, used, params)
