"""Small data sets of which every question can be asked, all their neighbours, and what statistics are by definition.

A record is (x, side, flag): a number on the grid or None where it is missing, a group, and what a condition asks for.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, product

import numpy as np

from penstock.mechanisms.columns import Column
from penstock.mechanisms.questions import Query, Terms, methods

LOW, HIGH = -1, 2
COMPLETE = Column(role="confidential", type="integer", domain=(LOW, HIGH))
MISSING = Column(role="confidential", type="integer", domain=(LOW, HIGH), missing="category")
SIDE = Column(role="quasi_identifier", type="nominal", categories=("a", "b"))
FLAG = Column(role="quasi_identifier", type="nominal", categories=("yes", "no"))

CONDITION = ({"column": "flag", "is_in": ("yes",)},)
STATISTICS = ("count", "sum", "mean", "median", "quantile", "minimum", "maximum")
# Without conditions and groups, where nothing may be missing: the number of records is public under replace.
SHAPES = {
    "everybody": {"where": (), "by": None, "complete": True},
    "some missing": {"where": (), "by": None, "complete": False},
    "a condition": {"where": CONDITION, "by": None, "complete": True},
    "a band of itself": {"where": ({"column": "x", "below": 1},), "by": None, "complete": True},
    "groups": {"where": (), "by": "side", "complete": True},
    "groups and a condition": {"where": CONDITION, "by": "side", "complete": True},
}


def asked(statistic, shape, adjacency, **terms):
    """Query, declared columns and terms of a shape."""
    given = SHAPES[shape]
    query = Query(
        statistic=statistic,
        of=None if statistic == "count" else "x",
        share="3/4" if statistic == "quantile" else None,
        where=given["where"],
        by=given["by"],
    )
    declared = {"x": COMPLETE if given["complete"] else MISSING, "side": SIDE, "flag": FLAG}
    return query, declared, Terms(adjacency, **terms)


def method_of(name, statistic, shape, adjacency, **terms):
    return methods(*asked(statistic, shape, adjacency, **terms))[name]


@cache
def records_of(shape, narrow=False):
    """Every record that matters for a shape; narrow: fewer numbers."""
    given = SHAPES[shape]
    numbers = (LOW, HIGH) if narrow else (LOW, 0, HIGH)
    sides = (0, 1) if given["by"] else (0,)
    flags = (0, 1) if given["where"] == CONDITION else (0,)
    return tuple(product((*numbers, None), sides, flags))


def data_sets(shape, most, narrow=False):
    """All multisets of at most so many records."""
    for size in range(most + 1):
        yield from combinations_with_replacement(records_of(shape, narrow), size)


def replaced(data, records):
    for place in range(len(data)):
        for record in records:
            yield (*data[:place], record, *data[place + 1 :])


def removed(data):
    for place in range(len(data)):
        yield (*data[:place], *data[place + 1 :])


def neighbours(data, records, adjacency):
    """All data sets next to one; every pair is visited at least once."""
    return replaced(data, records) if adjacency == "replace" else removed(data)


def columns_of(data):
    return {
        "x": np.array([np.nan if x is None else x for x, _, _ in data], np.float64),
        "side": np.array([side for _, side, _ in data], np.int64),
        "flag": np.array([flag for _, _, flag in data], np.int64),
    }


def folded(method, data):
    return method.add(method.begin(), columns_of(data), rows=len(data))


def values_by_group(data, shape, statistic, adjacency):
    """The values that take part in each group, rising, by definition; 0 for each record of a count."""
    given = SHAPES[shape]
    everybody = adjacency == "replace" and shape == "everybody"
    found = [[] for _ in range(2 if given["by"] else 1)]
    for x, side, flag in data:
        if given["where"] == CONDITION and flag != 0:
            continue
        if shape == "a band of itself" and (x is None or x >= 1):
            continue
        if x is None and statistic != "count":
            if not everybody:
                continue
            x = LOW
        found[side if given["by"] else 0].append(0 if statistic == "count" else x)
    return [sorted(values) for values in found]


def score(statistic, y, values):
    """By how many records a point misses, times the denominator of the share."""
    below, upto, n = sum(x < y for x in values), sum(x <= y for x in values), len(values)
    if statistic == "minimum":
        return max(below, 1 - upto, 0)
    if statistic == "maximum":
        return max(n - upto, 1 - (n - below), 0)
    share = Fraction(1, 2) if statistic == "median" else Fraction(3, 4)
    return share.denominator * max(below - share * n, share * n - upto, 0)
