"""Variation of the quasi-identifiers inside groups.

SSE = sum over groups g, records r of g and coordinates x of (x_r - mean_g)^2,   SST = SSE with one group       (1)

number    (x - low) / (high - low) of the declared domain
ordinal   code / (C - 1) for C categories
nominal   e_code / sqrt(2), so that different categories lie at distance 1; for them (1) is
          sum over groups of  1/2 sum_c n_gc (1 - n_gc / n_g),   n_gc records of category c                     (2)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.measures.groups.output import BucketOutput
from penstock.measures.measurement import MeasureUndefined
from penstock.measures.rows import numbers
from penstock.mechanisms.columns import named

__all__ = ["share_inside_groups"]

Integers = NDArray[np.int64]


def share_inside_groups(output: BucketOutput, group: Integers) -> float:
    """Return SSE / SST of all quasi-identifiers together; 0 where there is nothing to explain."""
    names = named(output.source, "quasi_identifier")
    if not names:
        raise MeasureUndefined.at("quasi_identifier_loss", rule="needs a quasi-identifier", remedy="Remove the gate.")
    inside = total = 0.0
    everybody = np.zeros_like(group)
    for name in names:
        column = output.source[name]
        values = numbers(output.original[name], column, name)  # a missing nominal category is -1
        if not bool(np.isfinite(values).all()):
            raise MeasureUndefined.at(name, rule="needs a finite value in every record", remedy="Fill in or drop it.")
        if column.type == "nominal":
            codes = values.astype(np.int64) + 1
            inside += _of_categories(codes, group)
            total += _of_categories(codes, everybody)
        else:
            low, high = column.bounds
            scaled = (values - low) / (high - low)
            scaled -= scaled[0]  # so that a constant column has no variation at all, not even that of rounding
            inside += _of_numbers(scaled, group)
            total += _of_numbers(scaled, everybody)
    return inside / total if total else 0.0


def _of_numbers(values: NDArray[np.float64], group: Integers) -> float:
    """(1) of one coordinate."""
    means = np.bincount(group, values) / np.maximum(np.bincount(group), 1)
    apart = values - means[group]
    return float(apart @ apart)


def _of_categories(codes: Integers, group: Integers) -> float:
    """(2); the records of a group that share a category are a run of equal numbers."""
    categories = int(codes.max()) + 1
    cells, held = np.unique(group * categories + codes, return_counts=True)
    sizes = np.bincount(group)[cells // categories]
    return float((held * (1 - held / sizes)).sum() / 2)
