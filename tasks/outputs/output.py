"""What an output is to the steps of a release: one object, made with the plan. No step asks which kind it has.

Nothing of an output is kept outside its object and what it staged, so that a release can have several.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.measures.asked import Asked
from penstock.measures.cells.relaxation.found import Relaxation
from penstock.measures.checks import Check
from penstock.measures.clamping import Clamped
from penstock.measures.measurement import Measurement
from penstock.mechanisms.columns import Column, Declared
from penstock.mechanisms.mechanism import Kind
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.registry import AnyParams, mechanism_of
from penstock.mechanisms.sample import sampled
from penstock.records.ledger.answers import Answer
from penstock.reports.described import OutputWords
from penstock.reports.table_sheet import TableSheet
from penstock.tasks.files.linked import StagedTable

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.mechanisms.protected import Protected
    from penstock.reports.page_facts import RowsAre
    from penstock.tasks.ingest import Ingested
    from penstock.tasks.run.job import Job

__all__ = ["Draw", "Facts", "Judgement", "Output", "Staged"]

Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Staged:
    """A reference to the protected output, still on the confidential side.

    records: rows of the output; fewer than the source has where contributions are bounded, and cells of a table.
    chosen: public facts that the mechanism chose.
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
    chosen: Mapping[str, Any]
    secrets: Path
    declared: Mapping[str, Column] = field(default_factory=dict)
    linked: tuple[StagedTable, ...] = ()
    answer: str | None = None

    @property
    def digests(self) -> dict[str, Any]:
        """Return digests of what was drawn, and will be published or sampled, for the log; of a table also what comes
        back with it."""
        tables = {table.name: table.digest for table in self.linked}
        answer = {} if self.answer is None else {"answer": self.answer}
        return {"data": self.digest, **({"linked": tables} if tables else {}), **answer}

    @property
    def facts(self) -> dict[str, Any]:
        """Return what is kept of a table besides its figures."""
        return {"records": self.records, "settled": dict(self.chosen)}


# Takes the rows that are used, None for all, and randomness; returns what was drawn.
Draw = Callable[[NDArray[np.int64] | None, Randomness], Staged]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The findings from counting an output again: its checks, how to measure it, which values were clamped, and what a
    relaxation of differential privacy bought and leaks."""

    checks: Sequence[Check]
    take: Callable[[str, Asked], Measurement]
    clamped: Sequence[Clamped] = ()
    relaxation: Relaxation | None = None


@dataclass(frozen=True)
class Output(ABC):
    """The output that a mechanism with these settings makes of these columns.

    folder: of the bundle, for records that are one of several outputs.
    kind: finds its measures and formats. rows_are: what a row of it is called.
    comes_back: whether the same question about the same records gets the same answer, which is kept for it.
    is_table: what the ledger puts on record of it.
    needs_records: whether what is chosen and expected depends on how many records there are.
    """

    params: AnyParams
    declared: Declared
    folder: str = ""

    kind: ClassVar[Kind]
    rows_are: ClassVar[RowsAre]
    comes_back: ClassVar[bool]
    is_table: ClassVar[bool]
    needs_records: ClassVar[bool]

    @property
    @abstractmethod
    def about(self) -> tuple[str, ...]:
        """Return the columns of the source that it is made from, in declared order."""

    @property
    @abstractmethod
    def released(self) -> Mapping[str, Column]:
        """Return those of its columns that are declared before the draw; a mechanism may make others."""

    @property
    @abstractmethod
    def words(self) -> OutputWords:
        """Return what descriptions for catalogues call it."""

    @property
    def sizes(self) -> dict[str, dict[str, int]]:
        """Return for each of its tables how many cells and how many totals it has."""
        return {}

    @property
    def stated(self) -> dict[str, Any]:
        """Return what the manifest states of it besides its columns."""
        return {}

    @property
    def treatments(self) -> dict[str, str]:
        """Return what was done to each column, for readers."""
        treated = mechanism_of(self.params).treatments(self.params, self.declared)
        recoded = {name: column.recode for name, column in self.declared.items() if column.recode is not None}
        return {
            name: f"{recoded[name].in_words}; {words}" if name in recoded else words for name, words in treated.items()
        }

    @abstractmethod
    def as_arrow(self, protected: Protected, randomness: Randomness) -> pa.Table:
        """Return what was drawn as a release would write it, but without the promise in it."""

    @abstractmethod
    def prepare(self, job: Job, source: Ingested) -> Draw:
        """Do what may fail before anything is spent; return what draws and stages the output."""

    def take_back(self, job: Job, answer: Answer) -> Staged:
        """Stage what another run drew, under this plan's name and promise."""
        raise TypeError("this output never comes back")

    @abstractmethod
    def judge(self, job: Job, source: Ingested, staged: Staged) -> Judgement:
        """Read the staged files back, re-check the promise, and get ready to measure."""

    def published_rows(self, staged: Staged) -> int:
        """Return how many rows its files have: those that were drawn, unless a sample of them is published."""
        return sampled(mechanism_of(self.params).sample(self.params), staged.records)

    @abstractmethod
    def write(self, job: Job, staged: Staged) -> None:
        """Write the files of the bundle, in every format that was asked for."""

    @abstractmethod
    def describe(self, staged: Staged) -> list[dict[str, Any]]:
        """Describe every column for readers: name, role, type, domain, categories, treatment."""

    def describe_linked(self, staged: Staged) -> list[dict[str, Any]]:
        """Describe every table beside it: the column by which it belongs to the records, and all of its columns."""
        return []

    def sheets(self, staged: Staged) -> dict[str, TableSheet]:
        """Return the figures themselves, by table, for the public report, where it shows them."""
        return {}

    def labels(self, staged: Staged) -> list[dict[str, Any]]:
        """Return how many records each bucket has, where there are any; public, because the files show it."""
        return []
