"""What the data lost: values, means, variances and correlations, original against released.

Write x_ij for the original and x'_ij for the released value of column i and record j, s_i for the
standard deviation (n - 1) of the original column. All measures are exact and unweighted; lower
is better; 0 says that nothing changed in the sense of that measure, not that nothing changed.

A column whose original values are all equal has no scale. It contributes 0 while it is unchanged; once
changed, every measure in units of s_i is undefined and refused, because any number would be arbitrary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.measures.asked import NOTHING, Asked
from penstock.measures.measurement import Measurement, MeasureUndefined
from penstock.measures.records.comparison import Comparison
from penstock.measures.records.distances import complete_in, semantic
from penstock.mechanisms.taxonomy import GRID

__all__ = [
    "correlation_change",
    "il1s",
    "mean_change",
    "mean_correlation_change",
    "relative_mean_change",
    "sse",
    "variance_change",
]

_BY_COLUMN = "per column, records with a value on both sides"
_BY_PAIR = "per pair of columns, records with both values on both sides"

# A variance below this share of the second moment is rounding noise: the column is constant there.
_NO_VARIATION = 1e-10


def sse(pair: Comparison, asked: Asked = NOTHING) -> Measurement:
    """Return the sum of squared errors on raw values.

        SSE = sum_j sum_i dist(x_ij, x'_ij)^2

    Source: Soria-Comas, PhD thesis, section 6.4.2. dist is the difference of numbers, the difference
    of codes for ordinal columns, and 0 or 1 for nominal columns, which is never less than the semantic distance (6.6)
    of the thesis; with `scaling: taxonomy` it is that one where a column has a taxonomy, in whole multiples of 2^-32.
    Limits: the unit is that of the columns squared, so the column with the largest numbers
    decides; compare only releases of the same columns.
    """
    parts, fewest = {}, pair.records
    for name in pair.names:
        if asked.scaling == "taxonomy" and pair.declared[name].taxonomy is not None:
            parts[name], n = _semantic_error(pair, name)
            fewest = min(fewest, _at_least_one(n, name))
            continue
        nominal = pair.declared[name].type == "nominal"
        total, n = 0.0, 0
        for x, y in pair.present(name):
            total += float(np.count_nonzero(x != y)) if nominal else _sum_of_squares(y - x)
            n += len(x)
        parts[name], fewest = total, min(fewest, _at_least_one(n, name))
    return _utility("sse", sum(parts.values()), parts, fewest)


def _semantic_error(pair: Comparison, name: str) -> tuple[float, int]:
    """Return the sum of squared distances in the taxonomy, and how many records have a value on both sides."""
    rows = complete_in(pair, (name,))
    column = semantic(pair, name, rows)
    squares = column.scores[column.original, column.released] ** 2
    return sum(squares.tolist()) / GRID**2, len(squares)


def il1s(pair: Comparison) -> Measurement:
    """Return the mean absolute change in units of the spread of each column.

        IL1s = (1 / (n p)) sum_i sum_j |x_ij - x'_ij| / (sqrt(2) s_i)

    Source: Yancey, Winkler & Creecy 2002, Inference Control in Statistical Databases (LNCS 2316),
    p. 135; Mateo-Sanz, Domingo-Ferrer & Sebe 2005. We report the mean over cells; sdcMicro's
    dUtility returns the sum, which grows with the file. Numeric columns and ordinal codes.
    Limits: a mean can hide a small number of large changes.
    """
    names = _some(pair.of_type("integer", "continuous", "ordinal"), "il1s", "a numeric or ordinal column")
    spreads = {name: _spread(pair, name) for name in names}
    parts = {
        name: 0.0 if spread.unchanged else spread.absolute_change / (spread.n * math.sqrt(2 * spread.variance))
        for name, spread in spreads.items()
    }
    cells = [spread.n for spread in spreads.values()]
    value = sum(part * n for part, n in zip(parts.values(), cells, strict=True)) / sum(cells)
    return _utility("il1s", value, parts, min(cells))


def mean_change(pair: Comparison) -> Measurement:
    """Return the largest change of a mean, in standard deviations.

        max_i |mean(x'_i) - mean(x_i)| / s_i

    Source: the first-moment comparison of the ESS Handbook on Statistical Disclosure Control, 2nd ed.,
    section 3.5, scaled so that columns compare. Numeric columns. Limits: swapping keeps every mean,
    so 0 (up to rounding of the sum) is what a correct swap gives, not a sign of quality.
    """
    names = _some(pair.of_type("integer", "continuous"), "mean_change", "a numeric column")
    spreads = {name: _spread(pair, name) for name in names}
    parts = {
        name: 0.0 if spread.unchanged else abs(spread.released_mean - spread.mean) / math.sqrt(spread.variance)
        for name, spread in spreads.items()
    }
    return _utility("mean_change", max(parts.values()), parts, min(spread.n for spread in spreads.values()))


def relative_mean_change(pair: Comparison) -> Measurement:
    """Return the largest change of a mean, relative to that mean.

        Delta = max_i |mean(x'_i) - mean(x_i)| / |mean(x_i)|

    Source: Soria-Comas 2013 (thesis), section 6.4.4, Delta(Theta) of means in table 6.5; that of variances is
    variance_change. Numeric columns. A mean of 0 has no relative change, and one that cannot be told from 0 by the
    rounding of its sum neither: both are refused. Limits: depends on where 0 lies, so it means little for
    temperatures or balances; mean_change is in standard deviations.
    """
    names = _some(pair.of_type("integer", "continuous"), "relative_mean_change", "a numeric column")
    parts, fewest = {}, pair.records
    for name in names:
        mean, released_mean = _centres(pair, name)
        size, n = 0.0, 0
        for x, _ in pair.present(name):
            size += float(np.abs(x).sum())
            n += len(x)
        if abs(mean) <= _NO_VARIATION * size / n:
            raise MeasureUndefined.at(
                name, rule="needs a mean that is not 0", remedy="Use mean_change, or leave the column out."
            )
        parts[name], fewest = abs(released_mean - mean) / abs(mean), min(fewest, n)
    return _utility("relative_mean_change", max(parts.values()), parts, fewest)


def variance_change(pair: Comparison) -> Measurement:
    """Return the largest relative change of a variance.

        max_i |var(x'_i) / var(x_i) - 1|

    Source: the second-moment comparison of the ESS Handbook, 2nd ed., section 3.5. Numeric columns.
    Limits: 1 is the most that smoothing can do, noise has no such ceiling; so the measure weighs the
    two unequally.
    """
    names = _some(pair.of_type("integer", "continuous"), "variance_change", "a numeric column")
    spreads = {name: _spread(pair, name) for name in names}
    parts = {
        name: 0.0 if spread.unchanged else abs(spread.released_variance / spread.variance - 1)
        for name, spread in spreads.items()
    }
    return _utility("variance_change", max(parts.values()), parts, min(spread.n for spread in spreads.values()))


def correlation_change(pair: Comparison) -> Measurement:
    """Return the largest change of a correlation.

        max_{h < i} |r(x'_h, x'_i) - r(x_h, x_i)|,   r = Pearson's correlation

    Source: the correlation comparison of the ESS Handbook, 2nd ed., section 3.5, as a maximum so that
    one broken relation is not averaged away. Numeric columns and ordinal codes. by_column is the
    largest change of any pair with that column. Limits: linear relations only; two correlations of a
    pair that both vanish may hide a changed non-linear relation.
    """
    names, counts, change = _changes(pair, "correlation_change")
    parts = {name: float(largest) for name, largest in zip(names, change.max(axis=0), strict=True)}
    return Measurement(
        name="correlation_change",
        value=max(parts.values()),
        direction="lower_is_better",
        n=int(counts.min()),
        columns=names,
        by_column=parts,
        missing=_BY_PAIR,
    )


def mean_correlation_change(pair: Comparison) -> Measurement:
    """Return the mean change of a correlation to a confidential column.

        mean over pairs {h, i}, i confidential, h != i, of |r(x'_h, x'_i) - r(x_h, x_i)|

    Source: Soria-Comas 2013 (thesis), section 3.4, tables 3.10 and 3.11. Those also average each column's
    correlation with itself, which is always 1: with c confidential columns of d in all their mean is ours times
    P / (P + c), P = c (d - c) + c (c - 1) / 2 pairs. Beside it stands the standard deviation over the pairs (divided by
    their number). Numeric columns and ordinal codes. by_column is the mean over the pairs with that column. Limits:
    linear relations only; a mean hides one broken relation among many kept ones, see correlation_change.
    """
    names, counts, change = _changes(pair, "mean_correlation_change")
    confidential = np.array([pair.declared[name].role == "confidential" for name in names])
    counted = confidential[:, np.newaxis] | confidential
    np.fill_diagonal(counted, False)
    _some(tuple(np.array(names)[confidential]), "mean_correlation_change", "a numeric or ordinal confidential column")
    of_pairs = change[np.triu(counted)]
    parts = {name: float(change[i][counted[i]].mean()) for i, name in enumerate(names) if counted[i].any()}
    return Measurement(
        name="mean_correlation_change",
        value=float(of_pairs.mean()),
        direction="lower_is_better",
        n=int(counts[counted].min()),
        columns=names,
        by_column=parts,
        missing=_BY_PAIR,
        beside={"standard deviation": float(of_pairs.std())},
    )


@dataclass(frozen=True, slots=True)
class _Spread:
    n: int
    mean: float
    released_mean: float
    variance: float
    released_variance: float
    absolute_change: float

    @property
    def unchanged(self) -> bool:
        return self.absolute_change == 0


def _spread(pair: Comparison, name: str) -> _Spread:
    if ("spread", name) not in pair.known:
        pair.known["spread", name] = _moments(pair, name)
    spread: _Spread = pair.known["spread", name]
    return spread


def _moments(pair: Comparison, name: str) -> _Spread:
    """Compute moments in two passes: means first, then deviations from them, which keeps all digits."""
    mean, released_mean = _centres(pair, name)
    n, squares, released_squares, change = 0, 0.0, 0.0, 0.0
    low, high = math.inf, -math.inf
    for x, y in pair.present(name):
        n += len(x)
        squares += _sum_of_squares(x - mean)
        released_squares += _sum_of_squares(y - released_mean)
        change += float(np.abs(y - x).sum())
        low, high = min(low, float(x.min(initial=low))), max(high, float(x.max(initial=high)))
    if (low == high or squares == 0) and change > 0:
        raise MeasureUndefined.at(
            name,
            rule="needs original values that differ: a change has no scale without them",
            remedy="Remove the gate, or leave the column out.",
        )
    degrees = max(n - 1, 1)
    return _Spread(n, mean, released_mean, squares / degrees, released_squares / degrees, change)


def _centres(pair: Comparison, name: str) -> tuple[float, float]:
    n, total, released_total = 0, 0.0, 0.0
    for x, y in pair.present(name):
        n += len(x)
        total += float(x.sum())
        released_total += float(y.sum())
    _at_least_one(n, name)
    return total / n, released_total / n


def _sum_of_squares(values: NDArray[np.float64]) -> float:
    return float(np.dot(values, values))


def _correlations(
    pair: Comparison, names: tuple[str, ...], centres: NDArray[np.float64], measure: str
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return counts and correlations of all pairs, each over the records that are complete in that pair.

    With z centred and 0 where missing and m = 1 where present, every sum over the complete records
    of a pair is one entry of a matrix product: mm', zm', (z^2)m' and zz'.
    """
    d = len(names)
    counts = np.zeros((d, d))
    sums, squares, products = (np.zeros((2, d, d)) for _ in range(3))
    for block in zip(*(pair.blocks(name) for name in names), strict=True):
        values = np.array(block)
        values -= centres[:, :, np.newaxis]
        present = ~np.isnan(values).any(axis=1)
        complete = present.all()
        weight = present.astype(np.float64)
        counts += values.shape[2] if complete else np.matmul(weight, weight.T)
        for side in (0, 1):
            z = values[:, side] if complete else np.where(present, values[:, side], 0.0)
            product = np.matmul(z, z.T)
            products[side] += product
            sums[side] += z.sum(axis=1)[:, np.newaxis] if complete else np.matmul(z, weight.T)
            squares[side] += product.diagonal()[:, np.newaxis] if complete else np.matmul(z * z, weight.T)
    if counts.min() < 2:
        raise MeasureUndefined.at(
            measure,
            rule="needs at least two records with both values for every pair of columns",
            remedy="Remove the gate, or leave out the columns with missing values.",
        )
    correlations = []
    for s, q, p in zip(sums, squares, products, strict=True):
        variance = q - s * s / counts
        for i, name in enumerate(names):
            if not (variance[i] > _NO_VARIATION * q[i]).all():
                raise MeasureUndefined.at(
                    name,
                    rule="needs values that vary: a column without variation has no correlation",
                    remedy="Remove the gate, or leave the column out.",
                )
        correlations.append((p - s * s.T / counts) / np.sqrt(variance * variance.T))
    return counts, correlations[0], correlations[1]


def _changes(pair: Comparison, measure: str) -> tuple[tuple[str, ...], NDArray[np.float64], NDArray[np.float64]]:
    """Return the columns that have correlations, the records behind each, and how much each changed."""
    names = pair.of_type("integer", "continuous", "ordinal")
    if len(names) < 2:
        raise MeasureUndefined.at(
            measure,
            rule="needs at least two numeric or ordinal columns",
            remedy="Remove the gate, or judge more columns.",
        )
    if ("changes", "") not in pair.known:
        centres = np.array([_centres(pair, name) for name in names])
        counts, before, after = _correlations(pair, names, centres, measure)
        change = np.abs(after - before)
        np.fill_diagonal(change, 0.0)
        pair.known["changes", ""] = counts, change
    counts, change = pair.known["changes", ""]
    return names, counts, change


def _some(names: tuple[str, ...], measure: str, needed: str) -> tuple[str, ...]:
    if not names:
        raise MeasureUndefined.at(measure, rule=f"needs {needed}", remedy="Remove the gate, or judge more columns.")
    return names


def _at_least_one(n: int, name: str) -> int:
    if n == 0:
        raise MeasureUndefined.at(
            name, rule="needs a record with a value on both sides", remedy="Remove the gate, or leave the column out."
        )
    return n


def _utility(name: str, value: float, parts: dict[str, float], n: int) -> Measurement:
    return Measurement(
        name=name,
        value=value,
        direction="lower_is_better",
        n=n,
        columns=tuple(parts),
        by_column=parts,
        missing=_BY_COLUMN,
    )
