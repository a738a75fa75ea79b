"""Private quantiles: scores by definition, their sensitivity over all small data sets, and the sampler digit by digit.

`score` below is the score of a point as its definition puts it, point by point; the product works block by block.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations_with_replacement
from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refusal import SettingRefused
from penstock.mechanisms.statistics._groups import SortedGroups, sorted_groups
from penstock.mechanisms.statistics._quantiles import MEDIAN, blocks_by_score, quantile, score_sensitivity
from tests.mechanisms.noise_chance import assert_law

SHARES = [MEDIAN, Fraction(1, 4), Fraction(2, 3), Fraction(9, 10)]
ADJACENCIES = ["replace", "add_remove"]
STEPS = 3


def score(y, values, share):
    below, upto = sum(x < y for x in values), sum(x <= y for x in values)
    target = share * len(values)
    return share.denominator * max(below - target, target - upto, 0)


def law(values, steps, share, epsilon, sensitivity):
    weights = [exp(-float(epsilon) * float(score(y, values, share)) / (2 * sensitivity)) for y in range(steps + 1)]
    return {y: weight / sum(weights) for y, weight in enumerate(weights)}


def repeated(values, times):
    """The same group many times over."""
    ordered = np.tile(np.sort(np.array(values, dtype=np.int64)), times)
    return SortedGroups(ordered, len(values) * np.arange(times + 1))


def data_sets(most, steps=STEPS):
    return [x for n in range(most + 1) for x in combinations_with_replacement(range(steps + 1), n)]


def neighbours(values, adjacency, steps=STEPS):
    removed = [(*values[:i], *values[i + 1 :]) for i in range(len(values))]
    if adjacency == "add_remove":
        return removed
    return [(*rest, y) for rest in removed for y in range(steps + 1)]


# Scores


@given(
    st.lists(st.integers(0, 12), max_size=12).map(sorted),
    st.fractions(min_value=Fraction(1, 20), max_value=Fraction(19, 20), max_denominator=20),
)
def test_blocks_cover_the_grid_once_with_the_scores_of_the_definition(values, share):
    blocks = blocks_by_score(np.array(values, dtype=np.int64), 12, share)
    of_point = {
        first + i: found
        for first, length, found in zip(blocks.first, blocks.length, blocks.score, strict=True)
        for i in range(length)
    }
    assert blocks.length.sum() == 13
    assert len(blocks.first) <= 2 * len(set(values)) + 1
    assert of_point == {y: score(y, values, share) for y in range(13)}
    assert (np.diff(blocks.score) >= 0).all()


def farthest(share, adjacency, most=4):
    """The most that one record changes any score, over all small data sets."""
    return max(
        abs(score(y, values, share) - score(y, other, share))
        for values in data_sets(most)
        for other in neighbours(values, adjacency)
        for y in range(STEPS + 1)
    )


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_the_sensitivity_of_the_score_is_reached_and_never_exceeded(share, adjacency):
    assert farthest(share, adjacency) == score_sensitivity(share, adjacency)


def test_ranks_are_moved_by_one_record_of_replacement_and_half_a_record_of_the_median():
    assert score_sensitivity(MEDIAN, "replace") / MEDIAN.denominator == 1
    assert Fraction(score_sensitivity(MEDIAN, "add_remove"), MEDIAN.denominator) == Fraction(1, 2)


# Privacy of the exact law


def largest_loss(share, adjacency, epsilon, sensitivity, most=4):
    laws = {values: law(values, STEPS, share, epsilon, sensitivity) for values in data_sets(most)}
    return max(
        abs(log(laws[values][y] / laws[tuple(sorted(other))][y]))
        for values in laws
        for other in neighbours(values, adjacency)
        for y in range(STEPS + 1)
    )


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(4)])
def test_no_probability_differs_between_neighbours_by_more_than_e_to_the_epsilon(share, adjacency, epsilon):
    assert largest_loss(share, adjacency, epsilon, score_sensitivity(share, adjacency)) <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_the_privacy_test_notices_half_of_the_sensitivity(adjacency):
    assert largest_loss(MEDIAN, adjacency, Fraction(4), score_sensitivity(MEDIAN, adjacency) / 2) > 4


def test_the_privacy_test_notices_replacement_calibrated_as_addition():
    assert largest_loss(MEDIAN, "replace", Fraction(4), score_sensitivity(MEDIAN, "add_remove")) > 4


# The sampler


class Words:
    """These words first, then those of a seed; `used` counts them."""

    from_system = False

    def __init__(self, first):
        self._first, self._then, self.used = list(first), seeded(5), 0

    def words(self, count):
        taken = [self._first.pop(0) for _ in range(min(count, len(self._first)))]
        self.used += count
        return np.append(np.array(taken, dtype=np.uint64), self._then.words(count - len(taken)))


def cumulated(blocks, scale):
    """(w_1 + ... + w_j) / (w_1 + w_2 + ...) to 300 digits, by another library."""
    with localcontext() as context:
        context.prec = 300
        excess = (blocks.score - blocks.score[0]).tolist()
        decays = [(-v * Decimal(scale.denominator) / Decimal(scale.numerator)).exp() for v in excess]
        sums, total = [], Decimal(0)
        for length, decay in zip(blocks.length.tolist(), decays, strict=True):
            total += length * decay
            sums.append(total)
        return [each / total for each in sums]


def digits(share, words):
    """The first 64-bit words of a number from 0 to 1."""
    with localcontext() as context:
        context.prec = 300
        found = []
        for _ in range(words):
            share *= 2**64
            found.append(int(share))
            share -= int(share)
        return found


def block_of(point, blocks):
    inside = (blocks.first <= point) & (point < blocks.first + blocks.length)
    return int(np.flatnonzero(inside)[0])


CASES = {
    "few": ((0, 3, 3, 9), 20, MEDIAN, Fraction(1)),
    "ties on both ends": ((0, 0, 7, 7), 7, Fraction(1, 4), Fraction(1, 2)),
    "one far peak on a long grid": ((5,) * 40, 2**20, MEDIAN, Fraction(3, 2)),
    "small epsilon": ((1, 2, 3, 5, 8), 9, Fraction(2, 3), Fraction(1, 10**30)),
    "large epsilon": ((1, 2, 3, 5, 8), 9, MEDIAN, Fraction(40)),
}


def drawn(case, words, adjacency="add_remove"):
    values, steps, share, epsilon = CASES[case]
    source = Words(words)
    point = quantile(repeated(values, 1), steps, share, epsilon, adjacency, source)[0]
    blocks = blocks_by_score(np.array(values), steps, share)
    scale = 2 * score_sensitivity(share, adjacency) / epsilon
    return block_of(point, blocks), cumulated(blocks, scale), source


@pytest.mark.parametrize("case", CASES)
@given(words=st.lists(st.integers(0, 2**64 - 1), min_size=3, max_size=3))
def test_the_block_is_the_one_where_the_uniform_number_falls(case, words):
    found, shares, _ = drawn(case, words)
    with localcontext() as context:
        context.prec = 300
        uniform = sum(Decimal(word) / 2 ** (64 * (i + 1)) for i, word in enumerate(words))
    assert found == sum(share <= uniform for share in shares[:-1])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("depth", [1, 2])
def test_where_the_words_read_leave_the_block_open_the_next_word_settles_it(case, depth):
    _, shares, _ = drawn(case, [0])
    tried = 0
    for block, share in enumerate(shares[:-1]):
        *same, last = digits(share, depth + 1)
        # Where two boundaries share their first words, one step may cross both.
        if not 0 < last < 2**64 - 1 or sum(digits(each, depth) == same for each in shares) > 1:
            continue
        for shift, expected in ((-1, block), (1, block + 1)):
            found, _, source = drawn(case, [*same, last + shift])
            assert found == expected
            assert source.used >= depth + 2  # one more for the block, and one for the point inside
            tried += 1
    assert tried > 0


def test_blocks_that_are_not_looked_at_first_are_found_when_chance_falls_there():
    """2,000 records in one place leave e^-500 for every other point; only a number within 2^-717 of 1 falls there."""
    groups, epsilon = repeated([5] * 2000, 1), Fraction(1)
    near = Words([2**64 - 1] * 3)
    assert quantile(groups, 10, MEDIAN, epsilon, "replace", near).tolist() == [5]
    far = Words([2**64 - 1] * 40)
    assert quantile(groups, 10, MEDIAN, epsilon, "replace", far)[0] != 5
    assert far.used > 10


DISTRIBUTIONS = {
    "odd": ((1, 4, 8), 10, MEDIAN, Fraction(1)),
    "even with ties": ((2, 2, 6, 6), 8, MEDIAN, Fraction(2)),
    "upper quartile": ((0, 3, 5, 9, 9, 9), 9, Fraction(3, 4), Fraction(3, 2)),
    "one value": ((4,), 6, Fraction(1, 4), Fraction(1, 2)),
    "empty": ((), 6, MEDIAN, Fraction(1)),
}
DRAWS = 4_000


def draws(name, adjacency="replace", factor=1):
    values, steps, share, epsilon = DISTRIBUTIONS[name]
    return quantile(repeated(values, DRAWS), steps, share, factor * epsilon, adjacency, seeded(3))


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_draws_follow_the_exponential_mechanism_point_by_point(name, adjacency):
    """False alarm 1e-9 a case; the seed is fixed."""
    values, steps, share, epsilon = DISTRIBUTIONS[name]
    expected = law(values, steps, share, epsilon, score_sensitivity(share, adjacency))
    assert_law(draws(name, adjacency), expected)


def test_the_distribution_test_notices_twice_the_epsilon():
    values, steps, share, epsilon = DISTRIBUTIONS["odd"]
    with pytest.raises(AssertionError):
        assert_law(draws("odd", factor=2), law(values, steps, share, epsilon, score_sensitivity(share, "replace")))


def test_groups_of_different_sizes_are_drawn_side_by_side():
    values, labels = np.array([9, 1, 5, 5, 5]), np.array([0, 2, 2, 2, 2])
    groups = sorted_groups(values, labels, 3)
    found = quantile(groups, 10, MEDIAN, Fraction(200), "replace", seeded(1))
    assert found.dtype == np.int64
    assert [found[0], found[2]] == [9, 5]
    assert 0 <= found[1] <= 10
    assert groups.values.tolist() == [9, 1, 5, 5, 5]


def test_a_grid_of_one_point_has_one_answer():
    assert set(quantile(repeated([0, 0], 5), 0, MEDIAN, Fraction(1), "replace", seeded(1)).tolist()) == {0}


def test_the_same_seed_gives_the_same_quantiles_and_no_groups_give_none():
    assert draws("odd").tolist() == draws("odd").tolist()
    none = SortedGroups(np.empty(0, np.int64), np.zeros(1, np.int64))
    assert quantile(none, 10, MEDIAN, Fraction(1), "replace", seeded(1)).tolist() == []


# Refusals


@pytest.mark.parametrize("share", [0.5, Fraction(0), Fraction(1), Fraction(-1, 2), Fraction(1, 10**6 + 1), 1])
def test_a_share_is_an_exact_fraction_between_0_and_1(share):
    with pytest.raises(SettingRefused, match="share refused: must be an exact fraction above 0 and below 1"):
        blocks_by_score(np.array([1]), 2, share)


def test_an_unknown_adjacency_is_refused():
    with pytest.raises(SettingRefused, match="adjacency refused: must be replace or add"):
        score_sensitivity(MEDIAN, "presence")


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1), 0.5])
def test_an_epsilon_that_promises_nothing_is_refused(epsilon):
    with pytest.raises(SettingRefused, match="epsilon refused"):
        quantile(repeated([1], 1), 2, MEDIAN, epsilon, "replace", seeded(1))


@pytest.mark.parametrize(("values", "steps"), [([-1, 0], 5), ([0, 6], 5), ([], -1)])
def test_values_beside_the_grid_are_noticed(values, steps):
    with pytest.raises(ValueError, match="values lie on the grid"):
        blocks_by_score(np.array(values, dtype=np.int64), steps, MEDIAN)
