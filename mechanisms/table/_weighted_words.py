"""What is said of weights and contributors: before a release, in its promise, and to its readers."""

from __future__ import annotations

from penstock.mechanisms.layout import Figure
from penstock.mechanisms.table._weights import CONTRIBUTORS, weights_of
from penstock.mechanisms.table.settings import Params

__all__ = ["advised", "assumptions", "expected", "not_promised", "treatment"]

_ALONE = (
    "the weight of a record depends on that record and on public facts alone: weights that were adjusted by other "
    "records of the sample, as by calibration, would change with them"
)
_DESCRIBED = {
    "weighted_count": "sum of the weights {weight}{clamped}",
    "weighted_sum": "total of {column} times {weight}{clamped}",
    "weighted_mean": "mean of {column} weighted by {weight}{clamped}: weighted total over weighted count",
}
_SAMPLING = "_sampling_error"


def expected(params: Params) -> list[str]:
    """Return what the person who chooses the settings should expect."""
    if params.weight is None:
        return []
    replicates = params.weight.replicates or ()
    told = [f"Figures are weighted by {params.weight.column}; k and the rules of tables are about unweighted records."]
    if params.model == "dp":
        told.append("No error stated here has sampling error in it.")
    elif replicates:
        told.append(f"Sampling errors come from {len(replicates):,} replicate weights, one pass for each.")
    return told


def assumptions(params: Params) -> tuple[str, ...]:
    """Return what the promise takes for granted."""
    return (_ALONE,) if params.weight is not None and params.model == "dp" else ()


def not_promised(params: Params) -> tuple[str, ...]:
    """Return what the promise leaves out."""
    if params.weight is None:
        return ()
    if params.model == "dp":
        return ("that published errors cover sampling: they are of the noise of protection only",)
    told = "that the rules of tables hold for weighted figures: they judge unweighted contributions"
    more = "that the rules of tables judge sampling errors, each of which is one more exact figure about a cell"
    return (told, more) if params.weight.replicates else (told,)


def treatment(figure: Figure, params: Params, clamped: tuple[str, ...]) -> str | None:
    """Return what a column of weighted figures or contributors is; None for another."""
    if figure.name == CONTRIBUTORS:
        return f"number of different {params.contributors} with a record there, each counted once"
    if figure.statistic.endswith(_SAMPLING):
        return f"standard error of {figure.name.removesuffix(_SAMPLING)} from sampling, by replicate weights"
    if figure.statistic not in _DESCRIBED:
        return None
    made_of = {figure.column, *weights_of(params)[:1]} & set(clamped)
    bounded = ", each clamped to its bounds" if made_of else ""
    told = _DESCRIBED[figure.statistic].format(column=figure.column, weight=weights_of(params)[0], clamped=bounded)
    return f"{told}, with noise" if params.model == "dp" else told


def advised(params: Params) -> tuple[str, ...]:
    """Return how to use weighted figures and contributors."""
    told = []
    if params.weight is not None and params.weight.replicates:
        told.append(
            "Sampling errors are of the sample alone; an empty one means that a replicate has no weight in that cell."
        )
    elif params.weight is not None:
        told.append("Weighted figures are estimates from a sample; no sampling error is stated.")
    if params.contributors is not None:
        told.append(
            f"One {params.contributors} may have records in several cells, so contributors do not add up to those of "
            "a total."
        )
    return tuple(told)
