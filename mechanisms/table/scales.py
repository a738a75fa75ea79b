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

Source: O'Keefe & Charest 2019, section 5.2, options (i) to (iii), corrected. Scales of differential privacy, which are
public and follow from declared bounds, are in draws.py.

Bootstrap scales are secret: they show extremes of D. A bootstrap scale of 0 means that the cell has the same total in
all data sets made of records of D; noise of that scale is refused, and printing the total exactly would reveal just
that, for an empty cell its emptiness.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

import numpy as np

from penstock.mechanisms.noise.scale import require_epsilon
from penstock.mechanisms.table.cells import Cells, Integers
from penstock.mechanisms.table.sensitivity import (
    BootstrapAdjacency,
    contingency_table_sensitivity,
    largest_sizes,
    magnitude_table_sensitivity,
    ranges,
    require_adjacency,
)

__all__ = [
    "MovingAdjacency",
    "Scales",
    "bootstrap_contingency_scales",
    "every_cell_its_own_scale",
    "one_scale_for_all",
    "public_membership_scales",
]

# A record may change its cell.
MovingAdjacency = Literal["bootstrap_replace", "bootstrap_add_remove"]


@dataclass(frozen=True, slots=True, eq=False)
class Scales:
    """b_i of (1), which keep epsilon under this adjacency and under no other."""

    adjacency: BootstrapAdjacency | Literal["from_D"]
    epsilon: Fraction
    steps: Integers

    def of(self, cell: int) -> Fraction:
        """Return b_i."""
        return int(self.steps[cell]) / self.epsilon


def bootstrap_contingency_scales(cells: Cells, adjacency: BootstrapAdjacency, epsilon: Fraction) -> Scales:
    """Return scales for counts: the sensitivity of the contingency table, /epsilon."""
    return _alike(contingency_table_sensitivity(cells, adjacency), cells, adjacency, epsilon)


def one_scale_for_all(cells: Cells, measure: str, adjacency: BootstrapAdjacency, epsilon: Fraction) -> Scales:
    """Return scales for totals, option (i): the sensitivity of the magnitude table, /epsilon, for every cell."""
    return _alike(magnitude_table_sensitivity(cells, measure, adjacency), cells, adjacency, epsilon)


def every_cell_its_own_scale(cells: Cells, measure: str, adjacency: MovingAdjacency, epsilon: Fraction) -> Scales:
    """Return scales for totals, option (ii): 2 M_i / epsilon, or M_i / epsilon where a record is added or removed."""
    require_adjacency(adjacency, get_args(MovingAdjacency))
    touched = 2 if adjacency == "bootstrap_replace" else 1
    return Scales(adjacency, require_epsilon(epsilon), touched * largest_sizes(cells, measure))


def public_membership_scales(cells: Cells, measure: str, epsilon: Fraction) -> Scales:
    """Return scales for totals, option (iii): V_i / epsilon, where every record's cell is public and may not change."""
    return Scales("bootstrap_within_cell", require_epsilon(epsilon), ranges(cells, measure))


def _alike(steps: int, cells: Cells, adjacency: BootstrapAdjacency, epsilon: Fraction) -> Scales:
    return Scales(adjacency, require_epsilon(epsilon), np.full(len(cells.counts), steps, np.int64))
