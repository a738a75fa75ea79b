"""Individual ranking: groups of k records along one sorted column.

    sort the values; J = floor(n / k) blocks: J // 2 of k ranks from below, (J - 1) // 2 of k ranks from above,
    and the rest between them, k to 2k-1 ranks

In a skewed column, the values at an end are far apart, so the larger block lies in the middle, where values are near
each other.

Source: Defays & Nanopoulos 1993; as a step of swapping, Soria-Comas 2013, section 3.3.3; from both ends, Algorithm 7.1.
Departure: equal values are ranked in random order. Ranked by row, the values (1, 1, 1, 2) with k = 2
always put the third and the fourth record together, so a 2 published for the third record names
the fourth as its holder.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.microaggregation.mdav import require_group_size
from penstock.mechanisms.permutation import permute_within
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.refusal import ColumnTypeWrong, ValueMissing

__all__ = ["block_starts", "from_both_ends", "individual_ranking", "ranked_blocks", "stable_order"]

_CODES = 2**32


def individual_ranking(values: NDArray[Any], k: int, randomness: Randomness) -> NDArray[np.int64]:
    """Return the block of every record: labels 0..J-1 along rising values, cut from both ends."""
    order, starts = ranked_blocks(values, k, randomness)
    labels = np.empty(len(values), dtype=np.int64)
    labels[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return labels


def ranked_blocks(values: NDArray[Any], k: int, randomness: Randomness) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows by rising value, equal values in random order, and where the blocks of this order start (and end)."""
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise ColumnTypeWrong.at(
            "values", rule="must be a list of numbers", got=str(values.dtype), remedy="Pass codes."
        )
    require_group_size(k, len(values), "values")
    if values.dtype.kind == "f" and not bool(np.isfinite(values).all()):
        raise ValueMissing.at("values", rule="must hold only finite numbers", remedy="Rank the complete ones only.")
    order, along = _sorted(values)
    return _ties_at_random(order, along, randomness), from_both_ends(len(values), k)


def block_starts(n: int, k: int) -> NDArray[np.int64]:
    """Return 0, k, 2k, ..., n: blocks of k, the last one k to 2k-1."""
    return np.append(np.arange(n // k, dtype=np.int64) * k, n)


def from_both_ends(records: int, k: int) -> NDArray[np.int64]:
    """Return where groups begin along the sorted values (and the last one ends): k from below and k from above in turn.

    While 3k records or more remain, both; with 2k left, one from below; the rest, k to 2k - 1 records, lies between.
    So J = floor(n / k) groups are J // 2 from below, (J - 1) // 2 from above, and the one between.
    """
    groups = records // k
    below = np.arange(groups // 2 + 1, dtype=np.int64) * k
    above = records - np.arange((groups - 1) // 2 + 1, dtype=np.int64)[::-1] * k
    return np.concatenate((below, above))


def stable_order(values: NDArray[Any]) -> NDArray[np.int64]:
    """Return `np.argsort(values, kind="stable")` of finite numbers, several times as fast."""
    return _sorted(values)[0]


def _ties_at_random(order: NDArray[np.int64], along: NDArray[Any], randomness: Randomness) -> NDArray[np.int64]:
    """Permute the rows inside each run of equal values; `along` are the values in order, `order` is changed."""
    equals_next = along[1:] == along[:-1]
    if not equals_next.any():
        return order
    tied = np.zeros(len(order), np.bool_)
    tied[:-1] = equals_next
    tied[1:] |= equals_next
    places = np.flatnonzero(tied)
    starts_run = np.ones(len(places), np.bool_)
    starts_run[1:] = ~equals_next[places[1:] - 1]
    starts = np.append(np.flatnonzero(starts_run), len(places))
    order[places] = permute_within(order[places], starts, randomness)
    return order


def _sorted(values: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return rows by rising value, equal values by row, and the values in this order.

    Sorting numbers is far cheaper than sorting their positions, so a 32-bit code that never falls
    when the value rises is packed with the row into one 64-bit number, all in one array. Different
    values that share a code are put right afterwards.
    """
    scale = _scale(values)
    if scale is None:
        order = np.argsort(values, kind="stable")
        return order, values[order]
    packed = _rising_codes(values, *scale)
    packed <<= np.uint64(32)
    packed |= np.arange(len(values), dtype=np.uint64)
    packed.sort()
    packed &= np.uint64(_CODES - 1)
    order = packed.view(np.int64)
    along = values.take(order)  # twice as fast as values[order]
    if (along[1:] >= along[:-1]).all():
        return order, along
    return _put_right(order, along, _rising_codes(along, *scale), values)


def _put_right(
    order: NDArray[np.int64], along: NDArray[Any], codes: NDArray[np.uint64], values: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Sort the values inside each run of one code that has different values."""
    shared = codes[1:] == codes[:-1]
    mixed = np.flatnonzero(shared & (along[1:] != along[:-1]))
    starts = np.concatenate(([0], np.flatnonzero(~shared) + 1, [len(order)]))
    runs = np.unique(np.searchsorted(starts, mixed, side="right") - 1)
    lengths = starts[runs + 1] - starts[runs]
    # Skewed values crowd into few codes, and then sorting positions once is cheaper than sorting twice.
    if 4 * lengths.sum() > len(values):
        order = np.argsort(values, kind="stable")
        return order, values[order]
    places = np.arange(lengths.sum()) + np.repeat(starts[runs] - (np.cumsum(lengths) - lengths), lengths)
    rows = order[places]
    # One sort serves all runs: every value of a run lies below those of the next.
    rows = rows[np.argsort(values[rows], kind="stable")]
    order[places] = rows
    along[places] = values[rows]
    return order, along


def _scale(values: NDArray[Any]) -> tuple[Any, float] | None:
    """Return the lowest value and codes per unit, if 32-bit codes can be made and rows fit beside them."""
    if not len(values) or len(values) > _CODES:
        return None
    lowest, highest = values.min().item(), values.max().item()
    if values.dtype.kind in "iu":
        return (lowest, 1.0) if highest - lowest < _CODES else None
    scale = (_CODES - 1) / (highest - lowest) if highest > lowest else math.inf
    return (lowest, scale) if 0.0 < scale < math.inf else None


def _rising_codes(values: NDArray[Any], lowest: Any, scale: float) -> NDArray[np.uint64]:
    """Return codes 0..2^32-1 with x <= y => code(x) <= code(y), equal only for equal integers; a new array."""
    if values.dtype.kind in "iu":
        # Differences modulo 2^64 are exact here, whatever the width and sign of the stored integers.
        whole: NDArray[np.uint64] = values.astype(np.int64).view(np.uint64)
        whole -= np.uint64(lowest % 2**64)
        return whole
    # Subtraction, multiplication and truncation all keep the order of floats.
    scaled: NDArray[np.float64] = values.astype(np.float64)
    scaled -= lowest
    scaled *= scale
    return scaled.astype(np.uint64)
