"""The promise of released statistics and the public facts about their noise, read as what they must be, or refused.

Nothing here looks at data: what is read is the guarantee, the layout and what the mechanism states as settled. On the
stated grid a column has R = ceil(b / eta) - floor(a / eta) steps and values of at most B = max(|floor|, |ceil|) steps;
one record moves, with h = ceil(R / 2),

                                   secret size of the group       n public, all records one group
    count                          1
    sum                            B                              R
    mean       (count, sum)        1, h                           R
    variance   (.., squares)       1, h, ceil(h^2 / 2)            R, h^2                             (1)
    score of the quantile p/q      max(p, q - p)                  q
    score of an extreme            1                              1

all of it at least, in steps of the grid and as values and squares less a public middle. Figures that are drawn together
have no such facts of their own: _together_facts.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any

from penstock.measures.cells._together_facts import Box, is_made_of, read_boxes
from penstock.measures.cells.output import TableOutput
from penstock.measures.checks import RecheckImpossible
from penstock.mechanisms.layout import Figure
from penstock.mechanisms.stated import is_stated
from penstock.mechanisms.stated_statistics import StatisticsChosen, StatisticsParameters

__all__ = ["Promised", "Stated", "read_promised"]

_ADJACENCIES = {
    "dp": ("replace", "add_remove"),
    "idp": ("from_D", "from_D_within_cell", "from_D_add_remove"),
    "bdp": ("bootstrap_replace", "bootstrap_add_remove", "bootstrap_within_cell"),
}
_NOISES = {
    "count": ("laplace", "staircase"),
    "sum": ("laplace", "staircase"),
    "mean": ("box",),
    "variance": ("box",),
}


@dataclass(frozen=True, slots=True)
class Stated:
    """One figure: what it spends in a group by itself, its grid, and how far one record is stated to move it (dp only).

    shared: it is drawn together with others, which spend for it. parts: into how many it divides a step of the grid
    (bdp only). counted: the column and the category of which a count is; None for all records.
    """

    figure: Figure
    share: Fraction
    epsilon: Fraction
    shared: bool
    eta: Fraction
    moves: tuple[int, ...]
    needed: tuple[int, ...]
    parts: int = 1
    counted: tuple[str, str | int] | None = None


@dataclass(frozen=True, slots=True)
class Promised:
    """The promise of the statistics; touched: how many groups one change touches.

    several: what 1, 2, ... replaced records spend together; the first is epsilon. size_secret: under idp, whether
    records come and go.
    """

    model: str
    epsilon: Fraction
    rows_per_unit: int
    touched: int
    several: tuple[Fraction, ...]
    size_secret: bool
    figures: tuple[Stated, ...]
    boxes: tuple[Box, ...]


def read_promised(output: TableOutput) -> Promised:
    """Return the promise; refuse one that cannot be understood, so that nothing is checked against a guess."""
    guarantee, layout = output.guarantee, output.layout
    try:
        parameters = guarantee.parameters
        several = bool(layout.dimensions) and "only" not in parameters
        fits = guarantee.adjacency in _ADJACENCIES[guarantee.model] and _groups_fit(output)
        asked, measured = parameters["figures"], output.chosen["measured"]
        figures = tuple(
            _stated(figure, question, facts, output)
            for figure, question, facts in zip(layout.figures, asked, measured, strict=True)
        )
        promised = Promised(
            model=guarantee.model,
            epsilon=_exact(parameters["epsilon"]),
            rows_per_unit=1 if guarantee.unit == "row" else _whole(parameters["rows_per_unit"]),
            touched=2 if guarantee.adjacency in ("replace", "bootstrap_replace") and several else 1,
            several=tuple(map(_exact, parameters.get("group_epsilons", [parameters["epsilon"]]))),
            size_secret=guarantee.adjacency == "from_D_add_remove",
            figures=figures,
            boxes=read_boxes(output.chosen.get("together", []), output.declared, n_public=_n_is_public(output)),
        )
        understood = (
            fits
            and ("group_epsilons" not in parameters or guarantee.adjacency in ("from_D", "from_D_within_cell"))
            and is_stated(StatisticsParameters, parameters)
            and is_stated(StatisticsChosen, output.chosen)
            and list(parameters["groups"]) == list(layout.dimensions)
            and layout.levels == (tuple(layout.dimensions),)
            and output.chosen["groups"] == layout.rows
            and (guarantee.model == "dp" or (promised.rows_per_unit == 1 and not promised.boxes))
            and all(
                is_made_of(each.figure, each.eta, promised.boxes, n_public=_n_is_public(output))
                for each in figures
                if each.shared
            )
        )
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError):
        understood = False
    if not understood:
        raise RecheckImpossible.at(
            "guarantee.parameters",
            rule="must give groups, figures, epsilon and, for individuals, rows_per_unit, with the layout and the "
            "public facts of just such statistics",
            remedy="Report this defect.",
        )
    return promised


def _groups_fit(output: TableOutput) -> bool:
    """Return whether the model is proven for such groups, and a group that was chosen is the only one."""
    guarantee, dimensions = output.guarantee, output.layout.dimensions
    only = guarantee.parameters.get("only", {})
    if only and guarantee.model != "bdp":
        return False
    if only and dimensions != {name: (str(category),) for name, category in only.items()}:
        return False
    # Under idp, and within cells, the group of every record is public, or there is only one; where records come and go,
    # each lies in one.
    if guarantee.adjacency == "bootstrap_within_cell":
        return bool(dimensions) and not only
    if guarantee.adjacency == "from_D_add_remove":
        return True
    return guarantee.model != "idp" or bool(dimensions) == (guarantee.adjacency == "from_D_within_cell")


def _stated(figure: Figure, question: Mapping[str, Any], facts: Mapping[str, Any], output: TableOutput) -> Stated:
    of, kind = question.get("of"), question["statistic"]
    share = _exact(question["share"]) if kind == "quantile" else Fraction(1, 2)
    eta = _exact(facts["grid"])
    wanted = ("laplace",) if output.guarantee.model != "dp" else _NOISES.get(kind, ("exponential",))
    shared = facts["noise"] == "box" and kind in _NOISES and "half_widths" not in facts
    if (
        (figure.name, figure.statistic, figure.column) != (facts["figure"], kind, None if kind == "count" else of)
        or (kind == "count" and (of is None) != ("category" not in question))
        or (of is not None and kind == "count" and question["category"] not in (output.declared[of].categories or ()))
        or not (facts["noise"] in wanted or shared)
        or not _is_power_of_two(eta)
        or not 0 < share < 1
    ):
        raise ValueError("the facts are those of the figure")
    moves: tuple[int, ...] = ()
    needed: tuple[int, ...] = ()
    if output.guarantee.model == "dp" and not shared:
        moves = (facts["score_sensitivity"],) if facts["noise"] == "exponential" else tuple(facts["half_widths"])
        needed = _needed(figure, share, eta, output)
        if len(moves) != len(needed) or any(type(move) is not int or move < 1 for move in moves):
            raise ValueError("as many whole numbers as are drawn together")
        inner = [facts["step"] - 1] if facts["noise"] == "staircase" else facts.get("core", [])
        if any(not 0 <= core < move for core, move in zip(inner, moves, strict=False)):
            raise ValueError("a core that is smaller than the half-width")
    parts = _parts(kind, facts) if output.guarantee.model == "bdp" else 1
    counted = None if "category" not in question else (str(of), question["category"])
    return Stated(figure, share, _exact(facts["epsilon"]), shared, eta, moves, needed, parts, counted)


def _n_is_public(output: TableOutput) -> bool:
    return output.guarantee.adjacency == "replace" and not output.layout.dimensions


def _parts(kind: str, facts: Mapping[str, Any]) -> int:
    parts = _whole(facts["parts"])
    if kind not in ("mean", "variance") and parts != (2 if kind == "median" else 1):
        raise ValueError("only means and variances have parts that follow from epsilon")
    return parts


def _needed(figure: Figure, share: Fraction, eta: Fraction, output: TableOutput) -> tuple[int, ...]:
    """(1)."""
    if figure.column is None:
        return (1,)
    n_public = _n_is_public(output)
    low, high = (Fraction(bound) / eta for bound in output.declared[figure.column].domain or ())
    first, last = floor(low), ceil(high)
    steps, half = last - first, -(-(last - first) // 2)
    if figure.statistic == "sum":
        return (steps,) if n_public else (max(abs(first), abs(last)),)
    if figure.statistic == "mean":
        return (steps,) if n_public else (1, half)
    if figure.statistic == "variance":
        return (steps, half**2) if n_public else (1, half, -(-(half**2) // 2))
    if figure.statistic in ("median", "quantile"):
        p, q = share.numerator, share.denominator
        return (q,) if n_public else (max(p, q - p),)
    return (1,)


def _is_power_of_two(eta: Fraction) -> bool:
    return eta > 0 and Fraction(2) ** (eta.numerator.bit_length() - eta.denominator.bit_length()) == eta


def _exact(text: object) -> Fraction:
    if not isinstance(text, str):
        raise TypeError("an exact number is written as text; a float is not the number that was meant")
    return Fraction(text)


def _whole(number: object) -> int:
    if type(number) is not int or number < 1:
        raise ValueError("a whole number from 1 on")
    return number
