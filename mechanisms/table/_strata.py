"""Sampling errors of exact weighted figures from a stratified sample, as if its units were drawn with replacement.

    z_i = sum over the records of unit i in the row of w,   or of w x                                             (1)
    of a mean m = sum w x / W:   z_i = sum over the records of unit i in the row of w (x - m) / W                  (2)
    v = sum over strata h of n_h / (n_h - 1) * sum over the n_h sampled units i of h of (z_i - mean_h)^2          (3)
    sampling error = sqrt(v)

A unit is a record or, where contributors are counted, all records of one of them (ultimate clusters). n_h is counted in
all records of the source, and a unit without a record in the row has z_i = 0: so the number of units that fall into a
row is taken as random, as it is. With p of them there, (3) is made of the p alone:

    sum (z_i - mean_h)^2 = sum over the p of (z_i - mean_h)^2 + (n_h - p) mean_h^2                                 (4)

Work: for each level of the table one sorting of the records by row and unit, and one of these by row and stratum.

Source: Wolter 2007, "Introduction to Variance Estimation", 2nd ed., chapter 1 for (3), chapter 6 (Taylor series) for
(2); Lumley 2010, "Complex Surveys", chapters 2 and 3, for strata, clusters and domains. Where units were drawn without
replacement (3) is too large, by about the sampling fraction. A declared stratum without any unit adds
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.refusal import TooFewRecords, ValueOutsideDomain

__all__ = ["Sampled", "sampled"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """The stratum of every record, n_h of every stratum, and whose each record is; None where it is its own unit."""

    strata: Integers
    sizes: Integers
    units: Integers | None

    def variances(
        self, rows: Integers, number: int, weights: Floats, values: Mapping[str, Floats], means: Mapping[str, Floats]
    ) -> tuple[Floats, dict[str, Floats], dict[str, Floats]]:
        """Return (3) of the count, of the total and of the mean of each column, in the rows of a level.

        rows: of each record; number: of the rows. values: x of each record, by column. means: m of the columns that
        have one, in every row.
        """
        rows, strata, count, totals = self._by_unit(rows, weights, values)
        groups, which, present = np.unique(rows * len(self.sizes) + strata, return_inverse=True, return_counts=True)
        n = self.sizes[groups % len(self.sizes)].astype(np.float64)
        of_row = groups // len(self.sizes)

        def variance(z: Floats) -> Floats:
            mean = _added(which, z, len(groups)) / n
            squares = _added(which, (z - mean[which]) ** 2, len(groups)) + (n - present) * mean**2
            return _added(of_row, n / (n - 1) * squares, number)

        whole = _added(rows, count, number)
        of_means = {}
        for name, mean in means.items():
            with np.errstate(invalid="ignore", divide="ignore"):
                found = variance((totals[name] - mean[rows] * count) / whole[rows])
            of_means[name] = np.where(np.isnan(mean), np.nan, found)
        return variance(count), {name: variance(each) for name, each in totals.items()}, of_means

    def _by_unit(
        self, rows: Integers, weights: Floats, values: Mapping[str, Floats]
    ) -> tuple[Integers, Integers, Floats, dict[str, Floats]]:
        """Return row, stratum and (1) of every unit in every row where it has a record."""
        if self.units is None:
            return rows, self.strata, weights, {name: weights * each for name, each in values.items()}
        pairs, first, which = np.unique(
            rows * (int(self.units.max(initial=0)) + 1) + self.units, return_index=True, return_inverse=True
        )
        totals = {name: _added(which, weights * each, len(pairs)) for name, each in values.items()}
        return rows[first], self.strata[first], _added(which, weights, len(pairs)), totals


def _added(places: Integers, values: Floats, number: int) -> Floats:
    """Return the sum of the values at each place."""
    return np.bincount(places, values, number).astype(np.float64, copy=False)


def sampled(strata: Integers, number: int, units: Integers | None, column: str) -> Sampled:
    """Return the sample of records with these strata, of so many declared ones; refuse one that (3) does not cover."""
    if units is None:
        sizes = np.bincount(strata, minlength=number)
    else:
        _, first, which = np.unique(units, return_index=True, return_inverse=True)
        if bool((strata[first][which] != strata).any()):
            raise ValueOutsideDomain.at(
                column,
                rule="must be the same in all records of a unit: it was sampled in one stratum",
                remedy="Correct the strata, or count the units that were sampled in source.unit.",
            )
        sizes = np.bincount(strata[first], minlength=number)
    if bool((sizes == 1).any()):
        raise TooFewRecords.at(
            "weight.strata",
            rule="must have two sampled units or more in every stratum that has any: one alone shows no spread",
            remedy="Merge strata that are alike.",
        )
    return Sampled(strata, sizes.astype(np.int64), units)
