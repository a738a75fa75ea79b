"""Say of released figures what a relaxation of differential privacy bought, and what it leaks. All of it is
confidential: it is for the page of those who decide, and nothing else may hold it.

Begin with `found`, what is said; `account` finds it. Nothing here uses a mechanism's own code: sensitivities under
differential privacy and what the records leave open are computed again, and only the steps that were used are read.

    account      of any released table: of statistics, or of totals by cell
    found        what is found of a table, of each figure and of its worst cells
    _accuracy    how far noise of a scale strays, and how many answers show the scale
    _cells       what all figures are put together from: their cells by number, the worst of them in words
    _neighbours  how large the noise would be if one record were another
    _outside     which records lie outside of what all others could make
    _statistics  statistics of groups
    _tables      counts and totals of tables
    _told        what the size of noise tells about the records, in words and numbers
"""

from __future__ import annotations

from penstock.measures.cells.relaxation.account import relaxation
from penstock.measures.cells.relaxation.found import CellFound, FigureFound, Relaxation

__all__ = ["CellFound", "FigureFound", "Relaxation", "relaxation"]
