"""What an answer promises under each model, and what it does not, in words for who decides."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

from penstock.mechanisms import clamping, phrases
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.models import Budgeted
from penstock.mechanisms.questions._asked import Asked

__all__ = ["promised"]

_STATEMENT = {
    "dp": "{epsilon}-differential privacy: whichever {unit} {verb} {change}, {factor}.",
    "idp": "{epsilon}-individual differential privacy: whichever record of the actual data set is {change}, if both "
    "data sets get noise of the size that the actual one gets, {factor}. This holds conditionally on the noise scale; "
    "there is no bound on what the scale itself reveals.",
    "bdp": "{epsilon}-bootstrap differential privacy, given the size of the noise: among data sets that consist of "
    "records of the actual one, if one record is {change}, {factor}.",
    "presence": "{epsilon}-differential privacy: whether the data of a named individual are used, or the answer about "
    "them is drawn from the prior, {factor}; if their value is replaced by another, by a factor of at most e^{twice}.",
}
_RELAXED = (
    "any bound on what the size of the noise reveals: it follows the data, so it is secret, and the promise holds only "
    "given that size",
    "anything by its definition alone, which a release of the data themselves would satisfy too; it means something "
    "only because the mechanism is fixed: figures plus independent noise of that size, and nothing else made from data",
    "protection against reconstruction: a small size of the noise shows as answers that nearly repeat themselves, and "
    "from many answers about the same records it can be learnt, and then values",
)
_LIMITS = {
    "dp": (phrases.COMMON,),
    "idp": (
        "differential privacy for individuals: two actual worlds may be told apart; each person is compared only "
        "within the actual data, with the noise of the actual data",
        *_RELAXED,
    ),
    "bdp": ("differential privacy: a person unlike all others in the data is not compared with anybody", *_RELAXED),
}
_SECRET = {
    "dp": (),
    "idp": ("local sensitivity", "size of the noise"),
    "bdp": ("bootstrap sensitivity", "size of the noise"),
}


def promised(
    asked: Asked, name: str, model: Budgeted, adjacency: str, epsilon: Fraction, settings: dict[str, Any]
) -> Guarantee:
    """Return the guarantee of one answer."""
    rows = None if asked.terms.whose is None else asked.terms.rows_per_unit
    unit: Literal["row", "individual"] = "row" if rows is None else "individual"
    statement = _STATEMENT["presence" if adjacency == "presence" else model].format(
        epsilon=phrases.exponent(epsilon),
        factor=phrases.factor(epsilon),
        twice=phrases.exponent(2 * epsilon),
        unit="record" if model != "dp" else phrases.unit_in_words(asked.adjacency, rows),
        verb="is" if rows is None else "are",
        change=phrases.what_changes(adjacency),
    )
    refined = name == "refinement"
    several = phrases.factor_of_several(adjacency, unit, epsilon) if model == "dp" and not refined else ""
    return Guarantee(
        model=model,
        parameters=_parameters(asked, name, epsilon, settings),
        adjacency=adjacency,
        unit=unit,
        statement=f"{statement} {several}{_any_two(asked, refined)}{_output(asked)}",
        public=_public(asked, model, refined),
        secret=(
            *(("random words", "refined distributions") if refined else phrases.noise_is_secret(*_SECRET[model])),
            "number of records that take part",
        )[: None if not asked.everybody else -1],
        assumptions=(
            phrases.BY_DECLARATION.format("priors, domains and categories" if refined else "domains and categories"),
            phrases.one_individual(rows),
            "whether a question is answered or refused is decided without looking at the data",
            *((phrases.ACTUAL_NOISE,) if model != "dp" else ()),
        ),
        not_promised=_not_promised(asked, model, adjacency, refined),
        postprocessing="any" if model == "dp" else "data_independent_only",
        composes_with=f"{model}: epsilons add up"
        + ("" if model == "dp" else ", for the same data set; what the sizes of the noise reveal adds up too"),
        audit=("epsilon_spent",),
    )


def _any_two(asked: Asked, refined: bool) -> str:
    if refined and asked.query.by is None and asked.query.statistic != "value":
        return "It holds for any two data sets, however much they differ. "
    return ""


def _output(asked: Asked) -> str:
    if asked.query.statistic == "value":
        return "The output is one draw from a public prior that was sharpened around the value by bounded factors."
    if asked.query.by is None:
        return "The output is one figure."
    return "The output is one figure for each declared category, whether it has records or not."


def _parameters(asked: Asked, name: str, epsilon: Fraction, settings: dict[str, Any]) -> dict[str, Any]:
    # Who was asked about is no part of a promise: it would name a person.
    query = asked.query.model_dump(mode="json", exclude_none=True, exclude_defaults=True, exclude={"individual"})
    told: dict[str, Any] = {"epsilon": str(epsilon), "mechanism": "questions", "method": name, "query": query}
    if asked.terms.whose is not None:
        told["rows_per_unit"] = asked.terms.rows_per_unit
    return {**told, **settings}


def _public(asked: Asked, model: Budgeted, refined: bool) -> tuple[str, ...]:
    told = ["declared domains and categories", "grid", "the question", "method"]
    told += ["prior", "factors"] if refined else []
    told += ["size of the noise"] if model == "dp" and not refined else []
    told += ["number of records"] if asked.adjacency == "replace" else []
    return tuple(told)


def _not_promised(asked: Asked, model: Budgeted, adjacency: str, refined: bool) -> tuple[str, ...]:
    told = list(_LIMITS[model])
    if refined:
        told.append("hiding what the prior already says: it is public")
    told.append("accuracy: the answer is random, and a plan says before how far it may lie from the truth")
    if asked.adjacency == "replace":
        told.append(phrases.NUMBER_OF_RECORDS)
    if asked.terms.adjacency == "presence" and adjacency != "presence" and model == "dp":
        told.append(
            "more under presence than here: the answer is calibrated for records added or removed, which covers it"
        )
    if asked.terms.rows_per_unit > 1 and asked.adjacency == "replace":
        told.append(phrases.hides_no_number_of_own_records(asked.terms.rows_per_unit))
    if asked.query.of is not None:
        told += clamping.not_promised(clamping.may_be_clamped(asked.declared, (asked.query.of,)), "figures")
    return tuple(told)
