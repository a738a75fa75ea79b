"""The measures that have no value for the figures that were asked for."""

from __future__ import annotations

from penstock.mechanisms.columns import Declared
from penstock.mechanisms.possible import Undefined
from penstock.mechanisms.statistics._settings import Params

__all__ = ["possible"]

# Of the others the error depends on the records, and is known from no settings.
_STATED = ("count", "sum")


def possible(name: str, params: Params, declared: Declared, records: int | None) -> Undefined | None:
    """Return whether this measure has a value; these settings bound none."""
    if name == "expected_error" and not any(figure.statistic in _STATED for figure in params.figures):
        return Undefined("a count or a sum, whose error is stated before the draw")
    return None
