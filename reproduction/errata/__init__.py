"""What we corrected: errors of the sources, each with a small case in which the source is wrong. No guarantee.

    erratum      what an erratum is
    individual   individual differential privacy, both versions
    bootstrap    bootstrap differential privacy
    thesis_3     probabilistic k-anonymity
    thesis_4     optimal noise
    thesis_5     knowledge refinement; the paper is right under its own adjacency, add or remove
    thesis_6     differential privacy by microaggregation
    thesis_7     closeness

A counter-example is counted through whenever it is shown, and says whether it still stands.
"""

from __future__ import annotations

from typing import Any

from penstock.reproduction.errata import bootstrap, individual, thesis_3, thesis_4, thesis_5, thesis_6, thesis_7
from penstock.reproduction.errata.erratum import CounterExample, Erratum

__all__ = ["ERRATA", "CounterExample", "Erratum", "corrected"]

ERRATA: tuple[Erratum, ...] = (
    *individual.ERRATA,
    *bootstrap.ERRATA,
    *thesis_3.ERRATA,
    *thesis_4.ERRATA,
    *thesis_5.ERRATA,
    *thesis_6.ERRATA,
    *thesis_7.ERRATA,
)


def corrected() -> list[dict[str, Any]]:
    """Return every erratum with its counter-example, counted through now."""
    return [erratum.as_dict() for erratum in ERRATA]
