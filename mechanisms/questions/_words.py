"""Numbers in sentences."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["figure", "percent"]


def figure(number: float) -> str:
    """Return a number with three significant digits."""
    return f"{float(f'{number:.3g}'):,g}"


def percent(share: Fraction) -> str:
    """Return a probability as a percentage."""
    return f"{float(100 * share):g} %"
