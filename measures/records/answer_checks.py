"""The checks of records whose values are answers drawn from refined priors.

    factors_bounded    a_u / a_d <= e^epsilon_i for every column where values are replaced; a_u <= e^epsilon_i and
                       1 / a_d <= e^epsilon_i where a person's presence is hidden; a_d <= 1 <= a_u
    possible_answers   every number lies on the public grid, a power of two, inside the declared domain; every category
                       is a code of the declared list, with a prior weight above 0
    possible_combinations  of columns that were answered together: joint_checks.py
    epsilon_spent      c times the sum of epsilon_i <= epsilon, c records of each unit, in exact fractions
    delta_spent        the share m_i of answers that is moved to the truth has m_i (1 + a_u / a_d) <= delta_i where
                       values are replaced, m_i / a_d <= delta_i where a person's presence is hidden; c times the sum of
                       delta_i <= delta; without delta in the promise, nothing is moved
    identifiers_absent no identifier, and no undeclared column, is released

The factors, the grid and the weights are those that the mechanism states as public facts. e^epsilon_i is bounded from
below in decimals of fifty digits. All of this holds for every output, whatever the data and whatever was drawn: only a
defect can break it. That answers were drawn with these factors cannot be seen in the output.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

from penstock.measures.checks import Check, RecheckImpossible, identifiers_absent, verdict
from penstock.measures.records.joint_checks import possible_combinations
from penstock.measures.records.output import RecordOutput
from penstock.mechanisms.columns import named
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.stated import RefinementChosen, RefinementParameters, is_stated

__all__ = ["answer_checks", "are_losses_stated"]

_DIGITS = 50
# The largest that a release may have. The exponential of a far larger one would take long, or end in an overflow.
_MOST_EPSILON = 64


def answer_checks(output: RecordOutput) -> tuple[Check, ...]:
    """Run every check of answers."""
    alone, joint = _stated(output)
    drawn = {**alone, **{", ".join(facts["columns"]): facts for facts in joint}}
    columns = {**alone, **{name: fact for facts in joint for name, fact in facts["answers"].items()}}
    has_delta = "delta" in output.guarantee.parameters
    return (
        _factors_bounded(output, drawn, is_moved=has_delta),
        _possible_answers(output, columns),
        *((possible_combinations(output, joint),) if joint else ()),
        _epsilon_spent(output, [*alone.values(), *joint]),
        *((_delta_spent(output, drawn),) if has_delta else ()),
        identifiers_absent(output.declared, output.released),
    )


def _stated(output: RecordOutput) -> tuple[dict[str, Mapping[str, Any]], list[Mapping[str, Any]]]:
    """Return the facts of columns that were answered by themselves, and of those that were answered together.

    Refuse if a promised column is in none of them, or in two, or if facts make no sense.
    """
    promised = named(output.declared, "quasi_identifier", "confidential")
    try:
        facts: dict[str, Mapping[str, Any]] = dict(output.chosen["answers"])
        joint: list[Mapping[str, Any]] = list(output.chosen.get("joint", ()))
        together = [name for fact in joint for name in fact["columns"]]
        drawn = [*facts.values(), *joint]
        is_understood = (
            sorted([*facts, *together]) == sorted(promised)
            and not any(output.declared[name].numeric for name in together)
            and all(sorted(fact["columns"]) == sorted(fact["answers"]) for fact in joint)
            and all(isinstance(each, Mapping) for fact in joint for each in fact["answers"].values())
            and _can_be_counted(output.guarantee, output.chosen, drawn)
            and all(Fraction(facts[name]["grid"]) > 0 for name in facts if output.declared[name].numeric)
            and (output.guarantee.unit == "row" or output.guarantee.parameters["rows_per_unit"] >= 1)
            and Fraction(output.guarantee.parameters["epsilon"]) > 0
            and 0 <= Fraction(output.guarantee.parameters.get("delta", 0)) < 1
        )
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError):
        is_understood = False
    if not is_understood:
        raise RecheckImpossible.at(
            "settled",
            rule="must state epsilon, two factors and the grid of every released column, with delta what is moved too, "
            "and what is promised for all together",
            remedy="Report this defect.",
        )
    return facts, joint


def _can_be_counted(guarantee: Guarantee, settled: Mapping[str, Any], drawn: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether every answer states its costs, and all together what is promised: delta for each or for none."""
    parameters = guarantee.parameters
    has_delta = "delta" in parameters
    return all(settled.get(name) == parameters.get(name) for name in ("epsilon", "delta")) and all(
        len(fact["factors"]) == 2
        and Fraction(fact["factors"][0]) > 0
        and 0 < Fraction(fact["epsilon"]) <= _MOST_EPSILON
        and all(Fraction(fact.get(name, 0)) >= 0 for name in ("delta", "moved"))
        and ("delta" in fact) == ("moved" in fact) == has_delta
        for fact in drawn
    )


def _are_too_large(fact: Mapping[str, Any], adjacency: str) -> bool:
    """Return whether the factors of an answer say more than its epsilon allows."""
    down, up = (Fraction(factor) for factor in fact["factors"])
    most = _below_exponential(Fraction(fact["epsilon"]))
    ratios = (up, 1 / down) if adjacency == "presence" else (up / down,)
    return not down <= 1 <= up or any(ratio > most for ratio in ratios)


def _factors_bounded(output: RecordOutput, stated: Mapping[str, Mapping[str, Any]], *, is_moved: bool) -> Check:
    before = "before answers are moved to the truth, none" if is_moved else "no answer"
    return verdict(
        "factors_bounded",
        f"{before} is likelier or less likely by more than epsilon allows",
        "every factor is small enough",
        "a factor is too large",
        (name for name, fact in stated.items() if _are_too_large(fact, output.guarantee.adjacency)),
    )


def _below_exponential(epsilon: Fraction) -> Fraction:
    """Return a number just below e^epsilon, at least 1: `exp` of decimal is right to half a unit of its last digit."""
    with localcontext() as context:
        context.prec, context.rounding = _DIGITS, ROUND_FLOOR
        exponent = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
        return max(Fraction(1), Fraction(exponent.exp().next_minus().next_minus()))


def _possible_answers(output: RecordOutput, stated: Mapping[str, Mapping[str, Any]]) -> Check:
    return verdict(
        "possible_answers",
        "every answer is one that the declared column and the prior allow",
        "all are",
        "an answer is impossible",
        (name for name, fact in stated.items() if not _is_possible(output, name, fact)),
    )


def _is_possible(output: RecordOutput, name: str, fact: Mapping[str, Any]) -> bool:
    column, released = output.declared[name], output.released.get(name)
    if released is None or len(released) != output.records:
        return False
    if not column.numeric:
        weights, categories = fact.get("weights"), len(column.categories or ())
        is_listed = isinstance(weights, list) and len(weights) == categories
        is_code = released.dtype.kind in "iu" and 0 <= released.min() <= released.max() < categories
        return is_listed and is_code and bool((np.array(weights)[released] > 0).all())
    if released.dtype.kind != ("i" if column.type == "integer" else "f"):
        return False
    grid = Fraction(fact["grid"])
    exponent = grid.numerator.bit_length() - grid.denominator.bit_length()
    if grid != Fraction(2) ** exponent:
        return False
    low, high = column.bounds
    steps = np.ldexp(released.astype(np.float64), -exponent)  # exact, because the grid is a power of two
    on_grid = (steps == np.floor(steps)) | (released == low) | (released == high)
    return bool((on_grid & (released >= low) & (released <= high)).all())


def _units(guarantee: Guarantee) -> int:
    return 1 if guarantee.unit == "row" else int(guarantee.parameters["rows_per_unit"])


def _epsilon_spent(output: RecordOutput, drawn: Sequence[Mapping[str, Any]]) -> Check:
    passed = not _is_overspent(output.guarantee, drawn, "epsilon")
    rule = "the columns of all records of a unit spend at most epsilon together"
    return Check("epsilon_spent", passed, rule, "they do" if passed else "they spend more")


def _is_overspent(guarantee: Guarantee, drawn: Iterable[Mapping[str, Any]], amount: str) -> bool:
    spent = _units(guarantee) * sum(Fraction(fact.get(amount, 0)) for fact in drawn)
    return spent > Fraction(guarantee.parameters.get(amount, 0))


def _moves_too_much(fact: Mapping[str, Any], adjacency: str) -> bool:
    """Return whether more answers are moved than the delta of an answer allows."""
    down, up = (Fraction(factor) for factor in fact["factors"])
    loss = 1 / down if adjacency == "presence" else 1 + up / down
    return Fraction(fact.get("moved", 0)) * loss > Fraction(fact.get("delta", 0))


def _delta_spent(output: RecordOutput, drawn: Mapping[str, Mapping[str, Any]]) -> Check:
    over = [name for name, fact in drawn.items() if _moves_too_much(fact, output.guarantee.adjacency)]
    if _is_overspent(output.guarantee, drawn.values(), "delta"):
        over.append("all columns")
    return verdict(
        "delta_spent",
        "the answers that are moved to the truth cost at most delta together",
        "they do",
        "more is moved than delta allows",
        over,
    )


def are_losses_stated(guarantee: Guarantee, settled: Mapping[str, Any], columns: Collection[str]) -> bool:
    """Return whether a manifest states for each of these columns how it was answered, and these answers cost no more
    than it promises: what anybody can see years later. Numbers have the form in which they are stated, which bounds
    their length."""
    parameters = guarantee.parameters
    if not is_stated(RefinementChosen, settled) or not is_stated(RefinementParameters, parameters):
        return False
    alone, joint = settled["answers"], settled.get("joint", [])
    drawn = [*alone.values(), *joint]
    told = {name: fact["epsilon"] for name, fact in alone.items()}
    promised = ("columns", "epsilon", "delta", "impossible")
    return (
        sorted([*alone, *(name for fact in joint for name in fact["columns"])]) == sorted(columns)
        and _can_be_counted(guarantee, settled, drawn)
        and told == parameters["epsilon_by_column"]
        and [{name: fact[name] for name in promised if name in fact} for fact in joint] == parameters.get("joint", [])
        and (guarantee.unit == "row") == ("rows_per_unit" not in parameters)
        and not any(_are_too_large(fact, guarantee.adjacency) for fact in drawn)
        and not any(_moves_too_much(fact, guarantee.adjacency) for fact in drawn)
        and not any(_is_overspent(guarantee, drawn, amount) for amount in ("epsilon", "delta"))
    )
