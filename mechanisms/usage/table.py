"""What a data user needs to know about a released table."""

from __future__ import annotations

from mechanisms.columns import Declared
from mechanisms.table import Params
from mechanisms.tables.settings import layout

__all__ = ["advice", "treatments"]

_NOISE = {
    "dp": ", with noise",
    "bdp": ", with noise of a secret size",
    "idp": ", with noise of a secret size",
    "k_anon": "",
}
_FIGURE = {
    "count": "number of records{noise}",
    "sum": "total of {column}{noise}",
    "mean": "mean of {column}: total over count, both as published{noise}",
}
_ADVICE = {
    "dp": (
        "Every figure has a standard error. It covers the noise of protection only, no sampling error.",
        "Figures are unbiased unless margins were reconciled; negative or fractional ones are noise, not errors.",
    ),
    "bdp": (
        "The size of the noise is secret, because it follows the data; no standard error can be given.",
        "Do not infer that a difference between two figures is real because it is large.",
    ),
    "idp": (
        "The size of the noise is secret, because it follows the data; no standard error can be given.",
        "Do not infer that a difference between two figures is real because it is large.",
    ),
    "k_anon": ("Figures are exact; cells with few records were not allowed.",),
}
_MARGINS = {
    "none": "There are no totals.",
    "summed": "Totals are sums of the published cells; their errors add up.",
    "measured": "Totals were measured themselves, and all figures made to add up; a total is more exact than its sum.",
}


def treatments(params: Params, declared: Declared) -> dict[str, str]:
    """For each released column, what it is."""
    drawn = layout(params, declared)
    told = dict.fromkeys(drawn.dimensions, "category of the cell; _T stands for all")
    for figure in drawn.figures:
        told[figure.name] = _FIGURE[figure.statistic].format(column=figure.column, noise=_NOISE[params.model])
    return told


def advice(params: Params) -> tuple[str, ...]:
    """How to use the table."""
    zero = ("Zeros of empty cells are exact.",) if params.empty_cells == "zero" else ()
    return (*_ADVICE[params.model], _MARGINS[params.margins], *zero)
