"""What Tables 6.1, 6.2 and 6.5 of the thesis compare on one file of numbers. Reproduction, no guarantee.

    every record replaced by the mean of its group, groups by MDAV on x_ij / U_i                                  (1)
    the same, groups by the corners in turn on x_ij / U_i; with k = 1 the file itself                             (2)
    several draws of the record-wise noise on (2)                                                                 (3)
    |theta' - theta| / |theta|,   theta the mean, and the population variance, of one attribute                   (4)

U_i = 1.5 max_j x_ij. Source: Soria-Comas 2013 (thesis), sections 6.4.1 to 6.4.3. Table 6.1 sets (1) beside (3),
Table 6.2 the noise alone beside (3), and Table 6.5 gives (4) for all of them.

Why this is no release: U is taken from the data, and (3) does not keep the epsilon of the source; see
record_wise_laplace.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.microaggregation import mdav
from penstock.mechanisms.randomness import Randomness
from penstock.reproduction.computed.record_wise_laplace import add_noise, corner_groups, group_means, observed_bounds

__all__ = ["corner_means", "masked_runs", "mdav_means", "relative_changes"]

Table = NDArray[np.float64]


def mdav_means(values: Table, k: int) -> Table:
    """(1)."""
    return group_means(values, mdav(values / observed_bounds(values), k))


def corner_means(values: Table, k: int) -> Table:
    """(2)."""
    return values if k == 1 else group_means(values, corner_groups(values, observed_bounds(values), k))


def masked_runs(centroids: Table, upper: Table, k: int, epsilon: float, runs: int, randomness: Randomness) -> Table:
    """(3), in an array with one file for each run."""
    return np.stack([add_noise(centroids, upper, k, epsilon, randomness) for _ in range(runs)])


def relative_changes(values: Table, masked: Table) -> Table:
    """(4), one column for each attribute, in rows mean and variance."""
    before, after = (np.array([table.mean(axis=0), table.var(axis=0)]) for table in (values, masked))
    changes: Table = np.abs(after / before - 1)
    return changes
