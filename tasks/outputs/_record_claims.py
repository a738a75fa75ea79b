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
        parts = self.settled.parts
        if "block_sizes" not in self.guarantee.audit:
            return not parts
        together = self.guarantee.parameters.get("mode") != "records" or len(parts) == 1
        return together and sorted(name for part in parts for name in part.columns) == sorted(self.roles)

    @property
    def _are_answers_stated(self) -> bool:
        return are_losses_stated(self.guarantee, self.settled.model_extra or {}, list(self.roles))

    def broken(self, table: pa.Table) -> Iterator[str]:
        keys = [column for column, role in self.roles.items() if role in ("quasi_identifier", "weight")]
        if self.k and _smallest_class(table, keys) < self.k:
            yield f"must have at least {self.k} records for every combination of quasi-identifiers"
        for part in self.settled.parts:
            if _smallest_class(table, list(part.columns)) < part.k:
                yield f"must have at least {part.k} records for every combination of {', '.join(part.columns)}"

    def seen(self, beside: Beside) -> Iterator[Seen]:
        if self.guarantee.model == "k_anon":
            yield "k-anonymity", True, f"Every combination of quasi-identifiers occurs at least {self.k} times."
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
