"""How far an answer may lie from the truth, drawn for each method that could give it, before anything is spent.

One row for each method, all on one axis: the distribution of the answer as a filled curve, below it a bar over the
middle 95 % of it, dashed where it is only a bound. Curves are scaled to the same height, so the narrow one is the exact
one. The axis reaches to the widest bar, and to a tenth more; what lies beyond is not drawn. A bar that is more than 20
times as wide as the narrowest would leave nothing to see of the others: its method is named below and not drawn, as is
one whose spread is not known. A method whose spread is known but not its shape has only its bar. Probabilities are
those of bars of a histogram; each is drawn as the mean of itself, twice, and its neighbours, so that a bar with one
point of the grid more than the next is no tooth.

First the places of everything are computed, then a template draws them: an SVG without script, style sheet, font or
address from elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.reports.xml_page import rendered

__all__ = ["Curve", "Picture", "Row", "Tick", "laid_out", "picture"]

WIDTH = 720
_LEFT, _RIGHT, _TOP, _ROW, _HEIGHT = 190, 24, 66, 78, 48
_FOOT = 52
_MOST_POINTS = 400
_ROOM = 1.1
_WIDEST = 20  # times the narrowest bar
_LINE = 17


@dataclass(frozen=True, slots=True)
class Curve:
    """The distribution of one method's answer.

    points, probabilities: where it may lie and how likely. low, high: the middle 95 % of it. told: a line under the
    name, such as its promise. is_bound: whether it is only an upper bound of the true spread.
    """

    name: str
    told: str
    points: Sequence[float]
    probabilities: Sequence[float]
    low: float
    high: float
    error: str
    is_bound: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One method as it is drawn: outline of its curve, ends of its bar, and where its texts stand."""

    name: str
    told: str
    error: str
    outline: str
    bar: tuple[float, float]
    base: float
    is_bound: bool


@dataclass(frozen=True, slots=True)
class Tick:
    """A text, and where it stands: how far to the right on the axis, or how far down as a note."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """All places, in pixels. notes: what the marks mean, and who is not drawn, each on a line of its own."""

    title: str
    axis: str
    width: int
    height: int
    rows: tuple[Row, ...]
    ticks: tuple[Tick, ...]
    left: float
    right: float
    top: float
    floor: float
    notes: tuple[Tick, ...]


def picture(curves: Sequence[Curve], *, title: str, axis: str, unknown: Sequence[str] = ()) -> str:
    """Return the SVG. axis: what the numbers on the axis are. unknown: methods whose spread is not known."""
    return rendered("question_picture.xml", picture=laid_out(curves, title=title, axis=axis, unknown=unknown))


def laid_out(curves: Sequence[Curve], *, title: str, axis: str, unknown: Sequence[str] = ()) -> Picture:
    """Return where everything stands; curves without a finite bar, or with a very wide one, are only named."""
    known = [each for each in curves if math.isfinite(each.low) and math.isfinite(each.high)]
    narrowest = min((each.high - each.low for each in known), default=0.0)
    drawn = [each for each in known if narrowest == 0 or each.high - each.low <= _WIDEST * narrowest]
    low, high = _reach(drawn)
    floor = _TOP + _ROW * len(drawn)

    def at(value: float) -> float:
        place = _LEFT + (WIDTH - _LEFT - _RIGHT) * (value - low) / (high - low)
        return round(min(max(place, _LEFT), WIDTH - _RIGHT), 2)

    rows = []
    for number, curve in enumerate(drawn):
        base = _TOP + _ROW * number + _HEIGHT
        inside = [
            (at(x), p) for x, p in zip(curve.points, _smoothed(curve.probabilities), strict=True) if low <= x <= high
        ]
        rows.append(
            Row(
                name=curve.name,
                told=curve.told,
                error=curve.error,
                outline=_outline(_thinned(inside), base),
                bar=(at(curve.low), at(curve.high)),
                base=base,
                is_bound=curve.is_bound,
            )
        )
    ticks = tuple(Tick(at(value), _short(value)) for value in _ticks(low, high))
    wide = [each.name for each in known if each not in drawn]
    texts = _notes(rows, wide, [*(each.name for each in curves if each not in known), *unknown])
    notes = tuple(Tick(floor + _FOOT - 12 + _LINE * line, text) for line, text in enumerate(texts))
    height = floor + _FOOT + _LINE * max(len(notes) - 1, 0)
    return Picture(title, axis, WIDTH, height, tuple(rows), ticks, _LEFT, WIDTH - _RIGHT, _TOP, floor, notes)


def _notes(rows: Sequence[Row], wide: Sequence[str], unknown: Sequence[str]) -> Iterator[str]:
    """Yield what the marks mean that are drawn, and which methods are not."""
    marks = ["Filled: how likely each answer is."] if any(row.outline for row in rows) else []
    if any(not row.is_bound for row in rows):
        marks.append("Bar: 95 % of the answers.")
    if any(row.is_bound for row in rows):
        marks.append("Dashed bar: 95 % of the answers at most that far; the true spread is secret.")
    if marks:
        yield " ".join(marks)
    if wide:
        yield f"Not drawn, more than {_WIDEST} times as wide as the narrowest: {', '.join(wide)}."
    if unknown:
        yield f"Not drawn, how far it strays is not known without the data: {', '.join(unknown)}."


def _reach(curves: Sequence[Curve]) -> tuple[float, float]:
    """Return the ends of the axis: those of the widest bar, and some room."""
    low = min((each.low for each in curves), default=-1.0)
    high = max((each.high for each in curves), default=1.0)
    middle, half = (low + high) / 2, max((high - low) / 2, 1e-12 * max(abs(low), abs(high), 1e-290))
    return middle - _ROOM * half, middle + _ROOM * half


def _smoothed(chances: Sequence[float]) -> list[float]:
    inside = [0.0, *chances, 0.0]
    return [
        (before + 2 * here + after) / 4 for before, here, after in zip(inside, inside[1:], inside[2:], strict=False)
    ]


def _thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return at most so many points; of neighbours that fall together the likeliest stays, so that no peak is lost."""
    each = max(1, math.ceil(len(points) / _MOST_POINTS))
    return [max(points[start : start + each], key=lambda point: point[1]) for start in range(0, len(points), each)]


def _outline(points: Sequence[tuple[float, float]], base: float) -> str:
    highest = max((p for _, p in points), default=0.0)
    if highest <= 0:
        return ""
    walked = " ".join(f"L{x:g} {base - _HEIGHT * p / highest:.2f}" for x, p in points)
    return f"M{points[0][0]:g} {base} {walked} L{points[-1][0]:g} {base} Z"


def _ticks(low: float, high: float) -> list[float]:
    """Return round numbers on the axis, four to nine of them."""
    rough = (high - low) / 8
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    first = math.ceil(low / step)
    return [number * step for number in range(first, math.floor(high / step) + 1)]


def _short(value: float) -> str:
    if value == 0:
        return "0"
    return f"{value:,.10g}" if 1e-4 <= abs(value) < 1e9 else f"{value:.3g}"
