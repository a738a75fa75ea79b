"""Which records may be counted: all of a group where their number is secret, or those of one category.

A record that is replaced changes the number of records of one category by 1 at most, whatever there is in the data: it
has the category or not. So a single such count needs noise of scale 1 / epsilon, where a table of all categories needs
2 / epsilon, because the record leaves one cell and enters another.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from penstock.mechanisms.columns import Declared
from penstock.mechanisms.refusal import Fault
from penstock.mechanisms.statistics._bootstrap_settings import bootstrap_count_faults

if TYPE_CHECKING:
    from penstock.mechanisms.statistics._settings import Params, Statistic

__all__ = ["count_faults"]


def count_faults(figure: Statistic, params: Params, declared: Declared, field: str) -> Iterator[Fault]:
    """Yield every reason why a figure cannot be had that counts all records of a group, or those of one category."""
    if figure.category is not None:
        yield from _category_faults(figure, figure.category, params, declared, field)
        return
    if figure.of is not None:
        yield Fault(
            f"{field}.of", "must not be given for a count, which is about records", "Remove it.", repr(figure.of)
        )
    if params.model == "bdp":
        yield from bootstrap_count_faults(params, field)
    elif params.model == "idp" and params.adjacency != "from_D_add_remove":
        rule = f"must not be count under {params.adjacency}, where the size of every group is public"
        yield Fault(f"{field}.statistic", rule, "Publish it as it is, or count the records of a category.", "count")
    elif params.adjacency == "replace" and not params.groups:
        rule = "must not be count of all records under replace, where it is public"
        yield Fault(f"{field}.statistic", rule, "Publish it as it is, or count groups.", "count")


def _category_faults(
    figure: Statistic, category: str | int, params: Params, declared: Declared, field: str
) -> Iterator[Fault]:
    column = declared.get(figure.of or "")
    if params.model != "idp":
        rule = "must be given under idp only: under dp, counts are those of groups"
        yield Fault(f"{field}.category", rule, "Name the column in groups.", repr(category))
    elif column is None or column.role not in ("quasi_identifier", "confidential") or column.categories is None:
        rule = "must be a declared column with categories that is not an identifier, to count those of one category"
        yield Fault(f"{field}.of", rule, "Name one.", "" if figure.of is None else repr(figure.of))
    elif category not in column.categories:
        yield Fault(f"{field}.category", "must be a declared category of the column", "Name one.", repr(category))
    elif figure.of in params.groups:
        rule = "must not be a column of groups, in each of which all records or none have the category"
        yield Fault(f"{field}.of", rule, "Count another column.", repr(figure.of))
    elif column.missing != "refuse":
        rule = "must be refuse: a record without a category can neither be counted nor left out"
        yield Fault(f"columns.{figure.of}.missing", rule, "Complete the data first.", column.missing)
