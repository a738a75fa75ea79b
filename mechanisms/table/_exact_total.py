"""The exact grand total: where the number of all records is public, a table need not draw noise for it.

Under `replace` neighbouring data sets have the same number n of records, so n may be published as it is and the other
counts be fitted to it. Nowhere else: whoever comes or goes changes n; of the records that a condition chooses, or that
are used of each unit, another number may remain after a replacement; and a replaced record may leave one part of a data
set and enter another, so the number of a part is no more public than any count. The last is not known here: what may
be a part is refused by the spec (flows/spec) and by the ledger, which knows all releases (records/ledger).

The ledger also sees to it that such a source is all of its data set, so that a replaced record stays in it (_chosen).

A table without dimensions has one row, the whole file, and a single count, which is n. Under `bootstrap_replace` and
`from_D` n is public too, and no record that replaces another changes it, so noise would hide nothing: that count is
exact. Under `replace` it is where `exact_total` says so. One that is exact spends nothing, and what is left is spent on
totals; where nothing else would be drawn there is no table to protect, and none is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.mechanisms.refusal import Fault

if TYPE_CHECKING:
    from penstock.mechanisms.table.settings import Params

__all__ = [
    "COUNT_IS_NUMBER",
    "EXACT_TOTAL",
    "count_is_number_of_records",
    "count_is_public",
    "exact_total_faults",
    "is_drawn",
    "prints_number",
    "whole_file_faults",
]

EXACT_TOTAL = (
    "The grand total of counts is exact, because the number of records is public; the other counts are fitted to it "
    "and rounded so that they add up to it."
)

COUNT_IS_NUMBER = "The count is exact: it is the number of all records, which is public."


def count_is_number_of_records(params: Params) -> bool:
    """Return whether the only count of a table is the number of all records, and that is public."""
    public = params.exact_total or params.adjacency in ("bootstrap_replace", "from_D")
    return not params.dimensions and public


def prints_number(params: Params) -> bool:
    """Return whether the number of all records is among the figures without noise, or follows from a total and a
    mean."""
    return params.exact_total or (count_is_number_of_records(params) and bool(params.count or params.means))


def count_is_public(params: Params) -> bool:
    """Return whether counts are known to everybody, so that they are printed as they are and spend nothing."""
    return params.adjacency == "bootstrap_within_cell" or count_is_number_of_records(params)


def is_drawn(measure: str, level: tuple[str, ...], params: Params) -> bool:
    """Return whether a measured level draws this measure: all but a grand total that is exact."""
    return not (params.exact_total and measure == "count" and not level)


def exact_total_faults(params: Params) -> Iterator[Fault]:
    """Yield every reason why the grand total of counts cannot be exact."""
    if not params.exact_total:
        return
    field = "exact_total"
    if (params.model, params.adjacency) != ("dp", "replace"):
        rule = "must not be given unless the number of records is public: under dp with adjacency replace"
        yield Fault(field, rule, "Remove it, or choose adjacency: replace.", params.adjacency or params.model)
    if not (params.count or params.means):
        yield Fault(field, "must not be given where records are not counted", "Remove it, or set count: true.")
    if params.weight is not None:
        rule = "must not be given with weights: the number of records is public, the sum of their weights is not"
        yield Fault(field, rule, "Remove one of the two.", repr(params.weight.column))
    if params.rows_per_unit is not None:
        rule = "must not be given with rows_per_unit: how many records are used is not public"
        yield Fault(field, rule, "Remove one of the two.", str(params.rows_per_unit))
    if params.margins == "measured" and params.dimensions and not _others(params):
        rule = "must not be given where the grand total is the only measured margin: it is not drawn"
        yield Fault(field, rule, "Name other totals, or choose margins: summed.")


def _others(params: Params) -> bool:
    """Return whether there are margins besides the grand total; their number may be too large to list them."""
    if params.totals is not None:
        return any(params.totals)
    return any(len(level) > 1 for level in params.tables.values() or (params.dimensions,))


def whole_file_faults(params: Params) -> Iterator[Fault]:
    """Yield what is wrong with a table of the whole file."""
    if params.dimensions:
        return
    if params.margins == "measured":
        rule = "must not be measured where there are no dimensions, and so no margins"
        yield Fault("margins", rule, "Remove it.", "measured")
    if count_is_number_of_records(params) and not (params.sums or params.means):
        rule = "must name a column: the count is the number of records, which is public, and nothing would be drawn"
        yield Fault("sums", rule, "Name a column to add up, or publish the number of records by itself.")
