"""Records whose values are answers drawn from a public prior that was refined by the truth.

    1  every column has a public prior (priors.py), stated before anybody looks at the data
    2  each value is answered by one draw from its column's prior, refined around the value (refine.py), with
       epsilon_i = w_i epsilon / c,   sum of w_i = 1,   c records of each unit
       columns that impossible combinations link are answered together, with the sum of theirs (_joint.py)
       with delta, each share of epsilon has the same share of delta
    3  the release puts the rows in random order

Theorem. Under `replace` the output is epsilon-differentially private, n public. Under `presence` it is, where the rows
of a person whose data are not used would be drawn from the priors themselves; if their values are replaced instead,
the loss is at most 2 epsilon.
Proof. Draws of different records are independent, and those of one record add up, whether each answers one column or
several; a unit has at most c records. Under `replace` the factors have a_u / a_d <= e^epsilon_i (refine, (b)). Under
`presence` each answer has between e^-epsilon_i and e^epsilon_i times its prior probability; from one value to another
by way of the prior is twice that. With delta, draws of one record add up to (sum of epsilon_i, sum of delta_i), Dwork &
Roth 2014, Th. 3.16, with the deltas of refine, (c). From one value to another by way of the prior that is (2 epsilon,
(1 + e^epsilon) delta): M(S) <= e^epsilon P(S) + delta <= e^epsilon (e^epsilon M'(S) + delta) + delta.

Source: Soria-Comas 2013 (thesis), sections 5.3 and 5.5, Propositions 3 and 4. Departure: the thesis promises epsilon
for a replaced value with factors e^epsilon and e^-epsilon; that is 2 epsilon, so `replace` has factors of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, StrictInt

from penstock.mechanisms.columns import Column, Columns, Declared, Role, named
from penstock.mechanisms.combinations import Combination
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.numbers.exact import ExactNumber
from penstock.mechanisms.numbers.grid import Grid
from penstock.mechanisms.numbers.shares import share_faults
from penstock.mechanisms.protected import Protected
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.refinement._joint import Joint, combination_faults, joint_questions, loss_facts
from penstock.mechanisms.refinement._promise import promised
from penstock.mechanisms.refinement.axes import Axis, Matrix, axis_of
from penstock.mechanisms.refinement.priors import AnyPrior, digest_of, faults_of, grid_for, weights
from penstock.mechanisms.refinement.refine import (
    MOST_EPSILON,
    Refined,
    by_presence,
    by_value,
    moved_by_presence,
    moved_by_value,
)
from penstock.mechanisms.refusal import Fault, SettingRefused
from penstock.mechanisms.sound import require_sound

__all__ = [
    "OUTPUT_ROLES",
    "Asked",
    "Params",
    "Question",
    "asked",
    "chosen_facts",
    "faults",
    "promise",
    "protect",
    "questions",
]

OUTPUT_ROLES: tuple[Role, ...] = ("quasi_identifier", "confidential")
# Every true category is compared with every other.
MOST_CATEGORIES = 640
# Expected errors are means over at most this many values, spread as the prior is.
_TRIED = 129
_FACTORS = {"replace": (by_value, moved_by_value), "presence": (by_presence, moved_by_presence)}


class Params(BaseModel):
    """How much may be learnt about one record, and what is believed of its values before."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mechanism: Literal["refinement"] = Field(default="refinement", description="The name of this mechanism.")
    epsilon: ExactNumber = Field(
        gt=0,
        le=MOST_EPSILON,
        description='Privacy loss of the whole release, exact: "1" or "1/2". Between neighbours no output becomes more '
        "than e^epsilon times as likely or unlikely, but for delta, where that is given.",
    )
    adjacency: Literal["replace", "presence"] = Field(
        description="replace: two data sets are neighbours if one record differs. presence: if the data of one named "
        "individual are used or not; where they are not, answers are drawn from the priors. A replaced value then "
        "loses 2 epsilon and, with delta, (1 + e^epsilon) delta."
    )
    priors: dict[str, AnyPrior] = Field(
        description="For every released column, how likely each value is before anybody asks: from public knowledge, "
        "never from the data. Answers are drawn from it, sharpened around the truth."
    )
    distances: dict[str, list[list[Annotated[StrictInt, Field(ge=0, le=2**31)]]]] = Field(
        default={},
        description="For categories: how far each is from each other, as whole numbers, in the order of the declared "
        "list. Without it: 1 for different categories, steps between ordinal ones, the distance in a taxonomy.",
    )
    shares: dict[str, ExactNumber] = Field(
        default={}, description="How epsilon is divided among the columns; must add up to 1. Equal where not given."
    )
    impossible: list[Combination] = Field(
        default=[],
        max_length=MOST_CATEGORIES,
        exclude_if=lambda given: not given,  # so that specs from before there were any keep their digests
        description="Combinations that cannot occur, each as two or more columns with a category, or a list of them: "
        "{relationship: Husband, marital-status: [Divorced, Widowed]}. From public knowledge, never from the data. "
        "Columns that they link are answered together, and never by one of these; they spend the sum of their shares, "
        "and a larger share makes its column's distance count for more.",
    )
    rows_per_unit: Annotated[StrictInt, Field(ge=1)] | None = Field(
        default=None,
        description="Where a person or business has several records: the most that are used of each, chosen at random. "
        "Epsilon then protects all of them together.",
    )
    delta: ExactNumber | None = Field(
        default=None,
        gt=0,
        lt=1,
        exclude_if=lambda given: given is None,  # so that specs from before there was any keep their digests
        description='A probability, exact, such as "1/1000000", of which epsilon says nothing: answers that were drawn '
        "farthest from the truth become the truth itself, within this bound for everything released of one unit. It "
        "must be acknowledged.",
    )
    acknowledges: tuple[Literal["delta"], ...] = Field(
        default=(),
        exclude_if=lambda given: not given,
        description="[delta], where delta is given: whoever releases knows that within this probability anything may "
        "become known about anybody.",
    )


def faults(params: Params, declared: Declared) -> list[Fault]:
    """Return every reason why these settings do not fit these columns, found before any row is read."""
    names = named(declared, *OUTPUT_ROLES)
    found = [*share_faults(params.shares, names, "column"), *_delta_faults(params)]
    if not names:
        rule = "must have at least one column to protect"
        found.append(Fault("columns", rule, "Declare a quasi_identifier or confidential."))
    for field, given in (("priors", params.priors), ("distances", params.distances)):
        rule, remedy = "must be a declared column that is released", "Remove it, or declare the column."
        found += [Fault(f"{field}.{name}", rule, remedy) for name in given if name not in names]
    for name, column in declared.items():
        if column.role == "weight":
            rule = "must not be weight: it has no declared bounds, so nothing can be promised about it"
            remedy = "Declare it confidential and continuous with a domain, or leave it out."
            found.append(Fault(f"columns.{name}.role", rule, remedy, "weight"))
    of_columns = [fault for name in names for fault in _column_faults(params, declared[name], name)]
    return [*found, *of_columns, *_combination_faults(params, declared, names, are_priors_sound=not of_columns)]


def _delta_faults(params: Params) -> Iterator[Fault]:
    got = str(list(params.acknowledges))
    if params.delta is not None and params.acknowledges != ("delta",):
        rule = "must be [delta], because delta is given: within this probability anything may become known"
        yield Fault("acknowledges", rule, "Add [delta], or remove delta.", got)
    elif params.delta is None and params.acknowledges:
        yield Fault("acknowledges", "must not be given without delta", "Remove it.", got)


def _combination_faults(
    params: Params, declared: Declared, names: tuple[str, ...], *, are_priors_sound: bool
) -> Iterator[Fault]:
    def weights_of(name: str) -> NDArray[np.int64]:
        return weights(params.priors[name], declared[name], name)

    return combination_faults(params.impossible, declared, names, weights_of if are_priors_sound else None)


def _column_faults(params: Params, column: Column, name: str) -> list[Fault]:
    if column.missing != "refuse":
        rule = "must be refuse: a missing value has no distance from others"
        return [Fault(f"columns.{name}.missing", rule, "Complete the data first.", column.missing)]
    categories = len(column.categories or ())
    if categories > MOST_CATEGORIES:
        rule = f"must be at most {MOST_CATEGORIES}: each is compared with each"
        return [Fault(f"columns.{name}.categories", rule, "Group them.", str(categories))]
    if name not in params.priors:
        rule = "must be given: every value of the column is answered from it"
        return [Fault(f"priors.{name}", rule, "State a prior, for example {kind: uniform}.")]
    found = list(faults_of(params.priors[name], column, name))
    given = params.distances.get(name)
    if given is not None:
        found += _distance_faults(given, column, name, categories)
    return found


def _distance_faults(given: list[list[int]], column: Column, name: str, categories: int) -> list[Fault]:
    field = f"distances.{name}"
    if column.numeric:
        return [Fault(field, "must not be given for numbers", "Remove it.")]
    if len(given) != categories or any(len(row) != categories for row in given):
        return [Fault(field, "must have one row and one column for each category", "Complete it.")]
    table = np.array(given)
    if table.diagonal().any() or not (table + np.eye(categories, dtype=int) > 0).all():
        return [Fault(field, "must be 0 from a category to itself, and above 0 to any other", "Correct it.")]
    return []


@dataclass(frozen=True, slots=True)
class Question:
    """How the values of one column are answered."""

    column: Column
    epsilon: Fraction
    delta: Fraction
    refined: Refined
    grid: Grid | None
    declared: Mapping[str, Any]

    def true_points(self, values: NDArray[Any], name: str) -> NDArray[np.int64]:
        """Return the point of every value."""
        return self.column.codes(values, name) if self.grid is None else self.grid.index(values)

    def answers(self, points: NDArray[np.int64], source: NDArray[Any]) -> NDArray[Any]:
        """Return the values of points, in the form that the source has."""
        if self.grid is not None:
            return self.grid.values(points)
        categories = np.array(self.column.categories, dtype=object)
        if source.dtype.kind in "iu":  # codes of records may fit into a type that has no room for every category
            return points.astype(source.dtype if len(categories) <= np.iinfo(source.dtype).max else np.int64)
        return np.take(categories, points)

    def facts(self) -> dict[str, Any]:
        """Return what is public about these answers."""
        axis = self.refined.axis
        listed = {"weights": axis.weights.tolist()} if self.grid is None else {}
        return {
            "epsilon": str(self.epsilon),
            **loss_facts(self.refined, self.delta),
            "points": len(axis.weights),
            "prior": digest_of(axis.weights),
            "declared": dict(self.declared),
            "grid": None if self.grid is None else str(self.grid.eta),
            "expected_error": self._expected_error(),
            **listed,
        }

    def _expected_error(self) -> float:
        """Return the root mean square error as a share of the widest, for values that are spread as the prior says."""
        before = np.cumsum(self.refined.axis.weights)
        tried = np.searchsorted(before, (np.arange(_TRIED) + 0.5) / _TRIED * before[-1], side="right")
        points, numbers = np.unique(tried, return_counts=True)
        mean = float(np.average(self.refined.mean_square(points.astype(np.int64)), weights=numbers))
        return float(np.sqrt(mean)) / max(1, self.refined.axis.widest)


@dataclass(frozen=True, slots=True)
class Asked:
    """How all released columns are answered: some by themselves, and those that combinations link together."""

    names: tuple[str, ...]
    alone: Mapping[str, Question]
    joint: tuple[Joint, ...]


def asked(params: Params, declared: Declared) -> Asked:
    """Return how all released columns are answered."""
    each = questions(params, declared)
    joint = joint_questions(params.impossible, declared, each, partial(_refined, params.adjacency))
    alone = {name: one for name, one in each.items() if not any(name in together.parts for together in joint)}
    return Asked(tuple(each), alone, joint)


def questions(params: Params, declared: Declared) -> dict[str, Question]:
    """Return how each released column is answered, or would be if no combination linked it with others."""
    SettingRefused.raise_for(faults(params, declared))
    names = named(declared, *OUTPUT_ROLES)
    found = {}
    for name in names:
        column, share = declared[name], params.shares.get(name, Fraction(1, len(names))) / (params.rows_per_unit or 1)
        epsilon, delta = params.epsilon * share, (params.delta or 0) * share
        refined = _refined(params.adjacency, _axis(params, column, name), epsilon, delta)
        given: dict[str, Any] = {"prior": params.priors[name].model_dump(mode="json")}
        if name in params.distances:
            given["distances"] = params.distances[name]
        found[name] = Question(
            column, epsilon, delta, refined, grid_for(column, name) if column.numeric else None, given
        )
    return found


def _refined(adjacency: str, axis: Axis, epsilon: Fraction, delta: Fraction) -> Refined:
    factors_of, moved_of = _FACTORS[adjacency]
    factors = factors_of(epsilon)
    return Refined(axis, factors, moved_of(delta, factors))


def _axis(params: Params, column: Column, name: str) -> Axis:
    used = weights(params.priors[name], column, name)
    if name in params.distances:
        return Matrix(used, np.array(params.distances[name], np.int64))
    return axis_of(used, column)


def chosen_facts(params: Params, declared: Declared, records: int) -> dict[str, Any]:
    """Return what `protect` will state as chosen, before any record is looked at."""
    return _facts(params, asked(params, declared), records)


def _facts(params: Params, all_asked: Asked, records: int) -> dict[str, Any]:
    columns = {name: question.facts() for name, question in all_asked.alone.items()}
    together = {"joint": [joint.facts() for joint in all_asked.joint]} if all_asked.joint else {}
    spent = {"epsilon": str(params.epsilon), **({} if params.delta is None else {"delta": str(params.delta)})}
    return {"records": records, **spent, "answers": columns, **together}


def promise(params: Params, declared: Declared) -> Guarantee:
    """Return what a release with these settings promises, and what it does not."""
    return promised(params, declared, asked(params, declared))


def protect(columns: Columns, declared: Declared, params: Params, randomness: Randomness) -> Protected:
    """Return one answer for every value under `promise(params, declared)`, in the order of the source rows."""
    all_asked = asked(params, declared)
    guarantee = promised(params, declared, all_asked)
    records = require_sound(columns, declared, clamped=True)
    drawn = {}
    for name, question in all_asked.alone.items():
        points = question.refined.draw(question.true_points(columns[name], name), randomness)
        drawn[name] = question.answers(points, columns[name])
    for joint in all_asked.joint:
        drawn |= joint.answers(columns, randomness)
    released = {name: drawn[name] for name in all_asked.names}
    return Protected(released, guarantee, masked=all_asked.names, chosen=_facts(params, all_asked, records))
