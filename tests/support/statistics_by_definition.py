"""What statistics measure and how a point is scored, by definition: one record, one point at a time.

The domain is so small that every data set and every output can be visited. Values are steps of the grid, 0..STEPS.
"""

from __future__ import annotations

from fractions import Fraction

from penstock.mechanisms.columns import Column
from penstock.mechanisms.statistics import Params, chosen_facts

LOW, HIGH = -1, 2
DECLARED = {
    "side": Column(role="quasi_identifier", type="nominal", categories=("a", "b")),
    "x": Column(role="confidential", type="integer", domain=(LOW, HIGH)),
}
EPSILON = Fraction(6, 5)
STEPS = HIGH - LOW
MIDDLE = STEPS // 2
REACH = STEPS - MIDDLE
CENTRE = REACH**2 // 2

FIGURES = {
    "count": {"statistic": "count"},
    "sum": {"statistic": "sum", "of": "x"},
    "mean": {"statistic": "mean", "of": "x"},
    "variance": {"statistic": "variance", "of": "x"},
    "median": {"statistic": "median", "of": "x"},
    "quantile": {"statistic": "quantile", "of": "x", "share": "3/4"},
    "minimum": {"statistic": "minimum", "of": "x"},
    "maximum": {"statistic": "maximum", "of": "x"},
    "second_maximum": {"statistic": "second_maximum", "of": "x"},
}


def params(kinds, adjacency, groups, **more):
    figures = [FIGURES[kind] for kind in kinds]
    return Params(figures=figures, model="dp", epsilon=EPSILON, adjacency=adjacency, groups=groups, **more)


def facts_of(chosen, declared=DECLARED):
    """What is said about the noise of each figure."""
    return chosen_facts(chosen, declared, 3)["measured"]


def boxes_of(chosen, declared=DECLARED):
    """What is said about the noise of totals that are drawn together."""
    return chosen_facts(chosen, declared, 3).get("together", [])


def totals_together(box, values):
    """The whole numbers of a box, from values of its one column on the grid 0..STEPS."""
    found = []
    for answer in box["answers"]:
        u = [value - sum(answer["less"][:1]) for value in values]
        each = {"count": [1] * len(u), "sum": u, "squares": [x**2 - sum(answer["less"][1:]) for x in u]}
        found.append(sum(each[answer["answer"]]))
    return found


def measured(kind, values, n_public):
    """The whole numbers that get noise, from values on the grid 0..STEPS."""
    if kind == "count":
        return (len(values),)
    if kind == "sum":
        return (sum(value + LOW for value in values),)
    u = [value - MIDDLE for value in values]
    found = (len(u), sum(u), sum(each**2 - CENTRE for each in u))[: 3 if kind == "variance" else 2]
    return found[1:] if n_public else found


def score(kind, y, values):
    """As the definitions put it: by how many records y misses, times the denominator of a quantile."""
    below, upto, n = sum(x < y for x in values), sum(x <= y for x in values), len(values)
    if kind in ("median", "quantile"):
        share = Fraction(1, 2) if kind == "median" else Fraction(3, 4)
        return share.denominator * max(below - share * n, share * n - upto, 0)
    if kind == "minimum":
        return max(below, 1 - upto, 0)
    k = 1 if kind == "maximum" else 2
    return max(n - upto - (k - 1), k - (n - below), 0)


def box_shell(point, widths, core):
    """The first box that holds the point."""
    return max(max(0, -((z - abs(y)) // d)) for y, d, z in zip(point, widths, core, strict=True))
