"""Compiled loops of the digest of values. Import this module only where they run: loading the compiler takes half a
second.

Formulas (1) to (4) are those of fingerprint.py. All words are unsigned, and every constant too: an unsigned word and a
signed number would make a float.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, types

__all__ = ["add_numbers", "add_texts", "sum_of_mixed"]

_WORD = types.uint64
_STATE = types.uint64[::1]
_BITS = types.Array(types.uint64, 1, "C", readonly=True)
_TABLE = types.Array(types.uint64, 2, "C", readonly=True)
_CODES_32 = types.Array(types.int32, 1, "C", readonly=True)
_CODES_64 = types.Array(types.int64, 1, "C", readonly=True)

_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_BY_30, _BY_27, _BY_31 = np.uint64(30), np.uint64(27), np.uint64(31)
_EXPONENT, _WITHOUT_SIGN = np.uint64(0x7FF0000000000000), np.uint64(0x7FFFFFFFFFFFFFFF)
_MISSING, _ZERO = np.uint64(0x7FF8000000000000), np.uint64(0)


@njit(_WORD(_WORD), cache=True, nogil=True, inline="always")
def _mix(word: Any) -> Any:
    """Mix a word: Stafford's Mix13."""
    word = (word ^ (word >> _BY_30)) * _FIRST
    word = (word ^ (word >> _BY_27)) * _SECOND
    return word ^ (word >> _BY_31)


@njit(types.void(_STATE, _STATE, _BITS, _WORD, _WORD, _WORD), cache=True, nogil=True)
def add_numbers(one: Any, other: Any, bits: Any, before: Any, first: Any, second: Any) -> None:
    """Add (1) of numbers of double precision, by their bits, to both words of every record."""
    for i in range(len(bits)):
        word = bits[i]
        if word & _EXPONENT == _EXPONENT:  # NaN, infinite
            word = _MISSING
        elif word & _WITHOUT_SIGN == _ZERO:  # -0
            word = _ZERO
        word = _mix(word ^ before)
        one[i] += word * first
        other[i] += word * second


@njit(
    [types.void(_STATE, _STATE, _CODES_32, _TABLE), types.void(_STATE, _STATE, _CODES_64, _TABLE)],
    cache=True,
    nogil=True,
)
def add_texts(one: Any, other: Any, codes: Any, table: Any) -> None:
    """Add (2) of the texts with these codes; one without an entry in the table counts as the last one."""
    last = np.uint64(table.shape[1] - 1)
    for i in range(len(codes)):
        place = min(np.uint64(codes[i]), last)  # a code below 0 turns into a very large one
        one[i] += table[0, place]
        other[i] += table[1, place]


@njit(_WORD(_STATE), cache=True, nogil=True)
def sum_of_mixed(words: Any) -> Any:
    """Return one word of (4)."""
    total = _ZERO
    for i in range(len(words)):
        total += _mix(words[i])
    return total
