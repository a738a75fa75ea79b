"""What to expect of closeness before any row is read: groups, what stands out in them, work.

    emphasised share   at most min(t / b, 1 - (b - 1) / (t b))                                  of a group   (1)
    size that works    b / (1 - 1 / t)         controlled rounding of k_i n_j / N satisfies every limit       (2)
    groups             the largest feasible number, for buckets of equal size                                 (3)
    known members      F(r) of _informed.py, for the counts of (3); without them, a bucket of a group has at least
                       about k / (b t) records, and so many known members may exclude one with certainty      (4)

(2) to (4) are for buckets of equal size. (3) is computed as in a release; it is exact for numbers and ordinal
categories unless buckets get the same label, because one value fills them, and a guide for nominal ones, whose buckets
are as equal as categories allow.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from penstock.mechanisms.closeness._allotment import allot, cut_points, group_number
from penstock.mechanisms.closeness._informed import after_known
from penstock.mechanisms.closeness.bound import bucket_number
from penstock.mechanisms.closeness.settings import Params
from penstock.mechanisms.columns import Declared, named

__all__ = ["expect"]

_AT_THE_EARLIEST = (
    "Who knows the buckets of others of a group learns more about the rest; from about {:,} known members on, in "
    "groups of k, a bucket may be excluded with certainty. Pass --count for the factors."
)


def expect(params: Params, declared: Declared, records: int | None) -> tuple[str, ...]:
    """Return sentences for the person who chooses the settings; more exact when the number of records is known."""
    sentences = _ranked(params, records) if params.method == "ranked" else _close(params, declared, records)
    return (*sentences, _work(params, declared))


def _ranked(params: Params, records: int | None) -> list[str]:
    sentences = [
        f"An intruder guesses right with probability at most 1/{params.k} = {1 / params.k:.3g}.",
        "The values of a group are similar, so each record's value is known up to the spread of its group: choose k as "
        "a share of the records, a tenth for example, rather than a small number.",
    ]
    if records is not None and records >= params.k:
        share = f"each holds {100 * params.k / records:.2g} % of the records"
        sentences.append(f"{records:,} records make {records // params.k:,} groups; {share}.")
    return sentences


def _close(params: Params, declared: Declared, records: int | None) -> list[str]:
    t = params.bound
    b = bucket_number(t)
    confidential = named(declared, "confidential")
    enough = math.ceil(b / (1 - 1 / t))
    emphasised = min(t / b, 1 - Fraction(b - 1) / (t * b))
    sentences = [
        f"What an intruder believes of a bucket changes by a factor of at most t = {float(t):.5g}; between two groups "
        f"by at most {float(t * t):.5g}. This is not differential privacy.",
        f"The values become {b} buckets of equal size, as far as categories allow; one of them may make up "
        f"{100 * float(emphasised):.3g} % of a group instead of {100 / b:.3g} %.",
    ]
    if params.several == "each":
        sentences.append(
            f"Each of the {len(confidential)} confidential columns has buckets and groups of its own; for all together "
            f"the factor is {float(t ** len(confidential)):.5g}."
        )
    if records is None:
        sentences += [_sizes(params.k, enough), _AT_THE_EARLIEST.format(math.ceil(params.k / (b * t)))]
    else:
        sentences += _grouping(params, b, records)
    if params.several != "joint" and any(declared[name].type == "nominal" for name in confidential):
        sentences.append("Buckets of nominal columns are as equal as categories allow; unequal ones make fewer groups.")
    return sentences


def _sizes(k: int, enough: int) -> str:
    if enough <= k:
        return f"With equal buckets, groups of k = {k:,} records are large enough."
    return (
        f"With equal buckets, groups of {enough:,} records are large enough; smaller ones, from k = {k:,} on, only if "
        "the number of records allows it."
    )


def _grouping(params: Params, b: int, records: int) -> list[str]:
    sizes = np.diff(cut_points(records, b)).tolist()
    groups = group_number(sizes, params.k, params.bound) if records >= b else None
    if groups is None:
        return [
            f"{records:,} records cannot be divided into two groups of {params.k:,} that are close: it will be refused."
        ]
    size, more = divmod(records, groups)
    each = f"{size:,} or {size + 1:,}" if more else f"{size:,}"
    larger = " (more than k, because closeness demands it)" if groups < records // params.k else ""
    return [
        f"{records:,} records make {groups:,} groups of {each}{larger}; the average risk is {groups / records:.3g}.",
        _told_of_known(after_known((), allot(sizes, groups, params.bound))),
    ]


def _told_of_known(stated: dict[str, Any]) -> str:
    """Return (4) as a sentence, for a few numbers of known members."""
    first = stated["unbounded_from"]
    shown = [known for known in (1, 2, 3, 5, 10, 19) if known < len(stated["factors"])]
    factors = ", ".join(f"{float(Fraction(stated['factors'][known])):.4g} with {known}" for known in shown)
    grows = f"With the buckets of other members known the factor grows: {factors}. " if shown else ""
    return f"{grows}From {first:,} known members on a bucket may be excluded with certainty."


def _work(params: Params, declared: Declared) -> str:
    if params.method == "ranked" and len(named(declared, "confidential")) == 1:
        return "Work grows like a sort: n log n."
    return "Work is that of microaggregation: between n log n and n^2 / k, the more columns the nearer to the latter."
