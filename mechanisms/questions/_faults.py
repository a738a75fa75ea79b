"""Every reason why a question cannot be asked, found without looking at the data."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import get_args

from penstock.mechanisms.columns import Column, Declared
from penstock.mechanisms.numbers.grid import grid_of
from penstock.mechanisms.questions.query import Adjacency, Condition, Query, Relaxation, Terms
from penstock.mechanisms.refusal import Fault, SettingRefused
from penstock.mechanisms.statistics import LARGEST_DENOMINATOR

__all__ = ["MOST_CONDITIONS", "MOST_GROUPS", "condition_faults", "faults", "is_about_everybody"]

MOST_GROUPS = 10_000
MOST_CONDITIONS = 20
MOST_ROWS_PER_UNIT = 10_000
# Sums over 2^32 records stay below 2^62.
_LARGEST_VALUE = 2**30


def faults(query: Query, declared: Declared, terms: Terms) -> list[Fault]:
    """Return every reason why this question cannot be asked of a data set with these columns and terms."""
    found = [
        *_terms_faults(terms),
        *_share_faults(query),
        *_column_faults(query, declared),
        *_group_faults(query, declared),
        *_individual_faults(query, terms),
    ]
    if len(query.where) > MOST_CONDITIONS:
        rule = f"must have at most {MOST_CONDITIONS} conditions"
        return [*found, Fault("where", rule, "Ask with fewer.", str(len(query.where)))]
    for place, condition in enumerate(query.where):
        found += condition_faults(condition, declared, f"where.{place}")
    if query.statistic == "count" and terms.adjacency == "replace" and not query.where and query.by is None:
        rule = "must not be count of all records under replace, where their number is public"
        found.append(Fault("statistic", rule, "Read it in the description of the data set.", "count"))
    return found


def is_about_everybody(query: Query, declared: Declared) -> bool:
    """Return whether every record takes part, whatever it holds: no condition, no group, nothing may be missing."""
    complete = query.of is None or declared[query.of].missing == "refuse"
    return not query.where and query.by is None and complete


def _usable(declared: Declared, name: str | None) -> Column | None:
    column = declared.get(name or "")
    return column if column is not None and column.role in ("quasi_identifier", "confidential") else None


def _terms_faults(terms: Terms) -> Iterator[Fault]:
    if terms.adjacency not in get_args(Adjacency):
        rule = f"must be one of {', '.join(get_args(Adjacency))}"
        yield Fault("terms.adjacency", rule, "Name what neighbours differ in.", repr(terms.adjacency))
    if not 1 <= terms.rows_per_unit <= MOST_ROWS_PER_UNIT:
        rule = f"must be from 1 to {MOST_ROWS_PER_UNIT:,}"
        yield Fault("terms.rows_per_unit", rule, "Bound the rows of a unit.", str(terms.rows_per_unit))
    elif terms.rows_per_unit > 1 and terms.whose is None:
        rule = "must be 1 where each row stands by itself"
        yield Fault("terms.rows_per_unit", rule, "Name the column of units.", str(terms.rows_per_unit))
    unknown = [name for name in terms.relaxations if name not in get_args(Relaxation)]
    if unknown:
        rule = f"must be some of {', '.join(get_args(Relaxation))}"
        yield Fault("terms.relaxations", rule, "Correct it.", ", ".join(map(repr, unknown)))
    if terms.records is not None and not 0 <= terms.records < 2**32:
        rule = "must be from 0 to 2^32 - 1"
        yield Fault("terms.records", rule, "Correct it.", str(terms.records))


def _share_faults(query: Query) -> Iterator[Fault]:
    share = query.share
    if query.statistic != "quantile":
        if share is not None:
            yield Fault("share", f"must not be given for {query.statistic}", "Remove it.", str(share))
    elif share is None or not 0 < share < 1 or share.denominator > LARGEST_DENOMINATOR:
        rule = "must be above 0 and below 1 for a quantile, with a denominator of at most 1,000,000"
        yield Fault("share", rule, 'Write it as "9/10".', "" if share is None else str(share))


def _column_faults(query: Query, declared: Declared) -> Iterator[Fault]:
    if query.statistic == "count":
        if query.of is not None:
            rule = "must not be given for a count, which is about records"
            yield Fault("of", rule, "Remove it, or put it into where.", repr(query.of))
        return
    column = _usable(declared, query.of)
    if column is None:
        rule = "must be a declared column that is neither identifier nor weight"
        yield Fault("of", rule, "Name one.", "" if query.of is None else repr(query.of))
    elif column.numeric:
        yield from _grid_faults(query, column)
    elif query.statistic != "value":
        yield Fault("of", f"must be a column of numbers for {query.statistic}", "Name one.", repr(query.of))


def _grid_faults(query: Query, column: Column) -> Iterator[Fault]:
    try:
        grid = grid_of(column, str(query.of))
    except SettingRefused as refused:
        yield from refused.faults
        return
    if query.statistic == "sum" and max(abs(grid.first), abs(grid.first + grid.steps)) > _LARGEST_VALUE:
        rule = "must not lie so far from 0 for its width: sums of many values would not fit into 62 bits"
        yield Fault(f"columns.{query.of}.domain", rule, "Ask for the mean.", str(column.domain))


def _group_faults(query: Query, declared: Declared) -> Iterator[Fault]:
    if query.by is None:
        return
    column = _usable(declared, query.by)
    if column is None or column.categories is None:
        rule = "must be a declared column of categories that is neither identifier nor weight"
        yield Fault("by", rule, "Name one.", repr(query.by))
    elif len(column.categories) > MOST_GROUPS:
        rule = f"must have at most {MOST_GROUPS:,} categories"
        yield Fault("by", rule, "Take a coarser column, or conditions.", f"{len(column.categories):,}")


def _individual_faults(query: Query, terms: Terms) -> Iterator[Fault]:
    if query.statistic != "value":
        if query.individual is not None:
            rule = f"must not be given for {query.statistic}, which is about many"
            yield Fault("individual", rule, "Remove it.")
        return
    if query.individual is None:
        yield Fault("individual", "must be given for value", "Say whose value is asked.")
    if terms.whose is None:
        rule = "must be named for a question about one individual"
        yield Fault("terms.whose", rule, "Name the column of units, or ask about many.")
    if terms.adjacency != "presence":
        rule = "must be presence for a question about one individual: no other promise covers it"
        yield Fault("terms.adjacency", rule, "Ask about many.", terms.adjacency)
    if terms.rows_per_unit > 1:
        rule = "must be 1 for a question about one individual, whose value would otherwise be several"
        yield Fault("terms.rows_per_unit", rule, "Ask about many.", str(terms.rows_per_unit))
    for field, given in (("where", query.where), ("by", query.by)):
        if given:
            yield Fault(field, "must not be given for value", "Remove it.")


def condition_faults(condition: Condition, declared: Declared, field: str) -> Iterator[Fault]:
    """Yield what is wrong with a condition on these columns."""
    column = _usable(declared, condition.column)
    if column is None:
        rule = "must be a declared column that is neither identifier nor weight"
        yield Fault(f"{field}.column", rule, "Name one.", repr(condition.column))
    elif column.numeric:
        yield from _band_faults(condition, column, field)
    else:
        yield from _category_faults(condition, column, field)


def _band_faults(condition: Condition, column: Column, field: str) -> Iterator[Fault]:
    if condition.is_in is not None:
        yield Fault(f"{field}.is_in", "must not be given for numbers", "Give at_least, below or both.")
    low, high = (Fraction(bound) for bound in column.domain or (0, 0))
    first, end = condition.at_least, condition.below
    if first is None and end is None:
        yield Fault(f"{field}.at_least", "must be given for numbers, or below, or both", "Say which numbers count.")
    if first is not None and not low <= first <= high:
        rule = f"must lie in the declared domain, {low} to {high}"
        yield Fault(f"{field}.at_least", rule, "Correct it, or leave it out.", str(first))
    if end is not None and not low < end <= high:
        rule = f"must lie in the declared domain, above {low} and up to {high}"
        yield Fault(f"{field}.below", rule, "Correct it, or leave it out to include the upper bound.", str(end))
    if first is not None and end is not None and not first < end:
        yield Fault(f"{field}.below", "must be above at_least", "Correct one of them.", str(end))


def _category_faults(condition: Condition, column: Column, field: str) -> Iterator[Fault]:
    for name in ("at_least", "below"):
        if getattr(condition, name) is not None:
            yield Fault(f"{field}.{name}", "must not be given for categories", "Give is_in.")
    chosen = condition.is_in
    if not chosen:
        yield Fault(f"{field}.is_in", "must name at least one of the declared categories", "Say which count.")
        return
    if len(set(chosen)) < len(chosen):
        yield Fault(f"{field}.is_in", "must not name a category twice", "Remove the repetition.")
    known = {str(category) for category in column.categories or ()}
    unknown = [category for category in dict.fromkeys(chosen) if category not in known]
    if unknown:
        rule = "must name declared categories only"
        yield Fault(f"{field}.is_in", rule, "Correct it.", ", ".join(map(repr, unknown[:5])))
