"""The promise of refined answers, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from penstock.mechanisms import clamping, phrases
from penstock.mechanisms.columns import Declared
from penstock.mechanisms.guarantee import Guarantee

if TYPE_CHECKING:
    from penstock.mechanisms.refinement._mechanism import Asked, Params

__all__ = ["promised"]

_CHANGED = {
    "replace": "whichever {unit} is {change}, {factor}.",
    "presence": "whether the data of a named individual are used, or answers about them are drawn from the priors, "
    "{factor}; if their values are replaced by others, by a factor of at most e^{twice}{beyond}.",
}
_TOGETHER = " {}: one such draw for all of them together, from a prior without the combinations that are impossible."
_MOVED = "; a bounded share of them, the farthest, was then replaced by the truth, or the possible value nearest to it"
_NOT_BY_ITSELF = "hiding each of {} by its own share of epsilon: as much may be lost as their shares add up to"


def promised(params: Params, declared: Declared, asked: Asked) -> Guarantee:
    """Return the guarantee of a release that answers its columns like this."""
    exponent = phrases.exponent(params.epsilon)
    unit: Literal["row", "individual"] = "row" if params.rows_per_unit is None else "individual"
    changed = _CHANGED[params.adjacency].format(
        unit=phrases.unit_in_words("replace", params.rows_per_unit),
        change=phrases.what_changes("replace"),
        factor=phrases.factor(params.epsilon, params.delta),
        twice=phrases.exponent(2 * params.epsilon),
        beyond="" if params.delta is None else f" and beyond that by at most (1 + e^{exponent}) times as much",
    )
    parameters: dict[str, Any] = {
        "mechanism": "refinement",
        "epsilon": str(params.epsilon),
        "epsilon_by_column": {name: str(question.epsilon) for name, question in asked.alone.items()},
        "priors": {name: params.priors[name].kind for name in asked.names},
    }
    if params.delta is not None:
        parameters["delta"] = str(params.delta)
    linked = [", ".join(joint.parts) for joint in asked.joint]
    together = "".join(_TOGETHER.format(columns) for columns in linked)
    if asked.joint:
        parameters["joint"] = [
            {
                "columns": list(joint.parts),
                "epsilon": str(joint.epsilon),
                **({"delta": str(joint.delta)} if joint.delta else {}),
                "impossible": joint.stated(),
            }
            for joint in asked.joint
        ]
    limits = [
        phrases.NUMBER_OF_RECORDS,
        phrases.COMMON,
        "hiding what a prior already says: it is public",
        "accuracy: every value is one random answer; the expected error is stated with the release",
    ]
    if params.delta is not None:
        limits.insert(0, phrases.up_to_delta(params.delta))
    if params.rows_per_unit is not None:
        parameters["rows_per_unit"] = params.rows_per_unit
        limits.append(phrases.hides_no_number_of_own_records(params.rows_per_unit))
    limits += [_NOT_BY_ITSELF.format(columns) for columns in linked]
    limits += clamping.not_promised(clamping.may_be_clamped(declared, asked.names), "values and means")
    several = phrases.factor_of_several(params.adjacency, unit, params.epsilon, params.delta)
    loss = phrases.exponent(params.epsilon) if params.delta is None else f"({params.epsilon}, {params.delta})"
    moved = "" if params.delta is None else _MOVED
    public = "priors, impossible combinations" if asked.joint else "priors"
    return Guarantee(
        model="dp",
        parameters=parameters,
        adjacency=params.adjacency,
        unit=unit,
        statement=f"{loss}-differential privacy: {changed} {several}The output is a file of records; each value is "
        f"one draw from a public prior that was sharpened around the true value by bounded factors{moved}.{together}",
        public=(
            "number of records",
            "declared domains, categories and taxonomies",
            "priors",
            *(("impossible combinations",) if asked.joint else ()),
            "distances",
            "grid",
            "factors",
            *(() if params.delta is None else ("shares of answers that are moved to the truth",)),
            "shares of epsilon",
        ),
        secret=("random words", "refined distributions", "true values", "original row order"),
        assumptions=(
            phrases.BY_DECLARATION.format(f"{public}, domains, categories, distances and taxonomies"),
            phrases.one_individual(params.rows_per_unit),
            *phrases.validated_and_decided(),
        ),
        not_promised=tuple(limits),
        postprocessing="any",
        composes_with="dp: epsilons add up" if params.delta is None else "dp: epsilons add up, and so do deltas",
        audit=(
            "factors_bounded",
            "possible_answers",
            *(("possible_combinations",) if asked.joint else ()),
            "epsilon_spent",
            *(() if params.delta is None else ("delta_spent",)),
            "identifiers_absent",
        ),
    )
