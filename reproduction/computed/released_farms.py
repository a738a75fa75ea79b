"""Totals of rice farms with the noise of bootstrap differential privacy, many times. Reproduction, no guarantee.

    one cell at a time     total_i + Laplace(V_i / epsilon)                                                  (1)
    whole table, (i)       total_i + Laplace(max V / epsilon)                                                (2)
    whole table, (ii)      total_i + Laplace(k V_i / epsilon), k the number of cells                         (3)

V_i is the range of cell i. Source: O'Keefe & Charest 2019, sections 5.3.1 and 5.3.2, Figures 1 to 3.

Why none is a release: V_i is not the sensitivity of a total, see bootstrap_tables.py, and the noise is of floats.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.table.cells import Cells
from penstock.reproduction.computed.bootstrap_tables import printed_scales, printed_sensitivities

__all__ = ["changes_of_samples", "released_totals"]

Figures = NDArray[np.float64]

_WORD = 2.0**-64


def released_totals(
    cells: Cells, measure: str, option: Literal["one cell", "i", "ii"], epsilon: float, runs: int, seed: int
) -> Figures:
    """Return (1), (2) or (3): one row for each run."""
    if option == "one cell":
        scales = printed_sensitivities(cells, measure) / epsilon
    else:
        scales = printed_scales(cells, measure, option, epsilon)
    totals = cells.measures[measure].sums
    # A uniform share u gives -sign(u - 1/2) ln(1 - |2u - 1|) times the scale.
    words = np.asarray(seeded(seed).words(runs * len(totals)), dtype=np.uint64).astype(float)
    share = 2 * ((words + 0.5) * _WORD).reshape(runs, len(totals)) - 1
    noise: Figures = -np.sign(share) * np.log1p(-np.abs(share)) * scales
    return totals + noise


def changes_of_samples(values: list[int]) -> NDArray[np.int64]:
    """Return the changes of the sum, and of the number of odd values, over all samples and replacements of one."""
    samples = np.array(list(np.ndindex(*[len(values)] * len(values))))
    drawn = np.array(values)[samples]
    changes = []
    for figure in (drawn.sum(axis=1), (drawn % 2).sum(axis=1)):
        apart = (samples[:, None, :] != samples[None, :, :]).sum(axis=2)
        changes.append(np.abs(figure[:, None] - figure[None, :])[apart == 1])
    return np.array(changes)
