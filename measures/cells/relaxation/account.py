"""Account for what a relaxation bought and leaks in any released table; nothing where no relaxation is promised."""

from __future__ import annotations

from penstock.measures.cells.output import TableOutput
from penstock.measures.cells.relaxation._statistics import Smooth, statistics_found
from penstock.measures.cells.relaxation._tables import tables_found
from penstock.measures.cells.relaxation.found import Relaxation

__all__ = ["relaxation"]

_RELAXED = ("idp", "bdp")


def relaxation(output: TableOutput, smooth: Smooth) -> Relaxation | None:
    """Return what is found; None of another model. smooth: for the kinds of statistics of which one is known, the
    smooth sensitivity of sorted values in steps."""
    if output.guarantee.model not in _RELAXED:
        return None
    if output.guarantee.parameters["mechanism"] == "statistics":
        return statistics_found(output, smooth)
    return tables_found(output)
