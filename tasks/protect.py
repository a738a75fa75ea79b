"""Protect: the only step that draws. Its output is staged once and found again after a crash.

Every draw is paid for, because right before it, in the same process, the ledger turns a reservation of just that
output into SPENT, which it does once for each reservation. What this run drew and lost, in a crash or because its
source changed and it started over, has used up its own; nothing in the run's folder says that a draw is paid for, so
nothing that is forgotten there, or put back, makes one free. So it is for a single output and for one of several, under
every model. A table that was drawn and committed, but not kept for its question, is lost in the same way if the run
starts over; it is kept when the draws of all outputs are on record.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.contributions import bounded
from penstock.mechanisms.randomness import Randomness, require_system, system
from penstock.mechanisms.refusal import Fault
from penstock.mechanisms.registry import mechanism_of
from penstock.records.files.digest import plain_file
from penstock.records.ledger.accounts import Claim
from penstock.records.ledger.answers import Answer, content_of
from penstock.records.log.log import Action
from penstock.records.run import RunDamaged
from penstock.tasks.files.columns import load_columns
from penstock.tasks.files.linked import columns_of, stated_columns, stated_tables, tables_of
from penstock.tasks.ingest import Ingested
from penstock.tasks.leave_out import require_one_left, unless_left_out
from penstock.tasks.outputs.output import Draw, Staged
from penstock.tasks.repeat import drawn_before, keep, question
from penstock.tasks.run.job import Job
from penstock.tasks.run.step import step
from penstock.tasks.shared_files import digests_of_files, join_files

__all__ = ["claim_of", "drawn_digests", "has_drawn", "keep_drawn", "protect", "staged_before"]


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


def claim_of(job: Job, source: Ingested, answer: Answer | None) -> Claim:
    """Return what an output asks of the ledger; where an answer comes back, nothing is drawn for it."""
    claim = job.plan.claim(source.digest, source.values, source.formerly, source.files)
    return claim if answer is None else replace(claim, epsilon=None, delta=Fraction(0), repeats=answer.run)


def has_drawn(job: Job) -> bool:
    """Return whether this run has drawn any of its outputs."""
    return any(each.run.committed("protected") is not None for each in job.every_output)


def drawn_digests(job: Job, staged: Sequence[Staged]) -> dict[str, Any]:
    """Return digests of what was drawn, for the log; of several outputs by their names."""
    if not job.plan.is_of_several:
        return staged[0].digests
    digests = {str(each.plan.output_name): drawn.digests for each, drawn in zip(job.outputs, staged, strict=True)}
    files = digests_of_files(job)
    return {"outputs": digests, **({"files": files} if files else {})}


@step("protect")
def protect(job: Job, source: Ingested) -> tuple[Staged, ...]:
    """Apply the mechanism of every output, put records in random order, stage the files; never
    draw twice."""
    missing = [each for each in job.outputs if staged_before(each) is None]
    if missing:
        _draw_or_repeat(job, missing, source)
    require_one_left(job)
    staged = tuple(drawn for drawn in map(staged_before, job.outputs) if drawn is not None)
    join_files(job)
    return staged


def _draw_or_repeat(job: Job, missing: list[Job], source: Ingested) -> None:
    """Stage what is missing: drawn now, or as it was drawn before. All of it was reserved before any of it is drawn,
    and so counts; each output is spent when its own draw begins."""
    answers = {each.plan.output_name: drawn_before(each, *source.digests) for each in missing}
    fresh = [each for each in missing if answers[each.plan.output_name] is None]
    randomness = system()
    require_system(randomness)
    draws = {}
    for each in fresh:
        with unless_left_out(each):
            draws[each.plan.output_name] = each.plan.output.prepare(each, source)  # a cluster may fail
    if draws:
        # The compiler is not safe to load on two threads.
        importlib.import_module("penstock.mechanisms.microaggregation.kernels")
    told = False
    for each in missing:
        answer = answers[each.plan.output_name]
        if answer is not None:  # nothing is charged for it, but from here on it may be public
            _spend(each, draws=False)
            _commit(each, each.plan.output.take_back(each, answer))
        elif not each.is_left_out:
            _spend(each, draws=True)  # before the draw, never after
            if not told:
                job.record(Action.PROTECTING, **_promised(job))
                told = True
            with unless_left_out(each):
                _draw(each, source, draws[each.plan.output_name], randomness)


def _draw(job: Job, source: Ingested, draw: Draw, randomness: Randomness) -> None:
    kept = _rows_kept(job, source, randomness)
    _commit(job, draw(kept, randomness))


def _promised(job: Job) -> dict[str, Any]:
    plan = job.plan
    if not plan.is_of_several:
        return {"guarantee": plan.guarantee.model_dump(mode="json")}
    return {"guarantees": {str(each.output_name): each.guarantee.model_dump(mode="json") for each in plan.outputs}}


def _spend(job: Job, *, draws: bool) -> None:
    """Tell the ledger that from here on nothing of an output is given back. draws: it is drawn now; otherwise it comes
    back."""
    only = (job.plan.output_name,)
    job.ledger.spend(job.run.id, actor=job.actor, now=datetime.now(UTC), draws=only if draws else (), only=only)
    head = job.log.head()
    job.run.remember({"seq": head.seq, "digest": head.digest})  # a database restored later would be older than this


def keep_drawn(job: Job, staged: Sequence[Staged]) -> None:
    """Remember every table, so that the same question gets the same answer.

    Only once the log says what was drawn: an answer that is not on record is not believed. A run that is refused or
    dies between two of its draws leaves none behind; what was drawn then is lost.
    """
    for each, drawn in zip(job.outputs, staged, strict=True):
        if each.plan.output.comes_back:
            keep(each, _question(each), Answer(each.run.id, drawn.digest, drawn.facts, drawn.data, drawn.secrets))


def _question(job: Job) -> str:
    """Return the key of what this run asks about the source that it has read; the digest of that is on disk by then."""
    read = (job.whole or job).run.committed("source")
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
    if job.plan.unit is None or mechanism_of(job.plan.params).counts_units(job.plan.params):
        return None
    if source.units is None:
        raise ValueError("a release about units needs the unit of every row")
    return bounded(load_columns(source.units)["unit"], job.plan.guarantee.parameters["rows_per_unit"], randomness)
