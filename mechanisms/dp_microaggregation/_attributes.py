"""Attributes of blocks of records: how a column becomes levels, what is drawn for a block, what error to expect.

A number's block gets its sum with one discrete Laplace draw, divided by the block's size:

    y = clamp(s + N, 0, g R) / g,   P(N = i) ~ exp(-|i| / scale),   scale = D / epsilon                        (1)

rounded to the grid with halves up, all in integers. A category's block gets one candidate from the public list:

    P(a) ~ exp(-m(S, a) / scale),   m(S, a) = sum over the block of delta(x, a),   scale = 2 D / epsilon       (2)

Expected errors, in units of the widest possible error (_choice.py says for which records):

    number      mean over records of (x - c)^2 + 2 b^2 - sum over A in {c, 1 - c} of b (A + b) exp(-A / b)   (3)
                c the mean of the record's block, b = scale / (g R)
    category    mean over records and candidates of P(a | block) delta(x, a)^2                                 (4)

(3) is exact for Laplace noise: deviations from a block's mean add up to 0 in the block, and the rest is the second
moment of noise that is cut off at the bounds. Floats occur in (3) and (4) only; no promise rests on them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.dp_microaggregation.orders import CORNER_STEPS, Axis, Blocks
from penstock.mechanisms.noise import choose, discrete_laplace, scale_at_least
from penstock.mechanisms.numbers.grid import Grid, grid_of
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.taxonomy import GRID, boundaries, reach, score_table

__all__ = ["Attribute", "Category", "Number", "attribute_of"]


class Attribute(Protocol):
    """One column on its public axis."""

    @property
    def axis(self) -> Axis: ...

    def levels(self, values: NDArray[Any], name: str) -> NDArray[np.int64]:
        """Return the level of every record."""
        ...

    def scale(self, sensitivity: int, epsilon: Fraction) -> Fraction:
        """Return the scale of (1) or (2) that keeps epsilon; exact, and never too small."""
        ...

    def draw(
        self, levels: NDArray[np.int64], blocks: Blocks, sensitivity: int, epsilon: Fraction, randomness: Randomness
    ) -> NDArray[Any]:
        """Draw one protected value for each block: a number, or the code of a candidate."""
        ...

    def expected_error(self, levels: NDArray[np.int64], blocks: Blocks, scale: Fraction, weight: float) -> float:
        """Return the root of (3) or (4); each level given stands for `weight` records."""
        ...

    def least_error(self, scale: Fraction, size: int) -> float:
        """Return a lower bound of the expected error for any records: that of the noise on a block of this size."""
        ...

    def facts(self, scale: Fraction, size: int) -> dict[str, Any]:
        """Return what is public about a release with this scale in blocks of this size.

        grid, steps: the unit of the axis, and how many it has. noise_error: the standard deviation of a block's noise
        before the bounds cut it off, in the unit of the column; None for categories.
        """
        ...


@dataclass(frozen=True, slots=True)
class Number:
    """A numeric column on its grid."""

    grid: Grid

    @property
    def axis(self) -> Axis:
        return Axis(levels=self.grid.steps + 1, widest=self.grid.steps)

    def levels(self, values: NDArray[Any], name: str) -> NDArray[np.int64]:
        return self.grid.index(values)

    def scale(self, sensitivity: int, epsilon: Fraction) -> Fraction:
        return scale_at_least(sensitivity, epsilon)

    def draw(
        self, levels: NDArray[np.int64], blocks: Blocks, sensitivity: int, epsilon: Fraction, randomness: Randomness
    ) -> NDArray[Any]:
        """(1)."""
        sizes = np.diff(blocks.starts)
        sums = np.add.reduceat(levels[blocks.rows], blocks.starts[:-1])
        noise = discrete_laplace(sensitivity, epsilon, len(sums), randomness)
        # The noise is cut off before it is added, so that no sum leaves the range of 64 bits.
        noisy = sums + np.clip(noise, -sums, sizes * self.grid.steps - sums)
        return self.grid.values((2 * noisy + sizes) // (2 * sizes))

    def expected_error(self, levels: NDArray[np.int64], blocks: Blocks, scale: Fraction, weight: float) -> float:
        """(3)."""
        x = levels[blocks.rows] / self.grid.steps
        sizes = np.diff(blocks.starts)
        means = np.add.reduceat(x, blocks.starts[:-1]) / sizes
        within = (x - np.repeat(means, sizes)) ** 2
        b = float(scale) / (weight * sizes * self.grid.steps)
        return math.sqrt(float(np.mean(within)) + float(np.average(_cut_off_noise(b, means), weights=sizes)))

    def least_error(self, scale: Fraction, size: int) -> float:
        """Return the root of the second part of (3) for the block mean that makes it smallest, to about a hundredth."""
        b = float(scale) / (size * self.grid.steps)
        return 0.98 * math.sqrt(float(_cut_off_noise(b, np.linspace(0, 0.5, 11)).min()))

    def facts(self, scale: Fraction, size: int) -> dict[str, Any]:
        noise = math.sqrt(2) * float(scale * self.grid.eta) / size
        return {"scale": str(scale), "grid": str(self.grid.eta), "steps": self.grid.steps, "noise_error": noise}


@dataclass(frozen=True, slots=True)
class Category:
    """A column of categories; scores[x, a] is the distance of category x from candidate a on a public grid."""

    column: Column
    axis: Axis
    scores: NDArray[np.int64]

    def levels(self, values: NDArray[Any], name: str) -> NDArray[np.int64]:
        return self.column.codes(values, name)

    def scale(self, sensitivity: int, epsilon: Fraction) -> Fraction:
        return scale_at_least(2 * sensitivity, epsilon)

    def draw(
        self, levels: NDArray[np.int64], blocks: Blocks, sensitivity: int, epsilon: Fraction, randomness: Randomness
    ) -> NDArray[Any]:
        """(2), as codes of candidates."""
        return choose(self.counts(levels, blocks) @ self.scores, self.scale(sensitivity, epsilon), randomness)

    def expected_error(self, levels: NDArray[np.int64], blocks: Blocks, scale: Fraction, weight: float) -> float:
        """(4)."""
        counts = weight * self.counts(levels, blocks)
        totals = counts @ self.scores
        chances = np.exp(-(totals - totals.min(axis=1, keepdims=True)) / float(scale))
        chances /= chances.sum(axis=1, keepdims=True)
        squares = (self.scores / self.scores.max()) ** 2
        return math.sqrt(float((chances * (counts @ squares)).sum() / counts.sum()))

    def least_error(self, scale: Fraction, size: int) -> float:
        """Return 0, because no lower bound is known."""
        return 0.0

    def facts(self, scale: Fraction, size: int) -> dict[str, Any]:
        steps = int(self.scores.max())
        return {"scale": str(scale), "grid": str(Fraction(1, GRID)), "steps": steps, "noise_error": None}

    def counts(self, levels: NDArray[np.int64], blocks: Blocks) -> NDArray[np.int64]:
        """Return how many records of each category each block has."""
        number, categories = len(blocks.starts) - 1, self.axis.levels
        block = np.repeat(np.arange(number), np.diff(blocks.starts))
        cells = np.bincount(block * categories + levels[blocks.rows], minlength=number * categories)
        return cells.reshape(number, categories).astype(np.int64, copy=False)


def _cut_off_noise(b: float | NDArray[np.float64], means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the second part of (3)."""
    below, above = (b * (a + b) * np.exp(-a / b) for a in (means, 1 - means))
    return np.maximum(2 * b * b - below - above, 0.0)  # a difference of nearly equal numbers where b is large


def attribute_of(column: Column, name: str) -> Attribute:
    """Return the attribute of a declared column, from its declaration alone."""
    if column.numeric:
        return Number(grid_of(column, name))
    scores = score_table(column)
    apart = reach(scores)
    consecutive = np.diagonal(apart, offset=1)
    ends = boundaries(column)
    distances = [scores[:, end] for end in ends]  # the first candidates are the categories themselves
    width = max(1, int(distances[0][ends[1]]))
    axis = Axis(
        levels=len(scores),
        widest=int(apart.max()),
        places=np.concatenate(([0], np.cumsum(consecutive))),
        corner_distances=np.array(distances) * CORNER_STEPS // width,
    )
    return Category(column, axis, scores)
