"""Measures by name, as specs and gates know them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np

from penstock.measures import foreseen
from penstock.measures.cells.measures import TABLE_MEASURES, table_measure_names
from penstock.measures.groups.measures import BUCKET_MEASURES, bucket_measure_names
from penstock.measures.measurement import Measurement, MeasureUndefined, MeasureUnknown
from penstock.measures.records import anonymity, information_loss, linkage
from penstock.measures.records.comparison import Comparison, Groups, Settled, compare
from penstock.mechanisms.columns import Columns, Declared

__all__ = [
    "Measure",
    "bucket_measure_names",
    "judge",
    "measure",
    "measure_names",
    "public_measures",
    "record_measure_names",
    "table_measure_names",
]


class Measure(Protocol):
    """What `measure(name)` returns."""

    def __call__(
        self,
        original: Columns,
        released: Columns,
        declared: Declared,
        *,
        groups: Groups | None = None,
        settled: Settled | None = None,
        permuted: bool = False,
    ) -> Measurement:
        """Judge the released quasi-identifiers and confidential columns against their originals.

        original, released: columns aligned row by row; what is judged is what is in `released`.
        groups: for each masked column the group label of every record; only some measures need it.
        settled: the public facts that the mechanism chose; only `public_measures` need them.
        permuted: whether values were swapped inside groups by a uniform permutation; only own_value_probability asks.
        """
        ...


_MEASURES: dict[str, Callable[[Comparison], Measurement]] = {
    "average_risk": anonymity.average_risk,
    "correlation_change": information_loss.correlation_change,
    "expected_error": foreseen.expected_error,
    "il1s": information_loss.il1s,
    "mean_change": information_loss.mean_change,
    "own_value_probability": anonymity.own_value_probability,
    "privacy_loss": foreseen.privacy_loss,
    "record_linkage": linkage.record_linkage,
    "sse": information_loss.sse,
    "variance_change": information_loss.variance_change,
}

# They look at public facts and at nothing else; a gate on them tells nothing about the data.
_PUBLIC = frozenset({"expected_error", "privacy_loss"})
# They compare or link a released record with its original, so they mean nothing where rows do not.
_BY_RECORD = frozenset({"average_risk", "il1s", "record_linkage", "sse"})


def measure_names() -> tuple[str, ...]:
    """Every measure that exists, of records, tables and groups with buckets, in alphabetical order."""
    return tuple(sorted({*_MEASURES, *TABLE_MEASURES, *BUCKET_MEASURES}))


def record_measure_names() -> tuple[str, ...]:
    """Every measure of released records, in alphabetical order."""
    return tuple(_MEASURES)


def public_measures() -> frozenset[str]:
    """The measures that are computed from public facts alone."""
    return _PUBLIC


def judge(name: str, pair: Comparison) -> Measurement:
    """One measure of a comparison; measures of the same comparison share what they compute."""
    if name not in measure_names():
        raise _unknown(name)
    if name not in _MEASURES:
        family = "tables" if name in TABLE_MEASURES else "groups with buckets"
        raise MeasureUndefined.at(
            name, rule=f"needs {family}; the output is records", remedy="Use a measure of records."
        )
    if name in _BY_RECORD and not pair.aligned:
        raise MeasureUndefined.at(
            name,
            rule="needs released records to compare with their originals; the rows of this release are not records",
            remedy="Use a measure of single columns.",
        )
    # Infinite values and sums beyond the range of floats end below as a refusal, so numpy need not warn.
    with np.errstate(over="ignore", invalid="ignore"):
        found = _MEASURES[name](pair)
    if not all(map(math.isfinite, (found.value, *found.by_column.values()))):
        raise MeasureUndefined.at(name, rule="must have a finite value", remedy="Correct the data.")
    return found


def measure(name: str) -> Measure:
    """The measure of that name; its docstring gives formula, source, attacker and limits.

    It judges records. A measure of tables or of groups with buckets has a docstring here, but no value: `judge_table`
    and `judge_buckets` judge these.
    """
    if name not in measure_names():
        raise _unknown(name)

    def apply(
        original: Columns,
        released: Columns,
        declared: Declared,
        *,
        groups: Groups | None = None,
        settled: Settled | None = None,
        permuted: bool = False,
    ) -> Measurement:
        return judge(name, compare(original, released, declared, groups, settled=settled, permuted=permuted))

    apply.__doc__ = (_MEASURES.get(name) or TABLE_MEASURES.get(name) or BUCKET_MEASURES[name]).__doc__
    return apply


def _unknown(name: str) -> MeasureUnknown:
    known = ", ".join(measure_names())
    return MeasureUnknown.at("measure", rule=f"must be one of {known}", got=name, remedy="Choose one of these.")
