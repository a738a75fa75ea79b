"""The cells of a figure, by number; only the worst of them are described in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from penstock.measures.cells.relaxation._accuracy import answers_that_show_scale, half_width
from penstock.measures.cells.relaxation.found import GAMMA, CellFound, FigureFound
from penstock.mechanisms.layout import Layout

__all__ = ["Detail", "Numbers", "figure_found", "named"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

# Nobody reads a longer list; the worst come first.
_MOST_CELLS = 20


@dataclass(frozen=True, slots=True)
class Detail:
    """Details of one cell, looked up for the worst cells only; lengths in the unit of the figure."""

    tells: str
    smooth: float | None = None
    neighbours: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Numbers:
    """One figure of every cell. drawn: the steps of its noise, each worth `unit`; epsilon: what they are divided by.

    declared: the steps under differential privacy, worth the same; None without a domain.
    """

    name: str
    what: str
    tells: str
    epsilon: Fraction
    counts: Integers
    drawn: Integers
    unit: Floats
    declared: Floats | None
    outside: Integers | None


def figure_found(
    numbers: Numbers, shown: Callable[[int], dict[str, str]], detail: Callable[[int], Detail]
) -> FigureFound:
    """Return what is found of one figure."""
    noisy = numbers.drawn > 0
    gains: Floats | None = None
    if numbers.declared is not None:
        gains = np.divide(numbers.declared, numbers.drawn, out=np.zeros(len(noisy)), where=noisy)
    order = np.flatnonzero(noisy)
    order = order[np.argsort(-(gains if gains is not None else -numbers.drawn)[order], kind="stable")]
    if numbers.outside is not None:
        order = order[np.argsort(-numbers.outside[order], kind="stable")]
    worst = tuple(
        _cell(numbers, None if gains is None else float(gains[cell]), cell, shown, detail)
        for cell in order[:_MOST_CELLS].tolist()
    )
    known = [cell.neighbours for cell in worst if cell.neighbours is not None]
    epsilon, scales = float(numbers.epsilon), np.unique(numbers.drawn[noisy] * numbers.unit[noisy], return_counts=True)
    return FigureFound(
        name=numbers.name,
        what=numbers.what,
        epsilon=str(numbers.epsilon),
        cells=int(noisy.sum()),
        without_noise=int((~noisy).sum()),
        gains=None if gains is None or not noisy.any() else (float(gains[noisy].min()), float(gains[noisy].max())),
        outside=None if numbers.outside is None else int(numbers.outside.sum()),
        outside_cells=None if numbers.outside is None else int(np.count_nonzero(numbers.outside)),
        exact_neighbours=sum(least == 0 for least, _ in known) if known else None,
        together=max(_together(numbers, epsilon, noisy), default=0.0),
        answers=answers_that_show_scale(int(scales[1].max(initial=1))),
        tells=numbers.tells,
        worst=worst,
    )


def _together(numbers: Numbers, epsilon: float, noisy: NDArray[np.bool_]) -> list[float]:
    """Return the half-widths of the different noises that all cells keep at once, with GAMMA in all."""
    gamma = GAMMA / max(int(noisy.sum()), 1)
    pairs = np.unique(np.stack([numbers.drawn[noisy].astype(np.float64), numbers.unit[noisy]], axis=1), axis=0)
    return [half_width(steps, epsilon, gamma) * unit for steps, unit in pairs.tolist()]


def _cell(
    numbers: Numbers,
    gain: float | None,
    cell: int,
    shown: Callable[[int], dict[str, str]],
    detail: Callable[[int], Detail],
) -> CellFound:
    steps, unit, epsilon = int(numbers.drawn[cell]), float(numbers.unit[cell]), float(numbers.epsilon)
    declared = None if numbers.declared is None else float(numbers.declared[cell])
    looked_up = detail(cell)
    return CellFound(
        cell=shown(cell),
        records=int(numbers.counts[cell]),
        used=steps * unit,
        declared=None if declared is None else declared * unit,
        smooth=looked_up.smooth,
        gain=gain,
        half_width=half_width(steps, epsilon, GAMMA) * unit,
        declared_half_width=None if declared is None else half_width(declared, epsilon, GAMMA) * unit,
        outside=None if numbers.outside is None else int(numbers.outside[cell]),
        neighbours=looked_up.neighbours,
        tells=looked_up.tells,
    )


def named(layout: Layout, dimensions: tuple[str, ...]) -> Callable[[int], dict[str, str]]:
    """Return what names a cell: its category of each dimension, the last of which varies fastest."""
    shape = layout.shape(dimensions)

    def shown(cell: int) -> dict[str, str]:
        digits = np.unravel_index(cell, shape) if dimensions else ()
        return {name: layout.dimensions[name][int(digit)] for name, digit in zip(dimensions, digits, strict=True)}

    return shown
