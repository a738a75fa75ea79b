"""The scale of the noise of every cell, together with the adjacency under which it is enough.

    b_i = steps_i / epsilon,   steps_i a whole number of grid steps                                             (1)
    loss of a change = sum over cells |f_i(D_1) - f_i(D_2)| / b_i <= epsilon    for every adjacent pair         (2)

Bootstrap, from the data set D itself (M_i, V_i and sensitivities: see sensitivity.py):

    one scale for all           steps = the sensitivity of the whole table            all three adjacencies
    every cell its own scale    steps_i = 2 M_i                                       bootstrap_replace
                                steps_i = M_i                                         bootstrap_add_remove
    public membership           steps_i = V_i                                         bootstrap_within_cell

A replacement touches at most two cells, each by at most M_i, so half of epsilon for each is enough; inside one cell it
moves by V_i <= 2 M_i. Epsilon need not be split over all cells. V_i for a record that may change its cell breaks (2),
even if epsilon is split; no function here pairs them.

Differential privacy, from public bounds |v| <= B_i that hold for every possible record, because values are clamped:

    contingency table           steps = 2, 1                                          replace, add_remove
    magnitude table             steps_i = 2 B_i, B_i                                  replace, add_remove

Source: O'Keefe & Charest 2019, section 5.2, options (i) to (iii), corrected; Dwork & Roth 2014, Th. 3.6.

Bootstrap scales are secret: they show extremes of D. A bootstrap scale of 0 means that the cell has the same total in
all data sets made of records of D; noise of that scale is refused, and printing the total exactly would reveal just
that, for an empty cell its emptiness. Scales of differential privacy are public, never 0, and the same whether a cell
is empty or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

import numpy as np

from mechanisms.noise.scale import require_epsilon
from mechanisms.refusal import SettingRefused
from mechanisms.tables.cells import Cells, Integers
from mechanisms.tables.sensitivity import (
    BootstrapAdjacency,
    contingency_table_sensitivity,
    largest_sizes,
    magnitude_table_sensitivity,
    ranges,
    require_adjacency,
)

__all__ = [
    "DpAdjacency",
    "MovingAdjacency",
    "Scales",
    "bootstrap_contingency_scales",
    "bounded_magnitude_scales",
    "contingency_scales",
    "every_cell_its_own_scale",
    "one_scale_for_all",
    "public_membership_scales",
]

DpAdjacency = Literal["replace", "add_remove"]
# A record may change its cell.
MovingAdjacency = Literal["bootstrap_replace", "bootstrap_add_remove"]

# As for values: twice a bound fits into 63 bits.
_LARGEST = 2**62


@dataclass(frozen=True, slots=True, eq=False)
class Scales:
    """b_i of (1), which keep epsilon under this adjacency and under no other."""

    adjacency: BootstrapAdjacency | DpAdjacency | Literal["from_D"]
    epsilon: Fraction
    steps: Integers

    def of(self, cell: int) -> Fraction:
        """b_i."""
        return int(self.steps[cell]) / self.epsilon


def bootstrap_contingency_scales(cells: Cells, adjacency: BootstrapAdjacency, epsilon: Fraction) -> Scales:
    """Counts: the sensitivity of the contingency table, /epsilon."""
    return _alike(contingency_table_sensitivity(cells, adjacency), cells, adjacency, epsilon)


def one_scale_for_all(cells: Cells, measure: str, adjacency: BootstrapAdjacency, epsilon: Fraction) -> Scales:
    """Totals, option (i): the sensitivity of the magnitude table, /epsilon, for every cell."""
    return _alike(magnitude_table_sensitivity(cells, measure, adjacency), cells, adjacency, epsilon)


def every_cell_its_own_scale(cells: Cells, measure: str, adjacency: MovingAdjacency, epsilon: Fraction) -> Scales:
    """Totals, option (ii): 2 M_i / epsilon, or M_i / epsilon where a record is added or removed."""
    require_adjacency(adjacency, get_args(MovingAdjacency))
    touched = 2 if adjacency == "bootstrap_replace" else 1
    return Scales(adjacency, require_epsilon(epsilon), touched * largest_sizes(cells, measure))


def public_membership_scales(cells: Cells, measure: str, epsilon: Fraction) -> Scales:
    """Totals, option (iii): V_i / epsilon, where everybody knows the cell of every record and none may change it."""
    return Scales("bootstrap_within_cell", require_epsilon(epsilon), ranges(cells, measure))


def contingency_scales(cells: int, adjacency: DpAdjacency, epsilon: Fraction) -> Scales:
    """Counts under differential privacy: 2 / epsilon, or 1 / epsilon where a record is added or removed."""
    require_adjacency(adjacency, get_args(DpAdjacency))
    touched = 2 if adjacency == "replace" else 1
    return Scales(adjacency, require_epsilon(epsilon), np.full(cells, touched, np.int64))


def bounded_magnitude_scales(bounds: Integers, adjacency: DpAdjacency, epsilon: Fraction) -> Scales:
    """Totals under differential privacy: 2 B_i / epsilon, or B_i / epsilon; `bounds` has B_i of every cell.

    Every value must have been clamped to -B_i..B_i of its cell, and no bound may come from the data.
    """
    require_adjacency(adjacency, get_args(DpAdjacency))
    if bounds.dtype != np.int64 or bounds.ndim != 1:
        raise ValueError("bounds are int64, one for each cell")
    if not bool(((bounds >= 1) & (bounds < _LARGEST)).all()):
        raise SettingRefused.at(
            "bounds",
            rule="at least one step of the grid and less than 2^62 of them",
            remedy="Declare bounds from public knowledge, or choose a coarser grid.",
        )
    touched = 2 if adjacency == "replace" else 1
    return Scales(adjacency, require_epsilon(epsilon), touched * bounds)


def _alike(steps: int, cells: Cells, adjacency: BootstrapAdjacency, epsilon: Fraction) -> Scales:
    return Scales(adjacency, require_epsilon(epsilon), np.full(len(cells.counts), steps, np.int64))
