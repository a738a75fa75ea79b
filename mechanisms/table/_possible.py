"""The values that measures can take for a table of n records, where n is known.

smallest_frequency      k to n                   fewer are refused by the mechanism
largest_share           1 / n to 1;  two_largest_share 2 / n to 1
p_percent               0 to 100 (n - 2)
"""

from __future__ import annotations

from penstock.mechanisms.columns import Declared
from penstock.mechanisms.possible import ANY, Possible, Undefined
from penstock.mechanisms.table._linked import cell_levels
from penstock.mechanisms.table.settings import Params, levels

__all__ = ["possible"]


def possible(name: str, params: Params, declared: Declared, records: int | None) -> Possible | Undefined | None:
    """Return what this measure can come to; None where it is not bounded here."""
    if name in ("largest_share", "two_largest_share", "p_percent") and not (params.sums or params.means):
        return Undefined("a table of sums or means")
    if name == "margin_error" and len(levels(params)) == len(cell_levels(params)):
        return Undefined("a table with margins")
    if name == "noise_chance" and params.model == "k_anon":
        return Undefined("a table with noise")
    if name == "expected_error" and not (params.count or params.sums):
        return Undefined("a table of counts or sums, whose error is stated before the draw")
    among = "" if records is None else f"{records:,} records"
    if name == "smallest_frequency":
        least = 1 if params.k is None else params.k
        return Possible(least, records or ANY, among or f"k = {params.k}")
    if name in ("largest_share", "two_largest_share") and records:
        return Possible(min(1, (1 if name == "largest_share" else 2) / records), 1, among)
    if name == "p_percent" and records:
        return Possible(0, 100 * max(records - 2, 0), among)
    return None
