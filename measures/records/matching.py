"""The probability of a link, where any released record may be anybody's: a sum over all matchings.

Of N persons with known quasi-identifiers and M <= N released records, the masking makes record j out of person i with
likelihood L_ij = P(X'(q_i) = q'_j | M), independently for each person. Every released record is one person's, so

    P(i is j) = sum over injections s : records -> persons with s(j) = i of prod_l L_(s(l) l)
                / sum over all injections of the same product                                                (1)

For M = N these are permanents of L and of its minors. Source: Soria-Comas 2013 (thesis), section 3.2, examples 1 to 3,
and (3.1), which asks that no P(i is j) exceed 1/k. Method: persons one after another, and which records are taken by
those before them and by those after them; N M 2^M steps instead of N! / (N - M)!, in fractions, so exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from penstock.measures.measurement import MeasureUndefined

__all__ = ["link_probabilities"]

# About a second of work.
_MOST_RECORDS = 10
_MOST_PERSONS = 20

Likelihoods = Sequence[Sequence[Fraction | int]]


def link_probabilities(likelihoods: Likelihoods) -> list[list[Fraction]]:
    """Return (1): a row for each person, a column for each released record; columns add up to 1.

    likelihoods: L_ij as fractions or whole numbers, up to a factor. No person's row adds up to more than 1, and to less
    where the person may have no released record.
    """
    rows = [[Fraction(entry) for entry in row] for row in _sound(likelihoods)]
    persons, records = len(rows), len(rows[0])
    everything = (1 << records) - 1
    before = [_one(records)]  # by the records that the persons so far have: the sum of products
    for row in rows:
        before.append(_with(before[-1], row))
    after = [_one(records)]
    for row in reversed(rows):
        after.append(_with(after[-1], row))
    total = before[persons][everything]
    if total == 0:
        raise MeasureUndefined.at(
            "likelihoods", rule="must allow a matching of all released records", remedy="Correct the likelihoods."
        )
    found = []
    for i, row in enumerate(rows):
        first, last = before[i], after[persons - i - 1]
        chances = []
        for j, likelihood in enumerate(row):
            others = everything & ~(1 << j)
            parts = (first[some] * last[others & ~some] for some in _parts(others)) if likelihood else ()
            chances.append(likelihood * sum(parts, Fraction(0)) / total)
        found.append(chances)
    return found


def _one(records: int) -> list[Fraction]:
    """Return the sums before any person: no record is taken."""
    return [Fraction(1), *[Fraction(0)] * ((1 << records) - 1)]


def _with(sums: list[Fraction], row: Sequence[Fraction]) -> list[Fraction]:
    """Return the sums with one more person, who has one of the records or none."""
    found = list(sums)
    for j, likelihood in enumerate(row):
        if likelihood:
            for taken, value in enumerate(sums):
                if value and not taken >> j & 1:
                    found[taken | 1 << j] += value * likelihood
    return found


def _parts(records: int) -> Sequence[int]:
    """Return every subset of a set of records."""
    found, part = [records], records
    while part:
        part = (part - 1) & records
        found.append(part)
    return found


def _sound(likelihoods: Likelihoods) -> Likelihoods:
    persons, records = len(likelihoods), len(likelihoods[0]) if len(likelihoods) else 0
    if not 0 < records <= persons or any(len(row) != records for row in likelihoods):
        rule = "must have one row for each person and at least as many persons as released records"
        raise MeasureUndefined.at("likelihoods", rule=rule, remedy="Give a row for each person.")
    if records > _MOST_RECORDS or persons > _MOST_PERSONS:
        raise MeasureUndefined.at(
            "likelihoods",
            rule=f"must be of at most {_MOST_RECORDS} released records and {_MOST_PERSONS} persons",
            got=f"{records} and {persons}",
            remedy="Take groups of records that cannot be taken for each other one by one.",
        )
    if not all(isinstance(entry, int | Fraction) and entry >= 0 for row in likelihoods for entry in row):
        raise MeasureUndefined.at(
            "likelihoods", rule="must be fractions or whole numbers from 0 on", remedy="Use fractions.Fraction."
        )
    return likelihoods
