"""What a relaxation bought and leaks, against its definitions: every record, every data set and every neighbour."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product
from math import ceil, exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import gamma

from penstock.measures.cells.relaxation._accuracy import ANSWERS, answers_that_show_scale, half_width
from penstock.measures.cells.relaxation._neighbours import moves_of_neighbours
from penstock.measures.cells.relaxation._outside import alone, outside
from penstock.measures.cells.relaxation._statistics import Compared, moves_in_domain
from penstock.measures.cells.relaxation._tables import needed_in_domain
from tests.support.order import examples

WIDTH = 3
SHARE = Fraction(3, 4)
REPLACED = Compared(comes=False, empties=False, alone_replaced=False)
MORE_OR_LESS = Compared(comes=True, empties=False, alone_replaced=False)


def of_rank(x, k):
    return Fraction(sorted(x)[k - 1])


FIGURES = {
    "sum": lambda x: Fraction(sum(x)),
    "mean": lambda x: Fraction(sum(x), len(x)),
    "variance": lambda x: Fraction(sum(v * v for v in x), len(x)) - Fraction(sum(x), len(x)) ** 2,
    "median": lambda x: (of_rank(x, (len(x) + 1) // 2) + of_rank(x, len(x) // 2 + 1)) / 2,
    "minimum": lambda x: of_rank(x, 1),
    "maximum": lambda x: of_rank(x, len(x)),
    "second_maximum": lambda x: of_rank(x, len(x) - 1),
    "quantile": lambda x: of_rank(x, ceil(SHARE * len(x))),
}


def replaced(x, width=WIDTH):
    return {tuple(sorted((*x[:place], *x[place + 1 :], y))) for place in range(len(x)) for y in range(width + 1)}


def local(kind, x, width=WIDTH):
    """The local sensitivity by its definition."""
    return max(abs(FIGURES[kind](other) - FIGURES[kind](x)) for other in replaced(x, width))


def all_of(n, width=WIDTH):
    return list(combinations_with_replacement(range(width + 1), n))


@pytest.mark.parametrize("kind", FIGURES)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_replaced_record_moves_a_figure_by_what_is_said_of_the_domain(kind, n):
    if kind == "second_maximum" and n == 1:
        return
    found = max(local(kind, x) for x in all_of(n))
    assert moves_in_domain(kind, n, WIDTH, WIDTH, REPLACED) == found


@pytest.mark.parametrize("kind", FIGURES)
def test_a_record_that_comes_moves_a_figure_by_what_is_said_of_the_domain(kind):
    sizes = range(2 if kind == "second_maximum" else 1, 4)
    found = max(
        abs(FIGURES[kind]((*x, y)) - FIGURES[kind](x)) for n in sizes for x in all_of(n) for y in range(WIDTH + 1)
    )
    assert moves_in_domain(kind, 3, WIDTH, WIDTH, MORE_OR_LESS) == found


def test_the_comparison_notices_a_median_of_an_even_number_that_moves_by_the_whole_domain():
    assert moves_in_domain("median", 2, WIDTH, WIDTH, REPLACED) != WIDTH


@pytest.mark.parametrize("kind", [kind for kind in FIGURES if kind != "variance"])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_the_noise_of_neighbours_lies_between_what_is_said(kind, n):
    if n == 1 and kind not in ("sum", "mean"):
        return
    for x in all_of(n, 4):
        # A mean is drawn as its sum.
        by = "sum" if kind == "mean" else kind
        found = [local(by, other, 4) for other in replaced(x, 4)]
        assert moves_of_neighbours(kind, SHARE, x, 4) == (min(found), max(found))


@settings(deadline=None, max_examples=examples(20))
@given(
    st.lists(st.integers(0, 12), min_size=5, max_size=9), st.sampled_from(["median", "quantile", "maximum", "minimum"])
)
def test_the_noise_of_neighbours_of_longer_lists_lies_between_what_is_said(x, kind):
    x = tuple(sorted(x))
    found = [local(kind, other, 12) for other in replaced(x, 12)]
    assert moves_of_neighbours(kind, SHARE, x, 12) == (min(found), max(found))


def test_two_actual_worlds_are_told_apart_by_a_median():
    assert moves_of_neighbours("median", SHARE, (0, 0, 1), 1) == (0, 1)
    assert local("median", (0, 0, 1), 1) == 1
    assert local("median", (0, 0, 0), 1) == 0
    assert moves_of_neighbours("variance", SHARE, (0, 0, 1), 1) is None


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(st.tuples(st.integers(-1, 2), st.integers(0, 4)), max_size=12))
def test_a_record_is_outside_if_all_others_of_its_cell_are_on_one_side(records):
    places, values = (np.array([each[i] for each in records], np.int64) for i in (0, 1))
    expected = []
    for row, (place, value) in enumerate(records):
        others = [v for r, (p, v) in enumerate(records) if p == place and r != row]
        expected.append(place >= 0 and (not others or value < min(others) or value > max(others)))
    assert outside(values, places).tolist() == expected
    sizes = [sum(p == place for p, _ in records) for place, _ in records]
    lonely = [place >= 0 and size == 1 for (place, _), size in zip(records, sizes, strict=True)]
    assert alone(places, 3).tolist() == lonely


def test_bill_gates_is_outside_and_two_of_him_are_not():
    income = np.array([20, 30, 30, 25, 10**9])
    assert outside(income, np.zeros(5, np.int64)).tolist() == [True, False, False, False, True]
    assert outside(np.append(income, 10**9), np.zeros(6, np.int64)).tolist() == [True] + [False] * 5


@pytest.mark.parametrize(
    ("adjacency", "bounds"),
    list(
        product(
            ["bootstrap_replace", "bootstrap_add_remove", "bootstrap_within_cell"],
            [((0, 1), (0, 1)), ((-1, 2), (-1, 2)), ((0, 2), (0, 2))],
        )
    ),
)
def test_half_of_the_epsilon_in_each_touched_cell_is_what_a_table_needs(adjacency, bounds):
    """The least scales b_i of all cells alike for which the loss of every change is at most epsilon, here 1."""
    records = [(cell, value) for cell, (low, high) in enumerate(bounds) for value in range(low, high + 1)]
    moves = []
    for (cell, value), (other, new) in product(records, records):
        if adjacency == "bootstrap_add_remove":
            moves.append(abs(value))
        elif cell == other:
            moves.append(abs(value - new))
        elif adjacency == "bootstrap_replace":
            moves.append(abs(value) + abs(new))
    low, high = (np.array(side) for side in zip(*bounds, strict=True))
    assert needed_in_domain(adjacency, low, high, is_one_row=False).tolist() == [max(moves)] * 2


def test_a_replaced_record_stays_in_a_table_of_one_row():
    low, high = np.array([-1]), np.array([2])
    assert needed_in_domain("from_D", low, high, is_one_row=True).tolist() == [3]


@pytest.mark.parametrize("steps", [1, 7, 1000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 9.0])
@pytest.mark.parametrize("share", [0.05, 0.0005])
def test_a_half_width_is_the_least_that_noise_keeps(steps, epsilon, share):
    a = exp(-epsilon / steps)

    def beyond(w):
        return 2 * a ** (w + 1) / (1 + a)

    found = half_width(steps, epsilon, share)
    assert beyond(found) <= share * (1 + 1e-9)
    assert found == 0 or beyond(found - 1) > share
    assert half_width(0, epsilon, share) == 0


def test_so_many_answers_show_a_scale_within_a_tenth():
    def within(answers):
        return gamma.cdf(1.1 * answers, answers) - gamma.cdf(0.9 * answers, answers)

    # The mean of so many |N| is a gamma variable; (3) is its normal approximation.
    assert abs(within(ANSWERS) - 0.95) < 1e-3
    assert within(ANSWERS - 40) < 0.945
    assert [answers_that_show_scale(cells) for cells in (0, 1, 10, 1000)] == [386, 386, 40, 2]
