"""What a release of statistics states about itself, as types, as in `stated`."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

from penstock.mechanisms.stated import ErrorChosen, Exact, Whole

__all__ = ["FigureChosen", "StatisticsChosen", "StatisticsParameters"]

_CLOSED = with_config(ConfigDict(extra="forbid", strict=True))


@_CLOSED
class StatisticsParameters(TypedDict):
    """Statistics of groups of records. group_epsilons: what 1, 2, ... records spend together, if that is promised."""

    mechanism: Literal["statistics"]
    epsilon: Exact
    groups: list[str]
    figures: list[dict[str, Any]]
    epsilon_by_figure: dict[str, Exact]
    rows_per_unit: NotRequired[Whole]
    only: NotRequired[dict[str, str | int]]
    group_epsilons: NotRequired[list[Exact]]


@_CLOSED
class FigureChosen(TypedDict):
    """The noise of one figure: on its grid, or by scores. parts: into how many parts it divides a step of the grid.

    A box without half_widths: it is drawn together with others.
    """

    figure: str
    epsilon: Exact
    noise: Literal["laplace", "staircase", "box", "exponential"]
    grid: str
    half_widths: NotRequired[list[Whole]]
    step: NotRequired[Whole]
    core: NotRequired[list[Whole]]
    score_sensitivity: NotRequired[Whole]
    parts: NotRequired[Whole]


@_CLOSED
class AnswerTogether(TypedDict):
    """A total that is drawn together with others, and how far it may move.

    less: of a sum, the step that is subtracted from every value; of squares, that one and what is subtracted from every
    square of the difference.
    """

    answer: Literal["count", "sum", "squares"]
    of: NotRequired[str]
    grid: str
    less: list[int]
    half_width: Whole
    core: Whole


@_CLOSED
class BoxChosen(TypedDict):
    """Totals of a group that are drawn together, and what they spend there."""

    epsilon: Exact
    answers: list[AnswerTogether]


@_CLOSED
class StatisticsChosen(TypedDict):
    """The noise of every figure, and errors that are the same in every group."""

    table: str
    groups: Whole
    epsilon: Exact
    measured: list[FigureChosen]
    together: NotRequired[list[BoxChosen]]
    figures: NotRequired[dict[str, ErrorChosen]]
