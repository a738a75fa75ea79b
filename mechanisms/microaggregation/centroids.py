"""One value that stands for a group, by the type of the column.

    continuous   the mean                               integer   floor(mean + 1/2)
    ordinal      the lower median category              nominal   the most frequent category, ties by declared order

Source: Domingo-Ferrer & Torra 2005, section 3 (mean, median, plurality rule). Each is computed once for each
group and copied, so that all records of a group have the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column

__all__ = ["centroid", "grouped"]


def grouped(labels: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows in the order of their labels 0..J-1, and where each group starts in it (and the last one ends)."""
    return np.argsort(labels, kind="stable"), np.append(0, np.cumsum(np.bincount(labels)))


def centroid(values: NDArray[Any], column: Column, name: str, labels: NDArray[np.int64]) -> NDArray[Any]:
    """Replace every value by that of its group; categories keep their representation, integers their dtype."""
    if column.numeric:
        return _mean(values, column, labels)
    codes = column.codes(values, name)
    # Missing, where it counts as a category, comes after the declared ones.
    codes = np.where(codes < 0, len(column.categories or ()), codes)
    representative = _median_row(codes, labels) if column.type == "ordinal" else _most_frequent_row(codes, labels)
    return values[representative[labels]]


def _mean(values: NDArray[Any], column: Column, labels: NDArray[np.int64]) -> NDArray[Any]:
    order, starts = grouped(labels)
    ordered = values[order].astype(np.float64)
    means = np.add.reduceat(ordered, starts[:-1]) / np.diff(starts)
    whole = column.type == "integer"
    if whole:
        means = np.floor(means + 0.5)
    # The rounded mean of equal numbers may miss them by a bit, and so leave the declared domain.
    means = np.clip(means, np.minimum.reduceat(ordered, starts[:-1]), np.maximum.reduceat(ordered, starts[:-1]))
    return means.astype(values.dtype if whole or values.dtype.kind == "f" else np.float64)[labels]


def _median_row(codes: NDArray[np.int64], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each group a row that holds its lower median."""
    order = np.lexsort((codes, labels))
    _, starts = grouped(labels)
    rows: NDArray[np.int64] = order[starts[:-1] + (np.diff(starts) - 1) // 2]
    return rows


def _most_frequent_row(codes: NDArray[np.int64], labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each group a row that holds its most frequent code, the lowest of them in a tie."""
    order = np.lexsort((codes, labels))
    code, label = codes[order], labels[order]
    runs = np.append(0, np.flatnonzero((code[1:] != code[:-1]) | (label[1:] != label[:-1])) + 1)
    counts = np.diff(np.append(runs, len(order)))
    best = np.lexsort((code[runs], -counts, label[runs]))
    _, first = np.unique(label[runs][best], return_index=True)
    rows: NDArray[np.int64] = order[runs[best[first]]]
    return rows
