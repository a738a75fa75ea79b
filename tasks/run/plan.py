"""What one release will do, settled before any row is read. Steps read it and never change it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from penstock.measures.gates import Gate
from penstock.mechanisms.columns import Column
from penstock.mechanisms.combinations import Impossible
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.models import ADDS_UP
from penstock.mechanisms.recode import stored_names
from penstock.mechanisms.registry import AnyParams, mechanism_of
from penstock.records.approval.rule import Rule
from penstock.records.files.addresses import Place
from penstock.records.ledger.accounts import Claim

if TYPE_CHECKING:
    from penstock.mechanisms.questions import Condition
    from penstock.tasks.outputs.output import Output

__all__ = ["Entry", "File", "Plan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file in which the records of several outputs stand side by side.

    declared: its columns in their order. gates: its limits, all columns together. together: sentences on what stands in
    it, and what somebody can do who combines its columns.
    """

    name: str
    outputs: tuple[str, ...]
    declared: Mapping[str, Column]
    gates: tuple[Gate, ...]
    together: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One output of a release, as its entry in protect asks for it.

    name: None where a release has one output without a name. declared: the columns that it may use.
    output: what it consists of, and all that depends on its kind. guarantee: what it promises by itself.
    may_be_left_out: whether the others are published if this one is refused.
    """

    name: str | None
    params: AnyParams
    declared: Mapping[str, Column]
    output: Output
    gates: tuple[Gate, ...]
    formats: tuple[str, ...]
    guarantee: Guarantee
    may_be_left_out: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The resolved spec with its promises: of a whole release, or of one of its outputs (`outputs`).

    entries: the outputs. promises: what they promise, one for each model whose promises add up, and one for each
    output under another. together: sentences on what several outputs promise together, and what nothing covers.
    files: those that several outputs share.
    choosing: the columns of `where`, which need not be among those that an output may use.
    unit: the column that says whose record it is; None where a record is protected by itself.
    part: the column and the category that the release is about, if it is about a part of its data set.
    escape: whether texts that a spreadsheet would run are escaped in CSV files.
    spec_digest: of what defines the release, the content of the suite included.
    suite_digest: of the suite as it was planned; None where there is none, or where it has been asked already.
    rule: what reviewers are asked; None where nobody is.
    edition: the public name of this state of data that change; None where they do not.
    where: what the records satisfy that the release is about; none: all records.
    address: the cluster that does the work; None for this machine. memory: the most bytes of data in each process.
    """

    name: str
    source: str
    declared: Mapping[str, Column]
    entries: tuple[Entry, ...]
    promises: tuple[Guarantee, ...]
    unit: str | None
    suite: str | None
    min_rows: int
    publish: Place
    dataset: str | None
    part: tuple[str, str] | None
    acknowledges: tuple[str, ...]
    rule: Rule | None
    spec: Mapping[str, Any]
    spec_digest: str
    suite_digest: str | None = None
    escape: bool = False
    address: str | None = None
    memory: int | None = None
    edition: str | None = None
    where: tuple[Condition, ...] = ()
    choosing: Mapping[str, Column] = field(default_factory=dict)
    together: tuple[str, ...] = ()
    files: tuple[File, ...] = ()

    @property
    def outputs(self) -> tuple[Plan, ...]:
        """Return a plan for each output, which is this one where there is one."""
        if len(self.entries) == 1:
            return (self,)
        return tuple(
            replace(self, entries=(each,), promises=(each.guarantee,), declared=each.declared, together=())
            for each in self.entries
        )

    @property
    def series(self) -> Place:
        """Return the folder of all releases of this name."""
        return self.publish / self.name

    @property
    def folder(self) -> Place:
        """Return the folder in which the bundle appears, one for each edition: editions lie beside each other."""
        return self.series if self.edition is None else self.series / self.edition.replace(" ", "-")

    @property
    def is_of_several(self) -> bool:
        """Return whether this is the plan of a whole release with several outputs."""
        return len(self.entries) > 1

    def file_of(self, output: str | None) -> File | None:
        """Return the file that an output shares with others; None where it has one of its own."""
        return next((file for file in self.files if output in file.outputs), None)

    @property
    def _only(self) -> Entry:
        (entry,) = self.entries  # the steps ask each output for itself
        return entry

    @property
    def output_name(self) -> str | None:
        return self._only.name

    @property
    def may_be_left_out(self) -> bool:
        return self._only.may_be_left_out

    @property
    def output(self) -> Output:
        return self._only.output

    @property
    def params(self) -> AnyParams:
        return self._only.params

    @property
    def gates(self) -> tuple[Gate, ...]:
        return self._only.gates

    @property
    def formats(self) -> tuple[str, ...]:
        return self._only.formats

    @property
    def guarantee(self) -> Guarantee:
        return self._only.guarantee

    @property
    def spends(self) -> bool:
        """Return whether any of its outputs spends epsilon."""
        return any(promise.model in ADDS_UP for promise in self.promises)

    @property
    def statement(self) -> str:
        """Return what is promised; of several outputs also what they promise together."""
        return " ".join((*(promise.statement for promise in self.promises), *self.together))

    @property
    def fewest(self) -> int:
        """Return how many records there must be after some were chosen: what min_rows says is asked of all before."""
        return 0 if self.where else self.min_rows

    @property
    def data_columns(self) -> dict[str, Column]:
        """Return the columns that are read: all but the direct identifiers."""
        return {name: column for name, column in self.declared.items() if column.role != "identifier"}

    @property
    def used_columns(self) -> dict[str, Column]:
        """Return the columns whose values may decide whether there is a release: those it is made from, and its part's.

        A refusal because of any other column would answer a question about the data for nothing. Which part a record
        belongs to must be known, whatever is declared: one that belongs to none would be counted in each.
        """
        part = None if self.part is None else self.part[0]
        # A count of all records is made from no column; the first one shows how many there are.
        used = {name for each in self.entries for name in each.output.about} or set(tuple(self.data_columns)[:1])
        return {
            name: column.model_copy(update={"missing": "refuse"}) if name == part else column
            for name, column in self.data_columns.items()
            if name in used or name == part or name in self.choosing
        }

    @property
    def declarations(self) -> list[dict[str, Any]]:
        """Return all that must be true of the records for a release to appear, one by one: how many they are, what each
        used column holds, which combinations no record has, and by which column everybody is known, which is nowhere
        missing.

        A number outside of bounds that clamp refuses nothing.
        """
        columns = [
            {
                "column": name,
                "type": column.type,
                "categories": None if column.categories is None else list(column.categories),
                "domain": None if column.domain is None or column.outside == "clamp" else list(column.domain),
                "missing": column.missing,
                **({} if column.recode is None else {"recode": column.recode.model_dump(mode="json")}),
            }
            for name, column in self.used_columns.items()
        ]
        impossible = [{"impossible": dict(each)} for combinations in self.excluded.values() for each in combinations]
        unit = [] if self.unit is None else [{"unit": self.unit}]
        return [{"records": self.min_rows}, *columns, *impossible, *unit]

    @property
    def excluded(self) -> dict[str | None, Impossible]:
        """Return for each output, by its name, the combinations of categories that no record may have."""
        return {each.name: mechanism_of(each.params).excludes(each.params) for each in self.entries}

    @property
    def in_parts(self) -> bool:
        """Return whether the records are never held together."""
        return self.address is not None or self.memory is not None

    def claim(
        self, source: str, values: str | None = None, formerly: str | None = None, files: tuple[str, ...] = ()
    ) -> Claim:
        """Return what one output asks of the ledger, for the records with these digests."""
        guarantee = self.guarantee
        column, part = self.part if self.part is not None else (None, None)
        return Claim(
            dataset=self.dataset,
            source=source,
            model=guarantee.model,
            epsilon=Fraction(guarantee.parameters["epsilon"]) if guarantee.model in ADDS_UP else None,
            delta=Fraction(guarantee.parameters.get("delta", 0)),
            adjacency=guarantee.adjacency,
            unit=guarantee.unit,
            column=column,
            part=part,
            acknowledges=self.acknowledges,
            about=stored_names(
                {
                    name: column
                    for name, column in {**self.declared, **self.choosing}.items()
                    if name in self.about or name in self.choosing
                }
            ),
            values=values,
            formerly=formerly,
            files=files,
            edition=self.edition,
            table=self.output.is_table,
            whose=self.unit,
            output=self.output_name,
            counted=mechanism_of(self.params).prints_number(self.params),
            chosen=stored_names(self.choosing),
        )

    @property
    def about(self) -> tuple[str, ...]:
        """Return the columns of the source that the output is made from, in declared order."""
        return self.output.about

    @property
    def released(self) -> Mapping[str, Column]:
        """Return the columns of the output that are declared before the draw; a mechanism may make others."""
        return self.output.released

    def content(self, source: str) -> dict[str, Any]:
        """Return what decides a table: its records and their edition, its settings except its name, and how its columns
        are declared."""
        return {
            "source": source,
            "settings": self.params.model_dump(mode="json", exclude={"table"}),
            "columns": {n: c.model_dump(mode="json") for n, c in {**self.data_columns, **self.choosing}.items()},
            "unit": self.unit,
            "part": self.part,
            # Only where there is one, so that answers from before there were editions keep their keys.
            **({} if self.edition is None else {"edition": self.edition}),
            **({"where": [each.model_dump(mode="json") for each in self.where]} if self.where else {}),
        }
