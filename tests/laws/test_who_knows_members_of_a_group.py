"""What someone learns who knows members of a group, by enumerating every way in which the group may lie.

The oracle knows no formula: it lists all arrangements of a group's buckets, keeps those that agree with what is known,
and counts. Only `stated` is the mechanism's.
"""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.measures.groups._counts import largest_after, largest_ratio
from penstock.mechanisms.closeness import Params, protect
from penstock.mechanisms.closeness._allotment import allot
from penstock.mechanisms.closeness._informed import MOST_KNOWN, after_known
from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.stated import ClosenessChosen, is_stated
from tests.laws.test_laws_of_closeness import beliefs
from tests.support.order import examples

INFINITE = None


def worst(counts: np.ndarray, known: int) -> Fraction | None:
    """The largest factor between belief and prior, of any bucket and member, whichever so many others are known."""
    records, totals = int(counts.sum()), counts.sum(axis=0).tolist()
    most = Fraction(0)
    for row in counts.tolist():
        members = [bucket for bucket, count in enumerate(row) for _ in range(count)]
        worlds = set(itertools.permutations(members))
        agreeing: dict[tuple[int, ...], Counter[int]] = {}
        for world in worlds:  # known are the first, and the next one is asked about: all members are alike
            agreeing.setdefault(world[:known], Counter())[world[known]] += 1
        for found in agreeing.values():
            for bucket, total in enumerate(totals):
                belief, prior = Fraction(found[bucket], found.total()), Fraction(total, records)
                if not belief:
                    return INFINITE
                most = max(most, belief / prior, prior / belief)
    return most


def stated(counts: np.ndarray) -> tuple[list[Fraction], int]:
    found = after_known(["income"], counts)
    return [Fraction(factor) for factor in found["factors"]], found["unbounded_from"]


@st.composite
def tables(draw: Any) -> np.ndarray:
    """Two or three groups of up to six records, with every bucket in every group."""
    b = draw(st.integers(2, 3))
    rows = draw(st.lists(st.lists(st.integers(1, 3 if b == 2 else 2), min_size=b, max_size=b), min_size=2, max_size=3))
    return np.array(rows, np.int64)


@given(tables())
@settings(max_examples=examples(60), deadline=None)
def test_what_is_stated_is_the_worst_that_can_happen_and_happens(counts: np.ndarray) -> None:
    factors, unbounded = stated(counts)
    smallest = int(counts.sum(axis=1).min())
    for known in range(smallest):
        expected = worst(counts, known)
        assert (expected is INFINITE) == (known >= unbounded)
        if expected is not INFINITE:
            assert factors[known] == expected == largest_after(counts, known)
        else:
            assert largest_after(counts, known) is None
    assert factors == sorted(factors)
    assert factors[0] == largest_ratio(counts)


def test_the_enumeration_notices_a_factor_that_forgets_what_is_known() -> None:
    """The twin: what is promised to somebody who knows nobody is exceeded as soon as one member is known."""
    counts = np.array([[3, 2], [2, 3]])
    (nobody, one), unbounded = stated(counts)
    assert (nobody, one, unbounded) == (Fraction(5, 4), 2, 2)
    found = worst(counts, 1)
    assert found is not INFINITE
    assert found == one > nobody


@pytest.mark.parametrize("known", [{0: 0}, {4: 1}, {0: 0, 4: 1}, {0: 0, 5: 0}])
def test_members_of_other_groups_tell_nothing(known: dict[int, int]) -> None:
    """Over every world of both groups: two known members, one in each group, are no worse than two of one group."""
    counts = np.array([[2, 2], [2, 2]])
    factors, _ = stated(counts)
    prior, posterior = beliefs(counts, known)
    for record, row in enumerate(posterior):
        if record not in known:
            here = sum(1 for other in known if other // 4 == record // 4)
            assert here < 2
            for belief, before in zip(row, prior, strict=True):
                assert max(belief / before, before / belief) <= factors[here]


def test_secret_groups_tell_less_than_known_ones() -> None:
    """Over all ways to part eight records in two groups of two and two: one is known, another is asked about."""
    factors, _ = stated(np.array([[2, 2], [2, 2]]))
    halves = set(itertools.permutations([0, 0, 1, 1]))
    found: Counter[int] = Counter()
    for group in itertools.combinations(range(8), 4):
        others = [record for record in range(8) if record not in group]
        for first, second in itertools.product(halves, repeat=2):
            world = dict(zip([*group, *others], [*first, *second], strict=True))
            if world[0] == 0:
                found[world[1]] += 1
    beliefs_of_it = [Fraction(found[bucket], found.total()) for bucket in (0, 1)]
    ratio = max(max(2 * belief, 1 / (2 * belief)) for belief in beliefs_of_it)
    assert factors[0] < ratio < factors[1]


def test_all_but_one_known_tell_the_last_one() -> None:
    counts = allot([3, 3, 3], 3, Fraction(2))
    assert stated(counts) == ([Fraction(1)], 1)
    assert worst(counts, 2) is INFINITE


def test_large_groups_are_listed_up_to_a_number_and_never_fall() -> None:
    counts = np.array([[400, 500], [500, 400]])
    factors, unbounded = stated(counts)
    assert (len(factors), unbounded) == (MOST_KNOWN, 400)
    assert all(one < other for one, other in itertools.pairwise(factors))


def test_a_single_bucket_tells_nothing_to_anybody() -> None:
    counts = np.array([[3], [4]])
    assert stated(counts) == ([Fraction(1)] * 3, 3)
    assert largest_after(counts, 2) == 1


SOURCE = {
    "age": Column(role="quasi_identifier", type="integer", domain=(0, 120)),
    "income": Column(role="confidential", type="integer", domain=(0, 1000)),
    "cause": Column(role="confidential", type="nominal", categories=("fall", "fire", "flood")),
}


@pytest.mark.parametrize("output", ["anatomy", "permuted"])
@pytest.mark.parametrize("several", ["each", "joint"])
def test_a_release_states_it_for_every_partition(output: str, several: str) -> None:
    chance = np.random.default_rng(1)
    columns = {
        "age": chance.integers(0, 121, 120),
        "income": chance.integers(0, 1001, 120),
        "cause": chance.integers(0, 3, 120),
    }
    params = Params.model_validate({"method": "buckets", "output": output, "t": "2", "k": 12, "several": several})
    found = protect(columns, SOURCE, params, seeded(1))
    assert is_stated(ClosenessChosen, found.chosen)
    known = found.chosen["after_known"]
    assert [part["columns"] for part in known] == (
        [["income"], ["cause"]] if several == "each" else [["income", "cause"]]
    )
    for part in known:
        name = part["columns"][0]
        held = [found.hidden[f"bucket {each}"] for each in part["columns"]]
        bucket = np.unique(np.stack(held), axis=1, return_inverse=True)[1].ravel()
        table = np.zeros((int(found.groups[name].max()) + 1, int(bucket.max()) + 1), np.int64)
        np.add.at(table, (found.groups[name], bucket), 1)
        assert stated(table) == ([Fraction(each) for each in part["factors"]], part["unbounded_from"])
