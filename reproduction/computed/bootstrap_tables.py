"""Tables 2 to 4 of the paper on bootstrap differential privacy, and its scales. Reproduction, no guarantee.

    V_i = max v - min v in cell i               "bootstrap cell sensitivities", Table 2                         (1)
    100 V_i / total_i                           Table 3, per cent                                               (2)
    U / V_i                                     Table 4, U the largest value of the data                        (3)
    (i)   max V_i / epsilon for every cell      (ii)   k V_i / epsilon for cell i of k                          (4)

Source: O'Keefe & Charest 2019, sections 5.2 and 5.3.

Why (4) does not keep epsilon when a record is replaced, as the paper has it: a record that changes its cell takes v
from one total and adds v' to another. The table then moves by up to M_i + M_j, M = max |v|, and one cell by M_i. On the
paper's own table option (i) loses up to 1.833 epsilon. With V_i = 0, in a cell of one record, option (ii) adds no noise
at all. What is right, and where V_i may stand, is in mechanisms.table. And U of (3), taken from the data, is no public
bound, so (3) compares with something that is not differential privacy either.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.table.cells import Cells

__all__ = ["printed_scales", "printed_sensitivities", "ratios_of_accuracy", "shares_of_totals"]

Figures = NDArray[np.float64]


def printed_sensitivities(cells: Cells, measure: str) -> NDArray[np.int64]:
    """(1)."""
    magnitudes = cells.measures[measure]
    spread: NDArray[np.int64] = magnitudes.largest - magnitudes.smallest
    return spread


def shares_of_totals(cells: Cells, measure: str) -> Figures:
    """(2)."""
    shares: Figures = 100 * printed_sensitivities(cells, measure) / cells.measures[measure].sums
    return shares


def ratios_of_accuracy(cells: Cells, measure: str) -> Figures:
    """(3)."""
    ratios: Figures = cells.measures[measure].largest.max() / printed_sensitivities(cells, measure)
    return ratios


def printed_scales(cells: Cells, measure: str, option: Literal["i", "ii"], epsilon: float) -> Figures:
    """(4)."""
    spread = printed_sensitivities(cells, measure)
    steps = np.full(len(spread), spread.max()) if option == "i" else len(spread) * spread
    scales: Figures = steps / epsilon
    return scales
