"""Measures by name, as specs and gates know them: one table for all kinds of output. To add a measure, add it here."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from penstock.measures import public_facts
from penstock.measures.cells import errors, rules
from penstock.measures.cells import measures as cells
from penstock.measures.cells.output import TableOutput
from penstock.measures.groups import measures as groups
from penstock.measures.groups.output import BucketOutput
from penstock.measures.kinds import KINDS
from penstock.measures.measurement import Measurement, MeasureUndefined, MeasureUnknown
from penstock.measures.records import anonymity, information_loss, linkage
from penstock.measures.records.comparison import Chosen, Comparison, Groups, compare
from penstock.mechanisms.columns import Columns, Declared
from penstock.mechanisms.mechanism import Kind
from penstock.mechanisms.possible import ABOVE_0, ANY, Possible

__all__ = ["MEASURES", "Judged", "Measure", "MeasureOfRecords", "judge", "measure", "measure_names", "public_measures"]

# The object that is judged, for each kind of output.
Judged = Comparison | TableOutput | BucketOutput

_FROM_0, _SHARE = Possible(0, ANY), Possible(0, 1)


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure.

    functions: the function that takes it, for each kind of output that it judges.
    possible: what it can come to, whatever the settings and the data are.
    public: it looks at public facts and at nothing else, so a gate on it tells nothing about the data.
    by_record: it compares or links a released record with its original, so it means nothing where rows do not.
    over_all_columns: for records it looks at all columns, not only at those that were changed.
    costly: it is taken only where a gate asks for it, or where noise makes it end early.
    """

    name: str
    functions: Mapping[Kind, Callable[[Any], Measurement]]
    possible: Possible = _FROM_0
    public: bool = False
    by_record: bool = False
    over_all_columns: bool = False
    costly: bool = False


_TABLE = (
    Measure("average_risk", {"records": anonymity.average_risk, "groups": groups.average_risk}, by_record=True),
    Measure("bucket_width", {"groups": groups.bucket_width}, _SHARE),
    Measure("cell_error", {"cells": errors.cell_error}),
    Measure("closeness_ratio", {"groups": groups.closeness_ratio}, Possible(1, ANY)),
    # Associations between a masked and an unchanged column change too.
    Measure(
        "correlation_change", {"records": information_loss.correlation_change}, Possible(0, 2), over_all_columns=True
    ),
    Measure("expected_error", {"records": public_facts.expected_error, "cells": cells.expected_error}, public=True),
    Measure("il1s", {"records": information_loss.il1s}, by_record=True),
    Measure("l_diversity", {"groups": groups.l_diversity}, Possible(1, ANY)),
    Measure("largest_cell_error", {"cells": errors.largest_cell_error}),
    Measure("largest_share", {"cells": rules.largest_share}, Possible(ABOVE_0, 1)),
    Measure("margin_error", {"cells": errors.margin_error}),
    Measure("mean_change", {"records": information_loss.mean_change}),
    Measure("narrowest_bucket", {"groups": groups.narrowest_bucket}, _SHARE),
    Measure("noise_chance", {"cells": cells.noise_chance}),
    Measure("own_value_probability", {"records": anonymity.own_value_probability}),
    Measure("p_percent", {"cells": rules.p_percent}),
    Measure("privacy_loss", {"records": public_facts.privacy_loss, "cells": cells.privacy_loss}, public=True),
    Measure("quasi_identifier_loss", {"groups": groups.quasi_identifier_loss}, _SHARE),
    Measure("record_linkage", {"records": linkage.record_linkage}, _SHARE, by_record=True, costly=True),
    Measure("smallest_frequency", {"cells": rules.smallest_frequency}),
    Measure("smallest_group", {"groups": groups.smallest_group}),
    Measure("sse", {"records": information_loss.sse}, by_record=True),
    Measure("two_largest_share", {"cells": rules.two_largest_share}, Possible(ABOVE_0, 1)),
    Measure("variance_change", {"records": information_loss.variance_change}),
)
MEASURES: dict[str, Measure] = {each.name: each for each in _TABLE}


def measure_names(kind: Kind | None = None) -> tuple[str, ...]:
    """Return the measures of a kind of output, or all that exist, in alphabetical order."""
    return tuple(sorted(each.name for each in _TABLE if kind is None or kind in each.functions))


def public_measures() -> frozenset[str]:
    """Return the measures that are computed from public facts alone."""
    return frozenset(each.name for each in _TABLE if each.public)


def judge(name: str, output: Judged) -> Measurement:
    """Take one measure of an output; measures of the same output share what they compute."""
    chosen = _named(name)
    if output.kind not in chosen.functions:
        judged = next(KINDS[kind].judged for kind in KINDS if kind in chosen.functions)
        words = KINDS[output.kind]
        rule = f"needs {judged}; the output is {words.judged}"
        raise MeasureUndefined.at(name, rule=rule, remedy=f"Use a measure of {words.judged}.")
    if chosen.by_record and not output.aligned:
        raise MeasureUndefined.at(
            name,
            rule="needs released records to compare with their originals; the rows of this release are not records",
            remedy="Use a measure of single columns.",
        )
    # Infinite values and sums beyond the range of floats end below as a refusal, so numpy need not warn.
    with np.errstate(over="ignore", invalid="ignore"):
        found = chosen.functions[output.kind](output)
    if not all(map(math.isfinite, (found.value, *found.by_column.values()))):
        raise MeasureUndefined.at(name, rule="must have a finite value", remedy="Correct the data.")
    return found


class MeasureOfRecords(Protocol):
    """The function that `measure(name)` returns."""

    def __call__(
        self,
        original: Columns,
        released: Columns,
        declared: Declared,
        *,
        groups: Groups | None = None,
        chosen: Chosen | None = None,
        permuted: bool = False,
    ) -> Measurement:
        """Judge the released quasi-identifiers and confidential columns against their originals.

        original, released: columns aligned row by row; what is judged is what is in `released`.
        groups: for each masked column the group label of every record; only some measures need it.
        chosen: the public facts that the mechanism chose; only `public_measures` need them.
        permuted: whether values were swapped inside groups by a uniform permutation; only own_value_probability asks.
        """
        ...


def measure(name: str) -> MeasureOfRecords:
    """Return the measure of that name; its docstring gives formula, source, attacker and limits.

    It judges records. A measure of another kind of output has a docstring here, but no value: `judge` takes it.
    """
    functions = _named(name).functions

    def apply(
        original: Columns,
        released: Columns,
        declared: Declared,
        *,
        groups: Groups | None = None,
        chosen: Chosen | None = None,
        permuted: bool = False,
    ) -> Measurement:
        return judge(name, compare(original, released, declared, groups, chosen=chosen, permuted=permuted))

    apply.__doc__ = next(functions[kind] for kind in KINDS if kind in functions).__doc__
    return apply


def _named(name: str) -> Measure:
    if name not in MEASURES:
        known = ", ".join(measure_names())
        raise MeasureUnknown.at("measure", rule=f"must be one of {known}", got=name, remedy="Choose one of these.")
    return MEASURES[name]
