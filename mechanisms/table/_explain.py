"""What a data user needs to know about a released table."""

from __future__ import annotations

from penstock.mechanisms import clamping
from penstock.mechanisms.columns import Declared
from penstock.mechanisms.table import _weighted_words as weighted_words
from penstock.mechanisms.table._exact_total import COUNT_IS_NUMBER, EXACT_TOTAL, count_is_number_of_records
from penstock.mechanisms.table._mechanism import Params
from penstock.mechanisms.table._weights import squares_of
from penstock.mechanisms.table.settings import clamped, layout

__all__ = ["advice", "treatments"]

_NOISE = {
    "dp": ", with noise",
    "bdp": ", with noise of a secret size",
    "idp": ", with noise of a secret size",
    "k_anon": "",
}
_CATEGORY = "category of the cell; _T stands for all"
_FIGURE = {
    "count": "number of records{noise}",
    "sum": "total of {column}{clamped}{noise}",
    "mean": "mean of {column}{clamped}: total over count, both as published{noise}",
}
_ADVICE = {
    "dp": (
        "Every figure has a standard error. It covers the noise of protection only, no sampling error.",
        "Negative or fractional figures are noise, not errors.",
    ),
    "bdp": (
        "The size of the noise is secret, because it follows the data; no standard error can be given.",
        "Do not infer that a difference between two figures is real because it is large.",
    ),
    "idp": (
        "The size of the noise is secret, because it follows the data; no standard error can be given.",
        "Do not infer that a difference between two figures is real because it is large.",
    ),
    "k_anon": ("Figures have no noise; cells with few records were not allowed.",),
}
_MARGINS = {
    "none": "There are no totals.",
    "summed": "Totals are sums of the published cells; their errors add up.",
    "measured": "Totals were measured themselves, and all figures made to add up; a total is more exact than its sum.",
}
_IMPOSSIBLE = (
    "Cells of combinations that cannot occur, by public rules, are exact zeros, and so are totals of nothing else; "
    "they say nothing about the data."
)
_LINKED = (
    "All tables were fitted together: a figure that several of them show is the same number in each, and their totals "
    "add up. Figures are not unbiased, because none may fall below 0: where most cells are smaller than their noise, "
    "the margins of large categories are too small by more than their standard errors tell."
)


def treatments(params: Params, declared: Declared) -> dict[str, str]:
    """Return what each released column is."""
    drawn = layout(params, declared)
    told = dict.fromkeys(drawn.dimensions, _CATEGORY)
    for name, levels in params.levels.items():
        told[name] = f"{_CATEGORY}, and groups of categories are those of {' and '.join(levels)}"
    may_be = clamped(params, declared)
    for figure in drawn.figures:
        told[figure.name] = weighted_words.treatment(figure, params, may_be) or _FIGURE[figure.statistic].format(
            column=figure.column,
            clamped=", values clamped to their bounds" if figure.column in may_be else "",
            noise="" if figure.statistic == "count" and count_is_number_of_records(params) else _NOISE[params.model],
        )
    return told


def advice(params: Params, declared: Declared) -> tuple[str, ...]:
    """Return how to use the table."""
    may_be = clamped(params, declared)
    # Least squares keep figures from falling below 0, which moves small ones; a mean is a quotient in any case.
    straight = params.model == "dp" and params.margins != "measured" and not may_be
    straight = straight and not params.exact_total and not params.tables
    unbiased = ("Counts and totals are unbiased.",) if straight else ()
    pulled = clamping.advised(may_be, declared, "totals and means", errors=params.model == "dp")
    weighted = weighted_words.advised(params)
    zero = ("Zeros of empty cells are exact.",) if params.empty_cells == "zero" else ()
    exact = (EXACT_TOTAL,) if params.exact_total and params.dimensions else ()
    if params.count and count_is_number_of_records(params):
        exact = (COUNT_IS_NUMBER,)
    told = _ADVICE[params.model]
    if squares_of(params):
        told = (told[0].replace(", no sampling error.", "; the sampling error stands beside it."), *told[1:])
    together = (_LINKED,) if params.tables else (_MARGINS[params.margins if params.dimensions else "none"],)
    if params.impossible:
        zero = (_IMPOSSIBLE,)
    return (*told, *unbiased, *exact, *pulled, *weighted, *together, *zero)
