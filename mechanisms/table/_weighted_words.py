"""What is said of weights and contributors: before a release, in its promise, and to its readers."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, sqrt

from penstock.mechanisms.layout import Figure
from penstock.mechanisms.table._chosen import share_of
from penstock.mechanisms.table._squares import SURE
from penstock.mechanisms.table._weights import CONTRIBUTORS, COUNT, squares_of, weights_of
from penstock.mechanisms.table.draws import Noise
from penstock.mechanisms.table.settings import Params

__all__ = ["advised", "assumptions", "expected", "not_promised", "sure_from", "treatment"]

_ALONE = (
    "the weight of a record depends on that record and on public facts alone: weights that were adjusted by other "
    "records of the sample, as by calibration, would change with them"
)
_DESCRIBED = {
    "weighted_count": "sum of the weights in column {weight}{clamped}",
    "weighted_sum": "total of {column} times {weight}{clamped}",
    "weighted_mean": "mean of {column} weighted by {weight}{clamped}: weighted total over weighted count",
}
_SAMPLING, _COMBINED = "_sampling_error", "_combined_error"
_BY_ITSELF = (
    "they take every record to be sampled by itself, so they are too large for most stratified samples, and too small "
    "where records were sampled together, as in clusters"
)
# Said once; sure_from says what it comes to in each level.
_SURE = (
    f"One is stated where its square is at least {SURE} standard errors of the noise on it, and left empty elsewhere; "
    "there it has a standard error of a quarter of itself, and in larger cells of less."
)


def expected(params: Params) -> list[str]:
    """Return what the person who chooses the settings should expect."""
    if params.weight is None:
        return []
    replicates = params.weight.replicates or ()
    told = [f"Figures are weighted by {params.weight.column}; k and the rules of tables are about unweighted records."]
    if params.weight.sampling_error:
        told.append(f"Of sampling errors: {_BY_ITSELF}. Means have none. {_cost(params)} {_SURE}")
    elif params.model == "dp":
        told.append("No error stated here has sampling error in it.")
    elif params.weight.strata:
        told.append(
            f"Sampling errors come from the strata of {params.weight.strata}, as if {_sampled(params)} had been drawn "
            "with replacement; the release is refused if only one was drawn in a stratum, or one lies in two."
        )
    elif replicates:
        told.append(f"Sampling errors come from {len(replicates):,} replicate weights, one pass for each.")
    if params.weight.strata or replicates:
        told += _solvable(params)
    return told


def _solvable(params: Params) -> list[str]:
    """Return a warning where a cell may have as few records as there are exact figures about a column: a total and its
    error, sums of values and of their squares, are two equations about the values, the error of a mean is a third."""
    equations = 3 if {*params.sums} & {*params.means} else 2
    if params.k is None or params.k > equations:
        return []
    return [
        "Whoever knows the design of the sample can solve these errors, with the figures beside them, for the values "
        f"of {equations} records in a cell. Take k of at least {equations + 1}, or a gate on p_percent."
    ]


def _cost(params: Params) -> str:
    """Return what the squares cost the figures."""
    part = sum((share_of(params, name) for name in squares_of(params)), Fraction(0))
    return (
        f"Their sums of squares spend {part} of epsilon, so that the standard errors of counts, totals and means "
        f"are about {float(1 / (1 - part)):.3g} times what they would be without them."
    )


def _sampled(params: Params) -> str:
    return "records" if params.contributors is None else f"contributors ({params.contributors})"


def sure_from(measure: str, noise: Noise, place: int, params: Params) -> str:
    """Return from which size of cell on the sampling error of a figure is stated, in words."""
    name = squares_of(params)[measure]
    least = SURE * sqrt(noise.variances[place])
    # Of records that add the most that one can, and of those that add half of it, a quarter of its square.
    whole = ceil(least / noise.half_widths[place])
    parts = "the largest weight" if name == COUNT else f"the largest weight and value of {name}"
    return f"stated from {whole:,} records of {parts} on, or {4 * whole:,} of half of it"


def assumptions(params: Params) -> tuple[str, ...]:
    """Return what the promise takes for granted."""
    return (_ALONE,) if params.weight is not None and params.model == "dp" else ()


def not_promised(params: Params) -> tuple[str, ...]:
    """Return what the promise leaves out."""
    if params.weight is None:
        return ()
    if params.weight.sampling_error:
        return (
            f"that sampling errors fit the design of the sample: {_BY_ITSELF}",
            "that sampling errors are exact: they carry noise, and are left out where they are not clear of it",
            "that errors of means cover sampling: they are of the noise of protection only",
        )
    if params.model == "dp":
        return ("that published errors cover sampling: they are of the noise of protection only",)
    told = "that the rules of tables hold for weighted figures: they judge unweighted contributions"
    more = "that the rules of tables judge sampling errors, each of which is one more exact figure about a cell"
    return (told, more) if params.weight.replicates or params.weight.strata else (told,)


def treatment(figure: Figure, params: Params, clamped: tuple[str, ...]) -> str | None:
    """Return what a column of weighted figures or contributors is; None for another."""
    if figure.name == CONTRIBUTORS:
        return f"number of different values of {params.contributors} among the records there"
    if figure.statistic.endswith(_COMBINED):
        return f"standard error of {figure.name.removesuffix(_COMBINED)} from noise and sampling together"
    if figure.statistic.endswith(_SAMPLING):
        return f"standard error of {figure.name.removesuffix(_SAMPLING)} from sampling, {_estimated(params)}"
    if figure.statistic not in _DESCRIBED:
        return None
    made_of = {figure.column, *weights_of(params)[:1]} & set(clamped)
    bounded = ", each clamped to its bounds" if made_of else ""
    told = _DESCRIBED[figure.statistic].format(column=figure.column, weight=weights_of(params)[0], clamped=bounded)
    kept = f", kept within the domain of {figure.column}" if figure.kind == "mean" else ""
    return f"{told}{kept}, with noise" if params.model == "dp" else told


def _estimated(params: Params) -> str:
    """Return how sampling errors are estimated."""
    if params.weight is not None and params.weight.strata is not None:
        return f"by the strata {params.weight.strata}"
    if squares_of(params):
        return "each record sampled by itself, with noise; empty where it is not clear of its noise"
    return "by replicate weights"


def advised(params: Params) -> tuple[str, ...]:
    """Return how to use weighted figures and contributors."""
    told = []
    if params.weight is not None and params.weight.replicates:
        told.append(
            "Sampling errors are of the sample alone; an empty one means that a replicate has no weight in that cell."
        )
    elif params.weight is not None and params.weight.strata:
        told.append(
            "Sampling errors are of the sample alone, as if it had been drawn with replacement in each stratum."
        )
    elif squares_of(params):
        told += [
            "Beside every count and total stand its sampling error and a combined error, of noise and sampling "
            "together, which is the one for intervals unless weights or values are clamped: that no error covers. Of "
            f"sampling errors: {_BY_ITSELF}. Means have none.",
            "Sampling errors are noisy themselves, and not to be relied on in small cells. Where the sum of squares "
            "behind one is below two standard errors of its noise, it is left out, and the combined error with it: an "
            "empty one does not mean that there is none. Those just above that limit are too large on average.",
        ]
    elif params.weight is not None:
        told.append("Weighted figures are estimates from a sample; no sampling error is stated.")
    if params.contributors is not None:
        told.append(
            f"A contributor ({params.contributors}) may have records in several cells, so contributors do not add up "
            "to those of a total."
        )
    return tuple(told)
