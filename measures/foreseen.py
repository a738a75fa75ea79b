"""What could be said before any row was read: measures of public facts."""

from __future__ import annotations

from measures.comparison import Comparison, Settled
from measures.measurement import Measurement, MeasureUndefined

__all__ = ["expected_error", "stated_errors", "worst_error"]


def stated_errors(settled: Settled) -> dict[str, float]:
    """The error to expect of each column, as the mechanism states it among its public facts."""
    parts = settled.get("parts", ())
    return {name: float(facts["expected_error"]) for part in parts for name, facts in part["columns"].items()}


def worst_error(settled: Settled) -> tuple[str, float]:
    """The column of which the largest error is to be expected, and that error."""
    return max(stated_errors(settled).items(), key=lambda stated: stated[1])


def expected_error(pair: Comparison) -> Measurement:
    """Largest error to expect of a released value, in units of the widest possible error.

        max_i sqrt(E[(x_ij - x'_ij)^2]) / widest_i

    As the mechanism states it among its public facts: the root mean square if records were spread evenly over the
    declared domain. A number's widest error is the width of its domain, a category's the largest distance.

    No value of the data is looked at, so whether a release keeps this limit tells nothing about them. Limits: real
    records are not spread evenly, and the error of skewed columns may be smaller or larger.
    """
    stated = stated_errors(pair.settled)
    parts = {name: stated[name] for name in pair.names if name in stated}
    if len(parts) < len(pair.names):
        raise MeasureUndefined.at(
            "expected_error",
            rule="needs a mechanism that states the error to expect of every column",
            remedy="Use it with differentially private microdata.",
        )
    return Measurement(
        name="expected_error",
        value=max(parts.values()),
        direction="lower_is_better",
        n=pair.records,
        columns=pair.names,
        by_column=parts,
        missing="no value of the data is used",
    )
