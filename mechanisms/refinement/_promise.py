"""The promise of refined answers, in words."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from penstock.mechanisms import clamping, phrases
from penstock.mechanisms.columns import Declared
from penstock.mechanisms.guarantee import Guarantee

if TYPE_CHECKING:
    from penstock.mechanisms.refinement._mechanism import Params

__all__ = ["promised"]

_CHANGED = {
    "replace": "whichever {unit} is {change}, {factor}.",
    "presence": "whether the data of a named individual are used, or answers about them are drawn from the priors, "
    "{factor}; if their values are replaced by others, by a factor of at most e^{twice}.",
}


def promised(params: Params, declared: Declared, epsilons: Mapping[str, Fraction]) -> Guarantee:
    """Return the guarantee of a release that spends these epsilons on its columns, for each record."""
    unit: Literal["row", "individual"] = "row" if params.rows_per_unit is None else "individual"
    changed = _CHANGED[params.adjacency].format(
        unit=phrases.unit_in_words("replace", params.rows_per_unit),
        change=phrases.what_changes("replace"),
        factor=phrases.factor(params.epsilon),
        twice=phrases.exponent(2 * params.epsilon),
    )
    parameters: dict[str, Any] = {
        "mechanism": "refinement",
        "epsilon": str(params.epsilon),
        "epsilon_by_column": {name: str(epsilon) for name, epsilon in epsilons.items()},
        "priors": {name: params.priors[name].kind for name in epsilons},
    }
    limits = [
        phrases.NUMBER_OF_RECORDS,
        phrases.COMMON,
        "hiding what a prior already says: it is public",
        "accuracy: every value is one random answer; the expected error is stated with the release",
    ]
    if params.rows_per_unit is not None:
        parameters["rows_per_unit"] = params.rows_per_unit
        limits.append(phrases.hides_no_number_of_own_records(params.rows_per_unit))
    limits += clamping.not_promised(clamping.may_be_clamped(declared, tuple(epsilons)), "values and means")
    return Guarantee(
        model="dp",
        parameters=parameters,
        adjacency=params.adjacency,
        unit=unit,
        statement=f"{params.epsilon}-differential privacy: {changed} The output is a file of records; each value is "
        "one draw from a public prior that was sharpened around the true value by bounded factors.",
        public=(
            "number of records",
            "declared domains, categories and taxonomies",
            "priors",
            "distances",
            "grid",
            "factors",
            "shares of epsilon",
        ),
        secret=("random words", "refined distributions", "true values", "original row order"),
        assumptions=(
            phrases.BY_DECLARATION.format("priors, domains, categories, distances and taxonomies"),
            phrases.one_individual(params.rows_per_unit),
            *phrases.validated_and_decided(),
        ),
        not_promised=tuple(limits),
        postprocessing="any",
        composes_with="dp: epsilons add up",
        audit=("factors_bounded", "possible_answers", "epsilon_spent", "identifiers_absent"),
    )
