"""A random sample of released records: what is published of them, and why a promise of swapped records survives it.

    R(D)   the released records of data D, in a uniform random order           S = the first m of R(D)
    m      a number of records, or floor(share * n): a function of n and of the settings, so that it is public      (1)

The order is drawn by itself, so the first m rows are a uniform sample of m without replacement. S is a function of R(D)
and of nothing else. So

    P(S | D) = P(S | D')   for all D, D' with   P(R | D) = P(R | D')                                                 (2)

which is what probabilistic k-anonymity says of D and D' that differ by a permutation inside groups. An intruder to
whom these are equally likely beforehand finds them so after S, too, and a value of S is each of its group's records'
own with equal probability: whatever bound holds of R holds of S.

k-anonymity is about the file itself: of k records that agree a sample may hold one, so it is no promise about S.

Source: Soria-Comas 2013 (thesis), section 3.3.1, where a sample is mentioned as weaker for the intruder; (2) is ours.
"""

from __future__ import annotations

from fractions import Fraction

from penstock.mechanisms.refusal import TooFewRecords

__all__ = ["in_words", "sampled"]


def sampled(sample: Fraction | None, records: int) -> int:
    """Return how many of the records are published, (1); a sample below 1 is a share, otherwise a number."""
    if sample is None:
        return records
    published = int(sample * records) if sample < 1 else int(sample)
    if not 1 <= published <= records:
        raise TooFewRecords.at(
            "sample",
            rule="needs at least one record in the sample, and no more than there are",
            got=str(sample),
            remedy="Choose another share or number.",
        )
    return published


def in_words(sample: Fraction) -> str:
    """Return how much of the records a sample holds."""
    return f"a share of {sample}" if sample < 1 else f"{int(sample):,} records"
