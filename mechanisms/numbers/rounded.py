"""Numbers of an answer as people read them: no more digits than its error leaves any meaning to."""

from __future__ import annotations

import math
from fractions import Fraction

__all__ = ["answer_text", "exact_text", "figure_text"]

_LONGEST = 8  # characters of a fraction that is read at a glance
_MOST_PLACES = 12


def answer_text(value: float | str, error: float | None) -> str:
    """Return an answer, rounded to two digits of its standard error; a text stays as it is."""
    if isinstance(value, str):
        return value
    if not error or not math.isfinite(error) or not math.isfinite(value):
        return f"{value:,}" if isinstance(value, int) else f"{value:,.10g}"
    places = min(1 - math.floor(math.log10(error)), 0 if isinstance(value, int) else _MOST_PLACES)
    return _with_places(value, places)


def figure_text(value: float, digits: int = 3) -> str:
    """Return a number with so many significant digits, written in full: 84,900."""
    if value == 0 or not math.isfinite(value) or not 1e-6 <= abs(value) < 1e15:
        return f"{value:.{digits}g}"
    text = _with_places(value, digits - 1 - math.floor(math.log10(abs(value))))
    return text.rstrip("0").rstrip(".") if "." in text else text


def exact_text(exact: str) -> str:
    """Return an exact number; beside a long fraction stands about what it is: 1399.29 (1749107/1250)."""
    if "/" not in exact or len(exact) <= _LONGEST:
        return exact
    return f"{figure_text(float(Fraction(exact)), 6).replace(',', '')} ({exact})"


def _with_places(value: float, places: int) -> str:
    rounded = round(value, places) + 0  # no minus before 0
    return f"{rounded:,.{max(places, 0)}f}"
