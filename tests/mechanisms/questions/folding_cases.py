"""Questions, batches of rows, and what a fold of them is by definition."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.questions import Query

DECLARED = {
    "x": Column(role="confidential", type="continuous", domain=(-1.5, 2), missing="category"),
    "whole": Column(role="confidential", type="integer", domain=(-3, 5), missing="category"),
    "wide": Column(role="confidential", type="integer", domain=(-(2**40), 2**41)),
    "band": Column(role="quasi_identifier", type="integer", domain=(0, 9)),
    "side": Column(role="quasi_identifier", type="nominal", categories=("a", "b", "c")),
}
NUMBERS = st.one_of(st.floats(-4, 4), st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300, -1.5, 2.0, 5e-324]))


@st.composite
def questions(draw):
    statistic = draw(st.sampled_from(["count", "sum", "mean", "median", "maximum"]))
    where = draw(
        st.lists(
            st.sampled_from(
                [
                    {"column": "band", "at_least": 3},
                    {"column": "band", "at_least": 0, "below": "7/2"},
                    {"column": "x", "at_least": "-1/3"},
                    {"column": "x", "below": "1/10"},
                    {"column": "side", "is_in": ("a", "c")},
                ]
            ),
            max_size=3,
        )
    )
    of = None if statistic == "count" else draw(st.sampled_from(["x", "whole"]))
    by = draw(st.sampled_from([None, "side"]))
    return Query(statistic=statistic, of=of, where=where, by=by)


@st.composite
def rows(draw):
    n = draw(st.integers(0, 12))
    numbers = st.lists(NUMBERS, min_size=n, max_size=n)
    codes = st.lists(st.integers(-2, 4), min_size=n, max_size=n)
    return {
        "x": np.array(draw(numbers), np.float64),
        "whole": np.array(draw(numbers), np.float64),
        "wide": np.array(draw(numbers), np.float64),
        "band": np.array(draw(numbers), np.float64),
        "side": np.array(draw(codes), np.int64),
    }


def folded(method, *batches):
    exact = method.begin()
    for batch in batches:
        method.add(exact, batch, rows=len(batch["x"]))
    return exact


def in_order(method, exact):
    """The steps of each group, rising."""
    return [[each.at(rank) for rank in range(1, each.size + 1)] for each in method._fold.ordered(exact)]


def windows(method, exact):
    """All steps that occur in each group, and how often."""
    whole = [each.between(1, each.size) for each in method._fold.ordered(exact) if each.size]
    return [(window.steps.tolist(), window.times.tolist(), window.before, window.outer) for window in whole]


def told(method, exact):
    """All that an answer can depend on."""
    is_ordered = method._fold.what == "points"
    return exact.rows, exact.table.tolist(), windows(method, exact) if is_ordered else None


def cut(columns, place):
    return {name: values[:place] for name, values in columns.items()}, {
        name: values[place:] for name, values in columns.items()
    }


def takes_part(row, query):
    for condition in query.where:
        value = row[condition.column]
        if condition.is_in is not None:
            if not 0 <= value <= 2 or "abc"[value] not in condition.is_in:
                return False
            continue
        low, high = DECLARED[condition.column].domain
        if np.isnan(value):
            return False
        clamped = Fraction(float(np.clip(value, low, high)))
        if condition.at_least is not None and clamped < condition.at_least:
            return False
        if condition.below is not None and clamped >= condition.below:
            return False
    return True


def by_definition(columns, query, method):
    """Lists of steps on the grid of the question, one for each group; zeros for a count."""
    groups = [[] for _ in method.groups]
    for place in range(len(columns["x"])):
        row = {name: values[place] for name, values in columns.items()}
        side = int(row["side"]) if query.by else 0
        if not 0 <= side < len(groups) or not takes_part(row, query):
            continue
        if query.of is None:
            groups[side].append(0)
            continue
        value = row[query.of]
        if np.isnan(value):
            continue
        grid = method.asked.numbers
        exact = Fraction(float(np.clip(value, grid.low, grid.high))) / grid.eta
        groups[side].append((exact + Fraction(1, 2)).__floor__() - grid.first)
    return groups
