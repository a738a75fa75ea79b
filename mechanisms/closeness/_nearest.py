"""What could be done instead, where no two groups of k records can be t-close.

    the largest epsilon, or t, on a grid below the one asked for that has fewer buckets, with this k
    the least one on the grid above it, with this k
    k = floor(N / 2) with this t, where k is more than half of the records

Fewer groups are always tried first, so a smaller k helps only if two groups of k do not fit at all. The grid is 1/100
where the sizes of buckets follow from the number of records alone, and 1/10 where they follow from those of categories:
a refusal shows settings, and little about the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import count, pairwise

from penstock.mechanisms.closeness._allotment import group_number
from penstock.mechanisms.closeness.bound import LARGEST_T, below_exp, bucket_number
from penstock.mechanisms.numbers.exact import readable
from penstock.mechanisms.refusal import Refusal

__all__ = ["ClosenessInfeasible", "infeasible"]

SizesFor = Callable[[int], Sequence[int]]


class ClosenessInfeasible(Refusal):
    """No division into two or more groups of k records is t-close, so only the whole could be published."""

    code = "closeness-infeasible"
    kind = "data"
    remedy = "Use one of the nearest settings that the message names."


def infeasible(
    sizes_for: SizesFor, k: int, *, name: str, epsilon: Fraction | None, t: Fraction, steps: int
) -> ClosenessInfeasible:
    """Return the refusal, with the nearest settings that are feasible.

    sizes_for: the sizes of a given number of buckets of the columns with this name. steps: grid steps in one unit.
    """
    field, asked = ("t", t) if epsilon is None else ("epsilon", epsilon)
    factor = below_exp if epsilon is not None else Fraction
    feasible = _feasible(sizes_for, k)
    place = asked.numerator * steps // asked.denominator
    sizes = sizes_for(bucket_number(t))
    half = sum(sizes) // 2
    remedies = []
    for settings in (_below(place, steps, factor), _above(place, steps, factor)):
        found = next((setting for setting in settings if feasible(factor(setting))), None)
        if found is not None:
            remedies.append(f"{field} = {float(found):g} with k = {k}")
    if 2 <= half < k and group_number(sizes, half, t) is not None:
        remedies.append(f"k = {half} with {field} = {readable(asked)}")
    remedy = (
        f"Use {' or '.join(remedies)}." if remedies else "Choose another k or coarser settings; none near these works."
    )
    return ClosenessInfeasible.at(
        field,
        rule=f"must allow two or more groups of at least k = {k} records, each within a factor t of the whole in every "
        f"bucket of {name}",
        got=readable(asked),
        remedy=remedy,
    )


def _feasible(sizes_for: SizesFor, k: int) -> Callable[[Fraction], bool]:
    sizes = cache(sizes_for)
    return lambda t: group_number(sizes(bucket_number(t)), k, t) is not None


def _above(place: int, steps: int, factor: Callable[[Fraction], Fraction]) -> Iterator[Fraction]:
    for setting in (Fraction(each, steps) for each in count(place + 1)):
        if factor(setting) > LARGEST_T:
            return
        yield setting


def _below(place: int, steps: int, factor: Callable[[Fraction], Fraction]) -> Iterator[Fraction]:
    """Yield for each smaller number of buckets the largest setting that leads to it."""
    settings = [Fraction(each, steps) for each in range(place, 0, -1)]
    for before, setting in pairwise(settings):
        if factor(setting) > 1 and bucket_number(factor(setting)) < bucket_number(factor(before)):
            yield setting
