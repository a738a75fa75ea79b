"""Say what the size of noise tells about the records: first what it depends on, then what it fixes in one cell.

Bootstrap, with the values v_1 <= .. <= v_n of a cell: w = v_n - v_1, M = max |v|, A = max |v - m|, m the middle of the
domain, each where the noise follows from it. Individual: the distance of the value in the middle from its neighbours,
or from a bound. Both follow from the size of the noise without error, once epsilon and the settings are known: if it is
10 at epsilon 1, D = (1, 2, 3) is impossible, and (0, 3, 10) is not.
"""

from __future__ import annotations

from penstock.mechanisms.numbers.rounded import figure_text

__all__ = ["bootstrap_told", "individual_told", "says_of_bootstrap", "says_of_individual"]

_DIGITS = 9
_NOTHING = "Nothing: it is the same for all data."


def _text(value: float) -> str:
    return figure_text(value, _DIGITS)


def says_of_bootstrap(kind: str, *, comes: bool, empties: bool) -> str:
    """Return on what the noise of a statistic depends; comes: records may enter or leave, empties: all may leave."""
    if kind == "count":
        return _NOTHING
    if empties and kind in ("mean", "variance"):
        return "It follows from how far the farthest value lies from the middle of the domain."
    if kind == "sum" and comes:
        return "It follows from how far the farthest value lies from 0."
    if empties:
        return (
            "It follows from the range of the values, or from how far the farthest lies from the middle of the domain."
        )
    number = ", and from how many there are" if kind in ("mean", "variance") else ""
    return f"It follows from the distance between the smallest and the largest value{number}."


def bootstrap_told(
    kind: str, low: float, high: float, middle: float, *, lowest: float, comes: bool, empties: bool, replaced: bool
) -> str:
    """Return what it fixes in a group whose values lie between `low` and `high`; replaced: as well as comes.

    lowest: the lower end of the domain, which may leave a value one sign only.
    """
    if kind == "count":
        return "Nothing."
    width, farthest, away = high - low, max(abs(low), abs(high)), max(abs(low - middle), abs(high - middle))
    if kind == "sum" and comes and not (replaced and width > farthest):
        both = f" or -{_text(farthest)}" if lowest <= -farthest else ""
        return f"One value is {_text(farthest)}{both}, and none is farther from 0."
    range_counts = width / 2 if kind == "median" and not replaced else width
    if empties and (kind in ("mean", "variance") or away >= range_counts):
        one, other = _text(middle - away), _text(middle + away)
        return f"One value is {one} or {other}, and none lies outside of them."
    return f"The smallest and the largest value are {_text(width)} apart."


def says_of_individual(kind: str, *, size_secret: bool) -> str:
    """Return on what the noise of a statistic depends."""
    if kind == "count" or (kind == "sum" and size_secret):
        return _NOTHING
    if kind == "mean" and size_secret:  # max(max(b - m, m - a) / (n + 1), max(x_n - m, m - x_1) / (n - 1))
        return (
            "It follows from how far the mean lies from the farther bound, or from the farthest value, and from how "
            "many there are: with that number it may tell the exact mean."
        )
    if kind == "variance" and size_secret:
        return "It follows from the mean and the variance, from values near and far from the mean, and from how many."
    if kind in ("sum", "mean"):
        return "It follows from how far the smallest and the largest value lie from the opposite bounds."
    if kind in ("minimum", "maximum"):
        return f"It follows from how far the {kind} lies from its bound and from the next value."
    if kind == "variance":
        return "It follows from the value that is farthest from the mean of the others, or nearest to it."
    place = "in the middle of the order" if kind == "median" else "at the rank of the figure"
    return f"It follows from how far the values next to the one {place} lie from it."


def individual_told(kind: str, x: tuple[float, ...], low: float, high: float, used: float, *, between: bool) -> str:
    """Return what it fixes in a group. x: its two smallest and its two largest values; used: the sensitivity; between:
    whether the figure lies between two values, as a median of an even number does."""
    if kind == "count":
        return "Nothing."
    if kind in ("sum", "mean"):
        if high - x[0] >= x[-1] - low:
            return f"The smallest value is {_text(x[0])}, if its distance from {_text(high)} is the larger one."
        return f"The largest value is {_text(x[-1])}, if its distance from {_text(low)} is the larger one."
    if kind in ("minimum", "maximum"):
        own, bound, side = (x[-1], high, x[-2]) if kind == "maximum" else (x[0], low, x[1])
        if abs(bound - own) >= abs(own - side):
            return f"The {kind} is {_text(own)}, exactly: its distance from the bound {_text(bound)}."
        return f"The {kind} and the next value are {_text(abs(own - side))} apart."
    if kind == "variance":
        return "No single value; whoever knows all others but one finds that one among few."
    if between:
        return (
            f"Near the figure two values, with one more between them, are {_text(2 * used)} apart, and no others more."
        )
    return f"Near the figure two values that follow each other, or one and a bound, are {_text(used)} apart."
