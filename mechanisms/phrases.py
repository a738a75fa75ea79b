"""What every promise of differential privacy says in the same words, so that no two mechanisms can drift apart.

Each function returns a piece of a `Guarantee`. A sentence of only one mechanism is in that mechanism's folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

__all__ = [
    "ACTUAL_NOISE",
    "BY_DECLARATION",
    "COMMON",
    "NUMBER_OF_RECORDS",
    "TAKES_PART",
    "VALUES_DIFFER",
    "VALUES_KNOWN",
    "counted",
    "exponent",
    "factor",
    "factor_of_several",
    "hides_no_number_of_own_records",
    "neighbours",
    "noise_is_secret",
    "one_individual",
    "records_left_out",
    "unit_in_words",
    "up_to_delta",
    "validated_and_decided",
    "what_changes",
]

NUMBER_OF_RECORDS = "hiding the number of records, which is public"
COMMON = "hiding what the whole population has in common, such as a relation that holds without the person too"
ACTUAL_NOISE = "the size of the noise of the actual data would have been used for all data sets compared"
BY_DECLARATION = "the declared {} come from public knowledge, not from the data"

TAKES_PART = "that a record takes part: quasi-identifiers and weights are published unchanged"
VALUES_DIFFER = "that confidential values differ inside a group: where all are equal, they are disclosed"
VALUES_KNOWN = "protection against outsiders who know a confidential value, because confidential columns are unchanged"

_CHANGES = {
    "replace": "replaced by any other that the declared columns allow",
    "add_remove": "added or removed",
    "bootstrap_replace": "replaced by another",
    "bootstrap_add_remove": "added or removed",
    "bootstrap_within_cell": "replaced by another of the same cell",
    "from_D": "replaced by any other that the declared columns allow",
    "from_D_add_remove": "removed, or any other that the declared columns allow is added",
    "from_D_within_cell": "replaced by any other of the same group that the declared columns allow",
}
_INDIVIDUALS = {
    "replace": "individual's records (all of them together, by equally many others)",
    "add_remove": "individual's records (all of them together)",
}


def counted(number: int, thing: str) -> str:
    """Return how many there are of a thing: 1 record, 2,000 records."""
    return f"{number:,} {thing}" + ("" if number == 1 else "s")


def exponent(epsilon: Fraction) -> str:
    """Return epsilon as it stands above e."""
    return str(epsilon) if epsilon.denominator == 1 else f"({epsilon})"


def factor(epsilon: Fraction, delta: Fraction | None = None) -> str:
    """Return the bound of differential privacy in words."""
    beyond = "" if delta is None else f" and beyond that by at most {delta}"
    return f"the probability of every set of outputs changes by a factor of at most e^{exponent(epsilon)}{beyond}"


def factor_of_several(adjacency: str, unit: str, epsilon: Fraction, delta: Fraction | None = None) -> str:
    """Return what differential privacy promises groups of unrelated people, as a sentence.

    i changes are i steps between neighbours: i epsilon, and delta (1 + e^epsilon + .. + e^((i-1) epsilon)) beyond that
    (Dwork & Roth 2014, Theorem 2.2). Where a unit is an individual's records, epsilon is already about all of them.
    """
    changed = "records, of one person or of several, are" if unit == "row" else "individuals' records are"
    how = "used or not" if adjacency == "presence" else "changed like that"
    times = "i" if epsilon == 1 else f"(i x {epsilon})"
    told = f"Whichever i {changed} {how}, the factor is at most e^{times}"
    if delta is not None:
        told += f", and beyond it are at most {delta} x (e^{times} - 1) / (e^{exponent(epsilon)} - 1)"
    return f"{told}. "


def up_to_delta(delta: Fraction) -> str:
    """Return what a promise with delta leaves open."""
    return f"hiding anything within the probability delta = {delta} for each unit: an answer may be the truth itself"


def what_changes(adjacency: str) -> str:
    """Return what happens to a record, or to somebody's records, between two data sets that are compared."""
    return _CHANGES.get(adjacency, "")


def unit_in_words(adjacency: str, rows_per_unit: int | None) -> str:
    """Return what is changed: one record, or all records of one individual that are used."""
    return "record" if rows_per_unit is None else _INDIVIDUALS[adjacency]


def neighbours(adjacency: str, unit: str) -> str:
    """Return between which data sets a promise compares, as far as there are words for it."""
    if adjacency not in _CHANGES or (unit == "individual" and adjacency not in _INDIVIDUALS):
        return adjacency
    return f"whichever {unit_in_words(adjacency, None if unit == 'row' else 1)} is {_CHANGES[adjacency]}"


def one_individual(rows_per_unit: int | None) -> str:
    """Return the assumption about how many records describe one individual."""
    if rows_per_unit is None:
        return "one record describes one individual"
    return f"at most {rows_per_unit} of the records used describe{'s' if rows_per_unit == 1 else ''} one individual"


def validated_and_decided() -> Iterator[str]:
    """Yield the assumptions about what happens before and after the draw."""
    yield "every data set that is compared would have passed validation too"
    yield "whether to publish is decided without looking at the confidential data"


def records_left_out(rows_per_unit: int) -> tuple[str, str, str]:
    """Return what is left out of figures that are made of some records of each individual: for the promise, for those
    who use the figures, and for the person who chooses the settings."""
    most = "1 record is" if rows_per_unit == 1 else f"{rows_per_unit:,} records are"
    less = (
        "counts and totals are not those of all records, and in means whoever has many records counts for less than "
        "among all"
    )
    return (
        f"figures of all records: of each individual at most {most} used, chosen at random; figures are of these, and "
        "no error that is stated covers that",
        f"Of each individual at most {most} used, chosen at random. Figures are of these records: {less}. No error "
        "that is stated covers that, and how many records were left out is not published.",
        f"Figures are of the records that are used: {less}. No error stated here has that in it; the confidential "
        "report will, as the share of records that were left out.",
    )


def hides_no_number_of_own_records(rows_per_unit: int) -> str:
    """Return what replacing an individual's records cannot hide."""
    return f"hiding how many records an individual has, up to {rows_per_unit}"


def noise_is_secret(*sizes: str) -> tuple[str, ...]:
    """Return what stays secret where noise was drawn; sizes: what reveals the size of noise that follows the data."""
    return ("random words", "noise that was drawn", "exact figures", *sizes)
