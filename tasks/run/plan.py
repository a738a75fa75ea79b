"""What one release will do, settled before any row is read. Steps read it and never change it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from penstock.measures.gates import Gate
from penstock.mechanisms.columns import Column
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.models import ADDS_UP
from penstock.mechanisms.recode import stored_names
from penstock.mechanisms.registry import AnyParams
from penstock.records.approval.rule import Rule
from penstock.records.files.addresses import Place
from penstock.records.ledger.accounts import Claim

if TYPE_CHECKING:
    from penstock.mechanisms.questions import Condition
    from penstock.tasks.outputs.output import Output

__all__ = ["Plan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The resolved spec with its promise.

    output: what the release consists of, and all that depends on its kind.
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
    output: Output
    unit: str | None
    suite: str | None
    min_rows: int
    params: AnyParams
    gates: tuple[Gate, ...]
    publish: Place
    formats: tuple[str, ...]
    guarantee: Guarantee
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
        used = self.about or tuple(self.data_columns)[:1]
        return {
            name: column.model_copy(update={"missing": "refuse"}) if name == part else column
            for name, column in self.data_columns.items()
            if name in used or name == part or name in self._conditions
        }

    @property
    def _conditions(self) -> frozenset[str]:
        return frozenset(condition.column for condition in self.where)

    @property
    def declarations(self) -> list[dict[str, Any]]:
        """Return all that must be true of the records for a release to appear, one by one: how many they are, what each
        used column holds, and by which column everybody is known, which is nowhere missing.

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
        return [{"records": self.min_rows}, *columns, *([] if self.unit is None else [{"unit": self.unit}])]

    @property
    def in_parts(self) -> bool:
        """Return whether the records are never held together."""
        return self.address is not None or self.memory is not None

    def claim(
        self, source: str, values: str | None = None, formerly: str | None = None, files: tuple[str, ...] = ()
    ) -> Claim:
        """Return what the release asks of the ledger, for the records with these digests."""
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
                {n: column for n, column in self.declared.items() if n in self.about or n in self._conditions}
            ),
            values=values,
            formerly=formerly,
            files=files,
            edition=self.edition,
            table=self.output.is_table,
            whose=self.unit,
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
            "columns": {name: self.declared[name].model_dump(mode="json") for name in self.data_columns},
            "unit": self.unit,
            "part": self.part,
            # Only where there is one, so that answers from before there were editions keep their keys.
            **({} if self.edition is None else {"edition": self.edition}),
            **({"where": [each.model_dump(mode="json") for each in self.where]} if self.where else {}),
        }
