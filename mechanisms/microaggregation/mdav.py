"""MDAV: maximum distance to average vector.

    while 3k or more records remain:
        x1 = the record farthest from the mean of the remaining records
        a cluster of x1 and the k-1 records nearest to it leaves
        x2 = the remaining record farthest from x1
        a cluster of x2 and the k-1 records nearest to it leaves
    if 2k or more remain: one more cluster around the record farthest from their mean
    the rest, k to 2k-1 records, is the last cluster

Source: Domingo-Ferrer & Torra 2005, "Ordinal, continuous and heterogeneous k-anonymity through
microaggregation", Algorithm MDAV-generic. What the source leaves open is fixed here: distances are
squared Euclidean, added up in the order of the coordinates; ties go to the lowest row; the mean is
a running sum (started in row order, members subtracted in row order as a cluster leaves) divided by
the number remaining. A fresh mean may differ in its last bit and so decide a tie otherwise.

Two ways give the same labels, bit for bit. By scans: 3 scans of the remaining points for every 2k of them, so
about 3 n^2 d / 4k subtractions. By k-d trees (_tree.py): about n^1.2 at d = 3, more in higher dimensions,
but each step costs more. Memory is O(n d) for both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.refusal import ColumnTypeWrong, SettingRefused, TooFewRecords, ValueMissing

__all__ = ["coordinates_of", "mdav", "mdav_by_trees", "require_group_size", "running_sum"]

# Trees were faster on mixtures, skewed, even and categorical points where n^2 >= 1.5e7 d k, and scans below it; above
# 10 dimensions boxes say little about distances, and it depends on the data.
_WORTH_A_TREE, _MOST_DIMENSIONS = 15_000_000, 10
# Squares of differences below this stay finite, and so does their sum over the coordinates.
_LARGEST = 1e150


def mdav(points: NDArray[Any], k: int) -> NDArray[np.int64]:
    """Return the cluster of every row of an (n, d) array: labels 0..J-1 in the order in which clusters are formed."""
    coordinates = coordinates_of(points)
    require_group_size(k, len(points), "points")
    d, n = coordinates.shape
    if d <= _MOST_DIMENSIONS and n * n >= _WORTH_A_TREE * d * k:
        return mdav_by_trees(coordinates, k)
    from penstock.mechanisms.microaggregation.kernels import mdav_labels

    labels: NDArray[np.int64] = mdav_labels(coordinates, k)
    return labels


def mdav_by_trees(coordinates: NDArray[np.float64], k: int) -> NDArray[np.int64]:
    """Return the labels of `mdav` for the points given as columns, by trees."""
    from penstock.mechanisms.microaggregation._leaves import arranged
    from penstock.mechanisms.microaggregation._rounds import mdav_round
    from penstock.mechanisms.microaggregation._tree import LEAF

    d, n = coordinates.shape
    total, centre = running_sum(coordinates), np.empty(d)
    labels = np.full(n, -1)
    state = np.array([n, 0, 0])
    while state[0] >= 2 * k:
        rows = np.flatnonzero(labels < 0)
        planted = arranged(coordinates, rows, np.array([0, len(rows)]), LEAF)
        mdav_round(*planted, k, total, centre, labels, state)
    labels[labels < 0] = state[1]
    return labels


def running_sum(coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of every row, added up in the order of the columns."""
    return np.array([np.cumsum(coordinate)[-1] for coordinate in coordinates])


def coordinates_of(points: NDArray[Any]) -> NDArray[np.float64]:
    """Return a row for each column of the points, as a copy; refuse what has no distances."""
    if points.ndim != 2 or points.shape[1] < 1 or points.dtype.kind not in "iuf":
        raise ColumnTypeWrong.at(
            "points",
            rule="must be an array of numbers with one row per record and at least one column",
            remedy="Reshape it.",
        )
    coordinates = np.array(points.T, dtype=np.float64, order="C")
    # Written so that NaN fails it too.
    if not bool((np.abs(coordinates) <= _LARGEST).all()):
        raise ValueMissing.at(
            "points",
            rule=f"must hold only numbers of size up to {_LARGEST:g}",
            remedy="Drop or fill in missing values, or scale the columns.",
        )
    return coordinates


def require_group_size(k: int, records: int, field: str) -> None:
    """Refuse a group size that is not a whole number from 1 to the number of records."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise SettingRefused.at("k", rule="must be a whole number, at least 1", got=k, remedy="Choose the group size.")
    if records < k:
        raise TooFewRecords.at(
            field, rule=f"needs at least k = {k} records with a value", remedy="Lower k or add records."
        )
