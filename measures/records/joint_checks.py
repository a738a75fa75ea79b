"""The check of columns that were answered together, because some combinations of their values cannot be.

    possible_combinations   no record has a combination that is stated as impossible, or whose prior weight is 0; the
                            weights of combinations are in proportion to the products of the columns' own weights, and 0
                            where one of these is 0 or the combination is impossible; the promise states the same
                            columns, epsilons, deltas and combinations

Every combination of the declared categories is compared with every one that is stated as impossible, and products are
whole numbers of any size.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.measures.checks import Check, verdict
from penstock.measures.records.output import RecordOutput

__all__ = ["possible_combinations"]

Facts = Mapping[str, Any]


def possible_combinations(output: RecordOutput, joint: Sequence[Facts]) -> Check:
    """Check the combinations of columns that were answered together."""
    promised = ("columns", "epsilon", "delta", "impossible")
    stated = [{name: facts[name] for name in promised if name in facts} for facts in joint]
    is_promised = stated == output.guarantee.parameters.get("joint")
    return verdict(
        "possible_combinations",
        "no impossible combination is released, and the prior of the others is the product of the columns' priors",
        "none is, and it is",
        "a combination is impossible, or its prior another",
        (", ".join(facts["columns"]) for facts in joint if not (is_promised and _is_kept(output, facts))),
    )


def _is_kept(output: RecordOutput, facts: Facts) -> bool:
    released = [output.released.get(name) for name in facts["columns"]]
    if any(values is None or len(values) != output.records or values.dtype.kind not in "iu" for values in released):
        return False
    answers = set(zip(*(values.tolist() for values in released if values is not None), strict=True))
    possible = _possible(output, facts)
    return possible is not None and answers <= possible


def _possible(output: RecordOutput, facts: Facts) -> set[tuple[int, ...]] | None:
    """Return the combinations that may be released, as codes; None if the stated weights are others than they must."""
    declared = [list(output.declared[name].categories or ()) for name in facts["columns"]]
    own: list[Any] = [facts["answers"][name].get("weights") for name in facts["columns"]]
    stated: Any = facts.get("weights")
    if not all(map(_are_weights, own, map(len, declared))) or not _are_weights(stated, math.prod(map(len, declared))):
        return None
    try:
        impossible = [
            [
                {categories.index(each) for each in combination.get(name, categories)}
                for name, categories in zip(facts["columns"], declared, strict=True)
            ]
            for combination in facts["impossible"]
        ]
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    expected: dict[tuple[int, ...], int] = {}  # the last column changes fastest
    for codes in itertools.product(*(range(len(categories)) for categories in declared)):
        is_impossible = any(all(map(set.__contains__, excluded, codes)) for excluded in impossible)
        expected[codes] = 0 if is_impossible else math.prod(each[code] for each, code in zip(own, codes, strict=True))
    # In proportion: both are multiplied by the sum of the other.
    sum_expected, sum_stated = sum(expected.values()), sum(stated)
    is_product = sum_stated > 0 and all(
        weight * sum_expected == product * sum_stated for weight, product in zip(stated, expected.values(), strict=True)
    )
    return {codes for codes, product in expected.items() if product} if is_product else None


def _are_weights(weights: object, number: int) -> bool:
    return (
        isinstance(weights, list)
        and len(weights) == number
        and all(isinstance(weight, int) and weight >= 0 for weight in weights)
    )
