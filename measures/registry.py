"""Measures by name, as specs and gates know them: one table for all kinds of output. To add a measure, add it here."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from penstock.measures import public_facts
from penstock.measures.asked import NOTHING, Asked, asked_of
from penstock.measures.cells import errors, rules
from penstock.measures.cells import measures as cells
from penstock.measures.cells.output import TableOutput
from penstock.measures.groups import measures as groups
from penstock.measures.groups.output import BucketOutput
from penstock.measures.kinds import KINDS
from penstock.measures.measurement import Measurement, MeasureUndefined, MeasureUnknown
from penstock.measures.records import anonymity, disclosure, information_loss, informed, linkage
from penstock.measures.records.comparison import Chosen, Comparison, Groups, compare
from penstock.measures.records.distances import needs_taxonomy
from penstock.mechanisms.columns import Columns, Declared
from penstock.mechanisms.mechanism import Kind
from penstock.mechanisms.possible import ABOVE_0, ANY, Possible
from penstock.mechanisms.refusal import Fault

__all__ = ["MEASURES", "Judged", "Measure", "MeasureOfRecords", "judge", "measure", "measure_names", "public_measures"]

# The object that is judged, for each kind of output.
Judged = Comparison | TableOutput | BucketOutput

_FROM_0, _SHARE = Possible(0, ANY), Possible(0, 1)


def _fits(asked: Asked, declared: Declared) -> Iterator[Fault]:
    """Yield nothing: any columns fit."""
    yield from ()


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure.

    functions: the function that takes it, for each kind of output that it judges.
    possible: what it can come to, whatever the settings and the data are.
    public: it looks at public facts and at nothing else, so a gate on it tells nothing about the data.
    by_record: it compares or links a released record with its original, so it means nothing where rows do not.
    over_all_columns: for records it looks at all columns, not only at those that were changed.
    inside_groups: it looks inside the groups in which values were permuted.
    by_groups: its value is that of the worst column, and that of a column with groups follows from it alone.
    between_records: it looks at pairs or sets of records, which must be held together.
    costly: it is taken only where a gate asks for it, or where noise makes it end early.
    on_request: it is taken only where a gate asks for it.
    work: what a plan says of its work, where that may grow faster than the records.
    takes, needs: which settings a gate may state, and which it must.
    unfit: reasons why what is asked does not fit the declared columns.
    """

    name: str
    functions: Mapping[Kind, Callable[..., Measurement]]
    possible: Possible = _FROM_0
    public: bool = False
    by_record: bool = False
    over_all_columns: bool = False
    inside_groups: bool = False
    by_groups: bool = False
    between_records: bool = False
    costly: bool = False
    on_request: bool = False
    work: str = ""
    takes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    unfit: Callable[[Asked, Declared], Iterator[Fault]] = _fits

    def faults_of_gate(self, asked: Asked) -> list[Fault]:
        """Return what a gate asks that this measure does not take, and what it needs and is not told."""
        faults = [
            Fault(name, f"must not be given for {self.name}", "Remove it.", str(getattr(asked, name)))
            for name in asked.said
            if name not in self.takes
        ]
        missing = [name for name in self.needs if name not in asked.said]
        return [*faults, *(Fault(name, f"must be given for {self.name}", "Add it.") for name in missing)]


_TABLE = (
    Measure(
        "average_risk",
        {"records": anonymity.average_risk, "groups": groups.average_risk},
        by_record=True,
        by_groups=True,
    ),
    Measure("bucket_width", {"groups": groups.bucket_width}, _SHARE),
    Measure("cell_error", {"cells": errors.cell_error}),
    Measure(
        "closeness_after",
        {"groups": groups.closeness_after},
        Possible(1, ANY),
        on_request=True,
        takes=("knows",),
        needs=("knows",),
        unfit=groups.knows_a_number,
    ),
    Measure("closeness_ratio", {"groups": groups.closeness_ratio}, Possible(1, ANY)),
    # Associations between a masked and an unchanged column change too.
    Measure(
        "correlation_change", {"records": information_loss.correlation_change}, Possible(0, 2), over_all_columns=True
    ),
    Measure(
        "emd_closeness",
        {"records": disclosure.emd_closeness},
        _SHARE,
        by_record=True,
        over_all_columns=True,
        inside_groups=True,
        by_groups=True,
        takes=("scaling",),
        unfit=disclosure.needs_tree,
    ),
    Measure(
        "entropy_l_diversity",
        {"records": disclosure.entropy_l_diversity},
        Possible(1, ANY),
        by_record=True,
        over_all_columns=True,
        inside_groups=True,
        by_groups=True,
    ),
    Measure("expected_error", {"records": public_facts.expected_error, "cells": cells.expected_error}, public=True),
    Measure("il1s", {"records": information_loss.il1s}, by_record=True),
    Measure(
        "informed_linkage",
        {"records": informed.informed_linkage},
        _SHARE,
        by_record=True,
        over_all_columns=True,
        between_records=True,
        on_request=True,
        work="each choice of known columns takes time that grows at worst with the square of the records",
        takes=("knows", "finds"),
        needs=("knows",),
        unfit=informed.unfit,
    ),
    Measure(
        "l_diversity",
        {"records": disclosure.l_diversity, "groups": groups.l_diversity},
        Possible(1, ANY),
        by_record=True,
        over_all_columns=True,
        inside_groups=True,
        by_groups=True,
    ),
    Measure("largest_cell_error", {"cells": errors.largest_cell_error}),
    Measure("largest_share", {"cells": rules.largest_share}, Possible(ABOVE_0, 1)),
    Measure("margin_error", {"cells": errors.margin_error}),
    Measure("mean_change", {"records": information_loss.mean_change}),
    Measure(
        "mean_correlation_change",
        {"records": information_loss.mean_correlation_change},
        Possible(0, 2),
        over_all_columns=True,
    ),
    Measure("narrowest_bucket", {"groups": groups.narrowest_bucket}, _SHARE),
    Measure("noise_chance", {"cells": cells.noise_chance}),
    Measure(
        "own_value_probability",
        {"records": anonymity.own_value_probability},
        over_all_columns=True,
        inside_groups=True,
        by_groups=True,
        takes=("of",),
        unfit=disclosure.needs_confidential,
    ),
    Measure("p_percent", {"cells": rules.p_percent}),
    Measure("privacy_loss", {"records": public_facts.privacy_loss, "cells": cells.privacy_loss}, public=True),
    Measure("quasi_identifier_loss", {"groups": groups.quasi_identifier_loss}, _SHARE),
    Measure(
        "record_linkage",
        {"records": linkage.record_linkage},
        _SHARE,
        by_record=True,
        between_records=True,
        costly=True,
        takes=("scaling",),
        unfit=needs_taxonomy,
    ),
    Measure("relative_mean_change", {"records": information_loss.relative_mean_change}),
    Measure("smallest_frequency", {"cells": rules.smallest_frequency}),
    Measure("smallest_group", {"groups": groups.smallest_group}),
    Measure("sse", {"records": information_loss.sse}, by_record=True, takes=("scaling",), unfit=needs_taxonomy),
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


def judge(name: str, output: Judged, asked: Asked = NOTHING) -> Measurement:
    """Take one measure of an output; measures of the same output share what they compute. asked: its settings, if it
    takes any."""
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
    settings = (asked,) if chosen.takes else ()
    if isinstance(output, Comparison):
        faults = [*chosen.unfit(asked, {column: output.declared[column] for column in output.names})]
        MeasureUndefined.raise_for([replace(fault, field=f"{name}.{fault.field}") for fault in faults])
    # Infinite values and sums beyond the range of floats end below as a refusal, so numpy need not warn.
    with np.errstate(over="ignore", invalid="ignore"):
        found = chosen.functions[output.kind](output, *settings)
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
        **settings: Any,
    ) -> Measurement:
        """Judge the released quasi-identifiers and confidential columns against their originals.

        original, released: columns aligned row by row; what is judged is what is in `released`.
        groups: for each masked column the group label of every record; only some measures need it.
        chosen: the public facts that the mechanism chose; only `public_measures` need them.
        permuted: whether values were swapped inside groups by a uniform permutation; only measures of what is inside
        groups ask.
        settings: what a gate may state beside its limits (`knows`, `finds`, `of`, `scaling`), for measures that take
        it.
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
        **settings: Any,
    ) -> Measurement:
        asked = asked_of(name, settings)
        unfit = MEASURES[name].faults_of_gate(asked) if settings else ()
        MeasureUndefined.raise_for([replace(fault, field=f"{name}.{fault.field}") for fault in unfit])
        return judge(name, compare(original, released, declared, groups, chosen=chosen, permuted=permuted), asked)

    apply.__doc__ = next(functions[kind] for kind in KINDS if kind in functions).__doc__
    return apply


def _named(name: str) -> Measure:
    if name not in MEASURES:
        known = ", ".join(measure_names())
        raise MeasureUnknown.at("measure", rule=f"must be one of {known}", got=name, remedy="Choose one of these.")
    return MEASURES[name]
