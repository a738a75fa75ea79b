"""Protect: the only step that draws. Its output is staged once and found again after a crash."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mechanisms import probabilistic_k_anonymity
from mechanisms.guarantee import Guarantee
from mechanisms.permutation import permutation
from mechanisms.randomness import require_system, system
from mechanisms.refusal import Refusal
from records import durable
from records.digest import plain_file
from records.log import Action
from records.run import RunDamaged
from tasks.ingest import Ingested
from tasks.job import Job
from tasks.step import step
from tasks.tables import load_columns, save_columns, write_release

__all__ = ["PromiseDiffers", "Staged", "protect", "staged_before"]


class PromiseDiffers(Refusal):
    """The mechanism's own promise is not the one that was planned, so neither is published."""

    code = "promise-differs"
    kind = "integrity"


@dataclass(frozen=True, slots=True)
class Staged:
    """A reference to the protected table, still on the confidential side.

    secrets: folder with the group labels and the source row of each released row.
    """

    data: Path
    digest: str
    masked: tuple[str, ...]
    secrets: Path


def staged_before(job: Job) -> Staged | None:
    """What an earlier attempt of this run drew; refused if it was changed since, because to draw again is no remedy."""
    done = job.run.committed("protected")
    if done is None:
        return None
    data = job.run.path("protected.parquet")
    if not data.is_file() or plain_file(data) != done["digest"]:
        raise RunDamaged.at(
            "protected.parquet",
            rule="must be as it was staged",
            remedy="Find out who changed it. This run ends here; the next one begins anew.",
        )
    return Staged(data, done["digest"], tuple(done["masked"]), job.run.path("secrets"))


@step("protect")
def protect(job: Job, source: Ingested) -> Staged:
    """Apply the mechanism, put the rows in random order, stage the file; never draw twice."""
    before = staged_before(job)
    if before is not None:
        return before
    randomness = system()
    require_system(randomness)
    plan = job.plan
    job.ledger.spend(job.run.id, actor=job.actor, now=datetime.now(UTC))  # before the draw, never after
    head = job.log.head()
    job.run.remember({"seq": head.seq, "digest": head.digest})  # a database put back later would be older than this
    job.record(Action.PROTECTING, guarantee=plan.guarantee.model_dump(mode="json"))
    data = job.run.path("protected.parquet")
    with ThreadPoolExecutor(1) as beside:
        shuffling = beside.submit(permutation, source.rows, randomness)
        protected = probabilistic_k_anonymity.protect(
            load_columns(source.folder), plan.data_columns, plan.params, randomness
        )
        origin = shuffling.result()
        _require_planned(protected.guarantee, plan.guarantee)
        write_release(data, protected.columns, plan.declared, plan.guarantee, origin)
        on_disk = beside.submit(durable.sync, data)  # the disk writes while the processor counts
        digest = plain_file(data)
        on_disk.result()
    labels = {f"group {name}": groups for name, groups in protected.groups.items()}
    save_columns(job.run.path("secrets"), {"origin": origin, **labels})
    job.run.commit("protected", {"digest": digest, "masked": list(protected.masked)})
    return Staged(data, digest, protected.masked, job.run.path("secrets"))


def _require_planned(given: Guarantee, planned: Guarantee) -> None:
    """What the mechanism promises must be what was planned; the plan may only add what is not promised."""
    if given.model_copy(update={"not_promised": planned.not_promised}) != planned or not set(given.not_promised) <= set(
        planned.not_promised
    ):
        raise PromiseDiffers.at(
            "protect", rule="the mechanism promises something else than was planned", remedy="Report this defect."
        )
