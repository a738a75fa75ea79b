"""Settings of coarser levels that do not fit, each with the fault that it must be told."""

from __future__ import annotations

from typing import Any

from penstock.mechanisms.columns import Column
from tests.mechanisms.table_fault_case import Faulty, faulty

TREE = {"top": (), "east": ("top",), "west": ("top",), "a": ("east",), "b": ("west",), "c": ("west",)}
DEEP = {"top": (), **{f"s{n}": ("top",) for n in range(700)}, **{f"d{n}": (f"s{n // 2}",) for n in range(1400)}}
WIDE = {**DEEP, **{f"c{n}": (f"d{n}",) for n in range(1400)}}


def column(taxonomy: dict[str, tuple[str, ...]], **described: Any) -> Column:
    return Column(role="quasi_identifier", type="nominal", taxonomy=taxonomy, **described)


PLACES = {
    "place": column(TREE),
    "other": column(TREE),
    "tangled": column({**TREE, "c": ("west", "east")}),
    "uneven": column({**TREE, "d": ("top",)}),
    "flat": column({"top": (), "a": ("top",), "b": ("top",)}),
    "ends": column({**TREE, "_T": ("top",), "d": ("_T",)}),
    **{f"wide{n}": column(WIDE) for n in range(2)},
    **{f"p{n}": column({"top": (), "g": ("top",), "a": ("g",), "b": ("g",)}) for n in range(10)},
}


def level(field: str, rule: str, got: str = "", model: str = "dp", **chosen: Any) -> Faulty:
    given = {"dimensions": ["area", "place"], "levels": {"place": ["side"]}, **chosen}
    return faulty(model, field, rule, got, PLACES, **given)


LEVEL_FAULTS = {
    "levels of linked tables": level(
        "levels",
        "must not be given with tables",
        dimensions=None,
        tables={"one": ["area", "place"], "two": ["size", "place"]},
    ),
    "levels without margins": level("levels", "must not be given where there are no margins", margins="none"),
    "levels fitted to an exact total": level(
        "levels",
        "must not be given with exact_total where margins are measured",
        exact_total=True,
        margins="measured",
        margin_share="1/2",
    ),
    "levels of another column": level(
        "levels", "must be of dimensions of this table", "'other'", levels={"other": ["side"]}
    ),
    "a level like a column": level("levels.place", "no column, no figure", "'size'", levels={"place": ["size"]}),
    "a level like a figure": level("levels.place", "no column, no figure", "'count'", levels={"place": ["count"]}),
    "a level like an error": level(
        "levels.place", "no column, no figure", "error'", levels={"place": ["count_standard_error"]}
    ),
    "levels without a taxonomy": level("levels.area", "must be of a column with a taxonomy", levels={"area": ["side"]}),
    "a concept with two parents": level(
        "levels.tangled",
        "must be of a taxonomy that is a tree",
        "'c'",
        dimensions=["tangled"],
        levels={"tangled": ["side"]},
    ),
    "categories of two depths": level(
        "levels.uneven", "all equally deep", "0 and 1 levels", dimensions=["uneven"], levels={"uneven": ["side"]}
    ),
    "too few levels": level(
        "levels.wide0", "must name every level", "1 of 2", dimensions=["wide0"], levels={"wide0": ["side"]}
    ),
    "too many levels": level("levels.place", "must name every level", "2 of 1", levels={"place": ["side", "corner"]}),
    "nothing between": level(
        "levels.flat", "must name every level", "1 of 0", dimensions=["flat"], levels={"flat": ["side"]}
    ),
    "a group called total": level(
        "levels.ends", "must not have a group called _T", "_T", dimensions=["ends"], levels={"ends": ["side"]}
    ),
    "two levels of one dimension": level(
        "totals", "must each keep one level of a dimension at most", "place, side", totals=[["side", "place"]]
    ),
    "a margin of nothing known": level("totals", "or coarser levels of them", "corner", totals=[["corner"]]),
    "a margin of all categories": level("totals", "not all dimensions", "area, place", totals=[["area", "place"]]),
    "too many rows of groups": level(
        "totals",
        "must form at most 2^24 rows",
        "36,771,003 rows",
        dimensions=["wide0", "wide1", "size"],
        levels={f"wide{n}": [f"upper{n}", f"lower{n}"] for n in range(2)},
    ),
    "too many margins of groups": level(
        "totals",
        "must form at most 32,768 margins",
        "59,048 margins",
        dimensions=[f"p{n}" for n in range(10)],
        levels={f"p{n}": [f"side{n}"] for n in range(10)},
    ),
    "too much to fit by groups": level(
        "totals",
        "cells x levels is at most 8,388,608",
        "1,960,000 x 7",
        dimensions=["wide0", "wide1"],
        levels={f"wide{n}": [f"upper{n}", f"lower{n}"] for n in range(2)},
        margins="measured",
        margin_share="1/2",
        totals=[[], ["upper0"], ["lower0"], ["upper1"], ["lower1"], ["upper0", "upper1"]],
    ),
}
