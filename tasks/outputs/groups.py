"""Groups of records with buckets: drawn, written and described as records, judged and counted by their groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from penstock.measures.groups.output import BucketOutput
from penstock.measures.recheck import recheck
from penstock.measures.registry import judge
from penstock.mechanisms.columns import Column
from penstock.tasks.files.columns import category_codes, load_columns, read_release
from penstock.tasks.files.linked import read_linked
from penstock.tasks.outputs.output import Judgement, Staged
from penstock.tasks.outputs.records import Records, named_secrets

if TYPE_CHECKING:
    from penstock.tasks.ingest import Ingested
    from penstock.tasks.run.job import Job

__all__ = ["Groups"]

# The column of counts in a table of buckets.
_COUNT = "records"


class Groups(Records):
    """Records whose confidential values are published by group."""

    kind = "groups"

    def judge(self, job: Job, source: Ingested, staged: Staged) -> Judgement:
        plan = job.plan
        secrets = load_columns(staged.secrets)
        output = BucketOutput(
            original=load_columns(source.folder, only=plan.used_columns),
            source=plan.data_columns,
            released=read_release(staged.data, staged.declared, secrets["origin"]),
            declared=staged.declared,
            linked={table.name: read_linked(table) for table in staged.linked},
            guarantee=plan.guarantee,
            groups=named_secrets(secrets, "group "),
            buckets=named_secrets(secrets, "hidden bucket "),
            chosen=staged.chosen,
            records=staged.records,
        )
        return Judgement(recheck(output), lambda name, asked: judge(name, output, asked))

    def labels(self, staged: Staged) -> list[dict[str, Any]]:
        """Return column, labels [label, records] of every column that is published in buckets."""
        told = []
        for name, column in _in_buckets(staged.declared, self.released).items():
            stored = pq.read_table(staged.data, columns=[name], read_dictionary=[name])
            codes = category_codes(stored.column(name), column.categories or ())
            told.append(_counted(name, column, codes, np.ones(len(codes), np.int64)))
        for table in map(read_linked, staged.linked):
            if _COUNT not in table.columns or _COUNT in self.declared:  # a table of values
                continue
            for name, column in _in_buckets(table.declared, {}).items():
                told.append(_counted(name, column, table.columns[name], table.columns[_COUNT]))
        return told


def _in_buckets(columns: Mapping[str, Column], unchanged: Mapping[str, Column]) -> dict[str, Column]:
    """Return the columns whose categories are labels of buckets, even where these are the declared ones."""
    return {name: column for name, column in columns.items() if column.categories is not None and name not in unchanged}


def _counted(name: str, column: Column, codes: NDArray[Any], records: NDArray[Any]) -> dict[str, Any]:
    counts = np.zeros(len(column.categories or ()), np.int64)
    np.add.at(counts, codes, records)
    labels = [
        {"label": label, "records": count}
        for label, count in zip(column.categories or (), counts.tolist(), strict=True)
    ]
    return {"column": name, "labels": labels}
