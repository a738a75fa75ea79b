"""Combinations of categories that cannot occur: how they are written, what is wrong with them, which cells they are.

    {relationship: Husband, marital-status: [Divorced, Widowed]}                                                  (1)

is every combination of one named category of each named column, whatever the others hold. They come from public rules,
never from the data. Three mechanisms take them, to different ends: refinement never answers by one of them, and blocks
of records never come back as one, also where it is the truth (refinement/_joint, dp_microaggregation/_joint); a table
has exact zeros there, and records of that kind are refused (table/_zeros). Such a refusal names no combination: which
of them occurs would be told by the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, WithJsonSchema

from penstock.mechanisms.columns import Column, Columns, Declared
from penstock.mechanisms.refusal import Fault, Refusal

__all__ = [
    "MOST_COMBINATIONS",
    "Combination",
    "CombinationImpossible",
    "Impossible",
    "category_faults",
    "faults_of_each",
    "found_impossible",
    "linked",
    "require_possible",
    "where_impossible",
]

MOST_COMBINATIONS = 640
_RECORDS_AT_A_TIME = 2**16


class CombinationImpossible(Refusal):
    """A record has a combination of categories that was declared impossible."""

    code = "combination-impossible"
    kind = "data"
    remedy = "Correct the declared combinations, or the data."


def _listed(given: object) -> object:
    """Return a list of texts, as categories are named in priors too; what is neither is left to be refused."""
    several = given if isinstance(given, list | tuple) else [given]
    return [str(each) if isinstance(each, int) and not isinstance(each, bool) else each for each in several]


_ONE = {"type": ["string", "integer"]}
Combination = dict[
    str,
    Annotated[
        list[str],
        BeforeValidator(_listed),
        Field(min_length=1, max_length=MOST_COMBINATIONS),
        WithJsonSchema({"anyOf": [_ONE, {"type": "array", "items": _ONE}]}),
    ],
]
Impossible = Sequence[Mapping[str, Sequence[str]]]


def category_faults(field: str, categories: Sequence[str], column: Column) -> Iterator[Fault]:
    """Yield what is wrong with the categories that a combination names of one column."""
    if column.numeric:
        rule, remedy = "must be a column of categories", "Declare bands of the numbers as ordinal categories."
        yield Fault(field, rule, remedy, column.type or "")
        return
    known = {str(category) for category in column.categories or ()}
    unknown = [category for category in categories if category not in known]
    if unknown:
        yield Fault(field, "must name declared categories", "Correct them.", repr(unknown[0]))


def faults_of_each(
    impossible: Impossible, declared: Declared, released: Sequence[str], *, alone: Callable[[str], Fault]
) -> Iterator[Fault]:
    """Yield what is wrong with each combination of released columns; alone: what is said of that of one column."""
    for place, combination in enumerate(impossible):
        field = f"impossible.{place}"
        if len(combination) < 2:
            yield alone(field)
        for name, categories in combination.items():
            if name not in released:
                rule, remedy = "must be a declared column that is released", "Remove it, or declare the column."
                yield Fault(f"{field}.{name}", rule, remedy)
            else:
                yield from category_faults(f"{field}.{name}", categories, declared[name])


def linked(impossible: Impossible, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the columns that combinations link, also through others; all in the order of these names."""
    groups: list[set[str]] = []
    for combination in impossible:
        met = [group for group in groups if group & set(combination)]
        groups = [group for group in groups if group not in met]
        groups.append(set(combination).union(*met))
    ordered = (tuple(name for name in names if name in group) for group in groups)
    return tuple(sorted(ordered, key=lambda group: names.index(group[0])))


def where_impossible(group: Sequence[str], impossible: Impossible, declared: Declared) -> NDArray[np.bool_]:
    """Return which combinations of these columns are (1); one dimension for each column."""
    codes = {name: {str(each): code for code, each in enumerate(declared[name].categories or ())} for name in group}
    found = np.zeros([len(known) for known in codes.values()], bool)
    for combination in impossible:
        if set(combination) <= set(group):
            named = ([known[each] for each in combination.get(name, known)] for name, known in codes.items())
            found[np.ix_(*named)] = True
    return found


def found_impossible() -> Fault:
    """Return the fault of records that cannot be."""
    rule = "must name only combinations that no record has"
    return Fault("impossible", rule, "Correct the combinations or the data.")


def require_possible(columns: Columns, declared: Declared, excluded: Mapping[str | None, Impossible]) -> None:
    """Refuse records, as codes of categories, with a combination that an output excludes; outputs by their names."""
    CombinationImpossible.raise_for(
        found_impossible().of_output(output)
        for output, impossible in excluded.items()
        if impossible and _occurs(columns, declared, impossible)
    )


def _occurs(columns: Columns, declared: Declared, impossible: Impossible) -> bool:
    """Return whether a record has any of the combinations; a missing category is part of none."""
    names = [name for name in declared if any(name in combination for combination in impossible)]
    where = where_impossible(names, impossible, declared)
    for start in range(0, len(columns[names[0]]), _RECORDS_AT_A_TIME):
        rows = slice(start, start + _RECORDS_AT_A_TIME)
        codes = [declared[name].codes(columns[name][rows], name) for name in names]
        if bool((where[tuple(codes)] & (np.stack(codes) >= 0).all(axis=0)).any()):
            return True
    return False
