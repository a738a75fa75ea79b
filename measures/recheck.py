"""The guarantee counted again on the output.

Nothing here knows how a mechanism works, and no code is shared with one: each check takes the original
and the released columns, the promise, and what the mechanism told about its work, and counts.

    records   prob_k, k_anon   group_checks.py
              dp               block_checks.py
    tables    table            table_checks.py
              statistics       statistic_checks.py
    groups    closeness        bucket_checks.py

A check that the guarantee names and that cannot be run is a failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from penstock.measures.cells.checks import table_checks
from penstock.measures.cells.output import TableOutput
from penstock.measures.cells.statistic_checks import statistic_checks
from penstock.measures.checks import Check, Output, RecheckImpossible
from penstock.measures.groups.checks import bucket_checks
from penstock.measures.groups.output import BucketOutput
from penstock.measures.records.block_checks import block_checks
from penstock.measures.records.comparison import Groups, Settled
from penstock.measures.records.group_checks import group_checks, joined_checks
from penstock.mechanisms.columns import Columns, Declared
from penstock.mechanisms.guarantee import Guarantee, Model

__all__ = ["recheck", "recheck_buckets", "recheck_columns", "recheck_table"]

_CHECKS: dict[Model, Callable[[Output], tuple[Check, ...]]] = {
    "prob_k": group_checks,
    "k_anon": group_checks,
    "dp": block_checks,
}
_TABLE_CHECKS: dict[str, Callable[[TableOutput], tuple[Check, ...]]] = {
    "table": table_checks,
    "statistics": statistic_checks,
}


def recheck(
    original: Columns,
    released: Columns,
    declared: Declared,
    guarantee: Guarantee,
    masked: Sequence[str],
    groups: Groups,
    settled: Settled | None = None,
) -> tuple[Check, ...]:
    """Run every check of the guarantee's model; refuse if the guarantee names one that was not run.

    declared: the columns of the output. settled: public facts that the mechanism chose, where it chooses some.
    """
    if guarantee.model not in _CHECKS:
        raise RecheckImpossible.at(
            "guarantee.model",
            rule=f"must be one of {', '.join(_CHECKS)} to be re-checked",
            got=guarantee.model,
            remedy="Add checks for this model.",
        )
    records = _aligned(original, released)
    checks = _CHECKS[guarantee.model](
        Output(
            original=original,
            released=released,
            declared=declared,
            guarantee=guarantee,
            masked=frozenset(masked),
            groups=groups,
            settled=settled or {},
            records=records,
        )
    )
    return _all_run(guarantee, checks)


def recheck_columns(output: Output, found: Mapping[str, Mapping[str, bool]]) -> tuple[Check, ...]:
    """Every check of ir_swap, where each column was looked at by itself (`group_checks.column_verdicts`).

    output: without values; `released` has the columns of the file.
    """
    return _all_run(output.guarantee, joined_checks(output, found))


def recheck_table(output: TableOutput) -> tuple[Check, ...]:
    """Run every check of the mechanism that made the table; refuse if the guarantee names one that was not run."""
    mechanism = output.guarantee.parameters.get("mechanism")
    if mechanism not in _TABLE_CHECKS:
        raise RecheckImpossible.at(
            "guarantee.parameters.mechanism",
            rule=f"must be one of {', '.join(_TABLE_CHECKS)} for a table to be re-checked",
            got=mechanism,
            remedy="Add checks for this mechanism.",
        )
    return _all_run(output.guarantee, _TABLE_CHECKS[mechanism](output))


def recheck_buckets(output: BucketOutput) -> tuple[Check, ...]:
    """Run every check of groups with buckets; refuse if the guarantee names one that was not run."""
    mechanism = output.guarantee.parameters.get("mechanism")
    if mechanism != "closeness":
        raise RecheckImpossible.at(
            "guarantee.parameters.mechanism",
            rule="must be closeness for groups to be re-checked",
            got=mechanism,
            remedy="Add checks for this mechanism.",
        )
    if _aligned(output.original, output.released) != output.records:
        raise RecheckImpossible.at("records", rule="must be as many as the columns have", remedy="Correct it.")
    return _all_run(output.guarantee, bucket_checks(output))


def _aligned(original: Columns, released: Columns) -> int:
    """The number of records on both sides, at least one."""
    lengths = {len(values) for side in (original, released) for values in side.values()}
    if len(lengths) != 1 or lengths == {0}:
        raise RecheckImpossible.at(
            "columns", rule="must be aligned row by row, original and released", remedy="Align them."
        )
    return lengths.pop()


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
