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

from penstock.mechanisms.parallel import in_parallel
from penstock.records.files.digest import canonical, keyed

__all__ = ["Fingerprint", "Sums", "digest_of_values", "key_of_values"]

Words = NDArray[np.uint64]

_WORD = 2**64


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
        # The compiler is not safe to load on two threads, and columns may be added on another one than this.
        from penstock.tasks.files import _kernels

        self._kernels = _kernels
        self._key = key
        self._state: tuple[Words, Words] = (np.zeros(0, np.uint64), np.zeros(0, np.uint64))

    def add(self, name: str, stored: pa.ChunkedArray) -> None:
        """Add one more column of every record."""
        if not len(self._state[0]):
            self._state = (np.zeros(len(stored), np.uint64), np.zeros(len(stored), np.uint64))
        if len(stored) != len(self._state[0]):  # the compiled loops would write beyond the end
            raise ValueError("every column has one value for each record")
        value = stored.type.value_type if pa.types.is_dictionary(stored.type) else stored.type
        if pa.types.is_integer(value) or pa.types.is_floating(value) or pa.types.is_decimal(value):
            self._add_numbers(name, stored)
        else:
            self._add_texts(name, stored)

    def sums(self) -> Sums:
        """Return (4)."""
        first, second = in_parallel(self._kernels.sum_of_mixed, self._state)
        return Sums(len(self._state[0]), int(first), int(second))

    def _add_numbers(self, name: str, stored: pa.ChunkedArray) -> None:
        made = bytes.fromhex(keyed(self._key, "number", name))
        before, first, second = (np.uint64(int.from_bytes(made[8 * i : 8 * i + 8], "big")) for i in range(3))
        first, second = first | np.uint64(1), second | np.uint64(1)
        for one, other, chunk in self._beside(stored):
            bits = _as_float64(chunk).view(np.uint64)
            self._kernels.add_numbers(one, other, bits, before, first, second)

    def _add_texts(self, name: str, stored: pa.ChunkedArray) -> None:
        key = bytes.fromhex(keyed(self._key, "text", name))
        known: dict[bytes | None, tuple[int, int]] = {None: _words(keyed(key, "missing"))}
        for one, other, chunk in self._beside(stored):
            encoded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
            texts = _as_bytes(encoded.dictionary)
            for text in texts:
                if text not in known and text is not None:
                    known[text] = _words(hashlib.blake2b(text, key=key, digest_size=16).hexdigest())
            table = np.array([known[text] for text in (*texts, None)], np.uint64).T.copy()
            codes = encoded.indices if pa.types.is_int32(encoded.indices.type) else encoded.indices.cast(pa.int64())
            codes = pc.fill_null(codes, len(texts)) if codes.null_count else codes
            self._kernels.add_texts(one, other, codes.to_numpy(), table)

    def _beside(self, stored: pa.ChunkedArray) -> Iterator[tuple[Words, Words, Any]]:
        """Yield the parts of a column, each with the words of its records."""
        start = 0
        for chunk in stored.chunks:
            rows = slice(start, start + len(chunk))
            yield self._state[0][rows], self._state[1][rows], chunk
            start += len(chunk)


def _as_float64(stored: Any) -> NDArray[np.float64]:
    """Return numbers as the nearest of double precision; NaN where there is none."""
    if pa.types.is_dictionary(stored.type):
        stored = stored.dictionary_decode()
    if not pa.types.is_float64(stored.type):
        stored = stored.cast(pa.float64(), safe=False)
    if stored.null_count:
        stored = pc.fill_null(stored, float("nan"))
    return stored.to_numpy()  # type: ignore[no-any-return]


def _as_bytes(texts: pa.Array) -> list[bytes | None]:
    """Return texts as they are stored: bytes that are not Unicode are no reason to stop."""
    binary = pa.large_binary() if pa.types.is_large_string(texts.type) else pa.binary()
    return texts.cast(binary).to_pylist()  # type: ignore[no-any-return]


def _words(digest: str) -> tuple[int, int]:
    return int(digest[:16], 16), int(digest[16:32], 16)
