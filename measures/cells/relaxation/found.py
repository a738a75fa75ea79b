"""Findings about figures whose noise follows the data: overall, for each figure, and for its worst cells.

    gain = sensitivity under differential privacy / sensitivity as used                                             (1)

of the same figure, adjacency and epsilon, both for Laplace noise (O'Keefe & Charest 2019, Result 12; their difference
stands beside it). Lengths are in the unit of the figure. Every number is as secret as the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

__all__ = ["GAMMA", "CellFound", "FigureFound", "Relaxation"]

# Half-widths are kept by the noise with probability 1 - GAMMA.
GAMMA = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class CellFound:
    """One cell or group, by the category of each of its columns.

    used: the sensitivity for which the noise was drawn; declared: that under differential privacy, None where no domain
    is declared; smooth: the smooth sensitivity, where it is known; gain: (1).
    half_width, declared_half_width: of the noise as it was drawn, and as differential privacy would have drawn it.
    outside: records outside of what all others could make. neighbours: the smallest and the largest used sensitivity
    if one record were another. tells: what the size of the noise tells about the records.
    """

    cell: Mapping[str, str]
    records: int
    used: float
    declared: float | None
    smooth: float | None
    gain: float | None
    half_width: float
    declared_half_width: float | None
    outside: int | None
    neighbours: tuple[float, float] | None
    tells: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FigureFound:
    """One figure. what: in words; cells: how many have noise; without_noise: how many are printed exactly.

    gains: the smallest and the largest (1) of all cells. outside, outside_cells: records outside of what all others
    could make, and the cells that have any; None where the records were never held together, or nobody is compared with
    other records. exact_neighbours: of the cells shown, those that would have no noise if one record were another.
    together: the half-width that the noise of all cells keeps at once. answers: how many answers show the size of the
    noise within a tenth. tells: what that size depends on. worst: the cells with the most records outside, then with
    the largest gain.
    """

    name: str
    what: str
    epsilon: str
    cells: int
    without_noise: int
    gains: tuple[float, float] | None
    outside: int | None
    outside_cells: int | None
    exact_neighbours: int | None
    together: float
    answers: int
    tells: str
    worst: tuple[CellFound, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxation:
    """All figures of a table. outside: how many of its records are outside of what all others could make, in any
    figure; None where it is not known or nobody is compared with other records."""

    model: str
    records: int
    outside: int | None
    figures: tuple[FigureFound, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; confidential."""
        return asdict(self)
