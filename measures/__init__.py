"""Judge data: risk and utility of what is about to be released, and whether the promise holds in it.

Pure: arrays in, frozen results out. Results are confidential unless they say `public`. Begin with `registry` (measures
by name), `recheck` (the promise counted again) and `gates` (limits, verdicts, the one decision).

    asked           what may be asked of a measure besides its value: its settings, which gates state
    cells/          judge tables: the checks and measures of released cells, counted again from the records
    checks          one count of the guarantee, and what the checks of every model share
    clamping        what clamping took away: how many values lay beyond their bounds, and by how much each total is
                    off because of it
    gates           limits on measures, and the one decision they lead to
    groups/         judge groups of records with buckets: their checks and measures, counted again from the records
    kernels         compiled loops of the measures and re-checks
    kinds           what measures call each kind of output, in faults and refusals
    measurement     one judgement of released data: a number that says what it means
    possible        gates that no release could keep, found before anything is drawn
    public_facts    measures of public facts, known before any row is read
    recheck         the guarantee counted again on the output
    records/        judge records beside their originals: risk, utility, and the checks of the promise
    registry        measures by name, as specs and gates know them: one table for all kinds of output
    rows            values as keys that are equal exactly when the values are, and records that are identical
    sorted_groups   values sorted inside their groups, all groups of one size at once
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from penstock.measures.cells.output import TableOutput
    from penstock.measures.checks import Check, RecheckImpossible
    from penstock.measures.gates import Decision, Gate, GateRefused, GateResult, Verdict, decide
    from penstock.measures.groups.output import BucketOutput
    from penstock.measures.measurement import Measurement, MeasureUndefined, MeasureUnknown
    from penstock.measures.records.balance import Balance, balance
    from penstock.measures.records.matching import link_probabilities
    from penstock.measures.records.output import RecordOutput
    from penstock.measures.registry import Measure, MeasureOfRecords, judge, measure, measure_names, public_measures

__all__ = [
    "Balance",
    "BucketOutput",
    "Check",
    "Decision",
    "Gate",
    "GateRefused",
    "GateResult",
    "Measure",
    "MeasureOfRecords",
    "MeasureUndefined",
    "MeasureUnknown",
    "Measurement",
    "RecheckImpossible",
    "RecordOutput",
    "TableOutput",
    "Verdict",
    "balance",
    "decide",
    "judge",
    "link_probabilities",
    "measure",
    "measure_names",
    "public_measures",
]

# Imported when they are asked for, so that a command loads only what it uses.
_PLACES = {
    "cells.output": ("TableOutput",),
    "checks": ("Check", "RecheckImpossible"),
    "gates": ("Decision", "Gate", "GateRefused", "GateResult", "Verdict", "decide"),
    "groups.output": ("BucketOutput",),
    "measurement": ("Measurement", "MeasureUndefined", "MeasureUnknown"),
    "records.balance": ("Balance", "balance"),
    "records.matching": ("link_probabilities",),
    "records.output": ("RecordOutput",),
    "registry": ("Measure", "MeasureOfRecords", "judge", "measure", "measure_names", "public_measures"),
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Return a public name from the module that has it."""
        for place, names in _PLACES.items():
            if name in names:
                return getattr(import_module(f"{__name__}.{place}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
