"""What a data user needs to know about columns under probabilistic k-anonymity."""

from __future__ import annotations

from penstock.mechanisms.columns import Declared
from penstock.mechanisms.probabilistic_k_anonymity._mechanism import Params

__all__ = ["advice", "treatments"]

_CENTROID = {
    "integer": "replaced by the rounded mean of its group of at least {k}",
    "continuous": "replaced by the mean of its group of at least {k}",
    "ordinal": "replaced by the median category of its group of at least {k}",
    "nominal": "replaced by the most frequent category of its group of at least {k}",
}

_ADVICE = {
    "mdav_id": (
        "Each record carries the centre of a group of similar records in its quasi-identifiers.",
        "Means of numeric quasi-identifiers are kept (up to rounding); their variances and extremes are reduced.",
        "Confidential columns are as collected; relations with quasi-identifiers hold at the level of groups.",
    ),
    "mdav_swap": (
        "Confidential values were exchanged between records with similar quasi-identifiers, all columns together: "
        "those of a row are one record's, though maybe not the one whose quasi-identifiers stand beside them.",
        "Every table and statistic of the confidential columns alone, and of the quasi-identifiers alone, is exact.",
        "Relations between quasi-identifiers and confidential columns are weakened. Do not read a single record.",
    ),
    "ir_swap": (
        "In each confidential column, values were exchanged between records with similar values.",
        "Every statistic of a single column (mean, variance, quantiles, histogram) is exact.",
        "Relations between columns are slightly weakened. A confidential value is near that of its record, not equal.",
    ),
}
_EVERY = ("Rows are in random order.", "Sampling errors do not include the effect of the protection.")


def treatments(params: Params, declared: Declared) -> dict[str, str]:
    """Return what was done to each released column."""
    done: dict[str, str] = {}
    for name, column in declared.items():
        k = params.k_by_column.get(name, params.k)
        if column.role == "identifier":
            continue
        if params.method == "mdav_id" and column.role == "weight":
            done[name] = f"replaced by the mean weight of its group of at least {k}"
        elif params.method == "mdav_id" and column.role == "quasi_identifier":
            done[name] = _CENTROID[str(column.type)].format(k=k)
        elif params.method != "mdav_id" and column.role == "confidential":
            done[name] = f"swapped within groups of at least {k}"
        else:
            done[name] = "released unchanged"
    return done


def advice(params: Params, declared: Declared) -> tuple[str, ...]:
    """Return how to use data released under this method."""
    return (*_ADVICE[params.method], *_EVERY)
