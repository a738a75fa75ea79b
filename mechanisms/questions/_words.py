"""Numbers in sentences."""

from __future__ import annotations

__all__ = ["figure"]


def figure(number: float) -> str:
    """Return a number with three significant digits."""
    return f"{float(f'{number:.3g}'):,g}"
