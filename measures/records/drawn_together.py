"""The check of blocks whose columns are drawn together, because some combinations of them cannot be.

    possible_combinations   every released combination stands for a possible one of declared categories; the promise and
                            the stated facts name the same impossible ones; each column's scale is that of the draw
                            divided by its weight, and every column is in one draw at most

A category stands for itself, a concept of a taxonomy for every declared category below it: parents are followed here
once more. What each column spends is in epsilon_spent (block_checks.py), by its scale.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from penstock.measures.checks import Check, verdict
from penstock.measures.records.output import RecordOutput
from penstock.mechanisms.columns import Column

__all__ = ["possible_combinations"]

Facts = Mapping[str, Any]


def possible_combinations(output: RecordOutput) -> Iterator[Check]:
    """Check the combinations of columns that were drawn together; yield nothing where none is promised."""
    parts: Sequence[Facts] = output.chosen["parts"]
    drawn = [(part, joint) for part in parts for joint in part.get("joint", ())]
    promised = output.guarantee.parameters.get("impossible", [])
    if not drawn and not promised:
        return
    names = [name for _, joint in drawn for name in joint["columns"]]
    stated = [combination for _, joint in drawn for combination in joint["impossible"]]
    is_promised = stated == promised and len(set(names)) == len(names)
    yield verdict(
        "possible_combinations",
        "no combination that is declared impossible is released, and what was drawn together is stated as promised",
        "none is, and it is",
        "a combination is impossible, or the facts do not fit the promise",
        (
            ", ".join(joint["columns"])
            for part, joint in drawn or [({}, {"columns": ["impossible"]})]
            if not (drawn and is_promised and _are_scales_right(part, joint) and _is_kept(output, joint))
        ),
    )


def _are_scales_right(part: Facts, joint: Facts) -> bool:
    try:
        scale = Fraction(joint["scale"])
        scales = {name: Fraction(part["columns"][name]["scale"]) for name in joint["columns"]}
        return sorted(joint["weights"]) == sorted(joint["columns"]) and all(
            weight >= 1 and scales[name] * weight == scale for name, weight in joint["weights"].items()
        )
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return False


def _is_kept(output: RecordOutput, joint: Facts) -> bool:
    names = joint["columns"]
    values = [output.released.get(name) for name in names]
    try:
        known = [_stood_for(output.declared[name], joint["declared"][name]) for name in names]
        impossible = [
            [{str(category) for category in combination.get(name, ())} for name in names]
            for combination in joint["impossible"]
        ]
    except (AttributeError, KeyError, TypeError):
        return False
    if any(each is None or len(each) != output.records or each.dtype.kind not in "iu" for each in values):
        return False
    released = set(zip(*(each.tolist() for each in values if each is not None), strict=True))
    return all(
        all(0 <= code < len(held) for code, held in zip(codes, known, strict=True))
        and _is_possible([held[code] for code, held in zip(codes, known, strict=True)], impossible)
        for codes in released
    )


def _is_possible(stood_for: Sequence[Sequence[str]], impossible: Sequence[Sequence[set[str]]]) -> bool:
    """Return whether a combination of categories is none of the impossible ones; no named category means all."""
    return any(
        not any(
            all(not named or category in named for category, named in zip(each, combination, strict=True))
            for combination in impossible
        )
        for each in itertools.product(*stood_for)
    )


def _stood_for(column: Column, declared: int) -> list[list[str]]:
    """Return the declared categories that each released one stands for; the first are the declared ones."""
    categories = [str(category) for category in column.categories or ()]
    parents = column.taxonomy or {}
    found: dict[str, list[str]] = {category: [] for category in categories}
    for category in categories[:declared]:
        above, waiting = set(), [category]
        while waiting:
            concept = waiting.pop()
            if concept not in above:
                above.add(concept)
                waiting += parents.get(concept, ())
        for concept in above & found.keys():
            found[concept].append(category)
    return [found[category] for category in categories]
