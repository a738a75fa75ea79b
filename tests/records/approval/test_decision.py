from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.records.approval.decision import (
    DecisionRefused,
    DecisionSignatureWrong,
    reason_faults,
    sign_decision,
    verify_decision,
)
from penstock.records.signing.envelope import sealed
from tests.records.reviewers import CONTENT, OTHER, REASON, private, public

UNTIMED = settings(deadline=None)  # a busy machine is no fault
FIELDS = {"content": CONTENT, "decision": "approve", "reason": REASON}
SIGNATURE = sign_decision(private("anna"), **FIELDS)
WORDS = st.sampled_from(["approve", "refuse"])
DIGESTS = st.binary(min_size=32, max_size=32).map(bytes.hex)
REASONS = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=500).filter(str.strip)


def refuses_signature(key: Ed25519PublicKey, signature: str, **changes: str) -> None:
    with pytest.raises(DecisionSignatureWrong, match="over this content, decision and reason") as caught:
        verify_decision(key, **{**FIELDS, "signature": signature, **changes})
    assert (caught.value.code, caught.value.kind) == ("decision-signature-wrong", "approval")
    assert "canary" not in str(caught.value)
    assert not signature or signature not in str(caught.value)


@given(DIGESTS, WORDS, REASONS)
@UNTIMED
def test_a_signature_holds_for_what_was_signed(content: str, decision: str, reason: str) -> None:
    fields = {"content": content, "decision": decision, "reason": reason}
    verify_decision(public("anna"), **fields, signature=sign_decision(private("anna"), **fields))


def test_the_signature_is_one_anybody_can_rebuild_from_the_standard() -> None:
    """A second implementation: DSSE's encoding by hand, Ed25519 directly."""
    payload = json.dumps(
        {"bundle": CONTENT, "decision": "approve", "reason": REASON}, separators=(",", ":"), sort_keys=True
    ).encode()
    kind = b"application/vnd.penstock.decision+json"
    encoding = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
    raw = base64.b64decode(SIGNATURE)
    assert len(raw) == 64
    public("anna").verify(raw, encoding)


def test_a_refusal_never_passes_as_an_approval() -> None:
    refusal = sign_decision(private("anna"), content=CONTENT, decision="refuse", reason=REASON)
    refuses_signature(public("anna"), refusal)


@pytest.mark.parametrize("changes", [{"content": OTHER}, {"decision": "refuse"}, {"reason": "canary"}, {"reason": ""}])
def test_a_signature_holds_for_no_other_content_word_or_reason(changes: dict[str, str]) -> None:
    refuses_signature(public("anna"), SIGNATURE, **changes)


def test_a_signature_holds_for_no_other_key() -> None:
    refuses_signature(public("bert"), SIGNATURE)


def test_a_signature_of_another_kind_of_envelope_is_no_decision() -> None:
    payload = json.dumps({"bundle": CONTENT, "decision": "approve", "reason": REASON}, separators=(",", ":")).encode()
    envelope = sealed(payload, "application/vnd.in-toto+json", private("anna"))
    refuses_signature(public("anna"), envelope["signatures"][0]["sig"])


@pytest.mark.parametrize(
    "signature",
    [
        "",
        "x",
        "é" * 88,
        "\udcff",
        base64.b64encode(bytes(64)).decode(),
        base64.b64encode(bytes(65)).decode(),
        SIGNATURE + "\n",
        "*" + SIGNATURE,
        SIGNATURE[:-2],
        SIGNATURE[:-3] + ("R" if SIGNATURE[-3] == "Q" else chr(ord(SIGNATURE[-3]) + 1)) + "==",
    ],
)
def test_what_is_not_the_one_text_of_a_signature_is_refused(signature: str) -> None:
    refuses_signature(public("anna"), signature)


@given(st.integers(0, 511))
@UNTIMED
def test_each_bit_of_a_signature_counts(bit: int) -> None:
    raw = bytearray(base64.b64decode(SIGNATURE))
    raw[bit // 8] ^= 1 << bit % 8
    refuses_signature(public("anna"), base64.b64encode(raw).decode())


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"content": ""}, "content refused: must be 64 hexadecimal digits"),
        ({"content": CONTENT.upper()}, "lower case"),
        ({"content": CONTENT + "\n"}, "64 hexadecimal digits"),
        ({"decision": "Approve"}, "decision refused: must be approve or refuse"),
        ({"decision": "refuse", "reason": ""}, "reason refused: must be given"),
        ({"decision": "refuse", "reason": " \u00a0"}, "must be given"),
        ({"reason": "canary" * 100}, "at most 500 characters, got 600"),
        ({"reason": "canary\n"}, "no control characters"),
        ({"reason": "canary\u202e"}, "no control characters"),
        ({"reason": "canary\u2028"}, "no control characters"),
        ({"reason": "canary\ud800"}, "no control characters"),
    ],
)
def test_what_is_no_decision_is_neither_signed_nor_verified(changes: dict[str, str], rule: str) -> None:
    fields: dict[str, Any] = {**FIELDS, **changes}
    with pytest.raises(DecisionRefused, match=rule) as caught:
        sign_decision(private("anna"), **fields)
    assert (caught.value.code, caught.value.kind) == ("decision-refused", "approval")
    assert "canary" not in str(caught.value)
    with pytest.raises(DecisionRefused, match=rule):
        verify_decision(public("anna"), **fields, signature=SIGNATURE)


def test_all_faults_of_a_decision_are_listed() -> None:
    with pytest.raises(DecisionRefused) as caught:
        sign_decision(private("anna"), content="x", decision="maybe", reason="\n")
    assert [fault.field for fault in caught.value.faults] == ["content", "decision", "reason"]


def test_an_approval_needs_no_reason() -> None:
    fields = {**FIELDS, "reason": ""}
    verify_decision(public("anna"), **fields, signature=sign_decision(private("anna"), **fields))


@given(REASONS)
@example("x" * 500)
@UNTIMED
def test_a_reason_of_one_printable_line_has_no_fault(reason: str) -> None:
    assert list(reason_faults(reason, needed=True)) == []
