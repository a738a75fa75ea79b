"""Columns that are answered together, because some combinations of their categories cannot be.

Columns are linked if a combination that is stated as impossible names both, or links each with a third. Linked columns
1 .. m get one answer, a combination y = (y_1, .., y_m) of their declared categories:

    w(y)    = w_1(y_1) .. w_m(y_m), and 0 where y is impossible;   P(y) = w(y) / sum of w                         (1)
    d(x, y) = sum of s_i d_i(x_i, y_i) / D_i,   D_i the widest d_i, s_i the column's share of epsilon             (2)
    one draw from P, refined around the true combination x (refine.py), with the sum of their epsilon_i           (3)

Theorem. (a) No impossible combination is an answer, also where it is the truth. (b) Under `replace` two true
combinations differ by a factor of at most e^(sum of epsilon_i), and under `presence` so do a true one and a draw of P:
no more than if the columns were answered one by one. (c) About one of the columns alone as much may be lost, not its
own epsilon_i only.
Proof. (1) and (2) are a prior and distances that depend on no data, and (3) is one question. Whatever x is, also where
P(x) = 0, every answer has between a_d and a_u times its prior probability (refine, (b)). So it is 0 where that is 0,
which is (a); and a_u and a_d are those of the sum, which is (b). (c) x may change in one place only, and (b) is no
smaller then. Other columns, and other linked ones, are drawn independently, so that all epsilons add up to the whole.

Why (2): divided by D_i no column counts for more because its distances are written in larger numbers; times s_i, a
column that is given more of epsilon is still answered more exactly, as it would be by itself. With equal shares all
count alike. Refinement looks at the order of distances only, so that (2) is compared in exact fractions and replaced by
its rank.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Columns, Declared
from penstock.mechanisms.combinations import MOST_COMBINATIONS, Impossible, faults_of_each, linked, where_impossible
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.refinement.axes import Axis, Ints, Matrix
from penstock.mechanisms.refinement.priors import digest_of
from penstock.mechanisms.refinement.refine import MOST_WEIGHT, UNIT, Refined
from penstock.mechanisms.refusal import Fault

if TYPE_CHECKING:
    from penstock.mechanisms.refinement._mechanism import Question

__all__ = ["Joint", "combination_faults", "joint_questions", "loss_facts"]

_MOST_SHOWN = 10**12
Refine = Callable[[Axis, Fraction, Fraction], Refined]


def combination_faults(
    impossible: Impossible, declared: Declared, names: Sequence[str], weights_of: Callable[[str], Ints] | None
) -> Iterator[Fault]:
    """Yield what is wrong with combinations; weights_of: of a column's prior, None where one is at fault."""
    faults = list(faults_of_each(impossible, declared, names, alone=_alone))
    yield from faults
    for group in () if faults else linked(impossible, names):
        number = math.prod(len(declared[name].categories or ()) for name in group)
        if number > MOST_COMBINATIONS:  # every combination is compared with every other
            rule = f"must link columns with at most {MOST_COMBINATIONS} combinations, not {', '.join(group)}"
            got = str(number) if number < _MOST_SHOWN else f"more than {_MOST_SHOWN:,}"
            yield Fault("impossible", rule, "Group their categories, or link fewer columns.", got)
        elif weights_of is not None:
            weights = _products([weights_of(name) for name in group], where_impossible(group, impossible, declared))
            if not any(weights):
                rule = f"must leave a combination of {', '.join(group)} that the priors allow"
                yield Fault("impossible", rule, "Remove a combination, or correct the priors.")
            elif sum(weights) > MOST_WEIGHT:
                rule = (
                    f"must link columns whose masses multiply to a denominator of at most 2^40, not {', '.join(group)}"
                )
                yield Fault("impossible", rule, "Round the masses of their priors.")


def _alone(field: str) -> Fault:
    """Return what is said of a combination of one column."""
    rule = "must name at least two columns: what is impossible in one column is left out of its prior"
    return Fault(field, rule, "Name another column, or give the categories no mass.")


def _products(weights: Sequence[Ints], excluded: NDArray[np.bool_]) -> list[int]:
    """Return (1) for every combination, the last column changing fastest; without a common divisor."""
    products = reduce(np.multiply.outer, [each.astype(object) for each in weights])  # whole numbers of any size
    masses = np.where(excluded, 0, products).ravel().tolist()
    divisor = math.gcd(*masses)
    return [mass // divisor for mass in masses] if divisor else masses


def _table(axis: Axis) -> Ints:
    """Return the distance of every point from every true point."""
    size = len(axis.weights)
    regions = axis.regions(np.arange(size), 0)
    return np.array([regions.steps_beyond(place)[0] for place in range(size)])


def _ranks(tables: Sequence[Ints], shares: Sequence[Fraction]) -> Ints:
    """Return the rank of (2) for every two combinations: 0 for the smallest distance, the same for equal ones."""
    points = np.unravel_index(np.arange(math.prod(map(len, tables))), [len(table) for table in tables])
    scales = [share / max(1, int(table.max())) for table, share in zip(tables, shares, strict=True)]
    common = math.lcm(*(scale.denominator for scale in scales))
    sums, kind = [0], np.zeros((len(points[0]), len(points[0])), np.int64)
    for table, point, scale in zip(tables, points, scales, strict=True):
        different, which = np.unique(table, return_inverse=True)
        steps = [int(scale * common) * distance for distance in different.tolist()]
        sums = [before + step for before in sums for step in steps]
        kind = kind * len(steps) + which.reshape(table.shape)[np.ix_(point, point)]
    rank = {distance: place for place, distance in enumerate(sorted(set(sums)))}
    return np.array([rank[distance] for distance in sums], np.int64)[kind]


def loss_facts(refined: Refined, delta: Fraction) -> dict[str, Any]:
    """Return the factors that bound what an answer says; with delta, the most of the answers that are moved."""
    factors = refined.factors
    bounds = [str(Fraction(factors.down, UNIT)), str(Fraction(factors.up, UNIT))]
    return {"factors": bounds, **({"delta": str(delta), "moved": str(refined.moved)} if delta else {})}


@dataclass(frozen=True, slots=True)
class Joint:
    """How the values of linked columns are answered. parts: each column, as it would be answered by itself."""

    parts: Mapping[str, Question]
    impossible: Sequence[Mapping[str, Sequence[str | int]]]
    refined: Refined

    @property
    def epsilon(self) -> Fraction:
        return sum((part.epsilon for part in self.parts.values()), Fraction(0))

    @property
    def delta(self) -> Fraction:
        return sum((part.delta for part in self.parts.values()), Fraction(0))

    @property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(len(part.refined.axis.weights) for part in self.parts.values())

    def answers(self, columns: Columns, randomness: Randomness) -> dict[str, NDArray[Any]]:
        """Draw one combination for every record, and return its columns in the form that the source has."""
        true = [part.true_points(columns[name], name) for name, part in self.parts.items()]
        drawn = self.refined.draw(np.ravel_multi_index(tuple(true), self._sizes), randomness)
        codes = np.unravel_index(drawn, self._sizes)
        return {
            name: part.answers(code, columns[name])
            for (name, part), code in zip(self.parts.items(), codes, strict=True)
        }

    def facts(self) -> dict[str, Any]:
        """Return what is public about these answers."""
        weights = self.refined.axis.weights
        errors = self._expected_errors()
        return {
            "columns": list(self.parts),
            "answers": {
                name: {
                    "share": str(part.epsilon / self.epsilon),
                    "declared": dict(part.declared),
                    "weights": part.refined.axis.weights.tolist(),
                    "expected_error": errors[name],
                }
                for name, part in self.parts.items()
            },
            "impossible": self.stated(),
            "epsilon": str(self.epsilon),
            **loss_facts(self.refined, self.delta),
            "points": len(weights),
            "prior": digest_of(weights),
            "weights": weights.tolist(),
        }

    def stated(self) -> list[dict[str, list[str | int]]]:
        """Return the impossible combinations, with categories as they are declared."""
        return [{name: list(categories) for name, categories in each.items()} for each in self.impossible]

    def moved(self) -> dict[str, float]:
        """Return how much of each column's own prior lies on other values in (1), because of what is impossible."""
        weights = self.refined.axis.weights.reshape(self._sizes)
        found = {}
        for place, (name, part) in enumerate(self.parts.items()):
            others = tuple(axis for axis in range(weights.ndim) if axis != place)
            own, left = part.refined.axis.weights, weights.sum(axis=others)
            found[name] = float(np.abs(own / own.sum() - left / left.sum()).sum()) / 2
        return found

    def _expected_errors(self) -> dict[str, float]:
        """Return each column's root mean square error as a share of its widest, for truths spread as (1) says."""
        weights = self.refined.axis.weights
        points = np.unravel_index(np.arange(len(weights)), self._sizes)
        chances = self.refined.chances(np.arange(len(weights))) * (weights / weights.sum())[:, None]
        found = {}
        for (name, part), point in zip(self.parts.items(), points, strict=True):
            squares = (_table(part.refined.axis) / max(1, part.refined.axis.widest)) ** 2
            found[name] = float(np.sqrt((chances * squares[np.ix_(point, point)]).sum()))
        return found


def joint_questions(
    impossible: Impossible, declared: Declared, each: Mapping[str, Question], refine: Refine
) -> tuple[Joint, ...]:
    """Return how linked columns are answered; each: every released column, as it would be answered by itself."""
    return tuple(
        _joint(impossible, declared, {name: each[name] for name in group}, refine)
        for group in linked(impossible, tuple(each))
    )


def _joint(impossible: Impossible, declared: Declared, parts: Mapping[str, Question], refine: Refine) -> Joint:
    axes, epsilons = [part.refined.axis for part in parts.values()], [part.epsilon for part in parts.values()]
    delta = sum((part.delta for part in parts.values()), Fraction(0))
    excluded = where_impossible(tuple(parts), impossible, declared)
    weights = np.array(_products([axis.weights for axis in axes], excluded), np.int64)
    distances = _ranks([_table(axis) for axis in axes], epsilons)
    stated = [
        {
            name: [each for each in declared[name].categories or () if str(each) in combination[name]]
            for name in parts
            if name in combination
        }
        for combination in impossible
        if set(combination) <= set(parts)
    ]
    return Joint(parts, stated, refine(Matrix(weights, distances), sum(epsilons, Fraction(0)), delta))
