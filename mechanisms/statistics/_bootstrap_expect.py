"""What to expect of statistics under bootstrap differential privacy before any row is read.

    count                gamma-accuracy: with the least w for which P(|N| <= w) >= 1 - gamma / k in each of k groups,
                         all of them lie within w with probability 1 - gamma                                       (1)
    any other figure     the size of its noise is secret; its standard error is at most sqrt(2) R' / epsilon       (2)

(1) is Theorem 4 of O'Keefe & Charest 2019 with 1 - gamma, where it prints gamma, and for discrete noise. For the others
no public fact gives it, because its scale is what must not be told; only the bound (2) is public. R' is what the worst
data move the figure, on a grid of R steps between bounds of which the larger is B, h = ceil(R / 2) from its middle:

    sum  R where membership is fixed, else B (one group alone: the larger)       k-th smallest  R     median  R
    mean, variance  R / n, R^2 / n where the number of records in the group is not secret to the noise             (3)

A mean or variance that is made of totals with noise has no such bound below the width of its interval.

Source: O'Keefe & Charest 2019, section 4.2, corrected; (2) and (3) are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import sqrt

from penstock.mechanisms.columns import Declared
from penstock.mechanisms.statistics._bootstrap_settings import membership
from penstock.mechanisms.statistics._settings import Params, Statistic, epsilons, figure_grid, layout
from penstock.mechanisms.table.draws import noise_of

__all__ = ["bootstrap_expected"]

_LEVEL = 0.95
_GAMMA = 0.05
_NO_BOUND = {
    "mean": "made of a total and a count with noise, so its error depends on how many records there are",
    "variance": "made of two totals and a count with noise, so its error depends on how many records there are",
}


def bootstrap_expected(params: Params, declared: Declared, records: int | None) -> Iterator[str]:
    """Yield sentences for the person who chooses the settings; none of them depends on the data."""
    groups, spent = layout(params, declared).rows, epsilons(params)
    if any(figure.statistic != "count" for figure in params.figures):
        yield (
            "The size of the noise follows the smallest and the largest value of each group: it is secret, and not "
            "known before they are read. So no gamma-accuracy is known before, except for counts; below are bounds."
        )
    for figure in params.figures:
        epsilon = spent[figure.name]
        if figure.statistic == "count":
            yield _of_count(figure.name, epsilon, groups)
        else:
            yield f"{figure.name}: {_at_most(figure, params, declared, records)} (laplace, epsilon {epsilon})."
    if any(figure.statistic in ("median", "quantile", "minimum", "maximum") for figure in params.figures):
        yield (
            "Medians, quantiles and extremes have noise as wide as all values of the group, because data sets made of "
            "the actual records may have any of them in the middle. It does not fall with the number of records."
        )
    yield (
        "The release is refused if no record of the data could change a figure of a group that has records, as where "
        "all values are equal"
        + (", or if the chosen group has none and a figure other than a count is asked." if params.only else ".")
    )


def _of_count(name: str, epsilon: Fraction, groups: int) -> str:
    noise = noise_of("laplace", (1,), epsilon)
    told = (
        f"{name}: standard error {_figure(sqrt(noise.variances[0]))}, 95 % interval ± {noise.half_width(0, _LEVEL):,}"
    )
    if groups > 1:
        at_once = noise.half_width(0, 1 - _GAMMA / groups)
        told += f", all {groups:,} at once within ± {at_once:,} with probability {1 - _GAMMA:g}"
    return f"{told} (laplace, epsilon {epsilon} in a group)."


def _at_most(figure: Statistic, params: Params, declared: Declared, records: int | None) -> str:
    kind, among = figure.statistic, membership(params)
    grid, epsilon = figure_grid(figure, declared), epsilons(params)[figure.name]
    if kind in _NO_BOUND and among in ("chosen", "moving"):
        return _NO_BOUND[kind]
    reach, per_group = Fraction(grid.steps) * grid.eta, ""
    if kind == "sum" and among != "fixed":
        largest = max(abs(grid.first), abs(grid.first + grid.steps)) * grid.eta
        replaced_alone = (among, params.adjacency) == ("chosen", "bootstrap_replace")
        reach = max(reach, largest) if replaced_alone else largest
    if kind == "variance":
        reach *= grid.steps * grid.eta
    worst = sqrt(2) * float(reach / epsilon)
    if kind in _NO_BOUND:
        per_group = " / n in a group of n records"
        if records is not None and among == "fixed" and not params.groups:
            worst, per_group = worst / records, ""
    elif kind != "sum":
        worst = min(worst, float(grid.steps * grid.eta))  # answers are kept within the domain
    return f"standard error at most {_figure(worst)}{per_group}"


def _figure(number: float) -> str:
    """Return a number with three significant digits."""
    return f"{float(f'{number:.3g}'):,g}"
