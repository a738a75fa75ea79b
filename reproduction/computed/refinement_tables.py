"""Examples and tables of knowledge refinement, recomputed by the mechanism itself. Reproduction, no guarantee.

    factors e^epsilon and e^-epsilon, as the source has them for a question about one named person
    Laplace noise of scale 1/epsilon around 1/2 stays in [0, 1] with probability 1 - e^(-epsilon/2)                (1)
    noise of scale 1/(2 epsilon) around 0 passes 1/2 with probability e^-epsilon / 2                              (2)
    delta of two distributions P and Q: the sum of max(0, P(y) - e^epsilon Q(y)), or the other way round          (3)

Continuous priors stand on a fine grid, which is enough for the three digits in print. The factors are those of a
release: fractions of 2^22, on the safe side of e^epsilon, so they have six digits.

The variant with delta moves a share of the mass from the farthest points to the truth. The source moves delta for a
named person, and delta / 2 for a statistic. What was emptied had up to e^epsilon times as much under the other
distribution, and for a statistic the moved share may lie there too. So (3) is e^epsilon and 1 + e^epsilon times the
share, and what can be moved is delta e^-epsilon and delta / (1 + e^epsilon).

Source: Soria-Comas 2013 (thesis), sections 5.2, 5.3 and 5.5; Soria-Comas & Domingo-Ferrer 2012, Examples 2 and 3.

Why this is no release: refined distributions are computed here, and they give the truth away. A release shows one draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import exp, expm1

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.noise.accuracy import laplace_variance
from penstock.mechanisms.refinement.axes import Line, axis_of
from penstock.mechanisms.refinement.refine import UNIT, Factors, Refined, by_presence, by_value

__all__ = [
    "answers_about_one",
    "answers_about_two",
    "chances_of_noise",
    "deltas_of_shares",
    "distances_of_answers",
    "factors_of_refinement",
    "mass_left_in_tail",
    "refined_density",
    "spread_of_answers",
]

Table = NDArray[np.float64]

_FINE = 2**14
# Shares are moved exactly, so a coarser grid does for them.
_COARSE = 1000


def answers_about_one(epsilon: float, prior: Sequence[int], *, replaced: bool = False) -> Table:
    """Return the probabilities of answers to a question: one row for each truth. prior: whole weights.

    replaced: with the factors that two truths need, in place of those in print.
    """
    factors = (by_value if replaced else by_presence)(Fraction(epsilon))
    return np.array([_masses(prior, factors, true) for true in range(len(prior))])


def answers_about_two(epsilon: float, absent: int | None = None) -> Table:
    """Return Table 5.3, or 5.4 where one of the two persons is absent: answers about the first by rows."""
    refined, prior = answers_about_one(epsilon, [1, 1])[0], np.array([0.5, 0.5])
    first, second = (prior if absent == person else refined for person in (1, 2))
    joint: Table = np.outer(first, second)
    return joint


def chances_of_noise(epsilon: float, prior: float) -> Table:
    """Return by (2) the probability of the answer 1 with noise: for the truths 0 and 1, and for any truth."""
    wrong = exp(-epsilon) / 2
    return np.array([wrong, 1 - wrong, wrong * (1 - prior) + (1 - wrong) * prior])


def spread_of_answers(epsilons: Sequence[float]) -> Table:
    """Return Table 5.5, a row for each epsilon.

    Columns: the variance of Laplace noise, (1); the variance of refined answers around 1/2, the size of what lies near
    it and is multiplied by e^epsilon, and the probability of that.
    """
    middle = np.array([_FINE // 2])
    rows = []
    for epsilon in epsilons:
        refined = Refined(Line(np.ones(_FINE + 1, np.int64)), by_presence(Fraction(epsilon)))
        masses = np.array([float(mass) for mass in refined.masses(int(middle[0]))])
        is_near = masses == masses.max()
        rows.append(
            [
                laplace_variance(1 / epsilon),
                -expm1(-epsilon / 2),
                float(refined.mean_square(middle)[0]) / _FINE**2,
                is_near.mean(),
                masses[is_near].sum(),
            ]
        )
    return np.array(rows)


def deltas_of_shares(epsilon: float, shares: Sequence[float]) -> Table:
    """Return (3) for each share that is moved to the truth: for a named person, and for a statistic."""
    prior, ends = np.full(_COARSE + 1, 1 / (_COARSE + 1)), (_COARSE // 100, _COARSE - _COARSE // 100)
    return np.array(
        [
            [
                _delta(epsilon, prior, _moved(by_presence(Fraction(epsilon)), _COARSE // 2, share)),
                _delta(epsilon, *(_moved(by_value(Fraction(epsilon)), end, share) for end in ends)),
            ]
            for share in shares
        ]
    )


def mass_left_in_tail(epsilon: float, shares: Sequence[float], tail: float) -> Table:
    """Return what is left, after each share was moved, of the farthest points that had the prior mass `tail`."""
    middle = _COARSE // 2
    is_far = np.abs(np.arange(_COARSE + 1) - middle) > (1 - tail) / 2 * (_COARSE + 1)
    factors = by_presence(Fraction(epsilon))
    return np.array([_moved(factors, middle, share)[is_far].sum() for share in shares])


def refined_density(epsilon: float, truth: float, *, person: bool = True, share: float = 0) -> Table:
    """Return the density on 0 to 1 of answers to a question, from a uniform prior, at points that are _COARSE apart.

    person: with the factors of a question about one person, in place of those of a statistic. share: of the mass, moved
    from the farthest points to the truth.
    """
    factors = (by_presence if person else by_value)(Fraction(epsilon))
    return _moved(factors, round(truth * _COARSE), share) * (_COARSE + 1)


def factors_of_refinement(epsilon: float) -> Table:
    """Return the factors of near and far points: a row for a question about one person, and one for a statistic."""
    both = [each(Fraction(epsilon)) for each in (by_presence, by_value)]
    return np.array([[factors.up / UNIT, factors.down / UNIT] for factors in both])


def distances_of_answers(categories: Sequence[str]) -> Table:
    """Return the distances of the last category from each: nominal and ordinal; in units of the least one."""
    count = len(categories)
    rows = []
    for kind in ("nominal", "ordinal"):
        declared = {"role": "confidential", "type": kind, "categories": tuple(categories)}
        axis = axis_of(np.ones(count, np.int64), Column.model_validate(declared))
        regions = axis.regions(np.array([count - 1]), count - 1)
        steps = regions.steps_beyond(0)[0].astype(float)
        rows.append(steps / steps[steps > 0].min())
    return np.array(rows)


def _masses(prior: Sequence[int], factors: Factors, true: int, share: float = 0) -> Table:
    refined = Refined(Line(np.array(prior, np.int64)), factors, Fraction(share))
    return np.array([float(mass) for mass in refined.masses(true)])


def _moved(factors: Factors, true: int, share: float) -> Table:
    """Return a refined uniform prior, of which a share was moved from the points farthest from the truth to it."""
    return _masses([1] * (_COARSE + 1), factors, true, share)


def _delta(epsilon: float, first: Table, second: Table) -> float:
    """(3)."""
    both_ways = ((first, second), (second, first))
    return max(float(np.maximum(0, one - exp(epsilon) * other).sum()) for one, other in both_ways)
