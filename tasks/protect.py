"""Protect: the only step that draws. Its output is staged once and found again after a crash."""

from __future__ import annotations

import importlib
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.contributions import bounded
from penstock.mechanisms.randomness import Randomness, require_system, system
from penstock.mechanisms.refusal import Fault
from penstock.records.files.digest import plain_file
from penstock.records.ledger.answers import Answer, content_of
from penstock.records.log.log import Action
from penstock.records.run import RunDamaged
from penstock.tasks.files.columns import load_columns
from penstock.tasks.files.linked import columns_of, stated_columns, stated_tables, tables_of
from penstock.tasks.ingest import Ingested
from penstock.tasks.outputs.output import Staged
from penstock.tasks.repeat import drawn_before, keep, question
from penstock.tasks.run.job import Job
from penstock.tasks.run.step import step

__all__ = ["protect", "staged_before"]


def _not_as_staged(name: str) -> Fault:
    return Fault(
        name, "must be as it was staged", "Find out who changed it. This run ends here; the next one begins anew."
    )


def staged_before(job: Job) -> Staged | None:
    """Return what an earlier attempt of this run drew; refuse it if changed since, because drawing again is no
    remedy."""
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
        chosen=done["settled"],
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
        _keep(job, before)  # that attempt may have died before doing so
        return before
    answer = drawn_before(job, *source.digests)
    if answer is not None:
        return _repeated(job, answer)
    randomness = system()
    require_system(randomness)
    draw = job.plan.output.prepare(job, source)  # before anything is spent: a cluster may fail
    _spend(job, draws=True)  # before the draw, never after
    job.record(Action.PROTECTING, guarantee=job.plan.guarantee.model_dump(mode="json"))
    # The compiler is not safe to load on two threads.
    importlib.import_module("penstock.mechanisms.microaggregation.kernels")
    kept = _rows_kept(job, source, randomness)
    staged = _commit(job, draw(kept, randomness))
    _keep(job, staged)
    return staged


def _repeated(job: Job, answer: Answer) -> Staged:
    """Stage once more what another run drew; nothing is charged for it, but from here on it may be public."""
    _spend(job, draws=False)
    return _commit(job, job.plan.output.take_back(job, answer))


def _spend(job: Job, *, draws: bool) -> None:
    """Tell the ledger that from here on nothing is given back."""
    job.ledger.spend(job.run.id, actor=job.actor, now=datetime.now(UTC), draws=draws)
    head = job.log.head()
    job.run.remember({"seq": head.seq, "digest": head.digest})  # a database restored later would be older than this


def _keep(job: Job, staged: Staged) -> None:
    """Remember a table, so that the same question gets the same answer."""
    if job.plan.output.comes_back:
        keep(job, _question(job), Answer(job.run.id, staged.digest, staged.facts, staged.data, staged.secrets))


def _question(job: Job) -> str:
    """Return the key of what this run asks about the source that it has read; the digest of that is on disk by then."""
    read = job.run.committed("source")
    if read is None:
        raise ValueError("a run asks nothing before it has read its source")
    return question(job, read["digest"])


def _answer(job: Job, staged: Staged) -> str | None:
    """Return what the log says of a table that may come back; records never do, and their secrets can be large."""
    if not job.plan.output.comes_back:
        return None
    return content_of(job.home, _question(job), staged.digest, staged.facts, staged.secrets)


def _commit(job: Job, staged: Staged) -> Staged:
    plan, staged = job.plan, replace(staged, answer=_answer(job, staged))
    facts = {
        "digest": staged.digest,
        "masked": list(staged.masked),
        "records": staged.records,
        "settled": staged.chosen,
        "columns": stated_columns(staged.declared, plan.released),
        "linked": stated_tables(staged.linked, plan.declared),
        **({} if staged.answer is None else {"answer": staged.answer}),
    }
    job.run.commit("protected", facts)
    return staged


def _rows_kept(job: Job, source: Ingested, randomness: Randomness) -> NDArray[np.int64] | None:
    """Return the rows that are used: at most as many of each unit as the promise says; None where all are used."""
    if job.plan.unit is None:
        return None
    if source.units is None:
        raise ValueError("a release about units needs the unit of every row")
    return bounded(load_columns(source.units)["unit"], job.plan.guarantee.parameters["rows_per_unit"], randomness)
