"""What a data user needs to know about columns under probabilistic k-anonymity."""

from __future__ import annotations

from penstock.mechanisms.columns import Declared, named
from penstock.mechanisms.probabilistic_k_anonymity._settings import Params, by_taxonomy
from penstock.mechanisms.sample import in_words

__all__ = ["advice", "treatments"]

_CENTROID = {
    "integer": "replaced by the rounded mean of its group of at least {k}",
    "continuous": "replaced by the mean of its group of at least {k}",
    "ordinal": "replaced by the median category of its group of at least {k}",
    "nominal": "replaced by the most frequent category of its group of at least {k}",
}
_BY_TAXONOMY = "replaced by the concept that is nearest, in its taxonomy, to its group of at least {k}"

# Columns are named: others of the same file may be treated otherwise.
_ADVICE = {
    "mdav_id": (
        "Each record carries the centre of a group of similar records in its quasi-identifiers.",
        "Means of numeric quasi-identifiers are kept (up to rounding); their variances and extremes are reduced.",
        "Relations with quasi-identifiers hold at the level of groups.{as_collected}",
    ),
    "mdav_swap": (
        "{confidential}: values were exchanged between records with similar quasi-identifiers, by whole rows: what "
        "stands in a row is one record's, though maybe not the one whose quasi-identifiers stand beside it.",
        "Every table and statistic of {confidential} alone, and of the quasi-identifiers alone, is exact.",
        "Relations between quasi-identifiers and confidential columns are weakened. Do not read a single record.",
    ),
    "ir_swap": (
        "{confidential}: values were exchanged between records with similar values, in each column by itself.",
        "Every statistic (mean, variance, quantiles, histogram) of {one} alone is exact.",
        "Relations between columns are slightly weakened. A swapped value is near that of its record, and need not be "
        "equal.",
    ),
}
_SAMPLED = (
    "The file is a random sample without replacement of all swapped records, {sample}. What is called exact below is "
    "so for all of them; estimates from the file have a sampling error."
)
_CONCEPTS = "{names}: a value may be a concept above several categories; counts of single categories are too low then."
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
            by_concept = name in by_taxonomy(params, declared)
            done[name] = (_BY_TAXONOMY if by_concept else _CENTROID[str(column.type)]).format(k=k)
        elif params.method != "mdav_id" and column.role == "confidential":
            done[name] = f"swapped within groups of at least {k}"
        else:
            done[name] = "released unchanged"
    return done


def advice(params: Params, declared: Declared) -> tuple[str, ...]:
    """Return how to use data released under this method."""
    names = named(declared, "confidential")
    words = {
        "confidential": ", ".join(names),
        "one": " or ".join(filter(None, (", ".join(names[:-1]), *names[-1:]))),
        "as_collected": f" As collected: {', '.join(names)}." if names else "",
    }
    concepts = ", ".join(by_taxonomy(params, declared)) if params.method == "mdav_id" else ""
    return (
        *(() if params.sample is None else (_SAMPLED.format(sample=in_words(params.sample)),)),
        *(sentence.format(**words) for sentence in _ADVICE[params.method]),
        *((_CONCEPTS.format(names=concepts),) if concepts else ()),
        *_EVERY,
    )
