"""Errors in chapter 7 of the thesis, each with a case that shows it."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, inf

import numpy as np
from numpy.typing import NDArray

from penstock.reproduction.errata.erratum import CounterExample, Erratum, found

__all__ = ["ERRATA"]

_SOURCE = "Thesis, chapter 7"


def recipe_for_counts() -> CounterExample:
    """Return how close 17 records in three groups and buckets come by the printed recipe, at t = 2."""
    records, t = 17, Fraction(2)
    sizes = np.diff([(i * records * 2 + 3) // 6 for i in range(4)])
    counts = np.zeros((3, 3), np.int64)
    for i in range(3):
        for j in range(3):
            counts[i, j] = ceil(Fraction(int(sizes[i] * sizes[j]), records) / t)
        counts[i, i] = sizes[i] - (counts[i].sum() - counts[i, i])
    ratio = _closeness(counts)
    return found(
        "17 records, t = 2: three groups and buckets of 6, 5 and 6; every bucket but its own gets the least it may",
        ratio > t,
        promised=t,
        closeness=ratio,
        closeness_as_number=float(ratio),
    )


def formula_of_the_rest() -> CounterExample:
    """Return what the printed formula leaves for a group's own bucket, beside what is left."""
    own, t, share = 8, Fraction(3, 2), Fraction(1, 3)
    least = ceil(own * share / t)
    as_printed, right = own - t * least, own - 2 * least
    return found(
        "a group of 8, three buckets of equal shares, t = 3/2: what remains for the group's own bucket",
        as_printed != right,
        by_the_printed_formula=as_printed,
        left=right,
    )


def strictly_less() -> CounterExample:
    """Return the closeness of the construction itself, with the shares of Table 7.6."""
    t, buckets = 2, 3
    shares = np.ones((buckets, buckets), np.int64) + (t * t - 1) * np.eye(buckets, dtype=np.int64)
    ratio = _closeness(shares)
    return found(
        "t = 2 and three buckets: the shares that the chapter derives, t / (t + 1) and 1 / (t (t + 1))",
        ratio == t,
        t=t,
        closeness=ratio,
    )


def differential_privacy() -> CounterExample:
    """Return what an intruder finds who knows all other members of a group."""
    group = ["low", "low", "middle", "high"]
    known = group[:3]
    left = list(group)
    for value in known:
        left.remove(value)
    return found(
        "a group of four with its buckets low, low, middle, high; three of its members are known: the fourth",
        left == ["high"],
        bucket=left[0],
        chance_before=0.25,
        chance_after=1.0,
        loss_where_the_fourth_were_low=inf,
    )


def _closeness(counts: NDArray[np.int64]) -> Fraction:
    """Return the largest ratio, either way, of a group's share of a bucket and the share of all records."""
    total = int(counts.sum())
    ratios = [
        Fraction(int(counts[i, j]) * total, int(counts[i].sum()) * int(counts[:, j].sum()))
        for i, j in np.ndindex(*counts.shape)
    ]
    return max(max(ratio, 1 / ratio) for ratio in ratios)


ERRATA = (
    Erratum(
        name="thesis-recipe",
        source=_SOURCE,
        place="section 7.2.2",
        printed="each bucket but its own gets the least that t allows, its own the rest",
        right="the totals of the buckets must fit as well; counts that keep both are found as a transport problem",
        counter_example=recipe_for_counts,
    ),
    Erratum(
        name="thesis-rest",
        source=_SOURCE,
        place="section 7.2.2",
        printed="the rest is k_i - t ceil(k_i p_j / t)",
        right="k_i less the sum of all others; the same only for a whole t and equal shares",
        counter_example=formula_of_the_rest,
    ),
    Erratum(
        name="thesis-less-than",
        source=_SOURCE,
        place="section 7.2",
        printed="the distance of a group must be less than t",
        right="at most t: the chapter's own construction attains it",
        counter_example=strictly_less,
    ),
    Erratum(
        name="thesis-closeness",
        source=_SOURCE,
        place="section 7.3",
        printed="exp(epsilon)-closeness implies epsilon-differential privacy",
        right="it bounds the posterior over the prior for someone who knows the shares only; the release has no noise",
        counter_example=differential_privacy,
    ),
)
