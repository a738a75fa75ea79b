"""What the sources computed, kept to recompute their printed tables. Reproduction, no guarantee.

record_wise_laplace   the thesis' noise, U / (k epsilon) on every record and attribute, on the thesis' groups,
                      and the exact error of that noise

The source calls this differential privacy; it is not, and the module says why. So nothing here can be
published: every function returns a bare array and never a `Protected`, a release accepts nothing else, no spec
can name what is here, and no other module of the product imports it.
"""

from __future__ import annotations

from mechanisms.reproduction.record_wise_laplace import (
    add_noise,
    corner_groups,
    expected_squared_error,
    group_means,
    observed_bounds,
)

__all__ = ["add_noise", "corner_groups", "expected_squared_error", "group_means", "observed_bounds"]
