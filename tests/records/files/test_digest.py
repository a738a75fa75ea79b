from __future__ import annotations

import hashlib
import hmac
import json
import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.records.files.digest import NotCanonical, canonical, keyed, keyed_file, plain_file

UNTIMED = settings(deadline=None)  # a busy machine is no fault
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
PARTS = st.lists(st.binary(max_size=6), max_size=5)


@given(JSON)
@UNTIMED
def test_canonical_json_says_the_same_as_the_data(data: object) -> None:
    assert json.loads(canonical(data)) == data


@given(JSON)
@UNTIMED
def test_canonical_json_is_its_own_canonical_form(data: object) -> None:
    assert canonical(json.loads(canonical(data))) == canonical(data)


def test_canonical_json_does_not_depend_on_the_order_of_keys() -> None:
    assert canonical({"b": 1, "a": [True, None, "ü"]}) == canonical({"a": [True, None, "ü"], "b": 1})
    assert canonical({"b": 1, "a": [True, None, "ü"]}) == '{"a":[true,null,"ü"],"b":1}'.encode()


def cycle() -> list[object]:
    nested: list[object] = []
    nested.append(nested)
    return nested


@pytest.mark.parametrize(
    "data",
    [math.nan, math.inf, {1: "x"}, [{"a": {None: 1}}], ({2.5: 1},), b"bytes", {"s": {1}}, "\ud800", cycle(), object()],
)
def test_what_has_no_single_json_form_is_refused(data: object) -> None:
    with pytest.raises(NotCanonical, match="finite floats"):
        canonical(data)


def test_a_refusal_of_facts_does_not_quote_them() -> None:
    with pytest.raises(NotCanonical) as caught:
        canonical({"income": {417_230}})
    assert "417230" not in str(caught.value)
    assert caught.value.code == "not-canonical"


def test_keyed_digest_is_hmac_over_counted_parts() -> None:
    framed = (2).to_bytes(8, "big") + (1).to_bytes(8, "big") + b"a" + (2).to_bytes(8, "big") + b"bc"
    assert keyed(b"k" * 32, "a", b"bc") == hmac.new(b"k" * 32, framed, hashlib.sha256).hexdigest()


@given(PARTS, PARTS)
@UNTIMED
def test_keyed_digests_are_equal_only_for_equal_parts(one: list[bytes], other: list[bytes]) -> None:
    assert (keyed(b"k", *one) == keyed(b"k", *other)) == (one == other)


@given(PARTS)
@UNTIMED
def test_keyed_digests_depend_on_the_key(parts: list[bytes]) -> None:
    assert keyed(b"one", *parts) != keyed(b"two", *parts)


def test_file_digests_depend_on_every_byte_and_the_keyed_one_on_the_key(tmp_path: Path) -> None:
    content = bytes(range(256)) * 5000
    path, changed = tmp_path / "a", tmp_path / "b"
    path.write_bytes(content)
    changed.write_bytes(content[:-1] + b"x")
    assert plain_file(path) == hashlib.sha256(content).hexdigest()
    digests = {keyed_file(b"1", path), keyed_file(b"2", path), keyed_file(b"1", changed), plain_file(path)}
    assert len(digests) == 4
