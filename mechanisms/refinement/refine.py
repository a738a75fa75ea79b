"""Knowledge refinement: a public prior, sharpened around the truth by bounded factors, and one draw from it.

    a public prior P; factors a_u >= 1 >= a_d > 0;   p_u = (1 - a_d) / (a_u - a_d)                                (1)
    r* = the smallest r with P(B(r)) > p_u, B(r) the closed ball around the truth                                 (2)
    the prior times a_u where d < r*,  times a_d where d > r*,  and on the shell d = r* times
        a_ud = (1 - a_u P(d < r*) - a_d P(d > r*)) / P(d = r*)                                                    (3)

Theorem. (a) The refined masses add up to 1, and a_d <= a_ud <= a_u. (b) So whatever the truth is, every answer has a
probability between a_d and a_u times its prior one: two truths differ by a factor of at most a_u / a_d, and a truth
differs from a draw of the prior itself by at most max(a_u, 1 / a_d).
Proof. (a) (3) is the mass that is left, so all masses add up to 1. Write I, S, O for the prior masses of inside, shell
and outside. By (1), a_u p_u + a_d (1 - p_u) = 1, so the mass left for the shell is
    1 - a_u I - a_d O = a_u (p_u - I) + a_d (1 - p_u - O),   where   (p_u - I) + (1 - p_u - O) = S,
and by (2) p_u - I >= 0 and 1 - p_u - O = I + S - p_u > 0: a_ud is a mean of a_u and a_d with these weights.
(b) follows.

With delta, at most a share m of all answers is moved: those that were drawn farthest from the truth become the truth
itself, or the possible answer nearest to it; from the inside none is moved, so where less lies elsewhere, less is.

Theorem. (c) Two truths then differ by e^epsilon and delta = m (1 + a_u / a_d); a truth differs from a draw of the prior
by e^epsilon and delta = m / a_d.
Proof. Write R for the answers of (b) and M for those after the move; M(S) <= R(S) + m and R(S) <= M(S) + m for every
set S. So for two truths M(S) <= a_u / a_d R'(S) + m <= a_u / a_d (M'(S) + m) + m. For the prior P,
M(S) <= a_u P(S) + m, and P(S) <= R(S) / a_d <= M(S) / a_d + m / a_d.

Whole numbers only: P(y) = w_y / T, a_u = up / UNIT, a_d = down / UNIT. A number uniform below UNIT T falls on the
inside if it is below up I T, on the outside if it is below up I T + down O T, else on the shell; which point it is
follows by division, and on the shell by a second number. m is rounded down to numbers out of UNIT T S, S the largest
power of two with T S <= MOST_WEIGHT: all that belong to points beyond a rim are moved, and of those on the rim as many
as are left, chosen by another number. Nothing else is rounded, so (b) and (c) hold to the last digit.

Source: Soria-Comas 2013 (thesis), Algorithm 5.1, Propositions 2 and 3; Soria-Comas & Domingo-Ferrer 2012, "Differential
privacy through knowledge refinement". Departures: the thesis prints p_u and p_d exchanged, and (3) with p_u and p_d for
the masses of the regions, which is 0/0; Proposition 3 needs adjacency by presence; and section 5.2 moves delta and
delta / 2 where (c) has delta a_d and delta / (1 + a_u / a_d): the farthest answers have up to e^epsilon times as much
under another truth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.refinement.axes import Axis, Ints, Regions

__all__ = [
    "MOST_WEIGHT",
    "UNIT",
    "Factors",
    "Refined",
    "by_presence",
    "by_value",
    "moved_by_presence",
    "moved_by_value",
]

# Factors are whole numbers of this; a prior's weights add up to at most MOST_WEIGHT; so products stay below 2^62.
UNIT = 2**22
MOST_WEIGHT = 2**40
_LARGEST = 2**60
# Beyond this e^epsilon would take long to bound, and nothing would be protected.
MOST_EPSILON = 64


@dataclass(frozen=True, slots=True)
class Factors:
    """a_u = up / UNIT and a_d = down / UNIT."""

    up: int
    down: int

    @property
    def share_inside(self) -> Fraction:
        """Return p_u of (1); 0 where nothing may be sharpened."""
        return Fraction(UNIT - self.down, self.up - self.down) if self.up > self.down else Fraction(0)


def by_value(epsilon: Fraction) -> Factors:
    """Return factors with a_u / a_d <= e^epsilon: no two truths can be told apart by more.

    a_d is about e^(-epsilon/2), rounded up; a_u as large as that allows.
    """
    power = _exponential_at_most(epsilon)
    root = math.isqrt(power.numerator * power.denominator) * Fraction(1, power.denominator)  # about its square root
    down = min(UNIT, math.ceil(UNIT / root))
    return Factors(min(_LARGEST, math.floor(down * power)), down)


def by_presence(epsilon: Fraction) -> Factors:
    """Return factors with a_u <= e^epsilon and a_d >= e^-epsilon: the truth can hardly be told from the prior."""
    power = _exponential_at_most(epsilon)
    return Factors(min(_LARGEST, math.floor(UNIT * power)), math.ceil(UNIT / power))


def moved_by_value(delta: Fraction, factors: Factors) -> Fraction:
    """Return the share m that may be moved by (c), where no two truths can be told apart by more."""
    return delta / (1 + Fraction(factors.up, factors.down))


def moved_by_presence(delta: Fraction, factors: Factors) -> Fraction:
    """Return the share m that may be moved by (c), where the truth can hardly be told from the prior."""
    return delta * Fraction(factors.down, UNIT)


def _exponential_at_most(epsilon: Fraction) -> Fraction:
    """Return a number just below e^epsilon, and at least 1: the beginning of its series, whose terms are positive."""
    if not 0 < epsilon <= MOST_EPSILON:
        raise ValueError(f"epsilon must be above 0 and at most {MOST_EPSILON}")
    scale = 2**64
    term = total = scale  # whole multiples of 1 / scale, each rounded down
    for number in range(1, 400):
        term = term * epsilon.numerator // (epsilon.denominator * number)
        total += term
    return Fraction(total, scale)


@dataclass(frozen=True, slots=True)
class _Rim:
    """The answers about several truths that are moved: all beyond the rim, and `moved` of the `numbers` of points on
    it."""

    regions: Regions
    numbers: Ints
    moved: Ints


@dataclass(frozen=True, slots=True)
class Refined:
    """A prior on an axis, with the factors by which it may be sharpened, and the share of answers that may be moved."""

    axis: Axis
    factors: Factors
    may_be_moved: Fraction = Fraction(0)

    @property
    def moved(self) -> Fraction:
        """Return m as it is drawn by, which is at most what may be moved."""
        return Fraction(self._moved_numbers, UNIT * self.total * self._finer)

    @property
    def total(self) -> int:
        return int(self.axis.weights.sum())

    @property
    def threshold(self) -> int:
        """Return the largest weight that is at most p_u, and below the whole: where p_u is 1, a_u is 1 too."""
        return min(math.floor(self.factors.share_inside * self.total), self.total - 1)

    def draw(self, true: Ints, randomness: Randomness) -> Ints:
        """Draw one answer for each true point, independently."""
        different, which = np.unique(true, return_inverse=True)
        regions = self.axis.regions(different, self.threshold)
        up, down = self.factors.up, self.factors.down
        inside, shell = regions.inside[which], regions.shell[which]
        outside = self.total - inside - shell
        number = _below(np.full(len(true), UNIT * self.total), randomness)
        on_inside, on_outside = number < up * inside, number < up * inside + down * outside
        positions = np.where(on_inside, number // up, inside + shell + (number - up * inside) // down)
        on_shell = ~(on_inside | on_outside)
        positions[on_shell] = inside[on_shell] + _below(shell[on_shell], randomness)
        drawn = regions.points(which, positions)
        return drawn if self._moved_numbers == 0 else self._after_move(different, which, drawn, regions, randomness)

    def masses(self, true: int) -> list[Fraction]:
        """Return the refined probability of every point. For tests and reproductions: a release never shows it."""
        only = np.array([true])
        regions = self.axis.regions(only, self.threshold)
        _, beyond = regions.steps_beyond(0)
        factors, weights = self._factors(regions, 0), self.axis.weights.tolist()
        found = [
            factors[step + 1] * weight / self.total
            for step, weight in zip(np.sign(beyond).tolist(), weights, strict=True)
        ]
        if self._moved_numbers:
            rim = self._rim(only, regions)
            kept = (Fraction(1), 1 - Fraction(int(rim.moved[0]), int(rim.numbers[0])), Fraction(0))
            left = zip(found, np.sign(rim.regions.steps_beyond(0)[1]).tolist(), strict=True)
            found = [mass * kept[step + 1] for mass, step in left]
            found[int(self._nearest(only)[0])] += 1 - sum(found)
        return found

    def mean_square(self, true: Ints) -> NDArray[np.float64]:
        """Return the mean square distance of an answer from each true point; floats, no promise rests on them."""
        regions = self.axis.regions(true, self.threshold)
        squares = (regions.steps_beyond(place)[0].astype(np.float64) ** 2 for place in range(len(true)))
        rows = zip(self._chances(true, regions), squares, strict=True)
        return np.array([float((chances * square).sum()) for chances, square in rows])

    def chances(self, true: Ints) -> NDArray[np.float64]:
        """Return `masses` for several true points, one row for each; floats, no promise rests on them."""
        return np.array(list(self._chances(true, self.axis.regions(true, self.threshold))))

    def _chances(self, true: Ints, regions: Regions) -> Iterator[NDArray[np.float64]]:
        rim = self._rim(true, regions) if self._moved_numbers else None
        nearest = self._nearest(true)
        for place in range(len(true)):
            factors = np.array([float(factor) for factor in self._factors(regions, place)])
            found = factors[np.sign(regions.steps_beyond(place)[1]) + 1] * self.axis.weights / self.total
            if rim is not None:
                kept = np.array([1.0, 1 - rim.moved[place] / rim.numbers[place], 0.0])
                found = found * kept[np.sign(rim.regions.steps_beyond(place)[1]) + 1]
                found[nearest[place]] += 1 - found.sum()
            yield found

    def _factors(self, regions: Regions, place: int) -> tuple[Fraction, Fraction, Fraction]:
        """Return a_u, a_ud by (3), and a_d."""
        inside, shell = int(regions.inside[place]), int(regions.shell[place])
        up, down = self.factors.up, self.factors.down
        left = UNIT * self.total - up * inside - down * (self.total - inside - shell)
        return Fraction(up, UNIT), Fraction(left, UNIT * shell), Fraction(down, UNIT)

    @property
    def _finer(self) -> int:
        """Return S."""
        return 1 << max(0, (MOST_WEIGHT // self.total).bit_length() - 1)

    @property
    def _moved_numbers(self) -> int:
        """Return how many of the numbers below UNIT T S are moved."""
        return math.floor(self.may_be_moved * UNIT * self.total * self._finer)

    def _after_move(self, different: Ints, which: Ints, drawn: Ints, regions: Regions, randomness: Randomness) -> Ints:
        """Return answers after the farthest were moved."""
        rim = self._rim(different, regions)
        beyond = rim.regions.beyond(which, drawn)
        is_moved, on_rim = beyond > 0, beyond == 0
        here = which[on_rim]
        is_moved[on_rim] = _below(rim.numbers[here], randomness) < rim.moved[here]
        return np.where(is_moved, self._nearest(different)[which], drawn)

    def _rim(self, true: Ints, regions: Regions) -> _Rim:
        """Return what is moved: the rim is the smallest ball, of at least r*, beyond which all can be moved."""
        numbers, finer, down = self._moved_numbers, self._finer, self.factors.down
        far = self.axis.regions(true, max(self.threshold, self.total - 1 - numbers // (finer * down)))
        beyond = finer * down * (self.total - far.inside - far.shell)
        elsewhere = self.factors.up * regions.inside + down * (self.total - regions.inside - regions.shell)
        is_shell = far.inside == regions.inside  # both have something on them, so no other ball has as much within
        on_rim = finer * np.where(is_shell, UNIT * self.total - elsewhere, down * far.shell)
        return _Rim(far, on_rim, np.minimum(numbers - beyond, on_rim))

    def _nearest(self, true: Ints) -> Ints:
        """Return the possible answer nearest to each true point: the point itself, unless its prior is 0."""
        return self.axis.regions(true, 0).points(np.arange(len(true)), np.zeros(len(true), np.int64))


def _below(bounds: Ints, randomness: Randomness) -> Ints:
    """Draw whole numbers, each uniform on 0 .. bound - 1, by rejection of words; bounds are below 2^63."""
    drawn = np.empty(len(bounds), np.int64)
    left = np.arange(len(bounds))
    limits = bounds.astype(np.uint64)
    while len(left):
        words, limit = randomness.words(len(left)), limits[left]
        # As many words as a multiple of the bound has; 2^64 - 1 stands for 2^64, which rejects at most one word more.
        accepted = words < np.uint64(2**64 - 1) // limit * limit
        drawn[left[accepted]] = (words[accepted] % limit[accepted]).astype(np.int64)
        left = left[~accepted]
    return drawn
