"""Remedies of a question that name what is declared: columns and categories are public, and the list is what helps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from penstock.mechanisms.columns import Column
from penstock.mechanisms.questions import Condition, Query
from penstock.mechanisms.refusal import Fault

__all__ = ["with_declared"]

_MOST = 10  # names in a list


def with_declared(fault: Fault, query: Query, declared: Mapping[str, Column]) -> Fault:
    """Return the fault with a remedy that lists what could be meant, or says how numbers are asked for."""
    remedy = _remedy(fault.field, query, declared)
    return fault if remedy is None else replace(fault, remedy=remedy)


def _remedy(field: str, query: Query, declared: Mapping[str, Column]) -> str | None:
    usable = {name: each for name, each in declared.items() if each.role not in ("identifier", "weight")}
    if field == "by" and (query.by not in usable or usable[query.by].categories is None):
        return _one_of(name for name, each in usable.items() if each.categories is not None)
    if field == "of" and query.statistic != "count":
        return _one_of(name for name, each in usable.items() if query.statistic == "value" or each.numeric)
    start, _, rest = field.partition(".")
    place, _, part = rest.partition(".")
    if start != "where" or not place.isdigit():
        return None
    condition = query.where[int(place)]
    column = usable.get(condition.column)
    if column is None:
        return _one_of(usable) if part == "column" else None
    if not part.startswith("is_in"):
        return None
    if column.numeric:
        return _as_band(condition)
    known = [str(category) for category in column.categories or ()]
    return None if condition.is_in and set(condition.is_in) <= set(known) else _one_of(known)


def _one_of(names: Iterable[str]) -> str:
    """Return a remedy that lists the names."""
    found = list(names)
    return f"Declared are: {', '.join(found[:_MOST])}{', ...' if len(found) > _MOST else ''}."


def _as_band(condition: Condition) -> str:
    """Return how numbers are asked for; where one whole number was named, in its own words."""
    first = (condition.is_in or ("",))[0]
    number = int(first) if first.isascii() and first.isdigit() and len(first) <= 18 else 40
    return f"Write a band, which leaves out its upper end: {condition.column} from {number} below {number + 1}."
