"""Original and released columns side by side: what every measure starts from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.measures.measurement import MeasureUndefined
from penstock.measures.rows import is_missing, numbers
from penstock.mechanisms.columns import Columns, ColumnType, Declared
from penstock.mechanisms.mechanism import Kind
from penstock.mechanisms.refusal import Fault

__all__ = ["Chosen", "Comparison", "Groups", "Rows", "compare", "labels_of"]

Groups = Mapping[str, NDArray[np.integer[Any]]]
Rows = NDArray[np.bool_] | slice
# The public facts of a mechanism that chooses some: penstock.mechanisms.protected.Protected.chosen.
Chosen = Mapping[str, Any]

# Blocks of rows that stay in the processor's cache, so that no measure of information loss copies whole
# columns; below 10,000 the linear algebra library does not start threads, which cost more than they save.
_BLOCK = 1 << 13


@dataclass(frozen=True, slots=True)
class Comparison:
    """Columns aligned row by row, and the names of those that are judged.

    chosen: public facts that the mechanism chose; empty where it chooses none.
    aligned: whether rows mean anything; if not, only single columns can be compared.
    permuted: whether values were dealt out inside groups by a uniform permutation.
    known: what one measure has computed and another may use.
    """

    kind: ClassVar[Kind] = "records"

    original: Columns
    released: Columns
    declared: Declared
    groups: Groups | None
    names: tuple[str, ...]
    records: int
    chosen: Chosen
    aligned: bool
    permuted: bool
    known: dict[tuple[str, str], Any] = field(default_factory=dict)

    def of_type(self, *types: ColumnType) -> tuple[str, ...]:
        """Return the judged columns of these types."""
        return tuple(name for name in self.names if self.declared[name].type in types)

    def blocks(self, name: str) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Yield one column, original and released, in blocks of rows; NaN where missing."""
        column = self.declared[name]
        for start in range(0, self.records, _BLOCK):
            rows = slice(start, start + _BLOCK)
            yield (
                numbers(self.original[name][rows], column, name),
                numbers(self.released[name][rows], column, name),
            )

    def present(self, name: str) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Yield the same as `blocks`, without the records where either value is missing."""
        for x, y in self.blocks(name):
            missing = np.isnan(x) | np.isnan(y)
            yield (x[~missing], y[~missing]) if missing.any() else (x, y)


def compare(
    original: Columns,
    released: Columns,
    declared: Declared,
    groups: Groups | None,
    *,
    chosen: Chosen | None = None,
    aligned: bool = True,
    permuted: bool = False,
) -> Comparison:
    """Judge the released quasi-identifiers and confidential columns; refuse what cannot be compared."""
    faults = [
        Fault(name, "must be declared, because it is released", "Declare it.")
        for name in released
        if name not in declared
    ]
    names = tuple(
        name
        for name, column in declared.items()
        if name in released and column.role in ("quasi_identifier", "confidential")
    )
    faults += [
        Fault(name, "must have its original values, because it is judged", "Pass it.")
        for name in names
        if name not in original
    ]
    sides: tuple[Mapping[str, NDArray[Any]], ...] = (original, released)
    lengths = {len(side[name]) for side in sides for name in names if name in side}
    if not names:
        faults.append(Fault("columns", "must include a quasi-identifier or confidential column", "Release one."))
    elif len(lengths) > 1:
        faults.append(Fault("columns", "must be aligned row by row, original and released", "Align them."))
    elif lengths == {0}:
        faults.append(Fault("columns", "must have at least one record", "Pass the records."))
    MeasureUndefined.raise_for(faults)
    return Comparison(original, released, declared, groups, names, lengths.pop(), chosen or {}, aligned, permuted)


def labels_of(pair: Comparison, name: str) -> tuple[NDArray[np.int64], Rows]:
    """Return the group labels of the records of a column that count, and which records these are."""
    labels = (pair.groups or {})[name]
    if labels.dtype.kind not in "iu" or labels.shape != (pair.records,):
        raise MeasureUndefined.at(name, rule="must have one integer group label per record", remedy="Pass the groups.")
    if not 0 <= labels.min() <= labels.max() <= pair.records:
        raise MeasureUndefined.at(name, rule="must have group labels that count from 0", remedy="Pass the groups.")
    column = pair.declared[name]
    rows: Rows = slice(None)
    if column.missing == "own_group":
        rows = ~is_missing(pair.original[name], column, name)
        if not rows.any():
            raise MeasureUndefined.at(name, rule="needs a record with a value", remedy="Leave the column out.")
    return labels[rows].astype(np.int64, copy=False), rows
