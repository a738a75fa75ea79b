"""What the sources computed, kept to recompute their printed tables. Reproduction, no guarantee.

record_wise_laplace   the thesis' noise, U / (k epsilon) on every record and attribute, on the thesis' groups,
                      and the exact error of that noise
individual_tables     intervals and errors that individual differential privacy compares itself by
bootstrap_tables      the ranges inside cells that a paper takes for sensitivities, and its tables of them

The sources promise more for these than holds, and the modules say why. So nothing here can be
published: every function returns a bare array and never a `Protected`, a release accepts nothing else, no spec
can name what is here, and no other module of the product imports it.
"""

from __future__ import annotations

from mechanisms.reproduction.individual_tables import clamped_count_error, errors_of_counts, intervals_of_medians
from mechanisms.reproduction.record_wise_laplace import (
    add_noise,
    corner_groups,
    expected_squared_error,
    group_means,
    observed_bounds,
)

__all__ = [
    "add_noise",
    "clamped_count_error",
    "corner_groups",
    "errors_of_counts",
    "expected_squared_error",
    "group_means",
    "intervals_of_medians",
    "observed_bounds",
]
