"""The checks of a released table, all counted again from its records.

    all             columns_as_declared, rows_as_declared, margins_add_up       _figures.py
    dp, bdp, idp    epsilon_spent, scales_suffice, figures_as_noised    _noise.py
    impossible      impossible_cells_are_zero, of tables that declare any              _impossible.py
    k_anon          cell_sizes     every cell that is not empty has at least k records, or contributors
                    values_exact   every figure is the one that is counted again

Verdicts name figures and columns, never cells, values or counts.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.measures.cells._figures import columns_as_declared, margins_add_up, rows_as_declared, traced
from penstock.measures.cells._noise import epsilon_spent, figures_as_noised, scales_suffice
from penstock.measures.cells._promise import Promise, read_promise
from penstock.measures.cells.contributors import different
from penstock.measures.cells.impossible import impossible_cells_are_zero
from penstock.measures.cells.output import TableOutput
from penstock.measures.cells.totals import Recounted, recounted
from penstock.measures.checks import Check, verdict
from penstock.mechanisms.models import Model

__all__ = ["table_checks"]


def table_checks(output: TableOutput) -> tuple[Check, ...]:
    """Run every check of the model of a table."""
    promise = read_promise(output)
    table = recounted(output, promise.measures)
    checks = tuple(check(promise, table) for check in _CHECKS[promise.model])
    return (*checks, impossible_cells_are_zero(table)) if promise.has_impossible else checks


def _cell_sizes(promise: Promise, table: Recounted) -> Check:
    counts = different(table.output, table.cells)
    passed = bool(((counts == 0) | (counts >= promise.k)).all())
    counted = "records" if table.output.units is None else "contributors"
    return Check(
        "cell_sizes",
        passed,
        f"every cell that is not empty has at least k = {promise.k} {counted}",
        "every cell is large enough" if passed else "a cell is too small",
    )


def _values_exact(promise: Promise, table: Recounted) -> Check:
    return verdict(
        "values_exact",
        "every figure is the exact one",
        "every one is",
        "a figure is another number",
        traced(promise, table),
    )


_SHOWN = (columns_as_declared, rows_as_declared, margins_add_up)
_NOISE = (epsilon_spent, scales_suffice, figures_as_noised)
_CHECKS: dict[Model, tuple[Callable[[Promise, Recounted], Check], ...]] = {
    "dp": (*_SHOWN, *_NOISE),
    "bdp": (*_SHOWN, *_NOISE),
    "idp": (*_SHOWN, *_NOISE),
    "k_anon": (*_SHOWN, _cell_sizes, _values_exact),
}
