"""The theorem, counted: on small domains the largest privacy loss over all neighbours and all outputs is computed.

Blocks are independent given the data, so the largest loss of a release is the sum over blocks and columns of the
largest loss of one block's value. Sums and distances are taken from the records by hand; only the order and the
settled scales come from the mechanism.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.dp_microaggregation import Params, protect, settle
from penstock.mechanisms.dp_microaggregation.orders import Corner
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.taxonomy import score_table

BIT = Column(role="confidential", type="integer", domain=(0, 1))
STEPS = Column(role="confidential", type="integer", domain=(0, 3))
RANK = Column(role="confidential", type="ordinal", categories=("low", "mid", "high"))
FLAT = Column(role="confidential", type="nominal", categories=("a", "b", "c"))
TREE = Column(
    role="confidential",
    type="nominal",
    taxonomy={"oak": ["tree"], "ash": ["tree"], "rose": ["plant"], "tree": ["plant"], "plant": []},
)

CASES = {
    "one number": ([STEPS], "auto", 4, 2),
    "one number, single records": ([STEPS], "natural", 3, 1),
    "two numbers, snake": ([STEPS, BIT], "snake", 4, 2),
    "two numbers, corner": ([BIT, STEPS], "corner", 4, 2),
    "two numbers, corners in turn": ([BIT, STEPS], "corners_in_turn", 4, 1),
    "two numbers, lexicographic": ([STEPS, BIT], "lexicographic", 4, 2),
    "three numbers": ([BIT, BIT, BIT], "snake", 4, 1),
    "taxonomy": ([TREE], "auto", 4, 2),
    "flat list": ([FLAT], "auto", 4, 1),
    "ranks": ([RANK], "auto", 4, 2),
    "number and taxonomy, snake": ([BIT, TREE], "snake", 4, 2),
    "taxonomy and number, snake": ([TREE, BIT], "snake", 4, 2),
    "taxonomy and number, corner": ([TREE, BIT], "corner", 3, 1),
    "number and taxonomy, lexicographic": ([BIT, TREE], "lexicographic", 3, 1),
}
EPSILON = Fraction(7, 10)


def log_number(total, size, steps, scale):
    """Log probabilities of the noisy sum of one block, clamped to 0 .. size * steps."""
    alpha = math.exp(-1 / scale)
    top = size * steps
    inside = [math.log((1 - alpha) / (1 + alpha)) - abs(value - total) / scale for value in range(top + 1)]
    for end in (0, top):  # all further values are clamped to the ends
        inside[end] = math.log(1 / (1 + alpha)) - abs(end - total) / scale
    return np.array(inside)


def log_category(codes, scores, scale):
    weights = -sum(scores[code] for code in codes) / scale
    return weights - np.logaddexp.reduce(weights)


def block_laws(columns, part, records):
    """For every column and block the log probabilities of its values."""
    levels = [np.array(values, np.int64) for values in zip(*records, strict=True)]
    blocks = part.choice.order.cut(levels, [a.axis for a in part.attributes.values()], part.choice.k)
    laws = []
    for column, values, fact in zip(columns, levels, part.facts()["columns"].values(), strict=True):
        scale = float(Fraction(fact["scale"]))
        for start, stop in itertools.pairwise(blocks.starts):
            inside = values[blocks.rows[start:stop]]
            if column.numeric:
                laws.append(log_number(int(inside.sum()), len(inside), column.domain[1], scale))
            else:
                laws.append(log_category(inside, score_table(column), scale))
    return laws


def largest_loss(columns, part, n):
    sizes = [column.domain[1] + 1 if column.numeric else len(column.categories) for column in columns]
    domain = list(itertools.product(*(range(size) for size in sizes)))
    laws = {d: block_laws(columns, part, d) for d in itertools.combinations_with_replacement(domain, n)}
    largest = 0.0
    for d, first in laws.items():
        for place, record in itertools.product(range(n), domain):
            second = laws[tuple(sorted([*d[:place], record, *d[place + 1 :]]))]
            largest = max(largest, sum(float((a - b).max()) for a, b in zip(first, second, strict=True)))
    return largest


def settled(columns, order, n, k):
    declared = {f"c{place}": column for place, column in enumerate(columns)}
    (part,) = settle(Params(epsilon=EPSILON, adjacency="replace", k=k, order=order), declared, n)
    return part


@pytest.mark.parametrize("case", CASES)
def test_no_neighbours_can_be_told_apart_by_more_than_epsilon(case):
    columns, order, n, k = CASES[case]
    loss = largest_loss(columns, settled(columns, order, n, k), n)
    assert loss <= float(EPSILON) * (1 + 1e-9)


@pytest.mark.parametrize("case", ["one number", "one number, single records"])
def test_all_of_epsilon_is_used_where_the_bound_is_reached(case):
    columns, order, n, k = CASES[case]
    assert largest_loss(columns, settled(columns, order, n, k), n) == pytest.approx(float(EPSILON), rel=1e-9)


def test_the_count_notices_the_sensitivity_of_the_thesis():
    """One width instead of J: the chain of the corner order then costs more than epsilon."""

    class OneWidth(Corner):
        def sensitivities(self, axes, blocks):
            return tuple(axis.widest for axis in axes)

    columns = [BIT, STEPS]
    part = settled(columns, "corner", 4, 1)
    axes = [attribute.axis for attribute in part.attributes.values()]
    wrong = replace(part.choice, order=OneWidth(), sensitivities=OneWidth().sensitivities(axes, 4))
    assert largest_loss(columns, replace(part, choice=wrong), 4) > 1.5 * float(EPSILON)


def test_the_count_notices_epsilon_for_each_column():
    columns, order, n, k = CASES["two numbers, corners in turn"]
    part = settled(columns, order, n, k)
    whole = replace(part, epsilons=tuple(2 * epsilon for epsilon in part.epsilons))
    assert largest_loss(columns, whole, n) > float(EPSILON)


@pytest.mark.slow
def test_the_mechanism_draws_the_law_that_was_counted():
    """One block of two records: 4,000 released values against the law, false alarm 1e-6 by a chi-square bound."""
    columns, values = {"c0": np.array([3, 1])}, 7
    chosen = Params(epsilon=2, adjacency="replace", k=2)
    (part,) = settle(chosen, {"c0": STEPS}, 2)
    scale = float(Fraction(part.facts()["columns"]["c0"]["scale"]))
    law = np.exp(log_number(4, 2, 3, scale))
    published = np.zeros(4)
    for value in range(values):
        published[(2 * value + 2) // 4] += law[value]
    source, counts = seeded(5), np.zeros(4)
    for _ in range(4000):
        counts[protect(columns, {"c0": STEPS}, chosen, source).columns["c0"][0]] += 1
    expected = 4000 * published
    assert ((counts - expected) ** 2 / expected).sum() < 30.7  # chi-square, 3 degrees of freedom, 1e-6
