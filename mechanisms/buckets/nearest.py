"""What could be done instead, where no two groups of k records can be t-close.

    the least epsilon, or t, on a grid above the one asked for, with this k
    k = floor(N / 2) with this t, where k is more than half of the records

Fewer groups are always tried first, so a smaller k helps only if two groups of k do not fit at all. The grid is 1/100
where the sizes of buckets follow from the number of records alone, and 1/10 where they follow from those of categories:
a refusal tells settings, and little about the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from mechanisms.buckets.allotment import group_number
from mechanisms.buckets.bound import LARGEST_T, below_exp, bucket_number
from mechanisms.refusal import Refusal

__all__ = ["ClosenessInfeasible", "infeasible"]

SizesFor = Callable[[int], Sequence[int]]


class ClosenessInfeasible(Refusal):
    """No division into two or more groups of k records is t-close, so only the whole could be published."""

    code = "closeness-infeasible"
    kind = "data"


def infeasible(
    sizes_for: SizesFor, k: int, *, epsilon: Fraction | None, t: Fraction, steps: int
) -> ClosenessInfeasible:
    """The refusal, with the nearest settings that are feasible.

    sizes_for: the sizes of so many buckets. steps: of the grid, in a unit.
    """
    field, asked = ("t", t) if epsilon is None else ("epsilon", epsilon)
    sizes = sizes_for(bucket_number(t))
    records = sum(sizes)
    remedies = []
    larger = _larger(sizes_for, k, asked, steps, is_epsilon=epsilon is not None)
    if larger is not None:
        remedies.append(f"{field} = {float(larger):g} with k = {k}")
    half = records // 2
    if half < k and half >= 2 and group_number(sizes, half, t) is not None:
        remedies.append(f"k = {half} with {field} = {asked}")
    told = f"Nearest that can be done: {'; or '.join(remedies)}." if remedies else "There are too few records."
    return ClosenessInfeasible.at(
        field,
        rule=f"two or more groups of at least k = {k} records, each within a factor t of the whole in every bucket",
        got=str(asked),
        remedy=told,
    )


def _larger(sizes_for: SizesFor, k: int, asked: Fraction, steps: int, *, is_epsilon: bool) -> Fraction | None:
    place = asked.numerator * steps // asked.denominator
    sizes: dict[int, Sequence[int]] = {}
    while True:
        place += 1
        setting = Fraction(place, steps)
        t = below_exp(setting) if is_epsilon else setting
        if t > LARGEST_T:
            return None
        b = bucket_number(t)
        if b not in sizes:
            sizes[b] = sizes_for(b)
        if group_number(sizes[b], k, t) is not None:
            return setting
