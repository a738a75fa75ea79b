"""Laplace noise on every record of a microaggregated file, as the thesis calibrated it. Reproduction, no guarantee.

    y_ij = min(max(c_ij + N_ij, 0), U_i),   N_ij ~ Laplace(b_i),   b_i = U_i / (k epsilon)                     (1)
    U_i = 1.5 max_j x_ij                                                                                        (2)
    E[y - c] = (b/2) (e^(-c/b) - e^(-(U-c)/b))                                                                  (3)
    E[(y - c)^2] = 2 b^2 - sum_(A in {c, U-c}) b (A + b) e^(-A/b)                                               (4)
    E[(y - x)^2] = E[(y - c)^2] + 2 (c - x) E[y - c] + (c - x)^2                                                (5)

c_ij is the mean of attribute i in the group of record j; with k = 1 it is the value x_ij itself. Groups are
those of the corners in turn (penstock.mechanisms.dp_microaggregation.orders) on (2).

Source: Soria-Comas 2013 (thesis), Algorithm 6.2 for (1), section 6.4.1 for (2) and the clamping, Algorithm 6.1
and section 6.3.3 for the groups; (3) to (5) are ours, by integrating the density. The source leaves open at which
corner its sequence starts, and its rule does not decide every tie. With four attributes 384 sequences keep
the rule (16 starts, 24 ways through the ties), and none gives the printed column "Insensit. MDAV" of Table 6.5;
what does is in census_tables.

Why (1) is not epsilon-differentially private, whatever the source says:

    a record that changes its group moves its own row by U, not by U / k, and k rows repeat every group mean
    with noise of their own: with one attribute the loss is up to (3k - 2) epsilon, and k epsilon if shuffled
    with several attributes one replacement can move every group mean by U / k
    every attribute spends the whole epsilon
    (2) takes the bounds, and so the scale of the noise, from the data
    the noise is a float: which sums are reachable depends on the value beneath

So this is a simulation, and epsilon is a number that once stood in a table, not a privacy loss.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.dp_microaggregation.orders import CORNER_STEPS, Axis, CornersInTurn
from penstock.mechanisms.microaggregation.centroids import grouped
from penstock.mechanisms.microaggregation.mdav import require_group_size
from penstock.mechanisms.randomness import Randomness

__all__ = ["add_noise", "corner_groups", "expected_squared_error", "group_means", "observed_bounds"]

Table = NDArray[np.float64]


def observed_bounds(values: Table) -> Table:
    """Return U of (2), one for each column of an (n, m) array."""
    bounds: Table = 1.5 * values.max(axis=0)
    return bounds


def corner_groups(values: Table, upper: Table, k: int) -> NDArray[np.int64]:
    """Return the group of every record: labels 0..J-1 in the order in which the corners took them."""
    _require_inside(values, upper)
    require_group_size(k, len(values), "values")
    levels = np.floor(values / upper * CORNER_STEPS + 0.5).astype(np.int64)
    axis = Axis(levels=CORNER_STEPS + 1, widest=CORNER_STEPS)
    blocks = CornersInTurn().cut(list(levels.T), [axis] * len(upper), k)
    labels = np.empty(len(values), dtype=np.int64)
    labels[blocks.rows] = np.repeat(np.arange(len(blocks.starts) - 1), np.diff(blocks.starts))
    return labels


def group_means(values: Table, labels: NDArray[np.int64]) -> Table:
    """Replace every record by the mean of its group; labels 0..J-1."""
    order, starts = grouped(labels)
    means: Table = np.add.reduceat(values[order], starts[:-1], axis=0) / np.diff(starts)[:, np.newaxis]
    return means[labels]


def add_noise(centroids: Table, upper: Table, k: int, epsilon: float, randomness: Randomness) -> Table:
    """Return one draw of (1): as many random words as cells, row by row."""
    scale = _scale(centroids, upper, k, epsilon)
    words = randomness.words(centroids.size).reshape(centroids.shape)
    # The middles of 2^52 equal parts of (-1/2, 1/2), so that neither end is reached and every logarithm is finite.
    uniform = ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52 - 0.5
    noise = -scale * np.sign(uniform) * np.log1p(-2.0 * np.abs(uniform))
    return np.clip(centroids + noise, 0.0, upper)


def expected_squared_error(values: Table, centroids: Table, upper: Table, k: int, epsilon: float) -> Table:
    """(5) for every cell, without drawing anything."""
    scale = _scale(centroids, upper, k, epsilon)
    above = upper - centroids
    # e^x - 1 instead of e^x: where the scale far exceeds the domain, the large terms of (4) cancel.
    below_zero, over_upper = np.expm1(-centroids / scale), np.expm1(-above / scale)
    shift = scale / 2 * (below_zero - over_upper)
    square = -scale * ((centroids + scale) * below_zero + centroids + (above + scale) * over_upper + above)
    error: Table = square + 2 * (centroids - values) * shift + (centroids - values) ** 2
    return error


def _scale(centroids: Table, upper: Table, k: int, epsilon: float) -> Table:
    """Return b of (1), one for each attribute."""
    _require_inside(centroids, upper)
    if not (k >= 1 and 0 < epsilon < np.inf):
        raise ValueError("k is at least 1, epsilon positive and finite")
    scale: Table = upper / (k * epsilon)
    return scale


def _require_inside(values: Table, upper: Table) -> None:
    if values.ndim != 2 or upper.shape != values.shape[1:]:
        raise ValueError("one row a record, and one bound for each attribute")
    if not bool(((values >= 0) & (values <= upper) & (upper > 0)).all()):
        raise ValueError("values lie between 0 and the bound, which is positive")
