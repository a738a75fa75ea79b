"""The picture of how far answers may stray, from what their methods expect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from penstock.mechanisms.numbers.rounded import figure_text
from penstock.mechanisms.questions import CONFIDENCE, Expected, Method
from penstock.reports.question_picture import Curve, picture

__all__ = ["Spread", "drawn"]


@dataclass(frozen=True, slots=True)
class Spread:
    """What a method expects of its answer at this price."""

    method: Method
    epsilon: Fraction
    expected: Expected


def drawn(spreads: Iterable[Spread], *, title: str) -> str:
    """Return the SVG of all methods whose spread is known without the data; the others are named."""
    given = list(spreads)
    curves = [curve for spread in given for curve in _curves(spread)]
    axis = "Answer minus truth" if curves else "No method's spread is known without the data"
    known = {curve.name for curve in curves}
    unknown = [spread.method.name for spread in given if spread.method.name not in known]
    return picture(curves, title=title, axis=axis, unknown=unknown)


def _curves(spread: Spread) -> Iterator[Curve]:
    """Yield the curve of a method, where its spread is known."""
    method, expected = spread.method, spread.expected
    curve, half = expected.curve, expected.half_width
    if half is None and (curve is None or not curve.points):
        return
    points, chances = ((), ()) if curve is None else (curve.points, curve.probabilities)
    low, high = (-half, half) if half is not None else _middle(points, chances)
    at_most = "at most " if expected.is_upper_bound else ""
    error = "" if expected.standard_error is None else f"standard error {at_most}{figure_text(expected.standard_error)}"
    yield Curve(
        name=method.name,
        told=f"{method.model}, epsilon = {spread.epsilon}",
        points=points,
        probabilities=chances,
        low=low,
        high=high,
        error=error,
        is_bound=expected.is_upper_bound,
    )


def _middle(points: tuple[float, ...], chances: tuple[float, ...]) -> tuple[float, float]:
    """Return the middle 95 % of a curve."""
    total, beyond, below = sum(chances), float(1 - CONFIDENCE) / 2, 0.0
    low = high = points[0]
    for point, chance in zip(points, chances, strict=True):
        if below <= beyond * total:
            low = point
        if below <= (1 - beyond) * total:
            high = point
        below += chance
    return low, high
