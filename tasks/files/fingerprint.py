"""Records known by their values, whatever files hold them: a keyed digest of a multiset of records.

    w_c(v) = (a_c1 m, a_c2 m),  m = mix(b(v) xor a_c0)   of a number v in column c, modulo 2^64              (1)
    w_c(v) = BLAKE2b(k_c, v), 128 bits                    of a text v, its bytes in UTF-8                     (2)
    s = sum over columns of w_c(v_c)                      of one record, two words, modulo 2^64 each          (3)
    S = sum over records of (mix(s_1), mix(s_2))          modulo 2^64 each                                    (4)
    F = keyed(K, "values", names of the columns, number of records, S)                                        (5)

b(v) are the bits of v as float64, where -0 counts as 0; null, NaN and infinite numbers count as one value
that is missing, as they are read. mix is a
bijection of 64 bits in which every bit depends on every other. k_c and the words a_c (a_c1 and a_c2 odd) come from
keyed(K', c), and K' = keyed(K, "key of values").

What it is: a name for the values. Sums do not depend on order, so neither order nor number of files, row groups,
compression, encoding or the width of a number changes F; and S of parts adds up. Two different multisets get the same
F with a probability of about 2^-126, for whoever does not know K'. (4) is not linear in the values, so values that
are exchanged between records change it.

What it is not: a measure of likeness. If one value changes, a record or column is added, a column is renamed or a text
becomes a number, F is another. Whole numbers beyond 2^53 count as the nearest float64. Identifiers are not read, so
other people with the same values in every column have the same F. Whoever has K' can make two multisets of one F; so
(1) to (4) may be computed on other machines, but only (5), whose K stays here, is compared or recorded.

Sources: additive multiset hashes, Clarke et al. 2003 (Asiacrypt), MSet-Add-Hash; mix: Stafford's Mix13, as in
SplitMix64 (Steele, Lea & Flood 2014, figure 17).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.records.files.digest import canonical, keyed

__all__ = ["Fingerprint", "Sums", "digest_of_values", "key_of_values"]

Words = NDArray[np.uint64]

# Few enough rows at a time for all their words to stay in the processor's cache.
_BLOCK = 1 << 14
_WORD = 2**64
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31))
_MISSING = np.uint64(0x7FF8000000000000)


@dataclass(frozen=True, slots=True)
class Sums:
    """(4) of some records, and how many they are."""

    records: int
    first: int
    second: int

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.records + other.records, (self.first + other.first) % _WORD, (self.second + other.second) % _WORD
        )


def key_of_values(key: bytes) -> bytes:
    """Return K', which may go where records are read; nothing that is on record can be guessed with it."""
    return bytes.fromhex(keyed(key, "key of values"))


def digest_of_values(key: bytes, names: Iterable[str], parts: Iterable[Sums]) -> str:
    """Return (5) of records that were read in parts, or at once."""
    total = reduce(Sums.__add__, parts, Sums(0, 0, 0))
    told = [sorted(names), str(total.records), str(total.first), str(total.second)]
    return keyed(key, "values", canonical(told))


class Fingerprint:
    """(1) to (4) of one table, column by column."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._state: Words = np.zeros((2, 0), np.uint64)

    def add(self, name: str, stored: pa.ChunkedArray) -> None:
        """Add one more column of every record."""
        if not self._state.size:
            self._state = np.zeros((2, len(stored)), np.uint64)
        value = stored.type.value_type if pa.types.is_dictionary(stored.type) else stored.type
        if pa.types.is_integer(value) or pa.types.is_floating(value) or pa.types.is_decimal(value):
            self._add_numbers(name, stored)
        else:
            self._add_texts(name, stored)

    def sums(self) -> Sums:
        """Return (4)."""
        totals = [0, 0]
        buffer = np.empty(_BLOCK, np.uint64)
        for start in range(0, self._state.shape[1], _BLOCK):
            for place in range(2):
                words = self._state[place, start : start + _BLOCK].copy()
                _mix(words, buffer[: len(words)])
                totals[place] += int(words.sum(dtype=np.uint64))
        return Sums(self._state.shape[1], totals[0] % _WORD, totals[1] % _WORD)

    def _add_numbers(self, name: str, stored: pa.ChunkedArray) -> None:
        made = bytes.fromhex(keyed(self._key, "number", name))
        before, first, second = (np.uint64(int.from_bytes(made[8 * i : 8 * i + 8], "big")) for i in range(3))
        first, second = first | np.uint64(1), second | np.uint64(1)
        words, buffer = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint64)
        for start, numbers in _blocks(stored):
            here, room = words[: len(numbers)], buffer[: len(numbers)]
            np.add(numbers, 0.0, out=here.view(np.float64))  # -0 becomes 0
            missing = ~np.isfinite(numbers)
            if missing.any():
                here[missing] = _MISSING
            here ^= before
            _mix(here, room)
            state = self._state[:, start : start + len(numbers)]
            state[0] += np.multiply(here, first, out=room)
            state[1] += np.multiply(here, second, out=room)

    def _add_texts(self, name: str, stored: pa.ChunkedArray) -> None:
        key = bytes.fromhex(keyed(self._key, "text", name))
        known: dict[bytes | None, tuple[int, int]] = {None: _words(keyed(key, "missing"))}
        buffer, start = np.empty(_BLOCK, np.uint64), 0
        for chunk in stored.chunks:
            encoded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
            texts = _as_bytes(encoded.dictionary)
            for text in texts:
                if text not in known and text is not None:
                    known[text] = _words(hashlib.blake2b(text, key=key, digest_size=16).hexdigest())
            table = np.array([known[text] for text in (*texts, None)], np.uint64).T.copy()
            codes = encoded.indices
            codes = pc.fill_null(codes.cast(pa.int64()), len(texts)) if codes.null_count else codes
            for block in range(0, len(codes), _BLOCK):
                here = codes[block : block + _BLOCK].to_numpy().astype(np.intp)
                state, room = self._state[:, start : start + len(here)], buffer[: len(here)]
                for place in range(2):
                    state[place] += np.take(table[place], here, out=room, mode="clip")
                start += len(here)


def _blocks(stored: pa.ChunkedArray) -> Iterator[tuple[int, NDArray[np.float64]]]:
    """Yield the numbers of a column, some at a time, each time with the row at which they begin."""
    start = 0
    for chunk in stored.chunks:
        for place in range(0, len(chunk), _BLOCK):
            some: Any = chunk.slice(place, _BLOCK)
            if pa.types.is_dictionary(some.type):
                some = some.dictionary_decode()
            if not pa.types.is_float64(some.type):
                some = some.cast(pa.float64(), safe=False)
            if some.null_count:
                some = pc.fill_null(some, float("nan"))
            yield start, some.to_numpy()
            start += len(some)


def _mix(words: Words, buffer: Words) -> None:
    """Mix the words in place."""
    for shift, factor in zip(_SHIFTS, (_FIRST, _SECOND, None), strict=True):
        np.right_shift(words, shift, out=buffer)
        np.bitwise_xor(words, buffer, out=words)
        if factor is not None:
            np.multiply(words, factor, out=words)


def _as_bytes(texts: pa.Array) -> list[bytes | None]:
    """Return texts as they are stored: bytes that are not Unicode are no reason to stop."""
    binary = pa.large_binary() if pa.types.is_large_string(texts.type) else pa.binary()
    return texts.cast(binary).to_pylist()  # type: ignore[no-any-return]


def _words(digest: str) -> tuple[int, int]:
    return int(digest[:16], 16), int(digest[16:32], 16)
