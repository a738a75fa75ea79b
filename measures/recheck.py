"""The guarantee counted again on the output.

Nothing here knows how a mechanism works, and no code is shared with one: each check takes the original
and the released columns, the promise, and what the mechanism stated about its work, and counts.

    records   prob_k, k_anon        records/group_checks.py
              dp_microaggregation   records/block_checks.py
              refinement            records/answer_checks.py
    cells     table                 cells/checks.py
              statistics            cells/statistic_checks.py
    groups    closeness             groups/checks.py

A check that the guarantee names and that cannot be run is a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.measures.cells.checks import table_checks
from penstock.measures.cells.output import TableOutput
from penstock.measures.cells.statistic_checks import statistic_checks
from penstock.measures.checks import Check, RecheckImpossible
from penstock.measures.groups.checks import bucket_checks
from penstock.measures.groups.output import BucketOutput
from penstock.measures.records.answer_checks import answer_checks
from penstock.measures.records.block_checks import block_checks
from penstock.measures.records.group_checks import METHODS, group_checks, joined_checks
from penstock.measures.records.output import RecordOutput
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.mechanism import Kind

__all__ = ["recheck", "recheck_columns"]
_OF_RECORDS: dict[str, Callable[[RecordOutput], tuple[Check, ...]]] = {
    **dict.fromkeys(METHODS, group_checks),
    "dp_microaggregation": block_checks,
    "refinement": answer_checks,
}
_OF_CELLS: dict[str, Callable[[TableOutput], tuple[Check, ...]]] = {
    "table": table_checks,
    "statistics": statistic_checks,
}


def recheck(output: RecordOutput | TableOutput | BucketOutput) -> tuple[Check, ...]:
    """Run every check of an output; refuse if the guarantee names one that was not run."""
    return _all_run(output.guarantee, _CHECKS[output.kind](output))


def recheck_columns(output: RecordOutput, found: Mapping[str, Mapping[str, bool]]) -> tuple[Check, ...]:
    """Return every check of ir_swap, where each column was looked at by itself (`group_checks.column_verdicts`).

    output: without values; `released` has the columns of the file.
    """
    return _all_run(output.guarantee, joined_checks(output, found))


def _record_checks(output: RecordOutput) -> tuple[Check, ...]:
    model = output.guarantee.model
    checked = output.guarantee.parameters.get("mechanism") if model == "dp" else model
    if checked not in _OF_RECORDS:
        raise RecheckImpossible.at(
            "guarantee.parameters.mechanism" if model == "dp" else "guarantee.model",
            rule=f"must be one of {', '.join(_OF_RECORDS)} to be re-checked",
            got=checked,
            remedy="Add checks for it.",
        )
    _require_aligned(output)
    return _OF_RECORDS[checked](output)


def _cell_checks(output: TableOutput) -> tuple[Check, ...]:
    mechanism = output.guarantee.parameters.get("mechanism")
    if mechanism not in _OF_CELLS:
        raise RecheckImpossible.at(
            "guarantee.parameters.mechanism",
            rule=f"must be one of {', '.join(_OF_CELLS)} for a table to be re-checked",
            got=mechanism,
            remedy="Add checks for this mechanism.",
        )
    return _OF_CELLS[mechanism](output)


def _bucket_checks(output: BucketOutput) -> tuple[Check, ...]:
    mechanism = output.guarantee.parameters.get("mechanism")
    if mechanism != "closeness":
        raise RecheckImpossible.at(
            "guarantee.parameters.mechanism",
            rule="must be closeness for groups to be re-checked",
            got=mechanism,
            remedy="Add checks for this mechanism.",
        )
    _require_aligned(output)
    return bucket_checks(output)


_CHECKS: dict[Kind, Callable[[Any], tuple[Check, ...]]] = {
    "records": _record_checks,
    "cells": _cell_checks,
    "groups": _bucket_checks,
}


def _require_aligned(output: RecordOutput | BucketOutput) -> None:
    """Refuse unless both sides have as many records as the output says, at least one."""
    lengths = {len(values) for side in (output.original, output.released) for values in side.values()}
    if len(lengths) != 1 or lengths == {0}:
        raise RecheckImpossible.at(
            "columns", rule="must be aligned row by row, original and released", remedy="Align them."
        )
    if lengths != {output.records}:
        raise RecheckImpossible.at("records", rule="must be as many as the columns have", remedy="Correct it.")


def _all_run(guarantee: Guarantee, checks: tuple[Check, ...]) -> tuple[Check, ...]:
    not_run = sorted(set(guarantee.audit) - {check.name for check in checks})
    if not_run:
        raise RecheckImpossible.at(
            "guarantee.audit",
            rule="must name only checks that are run",
            got=not_run,
            remedy="Add the check, or correct the guarantee.",
        )
    return checks
