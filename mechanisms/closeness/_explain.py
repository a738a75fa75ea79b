"""What a data user needs to know about columns under closeness."""

from __future__ import annotations

from penstock.mechanisms.closeness.settings import KEY, RECORDS, Params
from penstock.mechanisms.columns import Declared, named

__all__ = ["advice", "treatments"]

_ADVICE = {
    ("buckets", "anatomy"): (
        "Join the table of buckets to the records by the group: a record has each bucket of its group with the "
        "probability records / size of the group.",
        "The quasi-identifiers alone, and the distribution of buckets over all records, are exact.",
        "Relations between quasi-identifiers and buckets hold at the level of groups and are weakened on purpose: no "
        "group may differ from the whole by more than the promised factor.",
    ),
    ("buckets", "permuted"): (
        "A label is that of some record in a group of similar records, maybe not its own. Do not read a single record.",
        "The quasi-identifiers alone, and the distribution of labels over all records, are exact.",
        "Relations between quasi-identifiers and labels are weakened on purpose: no group may differ from the whole by "
        "more than the promised factor.",
    ),
    ("ranked", "anatomy"): (
        "Join the table of values to the records by the group: a record has each value of its group with equal "
        "probability.",
        "The quasi-identifiers alone, and the confidential columns alone, are exact.",
        "Relations between the two hold at the level of groups, whose confidential values are similar.",
    ),
}
_LABELS = (
    "The label of a bucket is an interval with both ends, or a set of categories; intervals may overlap at their ends."
)
_EVERY = ("Rows are in random order.", "Sampling errors do not include the effect of the protection.")


def treatments(params: Params, declared: Declared) -> dict[str, str]:
    """Return what was done to each column of the records and of the linked tables."""
    done = dict.fromkeys(named(declared, "quasi_identifier", "weight"), "released unchanged")
    confidential = named(declared, "confidential")
    if params.output == "permuted":
        deal = f"replaced by the label of its bucket, then permuted within groups of at least {params.k}"
        return {**done, **dict.fromkeys(confidential, deal)}
    if params.method == "ranked":
        done[KEY] = f"made: the group, of at least {params.k} records with similar confidential values"
        return {**done, **dict.fromkeys(confidential, "released by group, not by record")}
    for name in confidential:
        key = f"{KEY}_{name}" if params.several == "each" else KEY
        done[key] = f"made: the group, of at least {params.k} records" + (f", for {name}" if key != KEY else "")
        done[name] = "released by group, as the label of a bucket"
    return {**done, RECORDS: "made: how many records of the group are in the bucket"}


def advice(params: Params, declared: Declared) -> tuple[str, ...]:
    """Return how to use data released under this method."""
    labels = (_LABELS,) if params.method == "buckets" else ()
    return (*_ADVICE[params.method, params.output], *labels, *_EVERY)
