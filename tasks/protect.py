"""Protect: the only step that draws. Its output is staged once and found again after a crash."""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.contributions import bounded
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.mechanism import ByCell, ByColumn
from penstock.mechanisms.permutation import permutation
from penstock.mechanisms.protected import Protected
from penstock.mechanisms.randomness import Randomness, require_system, system
from penstock.mechanisms.refusal import Fault, Refusal
from penstock.mechanisms.registry import mechanism_of
from penstock.records.files import durable
from penstock.records.files.digest import plain_file
from penstock.records.ledger.answers import Answer, content_of
from penstock.records.log.log import Action
from penstock.records.run import RunDamaged
from penstock.tasks.files.columns import load_columns, save_columns, write_release, write_rows
from penstock.tasks.files.linked import StagedTable, columns_of, stage_linked, stated_columns, stated_tables, tables_of
from penstock.tasks.files.tables import write_table
from penstock.tasks.ingest import Ingested
from penstock.tasks.parts.cells import counted_cells
from penstock.tasks.parts.swap import Columns, swap_columns
from penstock.tasks.repeat import drawn_before, keep, question, take_back
from penstock.tasks.run.job import Job
from penstock.tasks.run.step import step

__all__ = ["PromiseDiffers", "Staged", "protect", "staged_before"]


class PromiseDiffers(Refusal):
    """The mechanism's own promise is not the one that was planned, so neither is published."""

    code = "promise-differs"
    kind = "integrity"
    remedy = "Report this defect; nothing was published."


@dataclass(frozen=True, slots=True)
class Staged:
    """A reference to the protected output, still on the confidential side.

    records: rows of the output; fewer than the source has where contributions are bounded, and cells of a table.
    settled: public facts that the mechanism chose.
    secrets: folder with the rows that were used if not all were (kept, rising); of records the source row of each
    released one (origin), for each masked column the group of every row that was used, and the hidden account
    (penstock.mechanisms.protected); of a table its hidden account alone.
    declared: the columns of the output in their order, where it consists of records: those of the plan, and those that
    the mechanism made. linked: the tables beside the records.
    answer: of a table, the keyed digest of its question, data, facts and secrets (penstock.records.ledger.answers).
    """

    data: Path
    digest: str
    masked: tuple[str, ...]
    records: int
    settled: Mapping[str, Any]
    secrets: Path
    declared: Mapping[str, Column] = field(default_factory=dict)
    linked: tuple[StagedTable, ...] = ()
    answer: str | None = None

    @property
    def digests(self) -> dict[str, Any]:
        """Of what was drawn and will be published, for the log; of a table also what comes back with it."""
        tables = {table.name: table.digest for table in self.linked}
        answer = {} if self.answer is None else {"answer": self.answer}
        return {"data": self.digest, **({"linked": tables} if tables else {}), **answer}

    @property
    def facts(self) -> dict[str, Any]:
        """What is kept of a table beside its figures."""
        return {"records": self.records, "settled": dict(self.settled)}


def _not_as_staged(name: str) -> Fault:
    return Fault(
        name, "must be as it was staged", "Find out who changed it. This run ends here; the next one begins anew."
    )


def staged_before(job: Job) -> Staged | None:
    """What an earlier attempt of this run drew; refused if it was changed since, because to draw again is no remedy."""
    done = job.run.committed("protected")
    if done is None:
        return None
    data, plan = job.run.path("protected.parquet"), job.plan
    linked = tables_of(job.run.path("linked"), done["linked"], plan.declared)
    changed = [] if data.is_file() and plain_file(data) == done["digest"] else [data.name]
    changed += [f"linked/{table.data.name}" for table in linked if not table.is_as_staged]
    RunDamaged.raise_for(map(_not_as_staged, changed))
    before = Staged(
        data=data,
        digest=done["digest"],
        masked=tuple(done["masked"]),
        records=done["records"],
        settled=done["settled"],
        secrets=job.run.path("secrets"),
        declared=columns_of(done["columns"], plan.released),
        linked=linked,
        answer=done.get("answer"),
    )
    if before.answer is not None and before.answer != _answer(job, before):
        raise RunDamaged(_not_as_staged("secrets"))
    return before


@step("protect")
def protect(job: Job, source: Ingested) -> Staged:
    """Apply the mechanism, put records in random order, stage the file; never draw twice."""
    before = staged_before(job)
    if before is not None:
        _keep(job, before)  # it may have died before it did
        return before
    answer = drawn_before(job, *source.digests)
    if answer is not None:
        return _repeated(job, answer)
    randomness = system()
    require_system(randomness)
    plan = job.plan
    in_parts = mechanism_of(plan.params).in_parts if source.parts else None
    counted = None
    if isinstance(in_parts, ByCell):  # before anything is spent: a cluster may fail
        cells = counted_cells(source.parts, plan.used_columns, plan.params, in_parts, plan.address)
        counted = partial(in_parts.protect_cells, cells, plan.data_columns, plan.params)
    _spend(job, draws=True)  # before the draw, never after
    job.record(Action.PROTECTING, guarantee=plan.guarantee.model_dump(mode="json"))
    # The compiler is not safe to load on two threads.
    importlib.import_module("penstock.mechanisms.microaggregation.kernels")
    kept = _rows_kept(job, source, randomness)
    if isinstance(in_parts, ByColumn):
        staged = _commit(job, _draw_columns(job, source, in_parts, randomness))
    elif plan.layout is None:
        staged = _commit(job, _draw_records(job, source, kept, randomness))
    else:
        staged = _commit(job, _draw_table(job, source, kept, counted, randomness))
    _keep(job, staged)
    return staged


def _draw_records(job: Job, source: Ingested, kept: NDArray[np.int64] | None, randomness: Randomness) -> Staged:
    """Protected records, shuffled, written and on disk; linked tables and their secret account beside them."""
    plan = job.plan
    data = job.run.path("protected.parquet")
    records = source.rows if kept is None else len(kept)
    with ThreadPoolExecutor(1) as beside:
        shuffling = beside.submit(permutation, records, randomness)
        protected = _protected(job, source, kept, randomness)
        order = shuffling.result()
        declared = {name: protected.made.get(name) or plan.released[name] for name in protected.columns}
        write_release(data, protected.columns, declared, plan.guarantee, order)
        on_disk = beside.submit(durable.sync, data)  # the disk writes while the processor counts
        save_columns(job.run.path("secrets"), _secrets(protected, order, kept))
        linked = stage_linked(job.run.path("linked"), protected.linked, plan.guarantee)
        on_disk.result()
    return _staged(job, protected.masked, records, protected.settled, declared, linked)


def _draw_columns(job: Job, source: Ingested, how: ByColumn, randomness: Randomness) -> Staged:
    """Draw records that are never held together: column by column, then written by rows."""
    plan = job.plan
    _require_planned(mechanism_of(plan.params).promise(plan.params, plan.data_columns), plan.guarantee)
    secrets = job.run.path("secrets")
    shutil.rmtree(secrets, ignore_errors=not secrets.exists())  # of an attempt that died, which was charged
    attempt = job.run.path("scratch") / f"draw-{job.log.head().seq}"
    sizes = how.sizes(plan.params, plan.data_columns)
    columns = Columns(source.parts, plan.released, sizes, how.protect_column)
    swapped = swap_columns(columns, attempt, secrets, address=plan.address, randomness=randomness)
    data = job.run.path("protected.parquet")
    write_rows(data, plan.released, plan.guarantee, source.rows, lambda name, rows: swapped.columns[name][rows])
    return _staged(job, swapped.masked, source.rows, {}, plan.released)


def _draw_table(
    job: Job,
    source: Ingested,
    kept: NDArray[np.int64] | None,
    counted: Callable[[Randomness], Protected] | None,
    randomness: Randomness,
) -> Staged:
    """Draw a protected table and write it; its cells have their public order, so nothing is shuffled."""
    layout = job.plan.table
    if counted is None:
        protected = _protected(job, source, kept, randomness)
    else:
        protected = counted(randomness)
        _require_planned(protected.guarantee, job.plan.guarantee)
    write_table(job.run.path("protected.parquet"), protected.columns, layout, job.plan.guarantee)
    rows = {} if kept is None else {"kept": kept}
    save_columns(job.run.path("secrets"), {**rows, **protected.hidden})
    return _staged(job, protected.masked, layout.rows, protected.settled)


def _protected(job: Job, source: Ingested, kept: NDArray[np.int64] | None, randomness: Randomness) -> Protected:
    plan = job.plan
    read, used = load_columns(source.folder, kept), plan.used_columns
    columns = {name: read[name] for name in used}  # a suite may have asked for others
    protected = mechanism_of(plan.params).protect(columns, used, plan.params, randomness)
    _require_planned(protected.guarantee, plan.guarantee)
    return protected


def _repeated(job: Job, answer: Answer) -> Staged:
    """What another run drew, staged once more; nothing is charged for it, but from here on it may be out."""
    _spend(job, draws=False)
    take_back(job, answer)
    settled = {**answer.facts["settled"], "table": job.plan.table.name}
    return _commit(job, _staged(job, (), answer.facts["records"], settled))


def _spend(job: Job, *, draws: bool) -> None:
    """Tell the ledger that from here on nothing is given back."""
    job.ledger.spend(job.run.id, actor=job.actor, now=datetime.now(UTC), draws=draws)
    head = job.log.head()
    job.run.remember({"seq": head.seq, "digest": head.digest})  # a database put back later would be older than this


def _keep(job: Job, staged: Staged) -> None:
    """A table is remembered, so that the same question gets the same answer."""
    if job.plan.layout is not None:
        keep(job, _question(job), Answer(job.run.id, staged.digest, staged.facts, staged.data, staged.secrets))


def _question(job: Job) -> str:
    """What this run asks, about the source that it has read: its digest is on disk since."""
    read = job.run.committed("source")
    if read is None:
        raise ValueError("a run asks nothing before it has read its source")
    return question(job, read["digest"])


def _answer(job: Job, staged: Staged) -> str | None:
    """What the log says of a table that may come back; records never do, and their secrets can be large."""
    if job.plan.layout is None:
        return None
    return content_of(job.home, _question(job), staged.digest, staged.facts, staged.secrets)


def _staged(
    job: Job,
    masked: tuple[str, ...],
    records: int,
    settled: Mapping[str, Any],
    declared: Mapping[str, Column] | None = None,
    linked: tuple[StagedTable, ...] = (),
) -> Staged:
    data = job.run.path("protected.parquet")
    secrets = job.run.path("secrets")
    staged = Staged(data, plain_file(data), masked, records, dict(settled), secrets, declared or {}, linked)
    return replace(staged, answer=_answer(job, staged))


def _commit(job: Job, staged: Staged) -> Staged:
    plan = job.plan
    facts = {
        "digest": staged.digest,
        "masked": list(staged.masked),
        "records": staged.records,
        "settled": staged.settled,
        "columns": stated_columns(staged.declared, plan.released),
        "linked": stated_tables(staged.linked, plan.declared),
        **({} if staged.answer is None else {"answer": staged.answer}),
    }
    job.run.commit("protected", facts)
    return staged


def _rows_kept(job: Job, source: Ingested, randomness: Randomness) -> NDArray[np.int64] | None:
    """The rows that are used: of each unit at most as many as the promise says; None where all are."""
    if job.plan.unit is None:
        return None
    if source.units is None:
        raise ValueError("a release about units needs the unit of every row")
    return bounded(load_columns(source.units)["unit"], job.plan.guarantee.parameters["rows_per_unit"], randomness)


def _secrets(protected: Protected, order: NDArray[np.int64], kept: NDArray[np.int64] | None) -> dict[str, NDArray[Any]]:
    """What `Staged.secrets` holds; released row i is row order[i] of the mechanism's output."""
    origin = order if protected.origin is None else protected.origin[order]
    rows = {"origin": origin} if kept is None else {"origin": kept[origin], "kept": kept}
    groups = {f"group {name}": labels for name, labels in protected.groups.items()}
    return {**rows, **groups, **{f"hidden {name}": values for name, values in protected.hidden.items()}}


def _require_planned(given: Guarantee, planned: Guarantee) -> None:
    """What the mechanism promises must be what was planned; the plan may only add what it knows of the data: what is
    public about them, what is assumed, and what is not promised."""
    added = {name: getattr(planned, name) for name in ("public", "assumptions", "not_promised")}
    if given.model_copy(update=added) != planned or not all(set(getattr(given, n)) <= set(added[n]) for n in added):
        raise PromiseDiffers.at("protect", rule="must make the promise that was planned", remedy="Report this defect.")
