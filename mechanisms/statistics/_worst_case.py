"""Global sensitivities: how far a statistic of any n records moves when one of them is replaced.

With public bounds [a, b] in steps of the grid and n public:

    k-th smallest, maximum, second maximum, minimum, sum    b - a                                    (1)
    median             b - a for n odd,   (b - a) / 2 for n even                                     (2)
    count              1                                                                             (3)
    mean               (b - a) / n                                                                   (4)
    variance           (b - a)^2 (n - 1) / n^2 for the population's,   (b - a)^2 / n for the sample's  (5)

Each is the largest value of the formula in `local`, reached where the records lie on the bounds.
"""

from __future__ import annotations

from fractions import Fraction

from penstock.mechanisms.refusal import SettingRefused, TooFewRecords

__all__ = [
    "count",
    "mean",
    "median_in_half_steps",
    "order_statistic",
    "population_variance",
    "sample_variance",
    "sum_of_values",
]


def order_statistic(low: int, high: int) -> int:
    """(1), at any rank."""
    return _width(low, high)


def sum_of_values(low: int, high: int) -> int:
    """(1)."""
    return _width(low, high)


def median_in_half_steps(records: int, low: int, high: int) -> int:
    """Return twice (2), for the median counted in half steps of the grid."""
    _require_records(records, 1)
    return _width(low, high) * (2 if records % 2 else 1)


def count() -> int:
    """(3)."""
    return 1


def mean(records: int, low: int, high: int) -> Fraction:
    """(4)."""
    _require_records(records, 1)
    return Fraction(_width(low, high), records)


def population_variance(records: int, low: int, high: int) -> Fraction:
    """(5), in squared steps."""
    _require_records(records, 2)
    return Fraction(_width(low, high) ** 2 * (records - 1), records**2)


def sample_variance(records: int, low: int, high: int) -> Fraction:
    """(5), in squared steps."""
    _require_records(records, 2)
    return Fraction(_width(low, high) ** 2, records)


def _width(low: int, high: int) -> int:
    if not low < high:
        raise SettingRefused.at(
            "bounds", rule="must have a lower bound below the upper one", got=(low, high), remedy="Declare the domain."
        )
    return high - low


def _require_records(records: int, least: int) -> None:
    if records < least:
        raise TooFewRecords.at(
            "records",
            rule=f"must be at least {least} for this statistic",
            remedy="Merge groups, or ask for another statistic.",
        )
