"""What may be asked under bootstrap differential privacy, and every reason why it cannot be had.

The size of every group, and who is in it, is one of

    fixed     public: all records under `bootstrap_replace`, or groups under `bootstrap_within_cell`
    counted   all records under `bootstrap_add_remove`: one more or one less
    chosen    one group, chosen by `only`: a change lets one record enter or leave it, or changes a record in it
    moving    all groups of which records may come from and go to any other

Under `chosen` and `moving` a data set made of records of D may have any number of them in a group, however many are
there in D, and none at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from penstock.mechanisms.columns import Declared
from penstock.mechanisms.refusal import Fault

if TYPE_CHECKING:
    from penstock.mechanisms.columns import Column
    from penstock.mechanisms.statistics._settings import Params, Statistic

__all__ = [
    "Membership",
    "bootstrap_count_faults",
    "bootstrap_faults",
    "is_of_everybody",
    "membership",
    "resolution_faults",
    "takes_resolution",
]

Membership = Literal["fixed", "counted", "chosen", "moving"]

_ADJACENCIES = ("bootstrap_replace", "bootstrap_add_remove", "bootstrap_within_cell")
# Local sensitivities of these are gaps between records, if there are records on both sides.
_INSIDE = ("median", "quantile", "second_maximum")
_ACCEPTED = (
    "must say that you accept bdp: it compares only data sets made of the actual records, and its noise follows their "
    "extremes: it bounds nothing of what the size of the noise reveals, and whoever is unlike all others is compared "
    "with nobody"
)


def membership(params: Params) -> Membership:
    """Return what is public about the groups of settings under bdp."""
    if params.only:
        return "chosen"
    if params.adjacency == "bootstrap_within_cell" or (params.adjacency == "bootstrap_replace" and not params.groups):
        return "fixed"
    return "moving" if params.groups else "counted"


def is_of_everybody(params: Params) -> bool:
    """Return whether noise for one record more or less holds only if the source is all of the data set.

    A mean of n values moves by width / n. In data sets made of the records of all, some of the records of a part may
    have become others: they may leave two in the part, or none. Counts and sums do not look at how many there are.
    """
    others = any(figure.statistic not in ("count", "sum") for figure in params.figures)
    return membership(params) == "counted" and others


def bootstrap_faults(params: Params, declared: Declared) -> Iterator[Fault]:
    """Yield every reason why settings do not fit the model; columns and single figures are judged elsewhere."""
    if params.adjacency not in _ADJACENCIES:
        rule = f"must be one of {', '.join(_ADJACENCIES)} under bdp"
        yield Fault("adjacency", rule, "Choose one of these.", params.adjacency)
    elif params.adjacency == "bootstrap_within_cell" and not params.groups:
        remedy = "Use bootstrap_replace, or name groups."
        yield Fault("adjacency", "must not speak of groups where none are named", remedy, params.adjacency)
    if params.acknowledges != ("bdp",):
        yield Fault("acknowledges", _ACCEPTED, "Add [bdp], or use model: dp.", str(list(params.acknowledges)))
    if params.rows_per_unit is not None:
        rule = "must not be given under bdp, where it is not proven"
        yield Fault("rows_per_unit", rule, "Prepare one row per unit.", str(params.rows_per_unit))
    yield from _only_faults(params, declared)


def _only_faults(params: Params, declared: Declared) -> Iterator[Fault]:
    if params.only and params.groups:
        rule = "must not be given together with groups: it chooses one group instead of all"
        yield Fault("only", rule, "Remove one of the two.", ", ".join(params.only))
    for name, category in params.only.items():
        column = declared.get(name)
        if column is None or column.role not in ("quasi_identifier", "confidential"):
            remedy = "Declare it as quasi_identifier or confidential."
            yield Fault("only", "must name declared columns that are no identifier or weight", remedy, repr(name))
        elif column.categories is None or category not in column.categories:
            rule = "must name a declared category of each column"
            yield Fault(f"only.{name}", rule, "Correct it, or declare it.", repr(category))
        elif column.missing != "refuse":
            rule = "must be refuse: a record without a category belongs to no group"
            yield Fault(f"columns.{name}.missing", rule, "Complete the data first.", column.missing)


def bootstrap_count_faults(params: Params, field: str) -> Iterator[Fault]:
    """Yield a fault of a count that is public."""
    if membership(params) == "fixed":
        rule = f"must not be count under {params.adjacency}, where the size of every group is public"
        remedy = "Publish it as it is, or choose another adjacency."
        yield Fault(f"{field}.statistic", rule, remedy, "count")


def takes_resolution(params: Params) -> bool:
    """Return whether columns may have a resolution in place of a domain: no noise under bdp follows the domain, nor
    that of figures inside the data under idp, where the sizes of groups are public."""
    return params.model == "bdp" or params.adjacency in ("from_D", "from_D_within_cell")


def resolution_faults(figure: Statistic, params: Params, column: Column, field: str) -> Iterator[Fault]:
    """Yield a fault of a figure that needs a domain."""
    if column.resolution is None:
        return
    if params.model == "idp" and figure.statistic not in _INSIDE:
        rule = f"must be one of {', '.join(_INSIDE)} of a column without a domain: noise of the others follows a bound"
        yield Fault(f"{field}.statistic", rule, "Declare a domain, or ask for one of these.", figure.statistic)
    elif figure.statistic == "variance":
        rule = "must not be variance of a column without a domain: sums of its squares would not fit into 62 bits"
        yield Fault(f"{field}.statistic", rule, "Declare a domain, or ask for another figure.", figure.statistic)
