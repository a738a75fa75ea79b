"""At most so many records of each unit, and never fewer than it can give."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from penstock.mechanisms.contributions import bounded
from penstock.mechanisms.randomness import seeded

UNITS = st.lists(st.integers(-(2**62), 2**62) | st.integers(0, 4), max_size=60)


@given(UNITS, st.integers(1, 6), st.integers(0, 2**32))
def test_every_unit_keeps_as_many_records_as_it_may(whose: list[int], most: int, seed: int) -> None:
    units = np.array(whose, np.int64)
    kept = bounded(units, most, seeded(seed))
    assert kept.dtype == np.int64
    assert sorted(set(kept.tolist())) == kept.tolist()
    assert Counter(units[kept].tolist()) == {unit: min(most, records) for unit, records in Counter(whose).items()}


@given(UNITS, st.integers(1, 6), st.integers(0, 2**32), st.data())
def test_what_is_kept_of_others_does_not_depend_on_who_a_unit_is(
    whose: list[int], most: int, seed: int, data: st.DataObject
) -> None:
    """The same chance, another unit with as many records: the promise about a unit rests on this."""
    units = np.array(whose, np.int64)
    replaced = data.draw(st.sampled_from(whose)) if whose else 0
    other = np.where(units == replaced, 2**62 + 1, units)
    assert bounded(units, most, seeded(seed)).tolist() == bounded(other, most, seeded(seed)).tolist()


def test_every_choice_of_records_is_equally_likely_and_units_choose_independently() -> None:
    """Chi-square over pairs of choices of two units; a correct draw fails with probability 1e-9 over its seeds."""
    assert_uniform(chosen_by_two_units(6_000, shuffle=True))


def test_the_test_of_chance_notices_that_the_first_records_are_kept() -> None:
    with pytest.raises(AssertionError):
        assert_uniform(chosen_by_two_units(6_000, shuffle=False))


def chosen_by_two_units(times: int, *, shuffle: bool) -> list[tuple[int, ...]]:
    """Which two of its four records each of two units gives, many times at once in units of their own."""
    units = np.arange(8 * times) // 4
    kept = bounded(units, 2, seeded(1)) if shuffle else np.flatnonzero(np.arange(8 * times) % 4 < 2)
    return [tuple(four) for four in (kept.reshape(times, 4) % 8).tolist()]


def assert_uniform(chosen: list[tuple[int, ...]]) -> None:
    possible = [(*one, *other) for one in combinations(range(4), 2) for other in combinations(range(4, 8), 2)]
    counts, expected = Counter(chosen), len(chosen) / len(possible)
    assert set(counts) <= set(possible)
    statistic = sum((counts[each] - expected) ** 2 for each in possible) / expected
    assert statistic < chi2.isf(1e-9, len(possible) - 1)


def test_keeping_none_is_an_error_of_the_caller() -> None:
    with pytest.raises(ValueError, match="at least one record"):
        bounded(np.zeros(3, np.int64), 0, seeded(1))
