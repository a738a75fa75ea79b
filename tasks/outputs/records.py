"""Released records: drawn and shuffled, compared with their originals, written as one table of columns."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.measures.clamping import clamped_columns
from penstock.measures.recheck import recheck
from penstock.measures.records.comparison import Comparison, compare
from penstock.measures.records.output import RecordOutput
from penstock.measures.registry import MEASURES, judge
from penstock.mechanisms.columns import Column, Columns
from penstock.mechanisms.mechanism import ByColumn, Kind
from penstock.mechanisms.models import MODELS
from penstock.mechanisms.permutation import permutation
from penstock.mechanisms.protected import Protected
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.registry import mechanism_of
from penstock.mechanisms.sample import sampled
from penstock.records.files import durable
from penstock.reports.described import OutputWords
from penstock.tasks.files.columns import (
    arrow_columns,
    load_columns,
    read_release,
    save_columns,
    write_first_rows,
    write_release,
    write_rows,
)
from penstock.tasks.files.linked import stage_linked
from penstock.tasks.formats import FORMATS
from penstock.tasks.formats.format import Rows
from penstock.tasks.outputs.drawn import protected_rows, require_planned, staged_as
from penstock.tasks.outputs.output import Draw, Judgement, Output, Staged

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.tasks.ingest import Ingested
    from penstock.tasks.run.job import Job

__all__ = ["Records", "named_secrets"]

_STATED = ("role", "type", "domain", "outside", "categories", "taxonomy", "missing")


class Records(Output):
    """Records, and the tables beside them where a mechanism makes some."""

    kind: ClassVar[Kind] = "records"
    rows_are = "records"
    comes_back = False
    is_table = False
    needs_records = True

    @property
    def about(self) -> tuple[str, ...]:
        return tuple(name for name, column in self.declared.items() if column.role != "identifier")

    @property
    def released(self) -> Mapping[str, Column]:
        return mechanism_of(self.params).released_columns(self.params, self.declared)

    @property
    def words(self) -> OutputWords:
        return OutputWords("protected records", f"{self.folder}/data".lstrip("/"), "Dataset")

    @property
    def stated(self) -> dict[str, Any]:
        return {"folder": self.folder} if self.folder else {}

    def as_arrow(self, protected: Protected, randomness: Randomness) -> pa.Table:
        """Return the records in random order."""
        records = len(next(iter(protected.columns.values())))
        published = sampled(mechanism_of(self.params).sample(self.params), records)
        order = permutation(records, randomness)[:published]
        rows = {name: np.take(values, order) for name, values in protected.columns.items()}
        return arrow_columns(rows, self._declared_after(protected))

    def _declared_after(self, protected: Protected) -> dict[str, Column]:
        known = self.released
        return {name: protected.made.get(name) or known[name] for name in protected.columns}

    def prepare(self, job: Job, source: Ingested) -> Draw:
        sampled(mechanism_of(self.params).sample(self.params), source.rows)
        in_parts = mechanism_of(self.params).in_parts if source.parts else None
        if isinstance(in_parts, ByColumn):
            return partial(self._draw_columns, job, source, in_parts)
        return partial(self._draw, job, source)

    def _draw(self, job: Job, source: Ingested, kept: NDArray[np.int64] | None, randomness: Randomness) -> Staged:
        """Draw protected records, shuffled, written and on disk; linked tables and their secret account beside them."""
        plan = job.plan
        data = job.run.path("protected.parquet")
        records = source.rows if kept is None else len(kept)
        with ThreadPoolExecutor(1) as beside:
            shuffling = beside.submit(self._order, job, records, randomness)
            protected = protected_rows(job, source, kept, randomness)
            order = shuffling.result()
            declared = self._declared_after(protected)
            write_release(data, protected.columns, declared, plan.guarantee, order)
            on_disk = beside.submit(durable.sync, data)  # the disk writes while the processor counts
            save_columns(job.run.path("secrets"), _secrets(protected, order, kept))
            linked = stage_linked(job.run.path("linked"), protected.linked, plan.guarantee)
            on_disk.result()
        return staged_as(job, protected.masked, records, protected.chosen, declared, linked)

    def _order(self, job: Job, records: int, randomness: Randomness) -> NDArray[np.int64]:
        """Return the order in which the records are released: row i is row order[i] of what the mechanism makes."""
        return permutation(records, randomness)

    def _draw_columns(
        self,
        job: Job,
        source: Ingested,
        how: ByColumn,
        kept: NDArray[np.int64] | None,
        randomness: Randomness,
    ) -> Staged:
        """Draw records that are never held together: column by column, then written by rows."""
        from penstock.tasks.parts import swap  # a plan is made without Prefect

        plan, released = job.plan, self.released
        require_planned(mechanism_of(plan.params).promise(plan.params, plan.data_columns), plan.guarantee)
        secrets = job.run.path("secrets")
        shutil.rmtree(secrets, ignore_errors=not secrets.exists())  # of an attempt that died, which was charged
        attempt = job.run.path("scratch") / f"draw-{job.log.head().seq}"
        sizes = how.sizes(plan.params, plan.data_columns)
        columns = swap.Columns(source.parts, released, sizes, how.protect_column)
        swapped = swap.swap_columns(columns, attempt, secrets, address=plan.address, randomness=randomness)
        data = job.run.path("protected.parquet")
        write_rows(data, released, plan.guarantee, source.rows, lambda name, rows: swapped.columns[name][rows])
        return staged_as(job, swapped.masked, source.rows, {}, released)

    def judge(self, job: Job, source: Ingested, staged: Staged) -> Judgement:
        plan = job.plan
        if source.parts:
            from penstock.tasks.parts.assess import judge_columns  # a plan is made without Prefect

            data, hidden, scratch = staged.data, staged.secrets, job.run.path("scratch")
            checks, take = judge_columns(
                source.parts, staged.declared, plan.guarantee, staged.masked, data, hidden, scratch, plan.address
            )
            return Judgement(checks, take)  # a column that is swapped is never clamped
        secrets = load_columns(staged.secrets)
        origin, kept = secrets.pop("origin"), secrets.pop("kept", None)
        places = origin if kept is None else np.searchsorted(kept, origin)  # among the rows that were used
        original = load_columns(
            source.folder, kept, plan.used_columns
        )  # a released list of categories begins with the declared ones
        released = self._released(job, staged, places)
        groups = named_secrets(secrets, "group ")
        output = RecordOutput(
            original=original,
            released=released,
            declared=staged.declared,
            guarantee=plan.guarantee,
            masked=frozenset(staged.masked),
            groups=groups,
            chosen=staged.chosen,
            records=staged.records,
        )

        def compared(columns: Columns) -> Comparison:
            return compare(
                original,
                columns,
                staged.declared,
                groups,
                chosen=staged.chosen,
                aligned=plan.guarantee.parameters.get("mode") != "marginals",
                permuted=MODELS[plan.guarantee.model].permutes,
            )

        checks = recheck(output)
        everything, masked = compared(released), compared({name: released[name] for name in staged.masked})
        return Judgement(
            checks,
            lambda name, asked: judge(name, everything if MEASURES[name].over_all_columns else masked, asked),
            clamped_columns(original, plan.data_columns, staged.masked),
        )

    def _released(self, job: Job, staged: Staged, places: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return the columns that will be published, in the order of the rows that were used."""
        return read_release(staged.data, staged.declared, places)

    def write(self, job: Job, staged: Staged) -> None:
        plan = job.plan
        files = {
            "data": self._published(job, staged),
            **{f"tables/{table.name}": table.data for table in staged.linked},
        }
        for stem, data in files.items():
            path = job.bundle / self.folder / stem
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            rows = Rows(data=data, guarantee=plan.guarantee, prepared=job.started, escape=plan.escape)
            for name in plan.formats:
                FORMATS[name].write(rows, path)

    def _published(self, job: Job, staged: Staged) -> Path:
        """Return the file to publish: what was drawn, whose rows lie in random order, or as many of its first rows as a
        sample has (penstock.mechanisms.sample)."""
        rows = self.published_rows(staged)
        if rows == staged.records:
            return staged.data
        data = job.run.path("sample.parquet")
        write_first_rows(data, staged.data, staged.declared, job.plan.guarantee, rows)
        return data

    def describe(self, staged: Staged) -> list[dict[str, Any]]:
        return self._described(staged, staged.declared)

    def describe_linked(self, staged: Staged) -> list[dict[str, Any]]:
        return [
            {"name": table.name, "key": table.key, "columns": self._described(staged, table.declared)}
            for table in staged.linked
        ]

    def _described(self, staged: Staged, columns: Mapping[str, Column]) -> list[dict[str, Any]]:
        treated = self.treatments
        keys = {table.key for table in staged.linked}
        described = []
        for name, column in columns.items():
            declared = json.loads(column.model_dump_json())
            facts = {key: declared[key] for key in _STATED}
            if name not in self.declared:  # it links tables, or counts
                facts["role"] = "link" if name in keys else "figure"
            described.append({"name": name, **facts, "type": column.type or "continuous", "treatment": treated[name]})
        return described


def named_secrets(secrets: Mapping[str, NDArray[Any]], kind: str) -> dict[str, NDArray[Any]]:
    """Return the secrets whose names begin like this, by the rest of their names."""
    return {name.removeprefix(kind): values for name, values in secrets.items() if name.startswith(kind)}


def _secrets(protected: Protected, order: NDArray[np.int64], kept: NDArray[np.int64] | None) -> dict[str, NDArray[Any]]:
    """Return what `Staged.secrets` holds; released row i is row order[i] of the mechanism's output."""
    origin = order if protected.origin is None else protected.origin[order]
    rows = {"origin": origin} if kept is None else {"origin": kept[origin], "kept": kept}
    groups = {f"group {name}": labels for name, labels in protected.groups.items()}
    return {**rows, **groups, **{f"hidden {name}": values for name, values in protected.hidden.items()}}
