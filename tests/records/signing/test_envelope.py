"""An envelope opens with the right key, as the right kind, unaltered, and in no other case."""

from __future__ import annotations

import base64
import json
import re
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from penstock.records.signing import signing
from penstock.records.signing.envelope import opened, sealed
from penstock.records.signing.signing import SignatureWrong

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
KIND = "application/vnd.penstock.test+json"


def pre_authentication_encoding(kind: str, payload: bytes) -> bytes:
    """PAE as the DSSE v1 protocol writes it: lengths are decimal and count bytes, one space between the parts."""
    parts = [b"DSSEv1"]
    for part in (kind.encode(), payload):
        parts += [str(len(part)).encode(), part]
    return b" ".join(parts)


def refused(envelope: Any, kind: str = KIND, key: Ed25519PrivateKey = PRIVATE) -> SignatureWrong:
    with pytest.raises(
        SignatureWrong, match=re.escape(f"as {kind}, with key {signing.key_id(key.public_key())}")
    ) as caught:
        opened(envelope, kind, key.public_key())
    assert (caught.value.code, caught.value.kind) == ("signature-wrong", "integrity")
    return caught.value


@given(st.binary(max_size=200), st.text(st.characters(codec="utf-8"), max_size=20))
def test_what_was_sealed_opens_also_after_it_was_stored(payload: bytes, kind: str) -> None:
    stored = json.loads(json.dumps(sealed(payload, kind, PRIVATE)))
    assert opened(stored, kind, PRIVATE.public_key()) == payload


@given(st.binary(max_size=200), st.text(st.characters(codec="utf-8"), max_size=20))
def test_the_signature_is_the_one_that_the_protocol_defines(payload: bytes, kind: str) -> None:
    [signature] = sealed(payload, kind, PRIVATE)["signatures"]
    by_hand = PRIVATE.sign(pre_authentication_encoding(kind, payload))  # Ed25519 has one signature for each text
    assert base64.b64decode(signature["sig"]) == by_hand
    assert signature["keyid"] == signing.key_id(PRIVATE.public_key())


def test_an_envelope_made_by_hand_opens() -> None:
    signature = base64.b64encode(PRIVATE.sign(pre_authentication_encoding(KIND, b"{}"))).decode()
    by_hand = {
        "payload": base64.b64encode(b"{}").decode(),
        "payloadType": KIND,
        "signatures": [{"keyid": signing.key_id(PRIVATE.public_key()), "sig": signature}],
    }
    assert opened(by_hand, KIND, PRIVATE.public_key()) == b"{}"


def test_opening_leaves_the_envelope_as_it_is() -> None:
    envelope = sealed(b"{}", KIND, PRIVATE)
    before = json.dumps(envelope)
    opened(envelope, KIND, PRIVATE.public_key())
    assert json.dumps(envelope) == before


def test_a_decision_cannot_pass_as_a_manifest() -> None:
    envelope = sealed(b"{}", KIND, PRIVATE)
    refused(envelope, "application/vnd.in-toto+json")
    refused({**envelope, "payloadType": "application/vnd.in-toto+json"}, "application/vnd.in-toto+json")


def test_another_key_does_not_open_it_not_even_under_the_right_name() -> None:
    envelope = sealed(b"{}", KIND, OTHER)
    refused(envelope)
    envelope["signatures"][0]["keyid"] = signing.key_id(PRIVATE.public_key())
    refused(envelope)


@given(st.binary(min_size=1, max_size=50), st.data())
def test_no_bit_of_the_payload_or_the_signature_can_be_changed(payload: bytes, data: st.DataObject) -> None:
    envelope = sealed(payload, KIND, PRIVATE)
    part, field = data.draw(st.sampled_from([(envelope, "payload"), (envelope["signatures"][0], "sig")]))
    content = bytearray(base64.b64decode(part[field]))
    bit = data.draw(st.integers(0, 8 * len(content) - 1))
    content[bit // 8] ^= 1 << bit % 8
    part[field] = base64.b64encode(content).decode()
    refused(envelope)


@pytest.mark.parametrize(
    "change",
    [
        {"signatures": []},
        {"signatures": None},
        {"signatures": [None]},
        {"signatures": [{}]},
        {"signatures": [{"keyid": ["a"], "sig": ""}]},
        {"signatures": [{"keyid": "a", "sig": 5}]},
        {"signatures": "text"},
        {"payload": None},
        {"payload": "e"},
        {"payload": "\ud800"},
        {"payload": {}},
        {"payloadType": None},
        {"payloadType": 5},
        {"payloadType": "\ud800"},
    ],
    ids=repr,
)
def test_what_is_no_envelope_is_refused(change: dict[str, Any]) -> None:
    envelope = sealed(b"{}", KIND, PRIVATE)
    refused({**envelope, **change})
    for field in change:
        refused({name: value for name, value in envelope.items() if name != field})


def test_two_signatures_under_one_name_are_refused_and_a_second_name_does_no_harm() -> None:
    envelope = sealed(b"{}", KIND, PRIVATE)
    [signature] = envelope["signatures"]
    refused({**envelope, "signatures": [signature, signature]})
    both = [*sealed(b"{}", KIND, OTHER)["signatures"], signature]
    assert opened({**envelope, "signatures": both}, KIND, PRIVATE.public_key()) == b"{}"


def test_the_refusal_does_not_quote_the_content() -> None:
    assert "secret" not in str(refused(sealed(b"secret", KIND, OTHER)))
