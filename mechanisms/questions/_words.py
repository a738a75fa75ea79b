"""Numbers in sentences."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["NUMBER_NOT_KNOWN", "figure", "percent"]

# Why no epsilon is known for a wanted error, where that depends on how many records take part.
NUMBER_NOT_KNOWN = (
    "the error depends on the number of records that take part, which is not known; ask for an epsilon instead"
)


def figure(number: float) -> str:
    """Return a number with three significant digits."""
    return f"{float(f'{number:.3g}'):,g}"


def percent(share: Fraction) -> str:
    """Return a probability as a percentage."""
    return f"{float(100 * share):g} %"
