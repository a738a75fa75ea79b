"""The mathematics of tables: what is in a cell, how far one record moves it, how much noise that takes.

settings      what may be asked, and every reason why it cannot be had
settled       who spends what of epsilon, and with which noise: public facts
bounds        public bounds of a measure in every cell
draws         noise under differential privacy: which kind, how large, drawn
relaxed       how much noise the relaxations need, from the actual records
figures       from noisy totals to published figures;  margins: sums, and least squares
promises      what is promised under each model, and what is not
cells         counts and, for each measure, sums and extremes of every declared cell, the empty ones included
sensitivity   how far one record moves a count, a total or a whole table, adjacency by adjacency
scales        the scale of the noise of every cell that follows from it, bound to its adjacency
noise         the draws
kernels       the compiled loops

Cells are numbered 0, 1, ... in the order of the declared categories, the last dimension fastest. Values are signed
whole numbers on a public grid, so every sum and every sensitivity is exact.
"""

from __future__ import annotations

from mechanisms.tables.cells import Cells, Magnitudes, build_cells
from mechanisms.tables.scales import Scales

__all__ = ["Cells", "Magnitudes", "Scales", "build_cells"]
