"""What a table promises under each model, and what it does not, in words for who decides."""

from __future__ import annotations

from typing import Any, Literal

from penstock.mechanisms import clamping, phrases
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.table import _weighted_words as weighted_words
from penstock.mechanisms.table.settings import Params, measures

__all__ = ["promise_of"]

_STATEMENT = {
    "dp": "{epsilon}-differential privacy: whichever {unit} is {change}, {factor}. {several}",
    "bdp": "{epsilon}-bootstrap differential privacy, given the size of the noise: among data sets that consist of "
    "records of the actual one, if one record is {change}, {factor}. ",
    "idp": "{epsilon}-individual differential privacy, given the size of the noise: if one record of the actual data "
    "set is {change}, {factor}. ",
    "k_anon": "{k}-anonymity: every cell that is not empty has at least {k} {counted}. "
    "The figures are exact{clamped}. ",
}
_RELAXED = (
    "any bound on what the size of the noise reveals: it follows the data, so it is secret, and the promise holds only "
    "given that size",
    "anything by its definition alone, which a release of the data themselves would satisfy too; it means something "
    "only because the mechanism is fixed: totals plus independent noise of that size, and nothing else made from data",
    "protection against reconstruction: attacks are known that learn the size of the noise from many tables of the "
    "same records, and then values",
    "hiding a refusal: a table with a figure that no record could change, as where a cell has one contributor or equal "
    "values, is refused, which tells that there is such a cell",
)
_LIMITS = {
    "dp": (
        phrases.COMMON,
        "accuracy: every figure is noisy; its standard error is stated with it",
    ),
    "bdp": (
        "differential privacy: a person unlike all others in the data is not compared with anybody",
        *_RELAXED,
    ),
    "idp": (
        "differential privacy: each person is compared only within the actual data, with the noise of the actual data; "
        "between two actual worlds the difference may be without bound",
        *_RELAXED,
    ),
    "k_anon": (
        "differential privacy, or any bound on what can be inferred: nothing random protects the figures",
        "protection against differencing: other tables of the same records may isolate one of them",
        "protection of a contributor that dominates a total, unless the gates say so",
        "hiding an attribute that all records of a cell share, or that a zero excludes",
    ),
}
_SECRET = {
    "dp": phrases.noise_is_secret(),
    "bdp": phrases.noise_is_secret("bootstrap sensitivity", "size of the noise"),
    "idp": phrases.noise_is_secret("local sensitivity", "size of the noise"),
    "k_anon": ("single records",),
}
_NO_SUCH_RECORD = (
    "the combinations that are declared impossible come from public rules, not from the data, and no record of any "
    "data set that is compared has one of them"
)
# Of tables with impossible combinations, beside the others.
_ZEROS_CHECK = "impossible_cells_are_zero"
_NOISY_CHECKS = (
    "columns_as_declared",
    "rows_as_declared",
    "margins_add_up",
    "epsilon_spent",
    "scales_suffice",
    "figures_as_noised",
)
_EXACT_CHECKS = ("columns_as_declared", "rows_as_declared", "margins_add_up", "cell_sizes", "values_exact")


def promise_of(params: Params, noise: str, clamped: tuple[str, ...] = ()) -> Guarantee:
    """Return the guarantee of settings without fault.

    noise: the kind that was settled on. clamped: the columns whose values may count as a bound.
    """
    model, adjacency, of = params.model, params.adjacency or "none", params.contributors
    unit: Literal["row", "individual"] = "row" if params.rows_per_unit is None and of is None else "individual"
    statement = _STATEMENT[model].format(
        epsilon=None if params.epsilon is None else phrases.exponent(params.epsilon),
        factor=None if params.epsilon is None else phrases.factor(params.epsilon),
        several=None if params.epsilon is None else phrases.factor_of_several(adjacency, unit, params.epsilon),
        k=params.k,
        counted="records" if of is None else f"contributors, where a contributor is all records with the same {of}",
        unit=phrases.unit_in_words(adjacency, params.rows_per_unit),
        change=phrases.what_changes(adjacency),
        clamped=f"; those of {', '.join(clamped)} are of values clamped to their bounds" if clamped else "",
    )
    return Guarantee(
        model=model,
        parameters=_parameters(params, noise),
        adjacency=adjacency,
        unit=unit,
        statement=statement + _output(params),
        public=_public(params),
        secret=(*_SECRET[model], *(("emptiness of cells",) if _hides_emptiness(params) else ())),
        assumptions=_assumptions(params),
        not_promised=(*_not_promised(params), *clamping.not_promised(clamped, "totals and means")),
        postprocessing="any" if model in ("dp", "k_anon") else "data_independent_only",
        composes_with="nothing: no theorem covers two releases" if model == "k_anon" else f"{model}: epsilons add up",
        audit=(
            *(_EXACT_CHECKS if model == "k_anon" else _NOISY_CHECKS),
            *((_ZEROS_CHECK,) if params.impossible else ()),
        ),
    )


def _output(params: Params) -> str:
    if not params.dimensions:
        return "The output is one row: figures of the whole file."
    if params.impossible:
        return (
            "The output is one table; every declared cell is in it. Cells of combinations that are declared impossible "
            "are exact zeros, and no data set that is compared has such a record."
        )
    if not params.tables:
        return "The output is one table; every declared cell is in it."
    return (
        f"The output is {len(params.tables)} tables that agree ({', '.join(params.tables)}): all of them together have "
        "this promise, and every declared cell is in them."
    )


def _parameters(params: Params, noise: str) -> dict[str, Any]:
    """Return all settings that matter for the promise, as plain data."""
    told = params.model_dump(mode="json", exclude_none=True, exclude={"model", "adjacency", "acknowledges", "table"})
    told["measures"] = list(measures(params))
    told["noise"] = noise
    # An empty list of totals is a choice, or of dimensions; the other settings mean nothing where they are empty.
    chosen = ("totals", "dimensions")
    return {name: value for name, value in told.items() if value not in ({}, []) or name in chosen}


def _hides_emptiness(params: Params) -> bool:
    return params.empty_cells == "noise" and params.adjacency != "bootstrap_within_cell"


def _public(params: Params) -> tuple[str, ...]:
    always = (
        *("declared domains, categories and bounds", "grid", "dimensions and margins"),
        *(("groups of categories",) if params.levels else ()),
        *(("which combinations of categories are impossible",) if params.impossible else ()),
    )
    if params.model == "k_anon":
        return always
    return (
        *always,
        "kind of the noise",
        "shares of epsilon",
        *(("size of the noise",) if params.model == "dp" else ()),
        *(("the grand total of counts: it is the number of records",) if params.exact_total else ()),
        *(("number of records",) if params.adjacency in ("replace", "bootstrap_replace", "from_D") else ()),
        *(("cell of every record",) if params.adjacency == "bootstrap_within_cell" else ()),
        *(("emptiness of cells",) if params.empty_cells == "zero" else ()),
    )


def _assumptions(params: Params) -> tuple[str, ...]:
    always = [
        phrases.BY_DECLARATION.format("domains, categories and bounds"),
        *([] if params.contributors is not None else [phrases.one_individual(params.rows_per_unit)]),
        *weighted_words.assumptions(params),
    ]
    if params.impossible:
        always.append(_NO_SUCH_RECORD)
    if params.model == "k_anon":
        return tuple(always)
    always += phrases.validated_and_decided()
    if params.adjacency == "bootstrap_within_cell":
        always.append("everybody knows the cell of every record")
    if params.model != "dp":
        always.append(phrases.ACTUAL_NOISE)
    return tuple(always)


def _noisy_figures(params: Params) -> str:
    if params.exact_total:
        return f"every figure but the {'grand total of counts' if params.dimensions else 'count'} is noisy"
    return "every figure of a possible cell is noisy" if params.impossible else "every figure is noisy"


def _not_promised(params: Params) -> tuple[str, ...]:
    told = [limit.replace("every figure is noisy", _noisy_figures(params)) for limit in _LIMITS[params.model]]
    if params.adjacency in ("replace", "bootstrap_replace", "from_D"):
        told.append(phrases.NUMBER_OF_RECORDS)
    if params.empty_cells == "zero":
        told.append("hiding which cells are empty: they are printed as exact zeros")
    if params.adjacency == "bootstrap_within_cell":
        told.append("hiding who is in which cell, or how many: that is taken as public")
    if params.rows_per_unit is not None and params.adjacency == "replace":
        told.append(phrases.hides_no_number_of_own_records(params.rows_per_unit))
    if params.rows_per_unit is not None:
        told.append(phrases.records_left_out(params.rows_per_unit)[0])
    return (*told, *weighted_words.not_promised(params))
