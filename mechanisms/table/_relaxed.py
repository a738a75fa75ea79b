"""How much noise the relaxations of differential privacy need: from the actual records, hence secret.

Bootstrap (bdp): scales.py, by option and adjacency. Cells without records are constant in all data sets made of the
actual records, so the promise leaves open what is printed there:

    empty_cells: zero     steps_i = 0, an exact zero, which shows that the cell is empty
    empty_cells: noise    steps_i = the largest of all cells, so that it looks like others

Counts always have the noise of one record, 2 steps where one is replaced and 1 where one comes or goes, also where one
cell has all records, so that no record could change them: more noise than a promise needs keeps it. To print n there,
as the source does, or to refuse, would tell that everybody is in that cell.

Individual (idp): one scale for all cells, the local L1 sensitivity of the table under `from_D`: one record of D is
replaced by any record of the domain. With M_i and the extremes x_i of the records in cell i, and its bounds low_i,
high_i, B_i = max(|low_i|, |high_i|):

    counts    2                                                                                                (1)
    totals    max(max over i with records, j != i, of M_i + B_j,                                               (2)
                  max over i with records of max(high_i - min x_i, max x_i - low_i))

The first line of (2) is a record that changes its cell, the second one that stays.

Source: O'Keefe & Charest 2019 and Soria-Comas et al. 2017, corrected; (2) is ours. A scale of 0 would print an exact
total; it is refused.
"""

from __future__ import annotations

from fractions import Fraction
from typing import cast

import numpy as np

from penstock.mechanisms.refusal import ScaleZero
from penstock.mechanisms.table._bounds import Limits
from penstock.mechanisms.table.cells import Cells, Integers
from penstock.mechanisms.table.scales import (
    MovingAdjacency,
    every_cell_its_own_scale,
    one_scale_for_all,
    public_membership_scales,
)
from penstock.mechanisms.table.sensitivity import BootstrapAdjacency, largest_sizes
from penstock.mechanisms.table.settings import COUNT, Params

__all__ = ["bootstrap_steps", "individual_steps", "local_table_sensitivity"]

# Steps do not depend on epsilon; the scales divide them by it.
_ANY = Fraction(1)


def bootstrap_steps(cells: Cells, measure: str, params: Params) -> Integers:
    """Return the steps of every cell; 0 only where an exact figure was asked for or is public."""
    adjacency = cast(BootstrapAdjacency, params.adjacency)
    if measure == COUNT:
        if adjacency == "bootstrap_within_cell":
            return np.zeros(len(cells.counts), np.int64)
        steps = np.full(len(cells.counts), 2 if adjacency == "bootstrap_replace" else 1, np.int64)
    elif params.scale == "one":
        steps = one_scale_for_all(cells, measure, adjacency, _ANY).steps
    elif params.scale == "per_cell":
        steps = every_cell_its_own_scale(cells, measure, cast(MovingAdjacency, adjacency), _ANY).steps
    else:
        steps = public_membership_scales(cells, measure, _ANY).steps
    empty = cells.counts == 0
    _require_noise(measure, steps[~empty])
    return np.where(empty, 0 if params.empty_cells == "zero" else steps.max(), steps)


def individual_steps(cells: Cells, measure: str, limits: Limits | None) -> Integers:
    """Return the same steps for every cell; limits: the bounds of a measure that is added up."""
    steps = 2 if limits is None else local_table_sensitivity(cells, measure, limits)
    _require_noise(measure, np.array([steps]))
    return np.full(len(cells.counts), steps, np.int64)


def local_table_sensitivity(cells: Cells, measure: str, limits: Limits) -> int:
    """(2)."""
    filled = cells.counts > 0
    found = cells.measures[measure]
    stays = np.maximum(limits.high - found.smallest, found.largest - limits.low)[filled].max(initial=0)
    if len(filled) < 2:
        return int(stays)
    largest = limits.largest
    # The best cell to enter is the one with the largest bound, or, for records already in it, the second one.
    best = int(np.argmax(largest))
    others = np.delete(largest, best).max()
    enters = np.where(np.arange(len(filled)) == best, others, largest[best])
    moves = (largest_sizes(cells, measure) + enters)[filled].max(initial=0)
    return max(int(stays), int(moves))


def _require_noise(measure: str, steps: Integers) -> None:
    if not bool((steps > 0).all()):
        raise ScaleZero.at(
            measure,
            rule="must depend on the records that count; one figure does not, and would be printed exactly",
            remedy="Merge categories, choose scale: one or another adjacency, or use model: dp.",
        )
