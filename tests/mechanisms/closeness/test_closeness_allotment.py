from __future__ import annotations

import itertools
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import optimize

from penstock.mechanisms.closeness import _allotment as allotment
from penstock.mechanisms.closeness._allotment import allot, cut_points, group_number, within_limits
from penstock.mechanisms.closeness._nearest import ClosenessInfeasible, infeasible
from penstock.mechanisms.closeness.bound import bucket_number
from tests.support.order import examples

bounds = st.fractions(min_value=Fraction(21, 20), max_value=6, max_denominator=40)


def ratio(counts: np.ndarray) -> Fraction | None:
    """The closeness that these counts achieve, by its definition; None where it is infinite."""
    total, worst = int(counts.sum()), Fraction(1)
    for row in counts.tolist():
        for count, bucket in zip(row, counts.sum(axis=0).tolist(), strict=True):
            if count == 0:
                return None
            share = Fraction(count * total, sum(row) * bucket)
            worst = max(worst, share, 1 / share)
    return worst


def possible_rows(size: int, buckets: list[int], t: Fraction) -> list[tuple[int, ...]]:
    """Every group of this size that is t-close, by trying all."""
    total = sum(buckets)
    options = [
        [c for c in range(1, size + 1) if 1 / t <= Fraction(c * total, size * bucket) <= t] for bucket in buckets
    ]
    return [row for row in itertools.product(*options) if sum(row) == size]


def best_by_trying(buckets: list[int], groups: int, t: Fraction) -> int | None:
    """The largest sum of emphasised cells over all divisions into so many groups; None where there is none."""
    sizes = np.diff(cut_points(sum(buckets), groups)).tolist()
    reached: dict[tuple[int, ...], int] = {tuple(buckets): 0}
    for place, size in enumerate(sizes):
        following: dict[tuple[int, ...], int] = {}
        rows = possible_rows(size, buckets, t)
        for left, gain in reached.items():
            for row in rows:
                rest = tuple(a - c for a, c in zip(left, row, strict=True))
                if min(rest) >= 0:
                    following[rest] = max(following.get(rest, -1), gain + row[place % len(buckets)])
        reached = following
    return reached.get((0,) * len(buckets))


@given(st.integers(1, 400), st.integers(1, 60))
def test_cut_points_are_those_of_the_source(records: int, parts: int) -> None:
    half_up = [int((Fraction(i * records, parts) + Fraction(1, 2)) // 1) for i in range(parts + 1)]
    assert cut_points(records, parts).tolist() == half_up
    sizes = np.diff(half_up)
    assert set(sizes.tolist()) <= {records // parts, -(-records // parts)}


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(1, 6), bounds)
@settings(deadline=None, max_examples=examples(300), suppress_health_check=[HealthCheck.too_slow])
def test_the_number_of_groups_is_the_largest_and_the_counts_are_the_best(
    buckets: list[int], k: int, t: Fraction
) -> None:
    b = len(buckets)
    feasible = [g for g in range(sum(buckets) // k, 1, -1) if best_by_trying(buckets, g, t) is not None]
    found = group_number(buckets, k, t)
    assert found == (feasible[0] if feasible else None)
    if found is not None:
        counts = allot(buckets, found, t)
        emphasised = sum(int(counts[i, i % b]) for i in range(found))
        assert emphasised == best_by_trying(buckets, found, t)
        achieved = ratio(counts)
        assert achieved is not None
        assert achieved <= t


@given(st.integers(2, 3000), st.integers(2, 40), bounds)
@settings(deadline=None, max_examples=examples(200))
def test_equal_buckets_of_any_number_of_records_are_divided_within_t(records: int, k: int, t: Fraction) -> None:
    b = bucket_number(t)
    buckets = np.diff(cut_points(records, b)).tolist()
    groups = group_number(buckets, k, t)
    if groups is None:
        # Controlled rounding: groups of b / (1 - 1/t) records always work.
        assert records < 2 * max(k, b / (1 - 1 / t)) + b
        return
    counts = allot(buckets, groups, t)
    assert counts.shape == (groups, b)
    assert counts.sum(axis=1).min() >= k
    assert counts.sum(axis=0).tolist() == buckets
    achieved = ratio(counts)
    assert achieved is not None
    assert achieved <= t


@given(st.lists(st.integers(0, 900), min_size=1, max_size=6), st.integers(1, 40))
def test_what_is_dealt_to_alike_groups_differs_by_one_and_adds_up(size_of: list[int], groups: int) -> None:
    together = np.array(size_of)
    together[0] += -together.sum() % groups  # rows of equal size
    counts = allotment._dealt(together, groups)
    assert counts.sum(axis=0).tolist() == together.tolist()
    assert len(set(counts.sum(axis=1).tolist())) == 1
    assert (counts.max(axis=0) - counts.min(axis=0) <= 1).all()


def test_large_numbers_do_not_overflow() -> None:
    t = Fraction(2_718_281_828_459, 10**12)
    buckets = np.diff(cut_points(10**9, 3)).tolist()
    groups = group_number(buckets, 10**6, t)
    assert groups is not None
    counts = allot(buckets, groups, t)
    assert within_limits(counts, buckets, t)
    assert (ratio(counts) or 0) <= t


def test_counts_beyond_the_limits_are_told() -> None:
    good = allot([4, 4, 4], 3, Fraction(2))
    assert within_limits(good, [4, 4, 4], Fraction(2))
    assert not within_limits(good, [4, 4, 4], Fraction(149, 100))
    assert not within_limits(good, [5, 4, 3], Fraction(2))


def test_a_program_that_is_not_solved_exactly_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    def almost(low: np.ndarray, *_: object) -> np.ndarray:
        return low

    monkeypatch.setattr(allotment, "_solved", almost)
    with pytest.raises(ValueError, match="not solved in whole numbers"):
        allot([9, 9, 9], 3, Fraction(2))


def test_a_program_without_a_solution_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(optimize, "linprog", lambda *_, **__: SimpleNamespace(x=None))
    with pytest.raises(ValueError, match="was not solved"):
        allot([9, 9, 9], 3, Fraction(2))


def test_a_bucket_without_records_cannot_be_in_every_group() -> None:
    assert group_number([3, 0, 3], 2, Fraction(2)) is None


def refusal(
    records: int, k: int, *, epsilon: Fraction | None = None, t: Fraction, steps: int = 100
) -> ClosenessInfeasible:
    def sizes_for(b: int) -> list[int]:
        return [int(size) for size in np.diff(cut_points(records, b))]

    return infeasible(sizes_for, k, epsilon=epsilon, t=t, steps=steps, name="income")


def test_the_nearest_bound_that_can_be_kept_is_named() -> None:
    told = refusal(10, 5, t=Fraction(11, 10)).faults[0]
    assert (told.field, told.got) == ("t", "'11/10'")
    assert told.rule.endswith("in every bucket of income")
    assert told.remedy == "Use t = 1.25 with k = 5."
    assert group_number([5, 5], 5, Fraction(125, 100)) == 2
    assert group_number([5, 5], 5, Fraction(124, 100)) is None


def test_on_a_coarse_grid_the_next_step_is_named() -> None:
    told = refusal(10, 5, t=Fraction(11, 10), steps=10).faults[0]
    assert told.remedy == "Use t = 1.3 with k = 5."


def test_the_nearest_group_size_is_named_where_two_groups_do_not_fit() -> None:
    told = refusal(12, 9, t=Fraction(3, 2)).faults[0]
    assert told.remedy == "Use k = 6 with t = 3/2."


def test_the_nearest_epsilon_is_named_where_epsilon_was_asked_for() -> None:
    told = refusal(10, 5, epsilon=Fraction(1, 10), t=Fraction(11, 10)).faults[0]
    assert told.field == "epsilon"
    assert told.remedy == "Use epsilon = 0.23 with k = 5."


def test_a_smaller_bound_with_fewer_buckets_is_named_too() -> None:
    told = refusal(4, 2, t=Fraction(2)).faults[0]
    assert told.remedy == "Use t = 1.99 with k = 2."
    assert group_number([2, 2], 2, Fraction(199, 100)) == 2


def test_where_nothing_can_be_done_it_says_so() -> None:
    assert (
        refusal(3, 2, t=Fraction(3, 2)).faults[0].remedy
        == "Choose another k or coarser settings; none near these works."
    )
