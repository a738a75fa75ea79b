"""Closeness is counted exactly, and t compared with the exponential of epsilon without a float."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.measures.groups._promise import at_most_exponential
from tests.measures.bucket_maker import BUCKETED, K, Made, N

every_bucketed = pytest.mark.parametrize("chosen", BUCKETED, ids=repr)


def promised(made, **parameters):
    made.parameters.update(parameters)
    made.chosen |= {name: value for name, value in parameters.items() if name in made.chosen}
    return made.failed()


@every_bucketed
def test_a_ratio_equal_to_t_passes_and_a_hair_less_does_not(chosen):
    """Groups of 4 with two records of a bucket that has a third of all: 3/2."""
    if chosen.get("columns") == ("rank",):
        return  # its buckets are larger; the next test counts them
    assert promised(Made(**chosen), t="3/2", epsilon=None) == set()
    hair = Fraction(3, 2) - Fraction(1, 10**40)
    assert promised(Made(**chosen), t=str(hair), epsilon=None) == {"closeness"}


def test_also_a_share_that_is_too_small_counts():
    """Ranks: 16 of 24 records in the second bucket; two of four in some groups, 4/3 too few, but 3/2 in the first."""
    assert promised(Made(("rank",), output="permuted"), t="3/2", epsilon=None) == set()
    made = Made(("rank",), output="permuted")
    rows = np.flatnonzero(made.groups["rank"] % 3 == 0)
    keep = np.isin(np.arange(N), rows, invert=True)
    made.original = {name: values[keep] for name, values in made.original.items()}
    made.buckets["rank"] = made.buckets["rank"][keep]
    made.groups["rank"] = np.unique(made.groups["rank"][keep], return_inverse=True)[1]
    made.publish()
    assert promised(made, t="1", epsilon=None) == set()
    made.buckets["rank"][:] = 1
    made.original["rank"][:] = 2
    made.buckets["rank"][[np.flatnonzero(made.groups["rank"] == g)[0] for g in range(4)]] = 0
    first = np.flatnonzero(made.groups["rank"] == 0)
    made.buckets["rank"][first] = [0, 0, 0, 1]  # one of four where ten of sixteen are: 5/2
    made.publish()
    assert promised(made, t="5/2", epsilon=None) == set()
    assert promised(made, t=str(Fraction(5, 2) - Fraction(1, 10**30)), epsilon=None) == {"closeness"}


@every_bucketed
def test_a_bucket_that_is_absent_from_a_group_is_found_whatever_t_is(chosen):
    made = Made(**chosen)
    for name in made.columns:
        bucket, group = made.buckets[name], made.groups[name]
        seldom = np.bincount(bucket[group == 0]).argmin()
        out = np.flatnonzero((group == 0) & (bucket == seldom))
        into = np.flatnonzero((group == 1) & (bucket != seldom))[: len(out)]
        made.groups[name] = group.copy()
        made.groups[name][out], made.groups[name][into] = 1, 0
        if made.several == "joint":
            made.groups = dict.fromkeys(made.columns, made.groups[name])
            break
    made.publish()
    assert promised(made, t="9" * 50, epsilon=None) == {"closeness"}


def test_more_groups_and_buckets_than_records_are_found():
    made = Made(("income",), output="permuted")
    made.parameters["k"], made.parameters["buckets"], made.chosen["buckets"] = 2, 24, 24
    made.groups["income"] = np.repeat(np.arange(12), 2)
    assert made.failed() == {"closeness", "permutation_within_groups"}


@pytest.mark.parametrize("output", ["anatomy", "permuted"])
def test_a_label_that_nobody_has_is_found(output):
    made = Made(("income",), output=output)
    made.labels["income"] = (*made.labels["income"], "36 to 38")
    made.publish()
    assert made.failed() == {"closeness"}


def test_more_buckets_than_stated_are_found():
    assert promised(Made(("income",)), buckets=2) == {"closeness"}
    assert promised(Made(("income",)), buckets=4) == set()


@pytest.mark.parametrize("fact", [{"t": "3"}, {"buckets": 4}, {"l": 1}])
def test_public_facts_other_than_the_promise_are_found(fact):
    made = Made(("income",))
    made.chosen |= fact
    assert made.failed() == {"closeness"}
    made.chosen.clear()
    assert made.failed() == {"closeness"}


def exponential(epsilon, digits=200):
    with localcontext() as context:
        context.prec = digits
        return (Decimal(epsilon.numerator) / epsilon.denominator).exp()


@pytest.mark.parametrize("epsilon", ["7/10", "1", "15/7", "3", "0.7"])
def test_t_above_the_exponential_of_epsilon_by_a_hair_is_found(epsilon):
    """The next decimals of 30 places below and above e^epsilon."""
    made = Made(("income",))
    below = Fraction(floor(Fraction(exponential(Fraction(epsilon))) * 10**30), 10**30)
    assert promised(made, t=str(below), epsilon=str(Fraction(epsilon))) == set()
    above = below + Fraction(1, 10**30)
    assert promised(made, t=str(above), epsilon=str(Fraction(epsilon))) == {"closeness"}
    assert promised(made, t=str(above), epsilon=None) == set()


@settings(deadline=None)
@given(st.fractions(0, 20, max_denominator=1000), st.integers(1, 60), st.integers(-2, 2))
def test_the_series_decides_as_the_exponential_does(epsilon, digits, steps):
    near = Fraction(exponential(epsilon))
    t = max(Fraction(floor(near * 10**digits) + steps, 10**digits), Fraction(0))
    assert at_most_exponential(t, epsilon) == (t <= near)


def test_the_series_also_decides_far_away():
    assert at_most_exponential(Fraction(1), Fraction(0))
    assert not at_most_exponential(Fraction(1) + Fraction(1, 10**90), Fraction(0))
    assert at_most_exponential(Fraction(10**99), Fraction(10**30))
    assert not at_most_exponential(Fraction(10**99), Fraction(227))  # e^227 is 10^98.6
    assert at_most_exponential(Fraction(10**99), Fraction(228))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=60), st.fractions(1, 4))
def test_closeness_equals_counting(drawn, t):
    group, bucket = (np.unique(np.array(c), return_inverse=True)[1] for c in zip(*drawn, strict=True))
    n, buckets = len(drawn), int(bucket.max()) + 1
    made = Made(("income",), output="permuted")
    made.original = {name: np.resize(values, n) for name, values in made.original.items()}
    made.groups, made.buckets = {"income": group}, {"income": bucket}
    made.labels["income"] = tuple(str(10 * label) for label in range(max(buckets, 2)))
    made.publish()
    made.parameters.update({"t": str(t), "epsilon": None, "buckets": 3})
    made.chosen = {"t": str(t), "buckets": 3}
    found = {check.name: check.passed for check in made.checks()}
    close = buckets > 1 and all(
        1 / t
        <= Fraction(int(((group == i) & (bucket == j)).sum() * n), int((group == i).sum() * (bucket == j).sum()))
        <= t
        for i in range(group.max() + 1)
        for j in range(buckets)
    )
    assert found["closeness"] == close
    assert found["group_sizes"] == all((group == i).sum() >= K for i in range(group.max() + 1))
    assert found["permutation_within_groups"]
