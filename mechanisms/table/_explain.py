"""What a data user needs to know about a released table."""

from __future__ import annotations

from penstock.mechanisms import clamping, phrases
from penstock.mechanisms.columns import Declared
from penstock.mechanisms.table import _weighted_words as weighted_words
from penstock.mechanisms.table._chosen import limits_by_measure, settle
from penstock.mechanisms.table._exact_total import COUNT_IS_NUMBER, EXACT_TOTAL, count_is_number_of_records
from penstock.mechanisms.table._mechanism import Params
from penstock.mechanisms.table._weights import squares_of
from penstock.mechanisms.table.settings import COUNT, clamped, layout

__all__ = ["advice", "treatments"]

_NOISE = {
    "dp": ", with noise",
    "bdp": ", with noise of a secret size",
    "idp": ", with noise of a secret size",
    "k_anon": "",
}
_CATEGORY = "category of the cell; _T stands for all"
_FIGURE = {
    "count": "number of records{counted}{noise}",
    "sum": "total of {column}{used}{clamped}{noise}",
    "mean": "mean of {column}{used}{clamped}: total over count, both as published{kept}{noise}",
}
_ADVICE = {
    "dp": ("Every figure has a standard error. It covers the noise of protection only, no sampling error.",),
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
    "summed": "Totals are sums of the published cells{errors}.",
    "measured": "Totals were measured themselves, and all figures made to add up; a total is more exact than its sum.",
}
_BENT = (
    "No figure may fall below 0, so those that are smaller than their noise are too large on average, and the others "
    "too small by as much; the sum of all is not moved by it."
)
_MEANS = (
    "Means are kept within the domains of their columns, so those that lie nearer to an end than their noise reaches "
    "are pulled away from it on average."
)
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
    may_be, most = clamped(params, declared), params.rows_per_unit
    counted = "" if most is None else f" used (at most {most:,} of each individual)"
    used = "" if most is None else f" (records{counted.replace(' (', ', ')}"
    for figure in drawn.figures:
        weighted = weighted_words.treatment(figure, params, may_be)
        exact = figure.statistic == "count" and count_is_number_of_records(params)
        told[figure.name] = (
            f"{weighted}{used}"
            if weighted is not None
            else _FIGURE[figure.statistic].format(
                column=figure.column,
                used=used,
                counted=counted,
                clamped=", values clamped to their bounds" if figure.column in may_be else "",
                kept="" if params.model == "k_anon" else f", kept within the domain of {figure.column}",
                noise="" if exact else _NOISE[params.model],
            )
        )
    return told


def advice(params: Params, declared: Declared) -> tuple[str, ...]:
    """Return how to use the table."""
    may_be = clamped(params, declared)
    # Least squares keep figures from falling below 0, which moves small ones; a mean is a quotient in any case.
    straight = params.model == "dp" and params.margins != "measured" and not may_be
    straight = straight and not params.exact_total and not params.tables and params.rows_per_unit is None
    means = (_MEANS,) if params.means and params.model != "k_anon" else ()
    unbiased = ("Counts and totals are unbiased.",) if straight else ()
    pulled = clamping.advised(may_be, declared, "totals and means", errors=params.model == "dp")
    weighted = weighted_words.advised(params)
    zero = ("Zeros of empty cells are exact.",) if params.empty_cells == "zero" else ()
    exact = (EXACT_TOTAL,) if params.exact_total and params.dimensions else ()
    if params.count and count_is_number_of_records(params):
        exact = (COUNT_IS_NUMBER,)
    if params.impossible:
        zero = (_IMPOSSIBLE,)
    told = _ADVICE[params.model]
    if squares_of(params):
        told = (told[0].replace(", no sampling error.", "; the sampling error stands beside it."), *told[1:])
    left_out = () if params.rows_per_unit is None else (phrases.records_left_out(params.rows_per_unit)[1],)
    # Exact figures have no noise, and what sampling errors they have do not add up.
    add_up = params.model != "k_anon" and not params.exact_total  # what is fitted to n is not independent any more
    errors = "; the variances of their noise add up" if add_up else ""
    margins = _MARGINS[params.margins if params.dimensions else "none"].format(errors=errors)
    bent = (_BENT,) if params.margins == "measured" and _is_kept_up(params, declared) else ()
    together = (_LINKED,) if params.tables else (margins, *bent)
    negative = _negative(params, declared)
    return (*told, *negative, *unbiased, *means, *left_out, *exact, *pulled, *weighted, *together, *zero)


def _is_kept_up(params: Params, declared: Declared) -> bool:
    """Return whether least squares keep some published count or total from falling below 0."""
    limits = limits_by_measure(params, declared)
    figures = [figure for figure in layout(params, declared).figures if figure.adds_up]
    return any(bool((limits[figure.column or COUNT].low >= 0).all()) for figure in figures)


def _negative(params: Params, declared: Declared) -> tuple[str, ...]:
    """Return that figures may be below 0 through noise alone, where they may: not where least squares keep them up, nor
    of values that may be negative themselves."""
    entries = settle(params, declared)
    if params.model != "dp" or params.tables or len({entry.level for entry in entries}) > 1:
        return ()
    limits = limits_by_measure(params, declared)
    figures = [figure for figure in layout(params, declared).figures if figure.adds_up]
    drawn = {measure for entry in entries for measure in entry.measures}
    may_be = [figure for figure in figures if (figure.column or COUNT) in drawn]
    names = [figure.name for figure in may_be if (limits[figure.column or COUNT].low >= 0).all()]
    return (f"Figures of {', '.join(names)} below 0 are noise, not errors.",) if names else ()
