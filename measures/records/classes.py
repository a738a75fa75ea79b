"""Records that look alike: among whom an intruder cannot tell, and which confidential values these have.

    class of a record, for a column that was permuted in groups    its group
    class of a record, for a column that stayed with its record    all records with the same released quasi-identifiers

Without quasi-identifiers all records are one class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.measures.measurement import MeasureUndefined
from penstock.measures.records.comparison import Comparison, Rows, labels_of
from penstock.measures.rows import identical, keys, numbers

__all__ = ["Classes", "classes_of"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Classes:
    """The records of one confidential column that count. labels: the class of each, numbered from 0; rows: which."""

    name: str
    labels: Integers
    rows: Rows

    @property
    def records(self) -> int:
        return len(self.labels)


def classes_of(pair: Comparison, measure: str) -> Iterator[Classes]:
    """Yield the classes of each released confidential column; refuse values that are not true ones in another order."""
    if "epsilon" in pair.chosen:
        raise MeasureUndefined.at(
            measure,
            rule="needs released values that are true; under differential privacy they are not",
            remedy="Use a public measure.",
        )
    names = [name for name in pair.names if pair.declared[name].role == "confidential"]
    if not names:
        raise MeasureUndefined.at(
            measure, rule="needs a confidential column beside the quasi-identifiers", remedy="Remove the gate."
        )
    for name in names:
        if pair.permuted and name in (pair.groups or {}):
            labels, rows = labels_of(pair, name)
            yield Classes(name, np.unique(labels, return_inverse=True)[1], rows)
        else:
            yield Classes(name, _alike(pair), slice(None))


def codes_of(pair: Comparison, found: Classes) -> tuple[Integers, Integers]:
    """Return the original and the released values of the records that count as numbers 0, 1, ... in rising order,
    equal exactly where the values are; missing is one more."""
    column = pair.declared[found.name]
    sides = []
    for side in (pair.original, pair.released):
        values = side[found.name][found.rows]
        sides.append(numbers(values, column, found.name) + 0.0)  # -0 is 0
    codes = np.unique(np.concatenate(sides), return_inverse=True, equal_nan=True)[1].astype(np.int64)
    return codes[: found.records], codes[found.records :]


def _alike(pair: Comparison) -> Integers:
    """Return for each record the number of its set of records with the same released quasi-identifiers."""
    if ("alike", "") not in pair.known:
        declared = pair.declared
        names = [name for name in pair.names if declared[name].role == "quasi_identifier"]
        labels = np.zeros(pair.records, np.int64)
        if names:
            shown = {name: pair.released[name] for name in names}
            same = [
                keys(values + 0.0 if values.dtype.kind == "f" else values, declared[name], name)
                for name, values in shown.items()
            ]
            order, starts = identical(same)
            labels[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        pair.known["alike", ""] = labels
    found: Integers = pair.known["alike", ""]
    return found
