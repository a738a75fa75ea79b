"""The digest of values: what does not change it, what does, and that parts add up."""

from __future__ import annotations

import hashlib
import math
import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.records.files.digest import keyed
from penstock.tasks.files.fingerprint import Fingerprint, Sums, digest_of_values, key_of_values

KEY = b"a key of thirty-two bytes, or so"

records = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(-(2**53), 2**53)),
        st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False)),
        st.one_of(st.none(), st.text(st.characters(codec="utf-8"), max_size=5)),
    ),
    min_size=1,
    max_size=30,
)
TYPES = {"whole": pa.int64(), "real": pa.float64(), "text": pa.string()}


def table(rows: list[tuple[Any, ...]]) -> pa.Table:
    return pa.table({name: pa.array([row[i] for row in rows], kind) for i, (name, kind) in enumerate(TYPES.items())})


def sums(columns: pa.Table, key: bytes = KEY) -> Sums:
    found = Fingerprint(key)
    for name in columns.column_names:
        found.add(name, columns.column(name))
    return found.sums()


def as_multiset(rows: list[tuple[Any, ...]]) -> list[str]:
    return sorted(
        repr(tuple(0.0 if value == 0 and isinstance(value, float) else value for value in row)) for row in rows
    )


@given(records, st.randoms(use_true_random=False), st.integers(1, 30))
def test_order_and_parts_do_not_matter(rows, chance, cut):
    whole = sums(table(rows))
    shuffled = chance.sample(rows, len(rows))
    assert sums(table(shuffled).select(["text", "real", "whole"])) == whole
    parts = [sums(table(shuffled[start : start + cut])) for start in range(0, len(rows), cut)]
    assert digest_of_values(KEY, TYPES, parts) == digest_of_values(KEY, TYPES, [whole])
    in_chunks = pa.concat_tables([table(shuffled[start : start + cut]) for start in range(0, len(rows), cut)])
    assert sums(in_chunks) == whole


def by_definition(rows: list[tuple[Any, ...]], names: list[str]) -> Sums:
    """(1) to (4) in Python's own whole numbers."""
    word = 2**64

    def mixed(x: int) -> int:
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % word
        x = (x ^ x >> 27) * 0x94D049BB133111EB % word
        return x ^ x >> 31

    def words(text: str) -> tuple[int, int]:
        return int(text[:16], 16), int(text[16:32], 16)

    def of_number(name: str, value: float | None) -> tuple[int, int]:
        before, first, second = (int(keyed(KEY, "number", name)[16 * i : 16 * i + 16], 16) for i in range(3))
        missing = value is None or not math.isfinite(value)
        bits = 0x7FF8000000000000 if missing else struct.unpack("<Q", struct.pack("<d", float(value or 0) + 0.0))[0]
        m = mixed(bits ^ before)
        return m * (first | 1) % word, m * (second | 1) % word

    def of_text(name: str, value: str | None) -> tuple[int, int]:
        key = bytes.fromhex(keyed(KEY, "text", name))
        if value is None:
            return words(keyed(key, "missing"))
        return words(hashlib.blake2b(value.encode(), key=key, digest_size=16).hexdigest())

    total = [0, 0]
    for row in rows:
        each = [(of_text if pa.types.is_string(TYPES[n]) else of_number) for n in names]
        both = [make(name, value) for make, name, value in zip(each, names, row, strict=True)]
        for place in range(2):
            total[place] += mixed(sum(words[place] for words in both) % word)
    return Sums(len(rows), total[0] % word, total[1] % word)


@given(records)
def test_sums_are_those_of_the_definition(rows):
    assert sums(table(rows)) == by_definition(rows, list(TYPES))


def test_digests_are_those_that_earlier_versions_put_on_record():
    """A snapshot of version 0.4, made before the loops were compiled."""
    stored = pa.table(
        {
            "whole": pa.array([1, 0, None, -7, 2**53], pa.int64()),
            "real": pa.array([0.1, -0.0, float("nan"), float("inf"), -1e308]),
            "text": pa.array(["N", "ä", None, "", "N"]),
        }
    )
    on_record = "bfc1a9c11a78b235e3e76a610664b68f43616cb8254913efa8d2560aa283faa7"
    assert digest_of_values(KEY, stored.column_names, [sums(stored)]) == on_record


@pytest.mark.parametrize("longer", [["x", "y", "z"], [1, 2, 3]], ids=["texts", "numbers"])
def test_columns_of_different_lengths_are_no_records(longer: list[Any]):
    found = Fingerprint(KEY)
    found.add("a", pa.chunked_array([["x", "y"]]))
    with pytest.raises(ValueError, match="one value for each record"):
        found.add("b", pa.chunked_array([longer]))


def test_codes_beyond_their_dictionary_count_as_missing():
    """Arrow checks none of them; a loop that looked them up as they are would read foreign memory."""
    codes = pa.array([0, 5, -1, 2**31 - 1], pa.int32())
    hostile = pa.DictionaryArray.from_arrays(codes, pa.array(["N"]), safe=False)
    missing = pa.chunked_array([pa.array(["N", None, None, None])])
    assert sums(pa.table({"v": hostile})) == sums(pa.table({"v": missing}))


@given(records, records)
def test_different_records_differ(one, other):
    assert (sums(table(one)) == sums(table(other))) == (as_multiset(one) == as_multiset(other))


@pytest.mark.parametrize(
    "stored",
    [
        pa.array([1, 0, None, -7], pa.int8()),
        pa.array([1, 0, None, -7], pa.float32()),
        pa.array([1, -0.0, float("nan"), -7], pa.float64()),
        pa.array([1, 0, None, -7], pa.decimal128(9, 3)),
        pa.array([1, 0, None, -7], pa.int64()).dictionary_encode(),
    ],
    ids=lambda stored: str(stored.type),
)
def test_how_a_number_is_stored_does_not_matter(stored):
    plain = sums(pa.table({"v": pa.array([1, 0, None, -7], pa.int64())}))
    assert sums(pa.table({"v": stored})) == plain


@pytest.mark.parametrize(
    "kind",
    [
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.int32(), pa.large_string()),
    ],
    ids=str,
)
def test_how_a_text_is_stored_does_not_matter(kind):
    plain = pa.array(["N", "ä", None, "N", ""])
    assert sums(pa.table({"v": plain.cast(kind)})) == sums(pa.table({"v": plain}))


def test_a_dictionary_may_hold_a_text_twice_or_a_missing_one():
    odd = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None]), pa.array(["N", "N", None]))
    assert sums(pa.table({"v": odd})) == sums(pa.table({"v": ["N", "N", None, None]}))


def test_text_that_is_not_unicode_is_no_reason_to_stop():
    bad = pa.array([b"\xff", b"\xfe"]).view(pa.string())
    assert sums(pa.table({"v": bad})) != sums(pa.table({"v": bad.take(pa.array([0, 0]))}))


def test_values_exchanged_between_records_or_columns_are_other_records():
    whole = sums(pa.table({"a": [1.0, 2.0], "b": [3.0, 4.0]}))
    assert sums(pa.table({"a": [1.0, 2.0], "b": [4.0, 3.0]})) != whole
    assert sums(pa.table({"a": [3.0, 4.0], "b": [1.0, 2.0]})) != whole
    assert sums(pa.table({"a": ["x", "y"], "b": ["z", "w"]})) != sums(pa.table({"a": ["x", "y"], "b": ["w", "z"]}))


def test_missing_nothing_and_zero_are_told_apart():
    found = {(s.first, s.second) for v in (None, 0.0) for s in [sums(pa.table({"v": [v, 1.0]}))]}
    texts = {(s.first, s.second) for v in (None, "", "None") for s in [sums(pa.table({"v": [v, "x"]}))]}
    assert (len(found), len(texts)) == (2, 3)


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), float("nan")])
@pytest.mark.parametrize("stored", [pa.float64(), pa.float32()])
def test_what_is_no_finite_number_is_missing_as_it_is_read(number: float, stored: pa.DataType):
    missing = sums(pa.table({"v": pa.array([None, 1.0], stored)}))
    assert sums(pa.table({"v": pa.array([number, 1.0], stored)})) == missing


def test_names_numbers_of_records_and_keys_are_in_the_digest():
    one = Sums(1, 2, 3)
    found = [
        digest_of_values(KEY, ["a"], [one]),
        digest_of_values(KEY, ["b"], [one]),
        digest_of_values(b"other", ["a"], [one]),
        digest_of_values(KEY, ["a"], [Sums(2, 2, 3)]),
        digest_of_values(KEY, ["a"], [Sums(1, 3, 2)]),
    ]
    assert len(set(found)) == len(found)
    assert digest_of_values(KEY, ["a", "b"], [one]) == digest_of_values(KEY, ["b", "a"], [one])
    assert key_of_values(KEY) not in (KEY, key_of_values(b"other"))


def test_sums_wrap_around():
    assert Sums(1, 2**64 - 1, 5) + Sums(2, 2, 6) == Sums(3, 1, 11)


@pytest.mark.slow
def test_many_similar_records_do_not_collide():
    """Neighbouring whole numbers in three columns: 8,000 records, every digest of a single record another."""
    values = np.stack(np.meshgrid(*[np.arange(20.0)] * 3), -1).reshape(-1, 3)
    seen = {sums(pa.table({name: row[i : i + 1] for i, name in enumerate("abc")})) for row in values}
    assert len(seen) == len(values)


def test_a_million_bits_of_sums_look_like_chance():
    """Each bit of the sums of 4,000 single records is 1 half of the time, within six standard errors: 2e-9 a bit."""
    found = [sums(pa.table({"v": [float(value)]})) for value in range(4000)]
    for words in ([each.first for each in found], [each.second for each in found]):
        ones = np.array([[word >> bit & 1 for bit in range(64)] for word in words]).mean(axis=0)
        assert np.abs(ones - 0.5).max() < 6 * 0.5 / np.sqrt(4000)
