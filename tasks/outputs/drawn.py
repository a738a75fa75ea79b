"""What all draws share: the mechanism applied to the rows that are used, its promise compared with the plan's."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.protected import Protected
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.refusal import Refusal
from penstock.mechanisms.registry import mechanism_of
from penstock.mechanisms.shared_file import in_random_order
from penstock.records.files.digest import plain_file
from penstock.tasks.files.columns import load_columns
from penstock.tasks.files.linked import StagedTable
from penstock.tasks.outputs.output import Staged

if TYPE_CHECKING:
    from penstock.tasks.ingest import Ingested
    from penstock.tasks.run.job import Job

__all__ = ["PromiseDiffers", "protected_rows", "require_planned", "staged_as", "units_of"]


class PromiseDiffers(Refusal):
    """The mechanism's own promise is not the one that was planned, so neither is published."""

    code = "promise-differs"
    kind = "integrity"
    remedy = "Report this defect; nothing was published."


def protected_rows(job: Job, source: Ingested, kept: NDArray[np.int64] | None, randomness: Randomness) -> Protected:
    """Apply the mechanism to the rows that are used; refuse another promise than the planned one."""
    plan = job.plan
    used = plan.used_columns
    read = load_columns(source.folder, kept, used)  # a suite, or another output, may have asked for others
    columns = {name: read[name] for name in used}
    mechanism = mechanism_of(plan.params)
    units = units_of(job, source)
    protect = mechanism.protect if units is None else partial(mechanism.protect, units=units)
    if plan.file_of(plan.output_name) is not None:
        protect = partial(in_random_order, protect)
    protected = protect(columns, used, plan.params, randomness)
    require_planned(protected.guarantee, plan.guarantee)
    return protected


def units_of(job: Job, source: Ingested) -> NDArray[np.int64] | None:
    """Return whose each record is, for an output that counts units; None for any other."""
    params = job.plan.params
    if source.units is None or not mechanism_of(params).counts_units(params):
        return None
    return load_columns(source.units)["unit"]


def require_planned(given: Guarantee, planned: Guarantee) -> None:
    """Refuse a promise that is not the planned one; the plan may only add what it knows of the data: what is public
    about them, what is assumed, and what is not promised."""
    added = {name: getattr(planned, name) for name in ("public", "assumptions", "not_promised")}
    if given.model_copy(update=added) != planned or not all(set(getattr(given, n)) <= set(added[n]) for n in added):
        raise PromiseDiffers.at("protect", rule="must make the promise that was planned", remedy="Report this defect.")


def staged_as(
    job: Job,
    masked: tuple[str, ...],
    records: int,
    chosen: Mapping[str, Any],
    declared: Mapping[str, Column] | None = None,
    linked: tuple[StagedTable, ...] = (),
) -> Staged:
    """Return a reference to what lies in the run's folder now."""
    data = job.run.path("protected.parquet")
    secrets = job.run.path("secrets")
    return Staged(data, plain_file(data), masked, records, dict(chosen), secrets, declared or {}, linked)
