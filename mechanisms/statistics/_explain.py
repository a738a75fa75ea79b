"""What a data user needs to know about released statistics."""

from __future__ import annotations

from penstock.mechanisms import clamping, phrases
from penstock.mechanisms.columns import Declared
from penstock.mechanisms.statistics import _bootstrap_words as bootstrap_words
from penstock.mechanisms.statistics._mechanism import Params
from penstock.mechanisms.statistics._private import planned
from penstock.mechanisms.statistics._settings import clamped, layout

__all__ = ["advice", "treatments"]

_DRAWN = {
    "count": "number of records{counted}, with noise",
    "sum": "total of {of}, with noise",
    "mean": "mean of {of}: total over number of records, both with noise, cut off at the bounds of the domain",
    "variance": "variance of {of} (divided by n), from noisy totals, cut off where no variance can be",
    "median": "median of {of}, drawn: values near it in rank more often than others",
    "quantile": "quantile of {of}, drawn: values near it in rank more often than others",
    "minimum": "smallest value of {of}, drawn: values near it in rank more often than others",
    "maximum": "largest value of {of}, drawn: values near it in rank more often than others",
    "second_maximum": "second largest value of {of}, drawn: values near it in rank more often than others",
}
_SECRET = {
    "count": "number of records{counted}, with noise of a public size",
    "sum": "total of {of}, with noise of a secret size",
    "mean": "mean of {of}, with noise of a secret size, cut off at the bounds of the domain",
    "variance": "variance of {of} (divided by n), with noise of a secret size, cut off where no variance can be",
    "median": "median of {of}, with noise of a secret size, cut off at the bounds of the domain",
    "quantile": "quantile of {of}, with noise of a secret size, cut off at the bounds of the domain",
    "minimum": "smallest value of {of}, with noise of a secret size, cut off at the bounds of the domain",
    "maximum": "largest value of {of}, with noise of a secret size, cut off at the bounds of the domain",
    "second_maximum": "second largest value of {of}, with noise of a secret size, cut off at the bounds of the domain",
}
_ALONE = (
    "Figures were drawn one by one, so a mean need not be the quotient of sum and count, nor a minimum below a median."
)
_TOGETHER = (
    "{names} were drawn together: they are made of the same noisy totals, so a mean is the quotient of its sum and "
    "count where it is not cut off, and their errors are not independent."
)
_OTHERS = "The others were drawn one by one, so a minimum need not lie below a median."
_ADVICE = {
    "dp": (
        "Standard errors cover the noise of protection only, no sampling error. They are exact for counts and sums, "
        "approximate for means and variances, and empty where none is known.",
        "Negative counts are noise, not errors. Means and variances of small groups are unreliable.",
        "A figure of a group without records is noise.",
        "Any further processing is allowed.",
    ),
    "idp": (
        "The size of the noise is secret, because it follows the data; no standard error can be given.",
        "Do not infer that a difference between two figures is real because it is large.",
        "Figures were drawn one by one, so a minimum need not lie below a median.",
    ),
    "bdp": bootstrap_words.ADVICE,
}


def treatments(params: Params, declared: Declared) -> dict[str, str]:
    """Return what each column of the table is; standard errors go without saying."""
    drawn = layout(params, declared)
    told = dict.fromkeys(drawn.dimensions, "category of the group")
    kinds = _DRAWN if params.model == "dp" else _SECRET
    may_be = clamped(params, declared)
    most = params.rows_per_unit
    counted = "" if most is None else f" used (at most {most:,} of each individual)"
    used = "" if most is None else f" (records{counted.replace(' (', ', ')}"
    categories = {each.name: f" with {each.of} {each.category}" for each in params.figures if each.category is not None}
    for figure in drawn.figures:
        of = f"{figure.column} (values clamped to their bounds)" if figure.column in may_be else figure.column
        words = kinds[figure.statistic]
        if figure.column is not None and declared[figure.column].resolution is not None:
            words = words.replace("of the domain", "that its resolution can reach")
        told[figure.name] = words.format(of=f"{of}{used}", counted=categories.get(figure.name, counted))
    return told


def advice(params: Params, declared: Declared) -> tuple[str, ...]:
    """Return how to use the statistics."""
    may_be = clamped(params, declared)
    left_out = () if params.rows_per_unit is None else (phrases.records_left_out(params.rows_per_unit)[1],)
    unbiased = ("Counts and sums are unbiased.",) if params.model == "dp" and not may_be and not left_out else ()
    pulled = clamping.advised(may_be, declared, "figures", errors=params.model == "dp")
    return (*_ADVICE[params.model], *_drawn(params, declared), *unbiased, *left_out, *pulled)


def _drawn(params: Params, declared: Declared) -> tuple[str, ...]:
    """Return which figures were drawn together, under differential privacy."""
    if params.model != "dp":
        return ()
    plan = planned(params, declared)
    if plan.together is None:
        return (_ALONE,)
    names = ", ".join(figure.name for figure in plan.together.figures)
    return (_TOGETHER.format(names=names), *((_OTHERS,) if plan.alone else ()))
