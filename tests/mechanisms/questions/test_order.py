"""Steps in ascending order, counted and sorted alike; and draws from a few of them that equal draws from all."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.questions import Query, Terms, methods
from penstock.mechanisms.questions._order import Counted, Sorted
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.statistics import draw_points
from penstock.mechanisms.statistics._blocks import blocks_between
from tests.support.order import examples

POINTS = 30
STEPS = st.lists(st.integers(0, POINTS - 1), min_size=1, max_size=15)
DECLARED = {"x": Column(role="confidential", type="integer", domain=(0, 10_000))}


def both(steps):
    ordered = np.sort(np.array(steps))
    points, times = np.unique(ordered, return_counts=True)
    return Counted(points, np.cumsum(times), POINTS), Sorted((ordered + 7).astype(np.int32), 7, POINTS)


@pytest.mark.law
@settings(max_examples=examples(200, at_first=10))
@given(steps=STEPS, first=st.integers(1, 15), last=st.integers(1, 15))
def test_windows_hold_what_lies_between_two_ranks(steps, first, last):
    first, last = sorted((min(first, len(steps)), min(last, len(steps))))
    by_rank = sorted(steps)
    wanted = sorted({x for x in steps if by_rank[first - 1] <= x <= by_rank[last - 1]})
    for ordered in both(steps):
        assert ordered.size == len(steps)
        assert [ordered.at(rank) for rank in range(1, len(steps) + 1)] == by_rank
        window = ordered.between(first, last)
        assert window.steps.tolist() == wanted
        assert window.times.tolist() == [steps.count(x) for x in wanted]
        assert window.before == sum(x < wanted[0] for x in steps)
        assert window.outer == (
            max((x for x in steps if x < wanted[0]), default=-1),
            min((x for x in steps if x > wanted[-1]), default=POINTS),
        )


class Words:
    """Given words, and then seeded ones."""

    from_system = False

    def __init__(self, given_words, seed):
        self._given, self._then = list(given_words), seeded(seed)

    def words(self, count):
        if self._given:
            assert count == 1
            return np.array([self._given.pop(0)], np.uint64)
        return self._then.words(count)

    def streams(self, count):
        return [self] * count


def full_draw(method, values, epsilon, randomness):
    """The draw that lists all blocks."""
    grid, size = method.asked.numbers, len(values)
    above, below = method._targets(size)
    steps = np.sort(grid.index(values))
    blocks = blocks_between(steps, grid.steps, method._q, above, below)
    return tuple(grid.values(draw_points([blocks], grid.steps, method.sensitivity, epsilon, randomness)).tolist())


LARGEST = 2**64 - 1


@pytest.mark.parametrize("statistic", ["median", "quantile", "minimum", "maximum"])
@pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
def test_draws_from_the_blocks_that_matter_are_those_from_all(statistic, adjacency):
    query = Query(statistic=statistic, of="x", share="1/7" if statistic == "quantile" else None)
    method = methods(query, DECLARED, Terms(adjacency))["exponential"]
    chance = np.random.default_rng(1)
    for size in (1, 2, 50, 3000):
        values = chance.integers(0, 10_001, size).astype(np.float64)
        exact = method.add(method.begin(), {"x": values})
        for epsilon in (Fraction(1, 2), Fraction(20)):
            for seed in range(6):
                # Seeds alone; then numbers so near to 0 or 1 that a third word, and so all blocks, are needed.
                for words in ((), (0, 0, 5), (LARGEST, LARGEST, 5), (LARGEST, LARGEST, LARGEST, 3)):
                    found = method.answer(exact, epsilon, Words(words, seed))
                    assert found == full_draw(method, values, epsilon, Words(words, seed))


def test_most_blocks_are_never_made_and_all_of_them_where_they_are_needed():
    method = methods(Query(statistic="median", of="x"), DECLARED, Terms("add_remove"))["exponential"]
    values = np.arange(10_001.0)
    exact = method.add(method.begin(), {"x": values})
    (ordered,) = method._fold.ordered(exact)
    near = method._blocks(ordered, Fraction(2))
    assert near.limit == 128
    assert 100 < len(near.first) < 300
    assert len(near.whole().first) == 10_001
    assert sorted(near.score[near.score <= near.limit].tolist()) == sorted(
        near.whole().score[near.whole().score <= near.limit].tolist()
    )
