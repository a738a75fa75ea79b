"""Figures of every group with bootstrap differential privacy: the exact figure and noise that follows the data.

    released = f(D) + N,   N discrete Laplace of scale steps(D) / epsilon_f in every group                         (1)

The records of D in a group, on the grid, lie between x_1 and x_n; w = x_n - x_1, M = max |v| with v = x + first, m is
the middle of the grid and A = max |x - m|. By what is public about groups (_bootstrap_settings.py), in steps:

                        fixed             counted          chosen, replaced   chosen, added   moving
    count               public            1                1                  1               1                    (2)
    sum                 w                 M                max(w, M)          M               M                    (3)
    k-th smallest ...   w                 w                max(w, A)          max(w, A)       max(w, A)            (4)
    median              w; w/2, n even    w/2              max(w, A)          max(w/2, A)     max(w/2, A)          (5)
    mean                w / n             w / n            from U and N                                            (6)
    variance            (n-1) w^2 / n^2   the same         from T, U and N                                         (7)

    N = number of records,  U = sum of u,  T = sum of u^2,  u = x - m:     steps 1, A and A^2                      (8)

Theorem. Fix D. For every pair of data sets that consist of records of D and differ as the adjacency says, (1) with the
noise of D loses at most epsilon. epsilon_f = w_f epsilon / t with t = 2 under `moving` where a record is replaced, else
1; a mean by (8) spends epsilon_f / 2 on each of its two, a variance epsilon_f / 3 on each of its three.
Under `fixed` both have as many records in every group as D, because everybody's group is public; the promise says so.
Under `counted` the pair has n and n - 1 records, or n and n + 1, and the source is all of its data set, as it is under
`fixed` without groups (`prints_number`): of a part, these data sets may hold any number of records.

Proof. Loss is what a figure moves, over its steps, times epsilon_f. Values lie between x_1 and x_n in all data sets.
(3) A record that stays in its group moves the sum by w at most, one that enters or leaves by M.
(4) Order statistics of lists that are not empty lie between x_1 and x_n; that of an empty list is m, so A away at most.
(5) n odd, or any change of n: the two middle ranks lie between x_1 and x_n. A replacement in a list of even length: the
others are c_1 <= .. <= c_(2r-1), the middle values are c_r and y clamped to [c_(r-1), c_(r+1)], so half of w. A record
that enters an odd list makes the median (c_r + y clamped) / 2 of c_r, and one that enters an even list the opposite:
from (c_r + c_(r+1)) / 2 to y clamped between them; both half of w at most.
(6) One of n values moves the mean by w / n. From n to n + 1 records: (y - mean) / (n + 1); from n - 1 to n: w / n.
(7) With m records and one more, y: V' - V = m (y - mean)^2 / (m + 1)^2 - V / (m + 1), between -w^2 / (4 (m + 1)) and
m w^2 / (m + 1)^2; of both sizes, m = n - 1 and n, the first is the larger, (n - 1) w^2 / n^2 (n > 1; else w = 0). A
replacement: y and n - 1 others of mean c and variance V'' have (n - 1) V'' / n + (n - 1) (y - c)^2 / n^2, and (y - c)^2
lies between 0 and w^2.
(8) Where a record enters or leaves, N, U and T move by 1, A and A^2: all of epsilon_f together. One that stays moves U
by w <= 2 A and T by A^2: 2/2 of epsilon_f for a mean, 2/3 + 1/3 for a variance.
Groups: under `fixed` and `counted` a change touches one group. Under `moving` a replaced record leaves one group and
enters another, each with steps for half of epsilon_f; or it stays, and moves its figure by w <= 2 M, w <= 2 max(w, A),
in a median w <= 2 max(w/2, A): all of epsilon_f. QED.

Integers. Medians are counted in half steps, means and variances in 2^-k steps or squared steps, q(v) = floor(2^k v +
1/2), with |q(v) - q(v')| <= ceil(2^k |v - v'|): rounding costs nothing but the rounding up of the steps. k is public.
Everything is clamped to a public interval.

A group without records is constant in all these data sets, so any noise is right there: it gets the largest of all
groups, so that it looks like others. Where no record can move a group that has some, (1) would print it exactly: the
release is refused. A count always has the noise of one record, also where it is 0 or n and could be printed as it is.

Source: O'Keefe & Charest 2019, sections 4.1 and 5, corrected (table/sensitivity.py); all but totals and counts is ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.noise.totals import LARGEST_TOTAL
from penstock.mechanisms.numbers.grid import Grid
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.refusal import ScaleZero, TooFewRecords
from penstock.mechanisms.statistics._bootstrap_settings import Membership
from penstock.mechanisms.statistics._groups import SortedGroups
from penstock.mechanisms.statistics._moments import totals_in_units
from penstock.mechanisms.statistics._quantiles import MEDIAN
from penstock.mechanisms.statistics._settings import Statistic
from penstock.mechanisms.table.noise import cell_noise
from penstock.mechanisms.table.scales import Scales
from penstock.mechanisms.table.sensitivity import BootstrapAdjacency

__all__ = ["Among", "Bootstrapped", "bootstrap_figure", "bootstrap_steps", "drawn", "parts_of"]

Steps = NDArray[np.int64]

# The largest noise in parts stays below this, whatever the data are.
_LARGEST_SCALE = 2**60


@dataclass(frozen=True, slots=True)
class Among:
    """Among which data sets a figure is compared."""

    membership: Membership
    adjacency: BootstrapAdjacency

    @property
    def is_replaced(self) -> bool:
        """Return whether the number of all records stays the same."""
        return self.adjacency != "bootstrap_add_remove"

    @property
    def may_be_empty(self) -> bool:
        """Return whether some of these data sets leave a group without records."""
        return self.membership in ("chosen", "moving")


@dataclass(frozen=True, slots=True, eq=False)
class Bootstrapped:
    """What gets noise in every group: one total or several, each with its steps, and the figure that they make.

    filled: which groups have records. limits: the public interval of each total.
    """

    totals: tuple[Steps, ...]
    steps: tuple[Steps, ...]
    limits: tuple[tuple[int, int], ...]
    filled: NDArray[np.bool_]
    figure: Callable[..., NDArray[Any]]


def parts_of(figure: Statistic, grid: Grid, among: Among, epsilon: Fraction) -> int:
    """Return into how many parts the figure divides a step of the grid, or a squared one: public."""
    if figure.statistic == "median":
        return 2
    if among.may_be_empty or figure.statistic not in ("mean", "variance"):
        return 1
    widest = grid.steps if figure.statistic == "mean" else grid.steps**2
    room = int(_LARGEST_SCALE * min(epsilon, Fraction(1))) // widest
    return 1 << max(0, room.bit_length() - 1)


def bootstrap_steps(figure: Statistic, grid: Grid | None, groups: SortedGroups, among: Among) -> list[Fraction]:
    """Return (2) to (7) of every group, in steps of the grid, squared ones for a variance; 0 where it is empty.

    Of a mean and a variance by (8) they are those of U and of T. As secret as the data.
    """
    if grid is None:
        return [Fraction(1)] * len(groups)
    ends = _ends(groups)
    return [
        _steps_of_one(figure.statistic, low, high, size, grid, among) if size else Fraction(0)
        for low, high, size in zip(*(each.tolist() for each in (*ends, groups.sizes)), strict=True)
    ]


def _steps_of_one(kind: str, low: int, high: int, size: int, grid: Grid, among: Among) -> Fraction:
    width, middle = high - low, grid.steps // 2
    away = max(abs(low - middle), abs(high - middle)) if among.may_be_empty else 0
    if kind == "sum":
        largest = max(abs(low + grid.first), abs(high + grid.first))
        if among.membership == "fixed":
            return Fraction(width)
        return Fraction(max(width, largest) if among.membership == "chosen" and among.is_replaced else largest)
    if kind == "mean":
        return Fraction(away) if among.may_be_empty else Fraction(width, size)
    if kind == "variance":
        return Fraction(away**2) if among.may_be_empty else Fraction((size - 1) * width**2, size**2)
    if kind == "median" and _is_halved(size, among):
        return max(Fraction(width, 2), Fraction(away))
    return Fraction(max(width, away))


def _is_halved(size: int, among: Among) -> bool:
    """Return whether no single change moves a median by more than half of the width."""
    if among.membership == "fixed":
        return size % 2 == 0
    return not (among.membership == "chosen" and among.is_replaced)


def bootstrap_figure(
    figure: Statistic, grid: Grid | None, groups: SortedGroups, among: Among, epsilon: Fraction
) -> Bootstrapped:
    """Return a figure of groups that hold its column on its grid; epsilon: what it spends in a group."""
    sizes = groups.sizes
    if among.membership == "fixed" and bool((sizes < 1).any()):
        raise TooFewRecords.at(
            "groups",
            rule="must each have at least 1 record for these figures",
            remedy="Merge groups, or ask for another figure.",
        )
    if grid is None:
        everywhere = np.ones(len(groups), np.bool_)
        return _plain(sizes, [Fraction(1)] * len(groups), 1, LARGEST_TOTAL, everywhere, lambda found: found)
    moved = bootstrap_steps(figure, grid, groups, among)
    if among.may_be_empty and figure.statistic in ("mean", "variance"):
        return _moments(figure, grid, groups, moved)
    parts = parts_of(figure, grid, among, epsilon)
    if figure.statistic == "sum":
        exact = groups.totals(groups.values + grid.first)
        return _plain(exact, moved, 1, LARGEST_TOTAL, sizes > 0, lambda found: totals_in_units(found, grid))
    if figure.statistic == "variance":
        return _variance(grid, groups, moved, parts)
    exact = _means(groups, parts) if figure.statistic == "mean" else _order_statistics(figure, grid, groups)

    def in_units(found: Steps) -> NDArray[Any]:
        points = np.ldexp(found / parts + grid.first, grid.exponent)
        return np.clip(points, grid.low, grid.high)

    return _plain(exact, moved, parts, grid.steps * parts, sizes > 0, in_units, lowest=0)


def drawn(
    found: Bootstrapped, name: str, epsilon: Fraction, adjacency: BootstrapAdjacency, randomness: Randomness
) -> tuple[NDArray[Any], tuple[Steps, ...]]:
    """(1), clamped; return the figure of every group and, secret, the steps of what was drawn for it."""
    used = tuple(_like_others(steps, found.filled) for steps in found.steps)
    if not all(bool((steps > 0).all()) for steps in used):
        raise ScaleZero.at(
            name,
            rule="must depend on single records in every group; in one it does not, and would be printed exactly",
            remedy="Merge groups, choose another figure, or use model: dp.",
        )
    noised = []
    for total, steps, (low, high) in zip(found.totals, used, found.limits, strict=True):
        noise = cell_noise(Scales(adjacency, epsilon / len(used), steps), randomness)
        noised.append(total + np.clip(noise, low - total, high - total))
    return found.figure(*noised), used


def _like_others(steps: Steps, filled: NDArray[np.bool_]) -> Steps:
    """Return the steps, where groups without records have the largest of all."""
    largest = steps[filled].max(initial=0)
    return np.where(filled, steps, largest)


def _ends(groups: SortedGroups) -> tuple[Steps, Steps]:
    """Return the smallest and the largest value of every group; 0 where it has none."""
    filled = groups.sizes > 0
    low, high = np.zeros(len(groups), np.int64), np.zeros(len(groups), np.int64)
    low[filled] = groups.values[groups.starts[:-1][filled]]
    high[filled] = groups.values[groups.starts[1:][filled] - 1]
    return low, high


def _plain(
    exact: Steps,
    moved: list[Fraction],
    parts: int,
    highest: int,
    filled: NDArray[np.bool_],
    in_units: Callable[[Steps], NDArray[Any]],
    lowest: int | None = None,
) -> Bootstrapped:
    steps = np.array([-(-move.numerator * parts // move.denominator) for move in moved], np.int64)
    limits = (-highest if lowest is None else lowest, highest)
    return Bootstrapped((exact,), (steps,), (limits,), filled, in_units)


def _means(groups: SortedGroups, parts: int) -> Steps:
    sums, sizes = groups.totals(groups.values).tolist(), groups.sizes.tolist()
    return np.array([(2 * total * parts + n) // (2 * n) for total, n in zip(sums, sizes, strict=True)], np.int64)


def _order_statistics(figure: Statistic, grid: Grid, groups: SortedGroups) -> Steps:
    """Return the value at the rank asked for, in half steps for a median; the middle of the grid where none is."""
    sizes = groups.sizes
    if figure.statistic == "median":
        ranks: tuple[Steps, ...] = ((sizes + 1) // 2, sizes // 2 + 1)
    else:
        ranks = (_ranks(figure, sizes),)
    filled, exact = sizes > 0, np.full(len(groups), len(ranks) * (grid.steps // 2))
    starts = groups.starts[:-1][filled]
    exact[filled] = sum(groups.values[starts + rank[filled] - 1] for rank in ranks)
    return exact


def _ranks(figure: Statistic, sizes: Steps) -> Steps:
    """Return the rank of every group; the second largest of one record is that record."""
    if figure.statistic == "minimum":
        return np.ones_like(sizes)
    if figure.statistic == "maximum":
        return sizes
    if figure.statistic == "second_maximum":
        return np.maximum(sizes - 1, 1)
    share = figure.share or MEDIAN
    return -(-sizes * int(share.numerator) // int(share.denominator))


def _variance(grid: Grid, groups: SortedGroups, moved: list[Fraction], parts: int) -> Bootstrapped:
    u = groups.values - grid.steps // 2
    rows = zip(*(each.tolist() for each in (groups.sizes, groups.totals(u), groups.totals(u * u))), strict=True)
    exact = [(2 * parts * (n * square - total**2) + n**2) // (2 * n**2) if n else 0 for n, total, square in rows]
    widest = (grid.high - grid.low) ** 2 / 4

    def in_units(found: Steps) -> NDArray[Any]:
        return np.clip(np.ldexp(found / parts, 2 * grid.exponent), 0, widest)

    highest = -(-(grid.steps**2) * parts // 4)
    return _plain(np.array(exact, np.int64), moved, parts, highest, groups.sizes > 0, in_units, lowest=0)


def _moments(figure: Statistic, grid: Grid, groups: SortedGroups, moved: list[Fraction]) -> Bootstrapped:
    """(8)."""
    middle, sizes = grid.steps // 2, groups.sizes
    u = groups.values - middle
    low, high = _ends(groups)
    away = np.where(sizes > 0, np.maximum(abs(low - middle), abs(high - middle)), 0)
    squared = figure.statistic == "variance"
    totals = (sizes, groups.totals(u), *((groups.totals(u * u),) if squared else ()))
    steps = (np.ones_like(sizes), away, *((away**2,) if squared else ()))

    def in_units(count: Steps, total: Steps, *squares: Steps) -> NDArray[Any]:
        n = np.maximum(count, 1)
        if not squares:
            return np.clip(np.ldexp(total / n + middle + grid.first, grid.exponent), grid.low, grid.high)
        spread = squares[0] / n - (total / n) ** 2
        return np.clip(np.ldexp(spread, 2 * grid.exponent), 0, (grid.high - grid.low) ** 2 / 4)

    limits = ((-LARGEST_TOTAL, LARGEST_TOTAL),) * len(totals)
    return Bootstrapped(totals, steps, limits, sizes > 0, in_units)
