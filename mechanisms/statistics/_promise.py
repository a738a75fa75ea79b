"""What statistics promise under each model, and what they do not, in words for who decides."""

from __future__ import annotations

from typing import Any, Literal

from penstock.mechanisms import clamping, phrases
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.statistics import _bootstrap_words as bootstrap_words
from penstock.mechanisms.statistics._bootstrap_settings import is_of_everybody
from penstock.mechanisms.statistics._settings import Params, epsilons, formed_by
from penstock.mechanisms.statistics._several import SEVERAL_ADD_UP, epsilons_in_words

__all__ = ["promise_of"]

_STATEMENT = {
    "dp": "{epsilon}-differential privacy: whichever {unit} is {change}, {factor}. {several}",
    "idp": "{epsilon}-individual differential privacy: whichever record of the actual data set is {change}, if both "
    "data sets get noise of the size that the actual one gets, {factor}. This holds conditionally on the noise scale; "
    "there is no bound on what the scale itself reveals. ",
    "bdp": bootstrap_words.STATEMENT,
}
_OUTPUT = "The output is one table; every declared group has a row in it, whether it has records or not."
_LIMITS = {
    "dp": (
        phrases.COMMON,
        "accuracy: every figure is noisy; the standard errors of counts, sums, means and variances are stated with "
        "them, those of medians, quantiles and extremes are not known",
    ),
    "idp": (
        "differential privacy for individuals: two actual worlds may be told apart with certainty. The median of "
        "(0, 0, 0) moves for no single record and that of (0, 0, 1) does; so the noise of one is 0 and that of the "
        "other is not",
        "any bound on what the size of the noise reveals: it follows the data, so it is secret",
        "anything by its definition alone, which a release of the data themselves would satisfy too; it means "
        "something only because the mechanism is fixed: each figure plus independent noise of that size, and nothing "
        "else made from the data",
        "protection against reconstruction: a small scale shows as answers that repeat themselves, and from many "
        "answers about the same records the scale can be learnt, which is a gap between two values or the distance of "
        "one from its bound",
        "hiding a refusal: figures that no single record moves are refused, which tells that there are such",
        "accuracy: every figure is noisy, and by how much is secret",
    ),
    "bdp": bootstrap_words.LIMITS,
}
_SIZES = {
    "dp": (),
    "idp": ("local sensitivity", "size of the noise"),
    "bdp": ("bootstrap sensitivity", "size of the noise"),
}
_CHECKS = ("columns_as_declared", "rows_as_declared", "epsilon_spent", "within_bounds")


def promise_of(params: Params, clamped: tuple[str, ...] = ()) -> Guarantee:
    """Return the guarantee of settings without fault; clamped: the columns whose values may count as a bound."""
    unit: Literal["row", "individual"] = "row" if params.rows_per_unit is None else "individual"
    statement = _STATEMENT[params.model].format(
        epsilon=phrases.exponent(params.epsilon),
        factor=phrases.factor(params.epsilon),
        several=phrases.factor_of_several(params.adjacency, unit, params.epsilon),
        unit=phrases.unit_in_words(params.adjacency, params.rows_per_unit),
        change=phrases.what_changes(params.adjacency),
    )
    return Guarantee(
        model=params.model,
        parameters=_parameters(params),
        adjacency=params.adjacency,
        unit=unit,
        statement=statement
        + epsilons_in_words(params.group_epsilons)
        + (bootstrap_words.ONE_GROUP.format(_chosen_group(params)) if params.only else _OUTPUT),
        public=_public(params),
        secret=phrases.noise_is_secret(*_SIZES[params.model]),
        assumptions=_assumptions(params),
        not_promised=(*_not_promised(params), *clamping.not_promised(clamped, "figures")),
        postprocessing="any" if params.model == "dp" else "data_independent_only",
        composes_with=f"{params.model}: epsilons add up"
        + ("" if params.model == "dp" else ", for the same data set; what the sizes of the noise reveal adds up too")
        + (f"; {SEVERAL_ADD_UP}" if params.group_epsilons else ""),
        audit=_CHECKS if params.model == "dp" else (*_CHECKS, "scale_covers_data"),
    )


def _parameters(params: Params) -> dict[str, Any]:
    """Return all settings that matter for the promise, as plain data."""
    told: dict[str, Any] = {
        "epsilon": str(params.epsilon),
        "mechanism": "statistics",
        "groups": list(formed_by(params)),
        "figures": [figure.model_dump(mode="json", exclude_none=True) for figure in params.figures],
        "epsilon_by_figure": {name: str(spent) for name, spent in epsilons(params).items()},
    }
    if params.rows_per_unit is not None:
        told["rows_per_unit"] = params.rows_per_unit
    if params.only:
        told["only"] = dict(params.only)
    if params.group_epsilons:
        told["group_epsilons"] = [str(each) for each in params.group_epsilons]
    return told


def _chosen_group(params: Params) -> str:
    return ", ".join(f"{name} = {category}" for name, category in params.only.items())


def _public(params: Params) -> tuple[str, ...]:
    told = ["declared domains and categories", "grid", "groups and figures", "kind of the noise", "shares of epsilon"]
    if params.model == "dp":
        told.append("size of the noise")
    if not params.adjacency.endswith("add_remove"):
        told.append("number of records")
    if params.adjacency.endswith("_within_cell"):
        told.append("group of every record")
    return tuple(told)


def _assumptions(params: Params) -> tuple[str, ...]:
    told = [
        phrases.BY_DECLARATION.format("domains and categories"),
        phrases.one_individual(params.rows_per_unit),
        *phrases.validated_and_decided(),
    ]
    if params.adjacency.endswith("_within_cell"):
        told.append("everybody knows the group of every record")
    if params.adjacency == "bootstrap_within_cell":
        told.append(bootstrap_words.SAME_SIZES)
    if params.model == "bdp" and is_of_everybody(params):
        told.append(bootstrap_words.NEXT_SIZES)
    if params.model != "dp":
        told.append(phrases.ACTUAL_NOISE)
    return tuple(told)


def _not_promised(params: Params) -> tuple[str, ...]:
    told = list(_LIMITS[params.model])
    if not params.adjacency.endswith("add_remove"):
        told.append(phrases.NUMBER_OF_RECORDS)
    if params.adjacency == "from_D_add_remove":
        told.append("anything about a record that is replaced: it goes and another comes, which is two changes")
        if any(figure.statistic == "mean" for figure in params.figures):
            told.append(
                "hiding the exact mean from whoever learns the size of its noise and the number of records: that size "
                "follows how far the mean lies from a bound"
            )
    if params.adjacency.endswith("_within_cell"):
        told.append("hiding who is in which group, or how many: that is taken as public")
    if params.model == "idp" and not params.group_epsilons:
        told.append(
            "protection of several records together, such as those of a family: it is about one record at a time"
        )
    if params.rows_per_unit is not None and params.adjacency == "replace":
        told.append(phrases.hides_no_number_of_own_records(params.rows_per_unit))
    if params.rows_per_unit is not None:
        told.append(phrases.records_left_out(params.rows_per_unit)[0])
    return tuple(told)
