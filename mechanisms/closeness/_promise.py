"""The promise of closeness, in words and as data."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from penstock.mechanisms import phrases
from penstock.mechanisms.guarantee import Guarantee

__all__ = ["close_promise", "ranked_promise"]

_NOT_NEIGHBOURS = "none: not a statement about neighbouring data sets"
_SECOND_RELEASE = "nothing: a second release of the same records has no composition theorem"
_ONE_RECORD = "one record describes one individual"
_OUTPUTS = {
    "anatomy": "The group of every record is published, and beside it how many records of each bucket every group has.",
    "permuted": "Groups are secret; inside each, the labels of the buckets are dealt out by a permutation drawn "
    "uniformly from all permutations, the identity included.",
}


def close_promise(
    parameters: dict[str, Any], confidential: Sequence[str], *, t: Fraction, epsilon: Fraction | None
) -> Guarantee:
    """Return the promise of groups in which every bucket has its share of the whole, up to the factor t."""
    named = ", ".join(confidential)
    each = parameters["several"] == "each"
    together = parameters["several"] == "joint"
    of_buckets = f"bucket of {named} together" if together else f"bucket of {'each of ' if each else ''}{named}"
    factor = f"t = {_number(t)}" if epsilon is None else f"t = e^epsilon = {_number(t)}, epsilon = {epsilon}"
    anatomy = parameters["output"] == "anatomy"
    composed = (
        f" For all {len(confidential)} columns together the factor is at most t^{len(confidential)} = "
        f"{_number(t ** len(confidential))}."
        if each
        else ""
    )
    return Guarantee(
        model="t_close",
        parameters=parameters,
        adjacency=_NOT_NEIGHBOURS,
        unit="row",
        statement=f"{_OUTPUTS[parameters['output']]} Every group has at least k = {parameters['k']} records, and in "
        f"every group the share of every {of_buckets} is its share among all records up to a factor of at most "
        f"{factor}. So for each individual and each bucket, what an intruder believes after the release is what they "
        "believed before times a factor between 1/t and t, if the assumptions hold. Between two groups the factor "
        f"can be t^2 = {_number(t * t)}.{composed} This is not differential privacy.",
        public=(
            "number of records",
            "labels of the buckets and how many records are in each",
            "method",
            "k",
            "t",
            "the factor for an intruder who knows buckets of other members",
            "declared domains and categories",
            "scaling",
            *(("group numbers", "how many records of each bucket every group has") if anatomy else ()),
        ),
        secret=(
            "random words",
            *(() if anatomy else ("permutations", "group labels")),
            "bucket of a record",
            "exact values inside buckets",
            "original row order",
        ),
        assumptions=(
            "before the release, the intruder takes the published distribution of the buckets for everyone's",
            "the intruder holds the records of a group interchangeable",
            "no confidential value of another record of the group is known",
            "the intruder does not exploit how groups were formed",
            *(("the intruder holds the confidential columns independent of each other",) if each else ()),
            _ONE_RECORD,
        ),
        not_promised=(
            "differential privacy: no noise hides a record, and a change of one can change the whole release",
            "a factor of t once confidential values of other records in the group are known: the settled facts state "
            "the factor for each number of them, and from how many on there is none, because a bucket "
            "is then excluded with certainty; who knows all but one knows the last",
            f"a factor of t between two groups: there it is t^2 = {_number(t * t)}",
            "protection of a value that quasi-identifiers predict from knowledge outside the release",
            "hiding how the confidential columns are distributed over all records: that is published",
            phrases.TAKES_PART,
            "anything after a second release of the same records",
        ),
        postprocessing="any",
        composes_with=_SECOND_RELEASE,
        audit=(
            "group_sizes",
            "closeness",
            "values_in_buckets",
            "bucket_table" if anatomy else "permutation_within_groups",
            "unchanged_columns",
            "confidential_absent",
            "after_known",
        ),
    )


def ranked_promise(parameters: dict[str, Any], confidential: Sequence[str]) -> Guarantee:
    """Return the promise of groups of similar confidential values, published as lists beside the records."""
    named = ", ".join(confidential)
    return Guarantee(
        model="prob_k",
        parameters=parameters,
        adjacency="permutation of the confidential values inside a group",
        unit="row",
        statement=f"Records with similar {named} form groups of at least k = {parameters['k']}. Published are the "
        "group of every record and, beside it, the confidential values of every group as a sorted list. Where no equal "
        "values lie on both sides of a group's border, the release is the same for all sources that differ by a "
        "permutation of these values inside groups. An intruder to whom the records of a group are interchangeable "
        "beforehand is right about which record of a group a published value belongs to with probability exactly 1/g, "
        "where g is the size of the group, and so at most 1/k.",
        public=(
            "number of records",
            "method",
            "k",
            "declared domains and categories",
            "group numbers",
            "values by group",
        ),
        secret=("random words", "which value of its group is a record's own", "original row order"),
        assumptions=(
            "before the release, the intruder holds the records of a group interchangeable",
            "no confidential value of another record of the group is known",
            _ONE_RECORD,
        ),
        not_promised=(
            "closeness: the values of a group are similar, so the value of a record is known up to the spread of its "
            "group",
            "protection once confidential values of other records in the group are known",
            "a difference between equal values: a value that c of g records of a group hold is a record's own with "
            "probability c/g, up to 1",
            phrases.TAKES_PART,
            "anything after a second release of the same records",
        ),
        postprocessing="any",
        composes_with=_SECOND_RELEASE,
        audit=("group_sizes", "values_by_group", "unchanged_columns", "confidential_absent"),
    )


def _number(exact: Fraction) -> str:
    """Write a number exactly if it is short, else rounded up, which promises less; the parameters have it exactly."""
    return str(exact) if len(str(exact)) <= 7 else f"{-(-exact.numerator * 10**4 // exact.denominator) / 10**4:.4f}"
