"""What to expect of probabilistic k-anonymity before any row is read: risk, error, work.

    worst-case risk                 1 / k                                             (1)
    average risk                    J / n <= 1 / k,  J = floor(n / k) groups          (2)
    mean shift in rank (ir_swap)    (g^2 - 1) / (3 g)   inside a group of g           (3)
    work of MDAV                    at most proportional to n^2 d / k                 (4)
                 by taxonomy        proportional to n u d / k, u records that differ
                 of V-MDAV          proportional to n^2 d
                 of diversity       at most proportional to n^2 d / k, on top of it

(3) is E|i - j| for independent i, j uniform on 1..g. (4): each of the n/k groups scans the records that
remain, n/2 on average, in d coordinates; in few coordinates trees find them without looking at most.
"""

from __future__ import annotations

from fractions import Fraction

from penstock.mechanisms.columns import Declared, named
from penstock.mechanisms.probabilistic_k_anonymity._settings import Params, by_taxonomy
from penstock.mechanisms.refusal import TooFewRecords
from penstock.mechanisms.sample import in_words, sampled

__all__ = ["expect"]

# Seconds for each unit of n^2 d / k, measured on one core for 10,000 to 100,000 records.
_SECONDS = 2e-10
# The same where distances are looked up, or every record is compared with every other.
_SECONDS_BY_SCANS = 8e-10
# The same for groups that join until their values differ.
_SECONDS_OF_JOINING = 1.5e-9


def expect(params: Params, declared: Declared, records: int | None) -> tuple[str, ...]:
    """Return sentences for the person who chooses the settings; more exact when the number of records is known."""
    sentences = [f"An intruder guesses right with probability at most 1/{params.k} = {1 / params.k:.3g}."]
    largest = max(params.k, *params.k_by_column.values(), 0)
    if records is not None and records < largest:
        sentences.append(f"There are {records:,} records, fewer than k = {largest:,}, and the run will refuse them.")
    elif records is not None:
        groups = records // params.k
        if params.groups == "v_mdav" or params.diversity is not None:
            sentences.append(f"{records:,} records make at most {groups:,} groups.")
        else:
            sentences.append(f"{records:,} records make {groups:,} groups; the average risk is {groups / records:.3g}.")
    if params.sample is not None:
        sentences.append(_sampled(params.sample, records))
    if params.method == "ir_swap":
        sentences += _ranked(params, declared, records)
    else:
        sentences += _clustered(params, declared, records)
    return tuple(sentences)


def _sampled(sample: Fraction, records: int | None) -> str:
    """Return what the file will hold."""
    told = f"The file holds a random sample of the swapped records, {in_words(sample)}"
    if records is not None:
        try:
            told += f": {sampled(sample, records):,} of {records:,}"
        except TooFewRecords:
            return (
                f"{told}: that is no record, or more than the {records:,} that there are, and the run will refuse it."
            )
    return f"{told}. Everything else here, and gates and measures, is about all records."


def _ranked(params: Params, declared: Declared, records: int | None) -> list[str]:
    sentences = ["Every single-column statistic of a swapped column is unchanged; associations weaken as k grows."]
    for name in named(declared, "confidential"):
        k = params.k_by_column.get(name, params.k)
        shift = (k * k - 1) / (3 * k)
        share = f", {100 * shift / records:.2g} % of the records" if records else ""
        group = f"its group of {k} (the middle one up to {2 * k - 1})"
        sentences.append(f"{name}: a value moves {shift:.3g} ranks on average{share}, and stays in {group}.")
    return [*sentences, "Work grows like a sort: n log n."]


def _clustered(params: Params, declared: Declared, records: int | None) -> list[str]:
    effect = ["Means of numeric quasi-identifiers are kept up to rounding; their variances shrink as k grows."]
    if params.method == "mdav_swap":
        effect = [
            "Confidential columns keep every statistic among themselves; "
            "their associations with quasi-identifiers weaken as k grows."
        ]
        if len(named(declared, "confidential")) > 1:
            effect.append(
                "The confidential values of a record move together: whoever knows one of a person's finds the others, "
                "if no other record holds it. ir_swap moves every column by itself."
            )
    if params.diversity is not None:
        effect.append(
            f"Groups with fewer than {params.diversity} different values of a confidential column join others, so "
            "groups may be much larger than k where values are alike."
        )
    compared = by_taxonomy(params, declared)
    if params.method == "mdav_id" and compared:
        effect.append(
            f"{', '.join(compared)}: a group may get a concept above several categories, such as a whole region."
        )
    if params.groups == "v_mdav" and params.diversity is None:
        effect.append(f"Groups have {params.k} to {3 * params.k - 2} records.")
    coordinates = sum(
        len(declared[name].categories or ()) if declared[name].type == "nominal" and name not in compared else 1
        for name in named(declared, "quasi_identifier")
    )
    rate, size = _SECONDS, params.k
    work = "Work of MDAV is at worst quadratic: it grows with n^2 / k, and far less in few columns"
    if params.groups == "v_mdav":
        rate, size, work = _SECONDS_BY_SCANS, 1, "Work of V-MDAV is quadratic: it grows with n^2"
    elif compared:
        rate = _SECONDS_BY_SCANS
        work = "Work of MDAV by taxonomy is quadratic: it grows with n u / k, where u of the n records differ"
    if records is not None:
        seconds = rate * records**2 * coordinates / size
        work += f"; at most about {seconds:.1g} s here" if seconds >= 1 else "; under a second here"
    if params.diversity is not None:
        work += ". Work of joining is at worst quadratic: it grows with n^2 / k where values are alike"
        if records is not None and (seconds := _SECONDS_OF_JOINING * records**2 * coordinates / params.k) >= 1:
            work += f"; at most about {seconds:.1g} s here"
    return [*effect, work + "."]
