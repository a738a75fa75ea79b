"""What the manifest of records claims and its file can show: how many records share their values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel, ConfigDict, Field

from penstock.measures.records.answer_checks import are_losses_stated
from penstock.tasks.outputs._claims import Beside, Claims, Seen

__all__ = ["RecordClaims"]


class _PartClaim(BaseModel):
    """Columns that were cut together into blocks of at least k records."""

    k: Annotated[int, Field(strict=True, ge=1)]
    columns: dict[str, Any] = Field(min_length=1)


class _SettledClaim(BaseModel):
    model_config = ConfigDict(extra="allow")

    parts: list[_PartClaim] = []


class RecordClaims(Claims):
    """The claims of records: blocks as settled, where promised; no layout, and no tables beside the records."""

    settled: _SettledClaim = _SettledClaim()
    layout: None = None
    linked: list[Any] = Field(default_factory=list, max_length=0)

    @property
    def is_sound(self) -> bool:
        """Return whether every column was cut into blocks once where this is promised: all columns together where rows
        are records."""
        if "factors_bounded" in self.guarantee.audit and not self._are_answers_stated:
            return False
        diversity = self.guarantee.parameters.get("diversity")
        promised = "values_differ_in_groups" in self.guarantee.audit
        if promised != (type(diversity) is int and diversity >= 2):
            return False
        parts = self.settled.parts
        if "block_sizes" not in self.guarantee.audit:
            return not parts
        together = self.guarantee.parameters.get("mode") != "records" or len(parts) == 1
        return together and sorted(name for part in parts for name in part.columns) == sorted(self.roles)

    @property
    def _are_answers_stated(self) -> bool:
        return are_losses_stated(self.guarantee, self.settled.model_extra or {}, list(self.roles))

    @property
    def _diversity(self) -> int:
        """Return how many different values every combination of keys must have; 0 where this is not promised."""
        promised = self.guarantee.model == "k_anon" and "values_differ_in_groups" in self.guarantee.audit
        return int(self.guarantee.parameters["diversity"]) if promised else 0

    def broken(self, table: pa.Table) -> Iterator[str]:
        keys = [column for column, role in self.roles.items() if role in ("quasi_identifier", "weight")]
        if self.k and _smallest_class(table, keys) < self.k:
            yield f"must have at least {self.k} records for every combination of quasi-identifiers"
        confidential = [column for column, role in self.roles.items() if role == "confidential"]
        if self._diversity and _fewest_values(table, keys, confidential) < self._diversity:
            yield f"must have at least {self._diversity} different values for every combination of quasi-identifiers"
        for part in self.settled.parts:
            if _smallest_class(table, list(part.columns)) < part.k:
                yield f"must have at least {part.k} records for every combination of {', '.join(part.columns)}"

    def seen(self, beside: Beside) -> Iterator[Seen]:
        if self.guarantee.model == "k_anon":
            yield "k-anonymity", True, f"Every combination of quasi-identifiers occurs at least {self.k} times."
            if self._diversity:
                values = f"{self._diversity} different values of each confidential column"
                yield "diversity", True, f"Every such combination has at least {values}."
            return
        if self.settled.parts:
            told = [
                f"every {'value' if len(part.columns) == 1 else 'combination'} of {', '.join(part.columns)} "
                f"occurs at least {part.k:,} times"
                for part in self.settled.parts
            ]
            yield "blocks", True, f"As in blocks of records, {'; '.join(told)}."
        if "factors_bounded" in self.guarantee.audit:
            yield "answers", True, "What is stated of how every column was answered costs no more than is promised."
        yield from super().seen(beside)


def _smallest_class(table: pa.Table, keys: list[str]) -> int:
    counts = table.group_by(keys).aggregate([([], "count_all")]).column("count_all")
    return int(pc.min(counts).as_py() or 0)


def _fewest_values(table: pa.Table, keys: list[str], names: list[str]) -> int:
    """Return the least number of different values of these columns for any combination of keys; none is no value."""
    for place, name in enumerate(table.column_names):
        if name in names and pa.types.is_string(table.column(name).type):
            filled = pc.not_equal(table.column(name), "")
            table = table.set_column(place, name, pc.if_else(filled, table.column(name), None))
    valid = pc.CountOptions(mode="only_valid")
    counts = table.group_by(keys).aggregate([(name, "count_distinct", valid) for name in names])
    return min((int(pc.min(counts.column(f"{name}_count_distinct")).as_py() or 0) for name in names), default=0)
