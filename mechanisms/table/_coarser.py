"""Coarser levels of a dimension: the concepts of its column's taxonomy, each with the categories below it.

A taxonomy that is a tree, whose categories all have d + 1 concepts above them, has d levels between its root and its
categories. The root is the total. A level groups the categories by the concept above them there; groups stand in the
order of their first category, so that no order of keys decides. A margin keeps of each dimension its categories, one
coarser level, or nothing; a record is in one group of each level, so a measured level spends like any other (_chosen).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, Field, StrictStr

from penstock.mechanisms.columns import Column, Declared
from penstock.mechanisms.layout import TOTAL, Coarser, Figure, error_of
from penstock.mechanisms.refusal import Fault

if TYPE_CHECKING:
    from penstock.mechanisms.table.settings import Params

__all__ = [
    "LevelSettings",
    "coarser_levels",
    "combinations_of",
    "kept_faults",
    "level_faults",
    "margins_of",
    "rows_of_all",
]

_Name = Annotated[StrictStr, Field(pattern=r"^[a-z][a-z0-9_]{0,49}$")]


class LevelSettings(BaseModel):
    """The part of the settings that shows coarser levels of dimensions."""

    levels: dict[StrictStr, Annotated[tuple[_Name, ...], Field(min_length=1)]] = Field(
        default={},
        exclude_if=lambda given: not given,  # so that specs from before there were any keep their digests
        description="For dimensions whose column has a taxonomy: names for its levels between the root and the "
        "categories, from coarse to fine, such as {nace: [section, division]}. Every level gets its totals, or those "
        "that totals names.",
    )


def coarser_levels(params: Params, declared: Declared) -> dict[str, Coarser]:
    """Return the coarser levels by name, of each dimension from coarse to fine; settings must be without fault."""
    found = {}
    for dimension in (name for name in params.dimensions if name in params.levels):
        above = [_above(declared[dimension], category) for category in declared[dimension].categories or ()]
        for place, name in enumerate(params.levels[dimension]):
            labels = tuple(dict.fromkeys(path[place] for path in above))
            places = {label: group for group, label in enumerate(labels)}
            found[name] = Coarser(dimension, labels, tuple(places[path[place]] for path in above))
    return found


def margins_of(params: Params) -> list[tuple[str, ...]]:
    """Return what each margin keeps, in the order of the dimensions: margins of many dimensions first, and of the same
    dimensions the finer first."""
    if params.margins == "none":
        return []
    places = {name: place for place, names in enumerate(_choices(params)) for name in names}
    ranks = {name: rank for names in _choices(params) for rank, name in enumerate(names)}
    if params.totals is None:
        every = product(*((*names, None) for names in _choices(params)))
        kept = [tuple(name for name in margin if name is not None) for margin in every]
        kept.remove(params.dimensions)
    else:
        kept = [tuple(sorted({*margin} & {*places}, key=lambda name: places[name])) for margin in params.totals]
    return sorted(kept, key=lambda margin: (-len(margin), *([of[name] for name in margin] for of in (places, ranks))))


def combinations_of(params: Params) -> int:
    """Return how many levels there are, the cells among them, where every margin is shown; none of them is listed."""
    return prod(len(names) + 1 for names in _choices(params))


def rows_of_all(params: Params, sizes: Mapping[str, int]) -> int:
    """Return how many rows all these levels have; sizes: of every dimension and coarser level."""
    return prod(1 + sum(sizes[name] for name in names) for names in _choices(params))


def kept_faults(params: Params) -> Iterator[Fault]:
    """Yield a fault if a margin keeps what cannot be kept."""
    dimension_of = {name: names[0] for names in _choices(params) for name in names}
    for listed in params.totals or ():
        margin = frozenset(listed)
        dimensions = [dimension_of.get(name) for name in margin]
        if None in dimensions or margin == set(params.dimensions):
            rule = "must each keep some of the dimensions, not all"
            if params.levels:
                rule = "must each keep some of the dimensions or coarser levels of them, not all dimensions"
            yield Fault("totals", rule, "Name dimensions of this table.", ", ".join(listed))
            return
        if len(set(dimensions)) < len(dimensions):
            rule = "must each keep one level of a dimension at most: the coarser one follows from the finer"
            yield Fault("totals", rule, "Leave out one of them.", ", ".join(sorted(margin)))
            return


def level_faults(params: Params, declared: Declared, figures: Sequence[Figure]) -> Iterator[Fault]:
    """Yield every reason why these levels cannot be shown; dimensions and figures must be without fault."""
    if not params.levels:
        return
    if params.tables:
        rule = "must not be given with tables, whose levels are sets of dimensions"
        yield Fault("levels", rule, "Remove it, or release the tables as separate outputs.")
        return
    if params.margins == "none":
        yield Fault("levels", "must not be given where there are no margins", "Remove it, or choose margins: summed.")
    if params.exact_total and params.margins == "measured":
        rule = "must not be given with exact_total where margins are measured, which are not fitted to it by groups"
        yield Fault("levels", rule, "Choose margins: summed, or remove exact_total.")
    taken = {*declared, *(name for figure in figures for name in (figure.name, error_of(figure.name)))}
    times = Counter(name for names in params.levels.values() for name in names)
    for dimension, names in params.levels.items():
        field = f"levels.{dimension}"
        if dimension not in params.dimensions:
            yield Fault("levels", "must be of dimensions of this table", "Correct the name.", repr(dimension))
            continue
        for name in dict.fromkeys(names):
            if name in taken or times[name] > 1:
                rule = "must have a name that no column, no figure and no other level has"
                yield Fault(field, rule, "Rename the level.", repr(name))
        yield from _tree_faults(field, names, declared[dimension])


def _tree_faults(field: str, names: Sequence[str], column: Column) -> Iterator[Fault]:
    """Yield a fault if the taxonomy of a column is none whose levels have these names."""
    if column.taxonomy is None:
        rule = "must be of a column with a taxonomy"
        yield Fault(field, rule, "Declare the taxonomy of the column, or remove the levels.")
        return
    several = next((concept for concept, above in column.taxonomy.items() if len(above) > 1), None)
    if several is not None:
        rule = "must be of a taxonomy that is a tree: a concept with two parents would count in two groups"
        yield Fault(field, rule, "Leave one parent of each concept.", repr(several))
        return
    depths = {len(_above(column, category)) for category in column.categories or ()}
    if len(depths) > 1:
        rule = "must be of a taxonomy whose categories are all equally deep"
        yield Fault(field, rule, "Add a concept above the higher ones.", f"{min(depths)} and {max(depths)} levels")
    elif depths != {len(names)}:
        rule = "must name every level between the root and the categories, from coarse to fine"
        yield Fault(field, rule, "Name each once.", f"{len(names)} of {max(depths)}")
    elif any(TOTAL in _above(column, category) for category in column.categories or ()):
        rule = f"must not have a group called {TOTAL}, which stands for a total"
        yield Fault(field, rule, "Rename the concept.", TOTAL)


def _above(column: Column, category: str | int) -> list[str]:
    """Return the concepts above a category in a tree, from coarse to fine, without the root."""
    parents: Mapping[str, Sequence[str]] = column.taxonomy or {}
    found, above = [], parents[str(category)]
    while above:
        found.append(above[0])
        above = parents[above[0]]
    return found[-2::-1]


def _choices(params: Params) -> list[tuple[str, ...]]:
    """Return for each dimension the names of its levels, from fine to coarse."""
    return [(name, *reversed(params.levels.get(name, ()))) for name in params.dimensions]
