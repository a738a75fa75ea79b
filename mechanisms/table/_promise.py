"""What a table promises under each model, and what it does not, in words for who decides."""

from __future__ import annotations

from typing import Any

from penstock.mechanisms import clamping
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.table.settings import Params, measures

__all__ = ["promise_of"]

_FACTOR = "the probability of every set of outputs changes by a factor of at most e^{epsilon}"
_STATEMENT = {
    "dp": "{epsilon}-differential privacy: whichever {unit} is {change}, " + _FACTOR + ". ",
    "bdp": "{epsilon}-bootstrap differential privacy, given the size of the noise: among data sets that consist of "
    "records of the actual one, if one record is {change}, " + _FACTOR + ". ",
    "idp": "{epsilon}-individual differential privacy, given the size of the noise: if one record of the actual data "
    "set is {change}, " + _FACTOR + ". ",
    "k_anon": "{k}-anonymity: every cell that is not empty has at least {k} records. The figures are exact{clamped}. ",
}
_CHANGE = {
    "replace": "replaced by any other that the declared columns allow",
    "add_remove": "added or removed",
    "bootstrap_replace": "replaced by another",
    "bootstrap_add_remove": "added or removed",
    "bootstrap_within_cell": "replaced by another of the same cell",
    "from_D": "replaced by any other that the declared columns allow",
}
_UNIT = {
    "replace": "individual's records (all of them together, by equally many others)",
    "add_remove": "individual's records (all of them together)",
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
        "hiding what the whole population has in common, such as a relation that holds without the person too",
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
    "dp": ("random words", "noise that was drawn", "exact figures"),
    "bdp": ("random words", "noise that was drawn", "exact figures", "bootstrap sensitivity", "size of the noise"),
    "idp": ("random words", "noise that was drawn", "exact figures", "local sensitivity", "size of the noise"),
    "k_anon": ("single records",),
}
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
    """The guarantee of settings without fault.

    noise: the kind that was settled on. clamped: the columns whose values may count as a bound.
    """
    model, adjacency = params.model, params.adjacency or "none"
    several = params.rows_per_unit is not None
    epsilon = params.epsilon
    written = None if epsilon is None else str(epsilon) if epsilon.denominator == 1 else f"({epsilon})"
    statement = _STATEMENT[model].format(
        epsilon=written,
        k=params.k,
        unit=_UNIT[adjacency] if several else "record",
        change=_CHANGE.get(adjacency, ""),
        clamped=f"; those of {', '.join(clamped)} are of values clamped to their bounds" if clamped else "",
    )
    return Guarantee(
        model=model,
        parameters=_parameters(params, noise),
        adjacency=adjacency,
        unit="individual" if several else "row",
        statement=statement + "The output is one table; every declared cell is in it.",
        public=_public(params),
        secret=(*_SECRET[model], *(("emptiness of cells",) if _hides_emptiness(params) else ())),
        assumptions=_assumptions(params),
        not_promised=(*_not_promised(params), *clamping.not_promised(clamped, "totals and means")),
        postprocessing="any" if model in ("dp", "k_anon") else "data_independent_only",
        composes_with="nothing: no theorem covers two releases" if model == "k_anon" else f"{model}: epsilons add up",
        audit=_EXACT_CHECKS if model == "k_anon" else _NOISY_CHECKS,
    )


def _parameters(params: Params, noise: str) -> dict[str, Any]:
    """All settings that matter for the promise, as plain data."""
    told = params.model_dump(mode="json", exclude_none=True, exclude={"model", "adjacency", "acknowledges", "table"})
    told["measures"] = list(measures(params))
    told["noise"] = noise
    # No totals at all is a choice; the others say nothing where they are empty.
    return {name: value for name, value in told.items() if value not in ({}, []) or name == "totals"}


def _hides_emptiness(params: Params) -> bool:
    return params.empty_cells == "noise" and params.adjacency != "bootstrap_within_cell"


def _public(params: Params) -> tuple[str, ...]:
    always = ("declared domains, categories and bounds", "grid", "dimensions and margins")
    if params.model == "k_anon":
        return always
    return (
        *always,
        "kind of the noise",
        "shares of epsilon",
        *(("size of the noise",) if params.model == "dp" else ()),
        *(("number of records",) if params.adjacency in ("replace", "bootstrap_replace", "from_D") else ()),
        *(("cell of every record",) if params.adjacency == "bootstrap_within_cell" else ()),
        *(("emptiness of cells",) if params.empty_cells == "zero" else ()),
    )


def _assumptions(params: Params) -> tuple[str, ...]:
    always = [
        "the declared domains, categories and bounds come from public knowledge, not from the data",
        "one record describes one individual"
        if params.rows_per_unit is None
        else f"at most {params.rows_per_unit} of the records used describe one individual",
    ]
    if params.model == "k_anon":
        return tuple(always)
    always += [
        "every data set that is compared would have passed validation too",
        "whether to publish is decided without looking at the confidential data",
    ]
    if params.adjacency == "bootstrap_within_cell":
        always.append("everybody knows the cell of every record")
    if params.model != "dp":
        always.append("the size of the noise of the actual data would have been used for all data sets compared")
    return tuple(always)


def _not_promised(params: Params) -> tuple[str, ...]:
    told = list(_LIMITS[params.model])
    if params.adjacency in ("replace", "bootstrap_replace", "from_D"):
        told.append("hiding the number of records, which is public")
    if params.empty_cells == "zero":
        told.append("hiding which cells are empty: they are printed as exact zeros")
    if params.adjacency == "bootstrap_within_cell":
        told.append("hiding who is in which cell, or how many: that is taken as public")
    if params.rows_per_unit is not None and params.adjacency == "replace":
        told.append(f"hiding how many records an individual has, up to {params.rows_per_unit}")
    return tuple(told)
