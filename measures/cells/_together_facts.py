"""Totals of a group that are drawn together, read from what a release states, and how far one record moves them.

On the stated grid a column has the points a..a + R, R = ceil(b / eta) - floor(a / eta). x counts steps from a; o, m and
c are stated, and m is between 0 and R. One record moves, at least,

                                   secret size of the group          n public, all records one group
    count                          1                                 not drawn
    sum of x - o                   max(|o|, |R - o|)                 R
    squares (x - m)^2 - c          max(c, q - c)                     q = max(m, R - m)^2                  (1)

A count is made of the count; a sum of that sum, and of the count unless o = -a; a mean of the count and its sum; a
variance of these and its squares, with o = m. Where n is public nothing needs the count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any

from penstock.mechanisms.columns import Declared
from penstock.mechanisms.layout import Figure

__all__ = ["Answer", "Box", "is_made_of", "read_boxes"]


@dataclass(frozen=True, slots=True)
class Answer:
    """One total; first: the step at which its column begins; needed: (1)."""

    kind: str
    of: str | None
    eta: Fraction
    less: tuple[int, ...]
    first: int
    half_width: int
    needed: int


@dataclass(frozen=True, slots=True)
class Box:
    """Totals that spend epsilon in a group together."""

    epsilon: Fraction
    answers: tuple[Answer, ...]


def read_boxes(stated: Sequence[Mapping[str, Any]], declared: Declared, *, n_public: bool) -> tuple[Box, ...]:
    """Return the boxes; a ValueError or KeyError if they are not what they must be."""
    boxes = tuple(
        Box(Fraction(box["epsilon"]), tuple(_answer(facts, declared, n_public=n_public) for facts in box["answers"]))
        for box in stated
    )
    drawn = [(answer.kind, answer.of, answer.eta) for box in boxes for answer in box.answers]
    if len(set(drawn)) < len(drawn) or (n_public and any(kind == "count" for kind, _, _ in drawn)):
        raise ValueError("every total is drawn once, and what is public is not")
    return boxes


def _answer(facts: Mapping[str, Any], declared: Declared, *, n_public: bool) -> Answer:
    kind, of, eta, less = facts["answer"], facts.get("of"), Fraction(facts["grid"]), tuple(facts["less"])
    width, core = facts["half_width"], facts["core"]
    if any(type(each) is not int for each in (width, core, *less)) or not 0 <= core < width:
        raise ValueError("a half-width, a core that is smaller, and whole numbers that are subtracted")
    if kind == "count":
        if of is not None or less or eta != 1:
            raise ValueError("a count is about records")
        return Answer(kind, None, eta, less, 0, width, 1)
    if eta <= 0 or len(less) != (1 if kind == "sum" else 2):
        raise ValueError("what is subtracted from values, and from their squares")
    low, high = (Fraction(bound) / eta for bound in declared[str(of)].domain or ())
    first, steps = floor(low), ceil(high) - floor(low)
    if kind == "sum":
        needed = steps if n_public else max(abs(less[0]), abs(steps - less[0]))
    else:
        middle, centre = less
        if not 0 <= middle <= steps:
            raise ValueError("the middle is one of the points")
        largest = max(middle, steps - middle) ** 2
        needed = largest if n_public else max(centre, largest - centre)
    return Answer(kind, of, eta, less, first, width, needed)


def is_made_of(figure: Figure, eta: Fraction, boxes: Sequence[Box], *, n_public: bool) -> bool:
    """Return whether the totals of which a figure is made are drawn."""
    drawn = {(answer.kind, answer.of, answer.eta): answer for box in boxes for answer in box.answers}
    counted = n_public or ("count", None, Fraction(1)) in drawn
    if figure.column is None:
        return counted and not n_public
    total = drawn.get(("sum", figure.column, eta))
    if total is None:
        return False
    if figure.statistic == "sum":
        return counted or total.less[0] == -total.first
    squares = drawn.get(("squares", figure.column, eta))
    if figure.statistic == "variance":
        return counted and squares is not None and squares.less[0] == total.less[0]
    return counted
