"""Smooth sensitivity of medians and of the maximum. Numbers to compare with: no guarantee, never a release.

    S(D) = max over all D' of e^(-beta d(D, D')) LS(D') = max_k e^(-k beta) A_k(D),   k = 0..n           (1)

d counts replaced records, LS is the local sensitivity (_local.py), and A_k the largest one within k replacements. With
x_(1) <= ... <= x_(n), x_(j) = a for j < 1 and b for j > n:

    median, n = 2m - 1   A_k = max_(m-k-1 <= s <= m) (x_(s+k+1) - x_(s))                                 (2)
    median, n = 2m       A_k = 1/2 max_(m-k-1 <= s <= m) (x_(s+k+2) - x_(s))                             (3)
    maximum              A_k = max(b - x_(n-k), x_(n) - x_(n-k-1))                                       (4)

Proof of (3); (2) is the same with one rank less between the ends. LS is half the largest y_(r+2) - y_(r), r = m - 1 or
m, of the changed values y. Between its ends lies one value of y, so at most k + 1 of x lie strictly between them: the
others were replaced. So the ends are no further apart than x_(s) and x_(s+k+2) for some s, and r - k <= s <= r, because
at most k values moved from one side to the other. Moving t of the values between x_(s) and x_(s+k+2) up and k - t down
attains it. (4): b - y_(n) is largest when the k largest go; y_(n) - y_(n-1) when the k next to the largest go, or the
largest goes to b and the k - 1 next to it go.

In (1) a median is a maximum over i <= m <= j of e^(-(j - i - c) beta) (x_(j) - x_(i)), with c = 1 in (2) and 2 in (3),
where j - i >= c. The logarithm of x_(j) - x_(i) has increasing differences in (i, j), so the best j does not fall when
i grows, and halving the range of i again and again takes O(n log n).

The beta must be that of the noise: with beta = epsilon, as printed, S varies between neighbours by more than the noise
covers. Adjacency: `replace`, n public.

Source: Nissim, Raskhodnikova & Smith 2007, "Smooth sensitivity and sampling in private data analysis", for (1) and (2);
individual differential privacy (Soria-Comas, Domingo-Ferrer, Sánchez & Megías 2017), section 6.2.2, for (4); (3) is
ours.
Limits: floats, and as secret as the data: this is for confidential comparisons only.
"""

from __future__ import annotations

from math import ceil, log

import numpy as np
from numpy.typing import NDArray

__all__ = ["smooth_sensitivity_of_maximum", "smooth_sensitivity_of_median"]

Steps = NDArray[np.int64]


def smooth_sensitivity_of_median(values: Steps, low: int, high: int, beta: float) -> float:
    """Return (1) with (2) or (3), for sorted values between the bounds."""
    _require_sorted(values, low, high, beta)
    n = len(values)
    lower, upper = (n + 1) // 2, n // 2 + 1  # the same rank where n is odd
    padded = np.concatenate(([low], values, [high]))
    # The greatest distance at which e^(-k beta) (b - a) could still exceed what is found without any replacement.
    now = max(padded[upper + 1] - padded[lower], padded[upper] - padded[lower - 1])
    reach = n if now == 0 else min(n, ceil(log((high - low) / now) / beta))
    starts = padded[max(0, lower - 1 - reach) : lower + 1]
    ends = padded[upper : min(n + 1, upper + 1 + reach) + 1]
    return _largest_product(starts, ends, beta) / (upper - lower + 1)


def smooth_sensitivity_of_maximum(values: Steps, low: int, high: int, beta: float) -> float:
    """Return (1) with (4), for sorted values between the bounds."""
    _require_sorted(values, low, high, beta)
    downwards = np.append(values[::-1], [low, low])
    gaps = np.maximum(high - downwards[:-1], values[-1] - downwards[1:])
    return float((np.exp(-beta * np.arange(len(gaps))) * gaps).max())


def _largest_product(starts: Steps, ends: Steps, beta: float) -> float:
    """Return the maximum of e^(-k beta) (ends[j] - starts[i]) over k = j + (len(starts) - 1 - i) - 1 >= 0."""
    largest, waiting = 0.0, [(0, len(starts), 0, len(ends))]
    while waiting:
        first, last, from_, upto = waiting.pop()
        if first == last:
            continue
        i = (first + last) // 2
        distances = np.arange(from_, upto) + (len(starts) - 2 - i)
        # At -1 the ends are the median's own record or records, and (2) and (3) need one beyond them.
        weights = np.where(distances < 0, 0.0, np.exp(-beta * np.maximum(distances, 0)))
        products = weights * (ends[from_:upto] - starts[i])
        best = int(products.argmax())
        largest = max(largest, float(products[best]))
        waiting += [(first, i, from_, from_ + best + 1), (i + 1, last, from_ + best, upto)]
    return largest


def _require_sorted(values: Steps, low: int, high: int, beta: float) -> None:
    fits = len(values) > 0 and values[0] >= low and values[-1] <= high and not bool((np.diff(values) < 0).any())
    if not fits or not beta > 0:
        raise ValueError("sorted values between the bounds, at least one, and beta above 0")
