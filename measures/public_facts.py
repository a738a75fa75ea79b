"""What could be said before any row was read: measures of public facts."""

from __future__ import annotations

from fractions import Fraction

from penstock.measures.measurement import Measurement, MeasureUndefined
from penstock.measures.records.comparison import Chosen, Comparison
from penstock.mechanisms.numbers.rounding import not_below

__all__ = [
    "NO_VALUE",
    "expected_error",
    "known_before",
    "privacy_loss",
    "promised_loss",
    "stated_errors",
    "worst_error",
]

NO_VALUE = "no value of the data is used"


def stated_errors(chosen: Chosen) -> dict[str, float]:
    """Return the error to expect of each column or figure, as far as the mechanism states it as a public fact."""
    facts = [*chosen.get("figures", {}).items(), *chosen.get("answers", {}).items()]
    facts += [stated for part in chosen.get("parts", ()) for stated in part["columns"].items()]
    facts += [stated for joint in chosen.get("joint", ()) for stated in joint["answers"].items()]
    return {name: float(stated["expected_error"]) for name, stated in facts}


def worst_error(chosen: Chosen) -> tuple[str, float]:
    """Return the column or figure with the largest expected error, and that error."""
    stated = stated_errors(chosen)
    if not stated:
        raise _no_error_stated()
    return max(stated.items(), key=lambda found: found[1])


def known_before(chosen: Chosen) -> dict[str, tuple[str, float]]:
    """Return every public measure that these facts decide: what its value is about, and the value."""
    told = {"expected_error": worst_error(chosen)} if stated_errors(chosen) else {}
    if "epsilon" in chosen:
        what = (
            f"the whole release; its delta, {chosen['delta']}, is not in it"
            if "delta" in chosen
            else "the whole release"
        )
        told["privacy_loss"] = (what, not_below(Fraction(chosen["epsilon"])))
    return told


def expected_error(pair: Comparison) -> Measurement:
    """Return the largest error to expect of a released value or figure.

        max_i sqrt(E[(x_ij - x'_ij)^2]) / widest_i         of a column of records, in units of the widest possible error
        max_i standard error_i / largest contribution_i    of a figure of a table, in units of what one record can add

    As the mechanism states it among its public facts: for records the root mean square if they were spread evenly over
    the declared domain, or as the stated priors say. A number's widest error is the width of its domain, a category's
    the largest distance. For a table, counts and sums, in the cell with the most noise.

    No value of the data is looked at, so whether a release keeps this limit tells nothing about them. Limits: real
    records are not spread evenly, and the error of skewed columns may be smaller or larger; an error of a table says
    much or little, depending on the size of the figure.
    """
    stated = stated_errors(pair.chosen)
    parts = {name: stated[name] for name in pair.names if name in stated}
    if len(parts) < len(pair.names):
        raise _no_error_stated()
    return Measurement(
        name="expected_error",
        value=max(parts.values()),
        direction="lower_is_better",
        n=pair.records,
        columns=pair.names,
        by_column=parts,
        missing=NO_VALUE,
    )


def privacy_loss(pair: Comparison) -> Measurement:
    """Return the privacy loss that is promised: epsilon of the whole release, an exact fraction rounded up.

    A public fact, so whether a release keeps this limit tells nothing about the data. Limits: what epsilon bounds is
    said by the model and the adjacency of the promise; the epsilons of two models do not compare.
    """
    return promised_loss(pair.chosen.get("epsilon"), pair.names, pair.records)


def promised_loss(epsilon: object, columns: tuple[str, ...], n: int) -> Measurement:
    """Return the privacy loss of an epsilon that is written as text."""
    if not isinstance(epsilon, str):
        raise MeasureUndefined.at(
            "privacy_loss", rule="needs a mechanism that states its epsilon", remedy="Use it where epsilon is spent."
        )
    return Measurement(
        name="privacy_loss",
        value=not_below(Fraction(epsilon)),
        direction="lower_is_safer",
        n=n,
        columns=columns,
        attacker="anybody that the promise is made against",
        missing=NO_VALUE,
    )


def _no_error_stated() -> MeasureUndefined:
    return MeasureUndefined.at(
        "expected_error",
        rule="needs a mechanism that states the error to expect of every column",
        remedy="Use it with differential privacy.",
    )
