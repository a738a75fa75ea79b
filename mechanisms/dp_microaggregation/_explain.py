"""What a data user needs to know about columns under differentially private microaggregation."""

from __future__ import annotations

from penstock.mechanisms import clamping
from penstock.mechanisms.columns import Declared, named
from penstock.mechanisms.combinations import linked
from penstock.mechanisms.dp_microaggregation._mechanism import OUTPUT_ROLES, Params

__all__ = ["advice", "treatments"]

_TREATMENT = {
    "integer": "mean of a block of records, with noise, rounded to a whole number",
    "continuous": "mean of a block of records, with noise",
    "ordinal": "category drawn for a block of records, near its median more often than far from it",
    "nominal": "category drawn for a block of records, central ones more often than others",
}
_ADVICE = {
    "records": (
        "Rows are not persons: all rows of a block carry the same protected values.",
        "Means and relations between columns can be estimated; variances are too small within blocks, and noise adds "
        "to them between blocks.",
    ),
    "marginals": (
        "Each column was protected and shuffled by itself: a row is not a record, and no relation between columns "
        "means anything.",
        "Distributions of single columns can be estimated: means, quantiles, histograms.",
    ),
}
_TOGETHER = (
    "{} were drawn together for each block. Combinations that are declared impossible do not occur, whether or not the "
    "source has them."
)
_EVERY = (
    "The size of the noise is public: see the settled facts in the manifest. Any further processing is allowed.",
    "Sampling errors do not include the effect of the protection.",
)


def treatments(params: Params, declared: Declared) -> dict[str, str]:
    """Return what was done to each released column."""
    taxonomy = "; it may be a broader concept of the taxonomy"
    names = named(declared, *OUTPUT_ROLES)
    drawn = {name: f"; drawn together with {_others(name, group)}" for name, group in _groups(params, names).items()}
    return {
        name: _TREATMENT[str(declared[name].type)]
        + (taxonomy if declared[name].taxonomy is not None else "")
        + drawn.get(name, "")
        for name in names
    }


def _groups(params: Params, names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return {name: group for group in linked(params.impossible, names) for name in group}


def _others(name: str, group: tuple[str, ...]) -> str:
    return ", ".join(other for other in group if other != name)


def advice(params: Params, declared: Declared) -> tuple[str, ...]:
    """Return how to use data released under this mechanism."""
    names = named(declared, *OUTPUT_ROLES)
    may_be = clamping.may_be_clamped(declared, names)
    together = [_TOGETHER.format(", ".join(group)) for group in linked(params.impossible, names)]
    return (
        *_ADVICE[params.mode],
        *together,
        *clamping.advised(may_be, declared, "values and means", errors=False),
        *_EVERY,
    )
