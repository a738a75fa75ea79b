"""Files in which the records of several outputs stand side by side: put together after the draws, judged as one.

All parts were drawn in one order, which was committed with the first of them, so a file follows from its parts: after a
crash it is made again as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from penstock.measures.records.shared_file import FilePart, SharedFile
from penstock.mechanisms.models import MODELS
from penstock.mechanisms.refusal import Fault
from penstock.records.files import durable
from penstock.records.files.digest import plain_file
from penstock.records.run import RunDamaged
from penstock.tasks.files.columns import load_columns, read_release
from penstock.tasks.files.joined import join_releases
from penstock.tasks.ingest import Ingested
from penstock.tasks.outputs.output import Judgement, Staged
from penstock.tasks.outputs.part_of_file import data_of
from penstock.tasks.outputs.records import named_secrets
from penstock.tasks.run.job import Job
from penstock.tasks.run.plan import File

__all__ = ["digests_of_files", "join_files", "judge_file"]

_JOINED = "files"


def join_files(job: Job) -> None:
    """Write the files that outputs share, once all of these are drawn; refuse one that changed since."""
    if not job.plan.files:
        return
    done = job.run.committed(_JOINED)
    if done is not None:
        RunDamaged.raise_for(_changed(job, done["digests"]))
        return
    for file in job.plan.files:
        parts = [each for each in job.outputs if each.plan.output_name in file.outputs]
        promises = {str(each.plan.output_name): each.plan.guarantee for each in parts}
        data = data_of(job, file.name)
        join_releases(data, [each.run.path("protected.parquet") for each in parts], list(file.declared), promises)
        durable.sync(data)
    job.run.commit(_JOINED, {"digests": {file.name: plain_file(data_of(job, file.name)) for file in job.plan.files}})


def _changed(job: Job, digests: dict[str, str]) -> Iterator[Fault]:
    for name, digest in digests.items():
        data = data_of(job, name)
        if not data.is_file() or plain_file(data) != digest:
            remedy = "Find out who changed it. This run ends here; the next one begins anew."
            yield Fault(data.name, "must be as it was staged", remedy)


def digests_of_files(job: Job) -> dict[str, str]:
    """Return digests of the files that outputs share, for the log; none where there are none."""
    return dict((job.run.committed(_JOINED) or {"digests": {}})["digests"])


def judge_file(job: Job, file: File, source: Ingested, drawn: Sequence[tuple[Job, Staged]]) -> Judgement:
    """Read a file back, check how its rows are put together, and get ready to measure all of its columns together."""
    row_by_row = np.arange(drawn[0][1].records)
    shared = SharedFile(
        original=load_columns(source.folder, only=file.declared),
        released=read_release(data_of(job, file.name), file.declared, row_by_row),
        declared=file.declared,
        parts={str(each.plan.output_name): _part(each, staged) for each, staged in drawn},
    )
    return Judgement(shared.checks, shared.measures())


def _part(job: Job, staged: Staged) -> FilePart:
    secrets: dict[str, Any] = load_columns(staged.secrets)
    return FilePart(
        columns=read_release(staged.data, staged.declared, np.arange(staged.records)),
        origin=secrets["origin"],
        groups=named_secrets(secrets, "group "),
        permutes=MODELS[job.plan.guarantee.model].permutes,
    )
