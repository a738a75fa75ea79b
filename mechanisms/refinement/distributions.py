"""Distributions of scipy.stats that can be a prior: those whose weights take a second at most, whatever is asked.

    P(i) ~ F(x_i + eta/2) - F(x_i - eta/2)                                                                         (1)

F has a closed form or is a special function. Left out is what scipy integrates, adds up, or searches for point by point
(`levy_stable`, `zipf`, `irwinhall`, `skewnorm`), what is a series that grows with its parameters (`ncx2`, `hypergeom`,
`ksone`), what does not lie on the line (`vonmises`), and `erlang`, a `gamma` that only warns. A test derives the list
from scipy anew. The incomplete beta function is a continued fraction that grows with the root of its parameters: 2^16
points of beta(10^15, 10^15) take minutes, so these parameters have a bound here.

Where floats do not carry F, so that it falls, leaves [0, 1] or is not 1 less what lies above, it is refused.
"""

from __future__ import annotations

import functools
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.numbers.grid import Grid
from penstock.mechanisms.refusal import SettingRefused

__all__ = ["BY_INCOMPLETE_BETA", "DISTRIBUTIONS", "MOST_PARAMETER", "chances"]

DISTRIBUTIONS: Final = (
    "alpha",
    "anglit",
    "arcsine",
    "argus",
    "bernoulli",
    "beta",
    "betaprime",
    "binom",
    "boltzmann",
    "bradford",
    "burr",
    "burr12",
    "cauchy",
    "chi",
    "chi2",
    "cosine",
    "crystalball",
    "dgamma",
    "dlaplace",
    "dpareto_lognorm",
    "dweibull",
    "expon",
    "exponnorm",
    "exponpow",
    "exponweib",
    "f",
    "fatiguelife",
    "fisk",
    "foldcauchy",
    "foldnorm",
    "gamma",
    "genexpon",
    "genextreme",
    "gengamma",
    "genhalflogistic",
    "genlogistic",
    "gennorm",
    "genpareto",
    "geom",
    "gibrat",
    "gompertz",
    "gumbel_l",
    "gumbel_r",
    "halfcauchy",
    "halfgennorm",
    "halflogistic",
    "halfnorm",
    "hypsecant",
    "invgamma",
    "invgauss",
    "invweibull",
    "jf_skew_t",
    "johnsonsb",
    "johnsonsu",
    "kappa3",
    "kappa4",
    "kstwobign",
    "landau",
    "laplace",
    "laplace_asymmetric",
    "levy",
    "levy_l",
    "loggamma",
    "logistic",
    "loglaplace",
    "lognorm",
    "loguniform",
    "lomax",
    "maxwell",
    "mielke",
    "moyal",
    "nakagami",
    "nbinom",
    "norm",
    "pareto",
    "pearson3",
    "planck",
    "poisson",
    "powerlaw",
    "powerlognorm",
    "powernorm",
    "randint",
    "rayleigh",
    "rdist",
    "recipinvgauss",
    "reciprocal",
    "rel_breitwigner",
    "semicircular",
    "skewcauchy",
    "t",
    "trapezoid",
    "triang",
    "truncexpon",
    "truncnorm",
    "truncpareto",
    "truncweibull_min",
    "tukeylambda",
    "uniform",
    "vonmises_line",
    "wald",
    "weibull_max",
    "weibull_min",
    "wrapcauchy",
    "yulesimon",
)
BY_INCOMPLETE_BETA = frozenset({"beta", "betaprime", "binom", "f", "jf_skew_t", "nbinom", "rdist"})
MOST_PARAMETER = 10**5  # of those
# Below this, errors of floats move no more of a prior than one point of the finest grid has on average.
_APART = 2.0**-16
_HISTOGRAM = "Correct them, or give a histogram, with a mass for each band."


@functools.lru_cache(maxsize=32)  # a plan asks several times for each column
def chances(name: str, parameters: tuple[tuple[str, float], ...], grid: Grid, field: str) -> NDArray[np.float64]:
    """Return (1) for the points of a grid, not yet divided by its sum; refuse parameters that it does not have."""
    from scipy import stats  # a second of imports, for those who name a distribution

    if name in BY_INCOMPLETE_BETA:
        _require_small(name, parameters, field)
    points = grid.values(np.arange(grid.steps + 1)).astype(np.float64)
    half = float(grid.eta) / 2
    try:
        with np.errstate(all="ignore"):
            frozen = getattr(stats, name)(**dict(parameters))
            edges = np.append(points - half, points[-1] + half)
            below, above = frozen.cdf(edges), frozen.sf(edges)
    except (TypeError, ValueError, ArithmeticError):  # scipy divides by parameters that are plain numbers
        raise SettingRefused.at(field, rule=f"must be those of {name} in scipy.stats", remedy="Correct them.") from None
    if not np.isfinite([below, above]).all():
        raise SettingRefused.at(field, rule=f"must be possible for {name}", remedy=_HISTOGRAM)
    rises = np.diff(below).min() >= -_APART and np.diff(above).max() <= _APART
    if not rises or below.min() < -_APART or below.max() > 1 + _APART or np.abs(below + above - 1).max() > _APART:
        raise SettingRefused.at(field, rule=f"must be such that floats carry {name}", remedy=_HISTOGRAM)
    # Near 1 floats are too coarse for small probabilities; the same from above tells them.
    found: NDArray[np.float64] = np.maximum(np.maximum(np.diff(below), -np.diff(above)), 0.0)
    found.setflags(write=False)
    return found


def _require_small(name: str, parameters: tuple[tuple[str, float], ...], field: str) -> None:
    for key, value in parameters:
        if key not in ("loc", "scale") and abs(value) > MOST_PARAMETER:
            rule = f"must be at most {MOST_PARAMETER:,} for {name}, which takes for ever beyond"
            remedy = "Give norm, which is next to the same there, or a histogram."
            raise SettingRefused.at(f"{field}.{key}", rule=rule, got=value, remedy=remedy)
