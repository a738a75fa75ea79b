"""What no stated error covers, in sentences that stand with every plan and answer: from public facts alone.

one interval for each group    of many groups some lie farther off, and that is no accident
records of a unit              whoever has more than are used is counted less
clamping                       values outside the domain count as the nearest bound
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from penstock.mechanisms.questions._asked import Asked
from penstock.mechanisms.questions._words import figure

__all__ = ["each_by_itself", "not_covered"]

_NOT_COVERED = "no error stated here covers that."


def each_by_itself(asked: Asked, confidence: Fraction) -> tuple[str, ...]:
    """Return what an interval means where each of several groups has one; draws of groups are independent."""
    groups = len(asked.groups)
    if asked.query.by is None or groups < 2:
        return ()
    beyond = round(groups * (1 - confidence))
    if beyond:
        number = "one lies" if beyond == 1 else f"{beyond:,} lie"
        return (f"This is for each group by itself: of {groups:,} groups on average up to about {number} farther off.",)
    chance = figure(float(100 * (1 - confidence**groups)))
    return (
        f"This is for each group by itself: that any of the {groups} groups lies farther off has a probability of up "
        f"to {chance} %.",
    )


def not_covered(asked: Asked) -> Iterator[str]:
    """Yield what makes an answer differ from the truth besides its noise."""
    if asked.query.statistic == "value":
        return
    if asked.terms.whose is not None:
        rows = asked.terms.rows_per_unit
        used = "1 record of each {} is" if rows == 1 else f"{rows:,} records of each {{}} are"
        yield (
            f"At most {used.format(asked.terms.whose)} used, chosen at random: whoever has more is counted less, and "
            f"{_NOT_COVERED}"
        )
    if asked.query.of is not None and asked.column.numeric:
        low, high = (f"{bound:,.15g}" for bound in asked.column.domain or (asked.numbers.low, asked.numbers.high))
        missing = "missing ones as the lowest" if asked.everybody else "missing ones are left out"
        yield (
            f"Values of {asked.query.of} outside {low} to {high} count as the nearest bound, {missing}; {_NOT_COVERED}"
        )
