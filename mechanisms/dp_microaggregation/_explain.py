"""What a data user needs to know about columns under differentially private microaggregation."""

from __future__ import annotations

from penstock.mechanisms import clamping
from penstock.mechanisms.columns import Declared, named
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
_EVERY = (
    "The size of the noise is public: see the settled facts in the manifest. Any further processing is allowed.",
    "Sampling errors do not include the effect of the protection.",
)


def treatments(params: Params, declared: Declared) -> dict[str, str]:
    """Return what was done to each released column."""
    taxonomy = "; it may be a broader concept of the taxonomy"
    return {
        name: _TREATMENT[str(declared[name].type)] + (taxonomy if declared[name].taxonomy is not None else "")
        for name in named(declared, *OUTPUT_ROLES)
    }


def advice(params: Params, declared: Declared) -> tuple[str, ...]:
    """Return how to use data released under this mechanism."""
    may_be = clamping.may_be_clamped(declared, named(declared, *OUTPUT_ROLES))
    return (*_ADVICE[params.mode], *clamping.advised(may_be, declared, "values and means", errors=False), *_EVERY)
