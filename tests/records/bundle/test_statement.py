"""Whatever a manifest holds, it is read in one way or refused; a signature alone does not save it."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from penstock.records.bundle import statement
from penstock.records.bundle.statement import KIND, BundleAltered, BundleRefused, content_digest
from penstock.records.files.digest import NotCanonical, canonical
from penstock.records.signing import envelope, signing

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = PRIVATE.public_key()
SUBJECT = [{"name": "data.csv", "digest": {"sha256": hashlib.sha256(b"x").hexdigest()}}]
DECISION = {"key_id": "k", "public_key": "p", "signature": "s", "reason": ""}


def predicate() -> dict[str, Any]:
    return {
        "release": {"name": "income", "records": 2**60 + 1, "share": 0.1},
        "approval": {"required": 1, "decisions": [dict(DECISION)]},
        "log_head": {"seq": 7, "digest": "d"},
    }


def stated() -> dict[str, Any]:
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": copy.deepcopy(SUBJECT),
        "predicateType": "urn:penstock:release:v1",
        "predicate": predicate(),
    }


def signed(payload: bytes, kind: str = KIND, key: Ed25519PrivateKey = PRIVATE) -> bytes:
    return json.dumps(envelope.sealed(payload, kind, key)).encode()


def faults(manifest: bytes) -> list[tuple[str, str]]:
    with pytest.raises(BundleAltered) as caught:
        statement.opened(manifest, PUBLIC)
    return [(fault.field, fault.rule) for fault in caught.value.faults]


def nested(depth: int) -> str:
    return '{"a":' * depth + "0" + "}" * depth


def test_what_was_sealed_is_read_again_exactly() -> None:
    manifest = statement.sealed(SUBJECT, predicate(), PRIVATE)
    assert statement.opened(manifest, PUBLIC) == stated()
    assert set(json.loads(manifest)) == {"payload", "payloadType", "signatures"}


def test_a_manifest_made_by_hand_is_read() -> None:
    assert statement.opened(signed(canonical(stated())), PUBLIC) == stated()


def test_the_content_is_subject_and_release_and_nothing_else() -> None:
    release = predicate()["release"]
    by_hand = b'{"release":' + canonical(release) + b',"subject":' + canonical(SUBJECT) + b"}"
    assert content_digest(SUBJECT, release) == hashlib.sha256(by_hand).hexdigest()


NOT_CANONICAL = [("manifest.json", "must hold one JSON object in canonical form")]


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"[]",
        b"null",
        b"\xff",
        b"[" * 100_000,
        canonical(stated()) + b"\n",
        json.dumps(stated()).encode(),
        canonical(stated()).replace(b'"seq":7', b'"seq":7,"seq":8'),
        canonical(stated()).replace(b'"seq":7', b'"seq":NaN'),
        canonical(stated()).replace(b'"seq":7', b'"seq":1e999'),
        canonical(stated()).replace(b'"seq":7', b'"seq":' + b"9" * 5000),
        canonical(stated()).replace(b'"reason":""', b'"reason":"\\ud800"'),
    ],
    ids=lambda payload: repr(payload[:20]),
)
def test_a_payload_that_is_not_one_canonical_object_is_refused(payload: bytes) -> None:
    assert faults(signed(payload)) == NOT_CANONICAL


def change(*path: str | int, to: Any) -> Callable[[dict[str, Any]], None]:
    def apply(content: Any) -> None:
        *parents, last = path
        for step in parents:
            content = content[step]
        content[last] = to

    return apply


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (change("_type", to="https://in-toto.io/Statement/v0.1"), "_type"),
        (change("_type", to=None), "_type"),
        (change("predicateType", to="urn:penstock:release:v2"), "predicateType"),
        (change("predicateType", to=["urn:penstock:release:v1"]), "predicateType"),
        (change("predicate_type", to="urn:penstock:release:v2"), "predicate_type"),
        (change("type", to="https://in-toto.io/Statement/v1"), "type"),
        (change("more", to=1), "more"),
        (change("subject", to={}), "subject"),
        (change("subject", to=None), "subject"),
        (change("subject", 0, to="data.csv"), "subject.0"),
        (change("subject", 0, "name", to=None), "subject.0.name"),
        (change("subject", 0, "name", to=["data.csv"]), "subject.0.name"),
        (change("subject", 0, "uri", to="file:///etc/passwd"), "subject.0.uri"),
        (change("subject", 0, "digest", to={}), "subject.0.digest.sha256"),
        (change("subject", 0, "digest", to={"md5": "x"}), "subject.0.digest.md5"),
        (change("subject", 0, "digest", "sha256", to=5), "subject.0.digest.sha256"),
        (change("predicate", to=None), "predicate"),
        (change("predicate", to=[]), "predicate"),
        (change("predicate", "more", to={}), "predicate.more"),
        (change("predicate", "release", to=[]), "predicate.release"),
        (change("predicate", "approval", to=None), "predicate.approval"),
        (change("predicate", "approval", "required", to=True), "predicate.approval.required"),
        (change("predicate", "approval", "required", to=-1), "predicate.approval.required"),
        (change("predicate", "approval", "required", to=1.0), "predicate.approval.required"),
        (change("predicate", "approval", "required", to="1"), "predicate.approval.required"),
        (change("predicate", "approval", "decisions", to={}), "predicate.approval.decisions"),
        (change("predicate", "approval", "decisions", 0, to=[]), "predicate.approval.decisions.0"),
        (change("predicate", "approval", "decisions", 0, "reason", to=None), "predicate.approval.decisions.0.reason"),
        (change("predicate", "approval", "decisions", 0, "name", to="x"), "predicate.approval.decisions.0.name"),
        (change("predicate", "log_head", to=7), "predicate.log_head"),
        (change("predicate", "log_head", "seq", to="7"), "predicate.log_head.seq"),
        (change("predicate", "log_head", "digest", to=7), "predicate.log_head.digest"),
    ],
)
def test_every_field_of_another_form_is_named(change: Callable[[dict[str, Any]], None], field: str) -> None:
    content = stated()
    change(content)
    assert f"manifest.json {field}" in [found[0] for found in faults(signed(canonical(content)))]


def test_a_statement_about_no_file_is_refused() -> None:
    rule = "must be an in-toto Statement v1 of at least one file"
    assert faults(signed(canonical({**stated(), "subject": []}))) == [("manifest.json", rule)]
    with pytest.raises(BundleRefused, match="of at least one file") as caught:
        statement.sealed([], predicate(), PRIVATE)
    assert caught.value.code == "bundle-refused"


@pytest.mark.parametrize("depth", [60, 300, 900, 100_000])
def test_a_deep_payload_is_refused_at_any_depth(depth: int) -> None:
    assert {field.split()[0] for field, _ in faults(signed(nested(depth).encode()))} == {"manifest.json"}


@pytest.mark.parametrize("value", [json.loads(nested(60)), 10**400], ids=["deep", "large"])
def test_what_other_readers_of_statements_cannot_hold_is_refused(value: object) -> None:
    content = stated()
    content["predicate"]["release"]["more"] = value
    assert [found[0] for found in faults(signed(canonical(content)))] == ["manifest.json"]


def test_a_fault_shows_an_odd_name_in_one_plain_line() -> None:
    assert statement.fault("a\x1b[2K\nb\ud800ü", "x").field == "a\\x1b[2K\\nb\\ud800\\xfc"
    assert statement.fault("übersicht.csv", "x").field == "übersicht.csv"


def test_a_form_that_would_be_refused_later_is_not_sealed() -> None:
    with pytest.raises(BundleRefused, match=r"predicate\.approval\.required refused"):
        statement.sealed(SUBJECT, {**predicate(), "approval": {"required": -1, "decisions": []}}, PRIVATE)
    with pytest.raises(NotCanonical):
        statement.sealed(SUBJECT, {**predicate(), "release": {"x": float("nan")}}, PRIVATE)


@pytest.mark.parametrize(
    "manifest",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b"[" * 100_000,
        b'{"payload": "e30=", "payloadType": "x", "signatures": {}}',
        b'{"payload": "e30=", "payloadType": "x", "signatures": [5]}',
        b'{"payload": 5, "payloadType": "x", "signatures": []}',
        b'{"payload": "\\ud800", "payloadType": "x", "signatures": []}',
    ],
    ids=lambda manifest: repr(manifest[:60]),
)
def test_what_is_no_envelope_is_refused(manifest: bytes) -> None:
    assert faults(manifest) == [("manifest.json", "must be a DSSE envelope")]


def test_deep_extras_of_an_envelope_do_no_harm() -> None:
    manifest = signed(canonical(stated()))
    shallow = b'{"more": ' + nested(50).encode() + b", " + manifest[1:]
    assert statement.opened(shallow, PUBLIC) == stated()
    deep = b'{"more": ' + nested(900).encode() + b", " + manifest[1:]
    assert faults(deep) == [("manifest.json", "must be a DSSE envelope")]


def test_another_key_is_told_from_an_altered_content() -> None:
    ours = signing.key_id(PUBLIC)
    other = Ed25519PrivateKey.generate()
    manifest = signed(canonical(stated()), key=other)
    assert faults(manifest) == [("manifest.json", f"must be signed with key {ours}; it names another key")]
    wrong = [("manifest.json", f"must be signed over its content, as {KIND}, with key {ours}")]
    assert faults(manifest.replace(signing.key_id(other.public_key()).encode(), ours.encode())) == wrong
    assert faults(signed(canonical(stated()), "application/vnd.penstock.decision+json")) == wrong


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
places = st.sampled_from(
    [
        ("_type",),
        ("subject",),
        ("subject", 0),
        ("subject", 0, "name"),
        ("subject", 0, "digest"),
        ("subject", 0, "digest", "sha256"),
        ("predicateType",),
        ("predicate",),
        ("predicate", "release"),
        ("predicate", "approval"),
        ("predicate", "approval", "required"),
        ("predicate", "approval", "decisions"),
        ("predicate", "approval", "decisions", 0),
        ("predicate", "log_head"),
        ("predicate", "log_head", "seq"),
    ]
)


@given(places, json_values)
def test_whatever_stands_in_a_field_it_is_read_or_refused(place: tuple[str | int, ...], value: Any) -> None:
    content = stated()
    change(*place, to=value)(content)
    try:
        payload = canonical(content)
    except NotCanonical:
        return  # text that is not Unicode
    with suppress(BundleAltered):
        assert statement.opened(signed(payload), PUBLIC) == content


@given(st.binary(max_size=60) | json_values.map(lambda value: json.dumps(value).encode()))
def test_whatever_the_bytes_are_they_are_refused(content: bytes) -> None:
    assert faults(content)
    assert faults(signed(content))
