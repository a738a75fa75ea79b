"""What an order states, D_i, is never exceeded: exhaustively on small domains, at random on larger ones."""

from __future__ import annotations

import functools
import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.dp_microaggregation.orders import (
    Axis,
    Corner,
    CornersInTurn,
    Lexicographic,
    Natural,
    Snake,
    corner_sequence,
)
from tests.support.order import examples, telling


def number(steps):
    return Axis(levels=steps + 1, widest=steps)


def category(apart):
    """An axis of categories with these distances between them."""
    apart = np.array(apart)
    consecutive = np.diagonal(apart, offset=1)
    return Axis(
        levels=len(apart),
        widest=int(apart.max()),
        places=np.concatenate(([0], np.cumsum(consecutive))),
        corner_distances=np.array([apart[0], apart[-1]]),
    )


# Distances that are no line: the middle categories are near each other, the outer ones far from everything.
STAR = category([[0, 3, 4, 5], [3, 0, 1, 4], [4, 1, 0, 4], [5, 4, 4, 0]])
APART = {id(STAR): np.array([[0, 3, 4, 5], [3, 0, 1, 4], [4, 1, 0, 4], [5, 4, 4, 0]])}

ORDERS = {
    "natural": (Natural(), [number(6)]),
    "natural category": (Natural(), [STAR]),
    "lexicographic": (Lexicographic(), [number(3), number(2)]),
    "corner": (Corner(), [number(2), number(3)]),
    "corners in turn": (CornersInTurn(), [number(2), number(3)]),
    "snake 1": (Snake((1,)), [number(2), number(3)]),
    "snake 2": (Snake((2,)), [number(3), number(2)]),
    "snake 3": (Snake((3,)), [number(2), number(3)]),
    "snake 2 2": (Snake((2, 2)), [number(1), number(1), number(2)]),
    "snake of categories": (Snake((4,)), [STAR, number(2)]),
    "snake of paired categories": (Snake((2,)), [STAR, number(2)]),
    "snake with categories last": (Snake((2,)), [number(2), STAR]),
    "corner of categories": (Corner(), [number(2), STAR]),
}


def contents(order, axes, records, k):
    """For each block and attribute, how often it has each level."""
    levels = [np.array(values, np.int64) for values in zip(*records, strict=True)]
    blocks = order.cut(levels, axes, k)
    bounds = list(itertools.pairwise(blocks.starts.tolist()))
    return [[Counter(values[blocks.rows[a:b]].tolist()) for a, b in bounds] for values in levels]


def moved(axis, before, after):
    """How far one block's statistic moves when `before` becomes `after`: at most one level is exchanged."""
    lost, gained = list((before - after).elements()), list((after - before).elements())
    assert len(lost) == len(gained) <= 1
    if not lost:
        return 0
    apart = APART.get(id(axis))
    return abs(lost[0] - gained[0]) if apart is None else int(apart[lost[0], gained[0]])


def variation(axes, first, second):
    return [
        sum(moved(axis, before, after) for before, after in zip(a, b, strict=True))
        for axis, a, b in zip(axes, first, second, strict=True)
    ]


@functools.cache
def exhaustive(name, n, k):
    """The largest variation over all neighbours of all data sets of n records, and what the order states."""
    order, axes = ORDERS[name]
    domain = list(itertools.product(*(range(axis.levels) for axis in axes)))
    cut = {d: contents(order, axes, d, k) for d in itertools.combinations_with_replacement(domain, n)}
    largest = np.zeros(len(axes), int)
    for d, blocks in cut.items():
        for place, record in itertools.product(range(n), domain):
            other = tuple(sorted([*d[:place], record, *d[place + 1 :]]))
            if other > d:
                largest = np.maximum(largest, variation(axes, blocks, cut[other]))
    return largest.tolist(), list(order.sensitivities(axes, n // k))


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize(("n", "k"), telling([(3, 1), (4, 2), (3, 2)], (3, 1), (3, 2)))
def test_no_neighbour_of_any_small_data_set_exceeds_what_the_order_states(name, n, k):
    largest, stated = exhaustive(name, n, k)
    assert all(reached <= bound for reached, bound in zip(largest, stated, strict=True)), (largest, stated)


@pytest.mark.parametrize("name", ["natural", "lexicographic"])
def test_what_these_orders_state_is_reached(name):
    largest, stated = exhaustive(name, 4, 2)
    assert largest == stated


def test_a_corner_order_reaches_as_many_widths_as_it_has_blocks():
    # Block minima alternate between the two corners that are equally far; a replaced record pushes each one on.
    order, axes, k = Corner(), [number(1000), number(1000)], 2
    chain = [(1000 - step, 0) if step % 2 else (0, 999 - step) for step in range(31, 0, -1)]
    records = sorted([*chain, *chain], key=lambda r: r[0] ** 2 + r[1] ** 2)[:61]
    before = contents(order, axes, [*records, (1000, 1000)], k)
    after = contents(order, axes, [(0, 0), *records], k)
    reached = variation(axes, before, after)
    assert min(reached) > 0.9 * min(order.sensitivities(axes, 31))


def test_stated_sensitivities_are_those_of_the_closed_forms():
    def units(g, blocks, steps=10**9):
        axes = [number(steps)] * (len(g) + 1)
        return [d / steps for d in Snake(g).sensitivities(axes, blocks)]

    assert units((4,), 16) == pytest.approx([4.75, 4], rel=1e-6)
    assert units((10,), 100) == pytest.approx([10.9, 10], rel=1e-6)
    assert units((5, 5), 125) == pytest.approx([25.8, 29, 25], rel=1e-6)
    # On a grid: w = ceil((R + 1) / g) levels a column, and J (w - 1) + w (g - 1) of them.
    assert Snake((4,)).sensitivities([number(63), number(63)], 16) == (16 * 15 + 16 * 3, 4 * 63)
    assert Corner().sensitivities([number(7), number(9)], 5) == (35, 45)
    assert CornersInTurn().sensitivities([number(7), number(9)], 5) == (35, 45)
    assert Lexicographic().sensitivities([number(7), number(9)], 5) == (7, 45)
    assert Natural().sensitivities([number(7)], 5) == (7,)


@st.composite
def neighbours(draw):
    m = draw(st.integers(1, 4))
    axes = [number(draw(st.integers(1, 40))) for _ in range(m)]
    n, blocks = draw(st.integers(4, 60)), draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    records = [tuple(int(rng.integers(0, axis.levels)) for axis in axes) for _ in range(n)]
    if draw(st.booleans()):  # adversarial: a long chain of records at the ends of every attribute
        records = [tuple(int(rng.choice([0, 1, a.levels - 1])) for a in axes) for _ in range(n)]
    other = tuple(draw(st.sampled_from([0, a.levels - 1, a.levels // 2])) for a in axes)
    orders = [Lexicographic(), Corner(), CornersInTurn()] if m > 1 else [Natural()]
    orders += [Snake(tuple(draw(st.integers(1, 6)) for _ in axes[:-1]))]
    return axes, records, [*records[1:], other], max(1, n // blocks), draw(st.sampled_from(orders))


@given(neighbours())
@settings(max_examples=examples(400))
def test_random_and_adversarial_neighbours_never_exceed_what_the_order_states(case):
    axes, records, others, k, order = case
    reached = variation(axes, contents(order, axes, records, k), contents(order, axes, others, k))
    stated = order.sensitivities(axes, len(records) // k)
    assert all(d <= bound for d, bound in zip(reached, stated, strict=True))


@given(neighbours(), st.integers(0, 2**32))
def test_blocks_depend_on_the_records_and_not_on_their_rows(case, seed):
    axes, records, _, k, order = case
    shuffled = np.random.default_rng(seed).permutation(len(records))
    again = contents(order, axes, [records[row] for row in shuffled], k)
    assert contents(order, axes, records, k) == again


@given(neighbours())
def test_every_record_is_in_one_block_and_sizes_depend_on_n_and_k_only(case):
    axes, records, _, k, order = case
    levels = [np.array(values) for values in zip(*records, strict=True)]
    blocks = order.cut(levels, axes, k)
    n = len(records)
    assert sorted(blocks.rows.tolist()) == list(range(n))
    assert np.diff(blocks.starts).tolist() == [k] * (n // k - 1) + [k + n % k]


def test_a_snake_visits_its_cells_one_step_at_a_time():
    axes, g = [number(2), number(3), number(4)], (3, 4)
    domain = list(itertools.product(range(3), range(4), range(5)))
    blocks = Snake(g).cut([np.array(values) for values in zip(*domain, strict=True)], axes, 1)
    path = [domain[row] for row in blocks.rows]
    assert path[0] == (0, 0, 0)
    assert all(sum(abs(a - b) for a, b in zip(*pair, strict=True)) == 1 for pair in itertools.pairwise(path))


def test_corners_in_turn_go_to_the_opposite_corner_first():
    assert corner_sequence(2, 9) == [(False, False), (True, True), (False, True), (True, False)]
    sequence = corner_sequence(4, 99)
    assert len(sequence) == len(set(sequence)) == 16
    assert all(sum(a != b for a, b in zip(*pair, strict=True)) >= 3 for pair in itertools.pairwise(sequence))
    assert corner_sequence(4, 3) == sequence[:3]


def test_the_sensitivity_test_notices_a_bound_that_is_too_small():
    largest, stated = exhaustive("snake 3", 4, 2)
    assert any(reached > bound / 2 for reached, bound in zip(largest, stated, strict=True))
    largest, _ = exhaustive("corner", 4, 2)
    widths = [axis.widest for axis in ORDERS["corner"][1]]
    assert any(reached > width for reached, width in zip(largest, widths, strict=True))  # the thesis' bound
