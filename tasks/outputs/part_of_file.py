"""Records that stand beside those of other outputs in one file: drawn by themselves in the order of the others, and
looked at in the file that all of them share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.permutation import permutation
from penstock.mechanisms.randomness import Randomness
from penstock.tasks.files.columns import load_columns, read_release
from penstock.tasks.formats import FORMATS
from penstock.tasks.formats.format import Rows
from penstock.tasks.outputs.output import Staged
from penstock.tasks.outputs.records import Records

if TYPE_CHECKING:
    from penstock.tasks.run.job import Job
    from penstock.tasks.run.plan import File

__all__ = ["PartOfFile", "data_of"]


def data_of(job: Job, file: str) -> Path:
    """Return where the file that several outputs share is staged."""
    return (job.whole or job).run.path(f"file-{file}.parquet")


class PartOfFile(Records):
    """The records of one output among those that share a file, which is the folder's name."""

    def _order(self, job: Job, records: int, randomness: Randomness) -> NDArray[np.int64]:
        """Return the order of the part that was drawn first, which was committed with it; a new one for that part."""
        if job.whole is not None:
            for other in job.whole.every_output:
                if other.plan.output.folder == self.folder and other.run.committed("protected") is not None:
                    return load_columns(other.run.path("secrets"), only=("origin",))["origin"]
        return permutation(records, randomness)

    def _released(self, job: Job, staged: Staged, places: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        every = read_release(data_of(job, self.folder), self._file(job).declared, places)
        return {name: values for name, values in every.items() if name in staged.declared}

    def write(self, job: Job, staged: Staged) -> None:
        """Write the file, in every format; its first part does it for all."""
        plan = job.plan
        if self._file(job).outputs[0] != plan.output_name:
            return
        folder = job.bundle / self.folder
        folder.mkdir(mode=0o700, parents=True)
        data = data_of(job, self.folder)
        rows = Rows(data=data, guarantee=plan.guarantee, prepared=job.started, escape=plan.escape)
        for name in plan.formats:
            FORMATS[name].write(rows, folder / "data")

    def _file(self, job: Job) -> File:
        file = job.plan.file_of(job.plan.output_name)
        if file is None:
            raise ValueError("a part of a file is planned with its file")
        return file
