"""Settings of tables that do not fit, each with the fault that it must be told."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

from tests.mechanisms.faults_of_cells import FAULTS_OF_CELLS
from tests.mechanisms.table_fault_case import ALIKE, COUNTED, MANY, SMALL, THIRDS, WEIGHTED, bounds, faulty

FAULTY = {
    "public cells by what is secret": faulty(
        "bdp",
        "dimensions",
        "must not be confidential under bootstrap_within_cell, where everybody's cell is public",
        "'d0'",
        dimensions=["area", "d0"],
        sums=["x"],
        adjacency="bootstrap_within_cell",
    ),
    "nothing to publish": faulty("dp", "count", "a table has at least one figure", "False", count=False),
    "a dimension twice": faulty(
        "dp", "dimensions", "must not list a column twice", "area, area", dimensions=["area", "area"]
    ),
    "a sum twice": faulty("dp", "sums", "must not list a column twice", "x, x", sums=["x", "x"]),
    "a mean twice": faulty("dp", "means", "must not list a column twice", "y, x, y", means=["y", "x", "y"]),
    "no such dimension": faulty("dp", "dimensions", "must be a declared column", "'colour'", dimensions=["colour"]),
    "no such sum": faulty("dp", "sums", "must be a declared column", "'colour'", sums=["colour"]),
    "an identifier": faulty("dp", "means", "that is not an identifier or weight", "'id'", means=["id"]),
    "a number as dimension": faulty("dp", "dimensions", "must have categories", "'x'", dimensions=["x"]),
    "a sum of categories": faulty("dp", "sums", "must be numbers, to be added up", "'area'", sums=["area"]),
    "a mean of categories": faulty("dp", "means", "must be numbers, to be added up", "'size'", means=["size"]),
    "a sum called count": faulty(
        "dp", "sums", "must not be count, which stands for the number of records", "'count'", sums=["count"]
    ),
    "a mean called count": faulty(
        "k_anon",
        "means",
        "must not be count, which stands for the number of records",
        "'count'",
        means=["count"],
        count=False,
    ),
    "a dimension with missing values": faulty(
        "dp", "columns.answer.missing", "must be refuse", "category", dimensions=["answer"]
    ),
    "a sum with missing values": faulty(
        "dp", "columns.lacking.missing", "must be refuse", "own_group", sums=["lacking"]
    ),
    "no epsilon": faulty("dp", "epsilon", "must be given under dp", epsilon=None),
    "no epsilon of bdp": faulty("bdp", "epsilon", "must be given under bdp", epsilon=None),
    "no adjacency": faulty("idp", "adjacency", "must be given under idp", adjacency=None),
    "no k": faulty("k_anon", "k", "must be given under k_anon", k=None),
    "no scale": faulty("bdp", "scale", "must be given under bdp", scale=None),
    "nothing about empty cells": faulty("bdp", "empty_cells", "must be given under bdp", empty_cells=None),
    "k of dp": faulty("dp", "k", "must not be given under dp", "3", k=3),
    "epsilon of k_anon": faulty("k_anon", "epsilon", "must not be given under k_anon", "1/2", epsilon="1/2"),
    "adjacency of k_anon": faulty(
        "k_anon", "adjacency", "must not be given under k_anon", "replace", adjacency="replace"
    ),
    "scale of dp": faulty("dp", "scale", "must not be given under dp", "one", scale="one"),
    "empty cells of idp": faulty("idp", "empty_cells", "must not be given under idp", "zero", empty_cells="zero"),
    "epsilon 0": faulty("dp", "epsilon", "must be above 0", "0", epsilon="0"),
    "epsilon below 0": faulty("idp", "epsilon", "must be above 0", "-1/2", epsilon=Fraction(-1, 2)),
    "bootstrap under dp": faulty(
        "dp",
        "adjacency",
        "must be one of replace, add_remove under dp",
        "bootstrap_replace",
        adjacency="bootstrap_replace",
    ),
    "replace under bdp": faulty("bdp", "adjacency", "must be one of bootstrap_replace", "replace", adjacency="replace"),
    "replace under idp": faulty("idp", "adjacency", "must be one of from_D", "replace", adjacency="replace"),
    "bdp without a word": faulty(
        "bdp", "acknowledges", "data sets made of the actual records", "[]", acknowledges=None
    ),
    "idp without a word": faulty("idp", "acknowledges", "only with the actual data set", "[]", acknowledges=None),
    "the wrong word": faulty("idp", "acknowledges", "must say that you accept", "['bdp']", acknowledges=["bdp"]),
    "a word too many": faulty(
        "dp", "acknowledges", "must be empty under dp, which relaxes nothing", "['idp']", acknowledges=["idp"]
    ),
    "a word about nothing": faulty(
        "k_anon", "acknowledges", "must be empty under k_anon, which relaxes nothing", "['bdp']", acknowledges=["bdp"]
    ),
    "box under bdp": faulty("bdp", "noise", "must not be given under bdp, where it is not proven", "box", noise="box"),
    "staircase under idp": faulty(
        "idp", "noise", "must not be given under idp, where it is not proven", "staircase", noise="staircase"
    ),
    "noise of exact figures": faulty(
        "k_anon", "noise", "must not be given for exact figures", "laplace", noise="laplace"
    ),
    "units under bdp": faulty(
        "bdp", "rows_per_unit", "must not be given under bdp, where it is not proven", "2", rows_per_unit=2
    ),
    "units under idp": faulty(
        "idp", "rows_per_unit", "must not be given under idp, where it is not proven", "1", rows_per_unit=1
    ),
    "units under k_anon": faulty(
        "k_anon", "rows_per_unit", "must not be given under k_anon, where it is not proven", "2", rows_per_unit=2
    ),
    "shares of a box": faulty(
        "dp",
        "shares",
        "must not be given for box noise, which draws all measures together",
        sums=["x"],
        noise="box",
        shares=THIRDS,
    ),
    "bounds of exact figures": faulty(
        "k_anon",
        "bounds",
        "must not be given for exact figures, because they limit noise",
        sums=["x"],
        bounds=bounds({"area": ["north"]}, [0, 1]),
    ),
    "public membership for who moves": faulty(
        "bdp",
        "scale",
        "must not be the spread of a cell where a record may change its cell",
        "public_membership",
        scale="public_membership",
    ),
    "own scales for who stays": faulty(
        "bdp",
        "scale",
        "the spread of a cell is its own scale",
        "per_cell",
        sums=["x"],
        scale="per_cell",
        adjacency="bootstrap_within_cell",
    ),
    "counts that are public": faulty(
        "bdp", "sums", "where everybody's cell is public, so are all counts", adjacency="bootstrap_within_cell"
    ),
    "shares of others": faulty(
        "dp", "shares", "must be one for each of count, x", "x, y", sums=["x"], shares={"x": "1/2", "y": "1/2"}
    ),
    "shares of public counts": faulty(
        "bdp",
        "shares",
        "must be one for each of x",
        "count, x",
        sums=["x"],
        adjacency="bootstrap_within_cell",
        shares=THIRDS,
    ),
    "a share of nothing": faulty("dp", "shares", "must each be above 0", sums=["x"], shares={"count": "0", "x": "1"}),
    "shares of too much": faulty(
        "dp", "shares", "must add up to 1 exactly", "7/6", sums=["x"], shares={"count": "1/2", "x": "2/3"}
    ),
    "shares of exact figures": faulty(
        "k_anon", "shares", "must not be given for exact figures, which spend nothing", sums=["x"], shares=THIRDS
    ),
    "measured margins of bdp": faulty(
        "bdp",
        "margins",
        "would show the size of the noise, which is secret",
        "measured",
        margins="measured",
        margin_share="1/2",
    ),
    "measured margins of k_anon": faulty(
        "k_anon",
        "margins",
        "would show the size of the noise, which is secret",
        "measured",
        margins="measured",
        margin_share="1/2",
    ),
    "no share of the margins": faulty(
        "dp", "margin_share", "must be above 0 and below 1 where margins are measured", margins="measured"
    ),
    "margins that spend all": faulty(
        "dp", "margin_share", "above 0 and below 1", "1", margins="measured", margin_share="1"
    ),
    "margins that spend nothing": faulty(
        "dp", "margin_share", "above 0 and below 1", "0", margins="measured", margin_share="0"
    ),
    "no margins to measure": faulty(
        "dp",
        "totals",
        "must name at least one where margins are measured",
        margins="measured",
        margin_share="1/2",
        totals=[],
    ),
    "a share of summed margins": faulty(
        "dp", "margin_share", "must not be given where margins are not measured", "1/2", margin_share="1/2"
    ),
    "totals without margins": faulty(
        "dp", "totals", "must not be given where there are no margins", margins="none", totals=[["area"]]
    ),
    "a margin twice": faulty("dp", "totals", "must not list a margin twice", "area", totals=[["area"], [], ["area"]]),
    "a margin of everything": faulty(
        "dp", "totals", "some of the dimensions, not all", "size, area", totals=[["size", "area"]]
    ),
    "a margin of others": faulty("dp", "totals", "some of the dimensions, not all", "x", totals=[[], ["x"]]),
    "too many cells": faulty(
        "dp", "dimensions", "must form at most 2^24 cells", "33,554,432 cells", dimensions=[*MANY][:25]
    ),
    "cells without number": faulty("dp", "dimensions", "at most 2^24 cells", "1,073,741,824 cells", dimensions=[*MANY]),
    "too many sub-totals": faulty(
        "k_anon",
        "totals",
        "at most 2^24 rows, totals and sub-totals included",
        "43,046,721 rows",
        dimensions=[*MANY][:16],
    ),
    "too large sub-totals": faulty(
        "k_anon",
        "totals",
        "at most 2^24 rows, totals and sub-totals included",
        "25,165,825 rows",
        dimensions=[*MANY][:24],
        totals=[[*MANY][:23], []],
    ),
    "too many margins": faulty(
        "k_anon",
        "totals",
        "must form at most 32,768 margins",
        "32,769 margins",
        dimensions=[*MANY][:16],
        totals=[margin for size in range(16) for margin in combinations([*MANY][:16], size)][:32_769],
    ),
    "measured margins of too many dimensions": faulty(
        "dp",
        "totals",
        "is at most 1,048,576 for measured margins",
        "2,048 x 2,048 x 1",
        dimensions=[*MANY][:11],
        margins="measured",
        margin_share="1/2",
    ),
    "bounds of what is not added up": faulty(
        "dp", "bounds.x", "must be a column that is added up", "'x'", bounds=bounds({"area": ["north"]}, [0, 1])
    ),
    "bounds of the count": faulty(
        "dp",
        "bounds.count",
        "must be a column that is added up",
        "'count'",
        bounds=bounds({"area": ["north"]}, [0, 1], "count"),
    ),
    "bounds outside the domain": faulty(
        "dp",
        "bounds.x.0.domain",
        "inside the domain of the column",
        "[-2, 1]",
        sums=["x"],
        bounds=bounds({"area": ["north"]}, [-2, 1]),
    ),
    "bounds above the domain": faulty(
        "dp",
        "bounds.x.0.domain",
        "inside the domain of the column",
        "[0, 2.5]",
        sums=["x"],
        bounds=bounds({"area": ["north"]}, [0, 2.5]),
    ),
    "bounds the wrong way": faulty(
        "dp",
        "bounds.x.0.domain",
        "from a lower to a higher value",
        "[1, 1]",
        sums=["x"],
        bounds=bounds({"area": ["north"]}, [1, 1]),
    ),
    "bounds of other dimensions": faulty(
        "dp",
        "bounds.x.0.cells",
        "must name dimensions of this table and some of their categories",
        "{'size': ['small']}",
        dimensions=["area"],
        sums=["x"],
        bounds=bounds({"size": ["small"]}, [0, 1]),
    ),
    "bounds of no category": faulty(
        "dp",
        "bounds.x.0.cells",
        "some of their categories",
        "{'area': []}",
        sums=["x"],
        bounds=bounds({"area": []}, [0, 1]),
    ),
    "bounds of other categories": faulty(
        "dp",
        "bounds.x.0.cells",
        "some of their categories",
        "{'area': ['north', 'west']}",
        sums=["x"],
        bounds=bounds({"area": ["north", "west"]}, [0, 1]),
    ),
    "a category like a total": faulty(
        "dp", "columns.ends.categories", "must not contain _T, which stands for a total", "_T", dimensions=["ends"]
    ),
    "a figure like a dimension": faulty(
        "dp",
        "dimensions",
        "must not have the name of a figure",
        "'x_sum'",
        dimensions=["area", "x_sum"],
        sums=["x"],
    ),
    "a standard error like a dimension": faulty(
        "dp",
        "dimensions",
        "must not have the name of a figure",
        "'x_mean_standard_error'",
        dimensions=["area", "x_mean_standard_error"],
        means=["x"],
    ),
    "a dimension called count": faulty(
        "k_anon",
        "dimensions",
        "must not have the name of a figure",
        "'count'",
        dimensions=["count"],
        declared=COUNTED,
    ),
    "a box of too many": faulty(
        "dp",
        "epsilon",
        "must allow noise that can be drawn within these bounds",
        sums=[*SMALL],
        noise="box",
        epsilon="20",
    ),
    "noise beyond all numbers": faulty(
        "dp", "epsilon", "must allow noise that can be drawn within these bounds", sums=["far"], epsilon="1/1000000000"
    ),
    "noise beyond all scales": faulty(
        "dp",
        "epsilon",
        "must allow noise that can be drawn within these bounds",
        epsilon="1/100000000000000000000000000000",
    ),
    "secret noise beyond all numbers": faulty(
        "bdp",
        "epsilon",
        "must allow noise that can be drawn within these bounds",
        sums=["far"],
        epsilon="1/100000000000000000000000000000",
    ),
    "individual noise beyond all numbers": faulty(
        "idp",
        "epsilon",
        "must allow noise that can be drawn within these bounds",
        epsilon="1/100000000000000000000000000000",
    ),
    "a weight": faulty(
        "dp", "columns.w.role", "unless the table says that it is weighted by it", "weight", declared=WEIGHTED
    ),
    "categories alike as text": faulty(
        "dp", "columns.like.categories", "differ as text", dimensions=["like"], declared=ALIKE
    ),
    **FAULTS_OF_CELLS,
}
