"""Approvals, and verification by others: without our home, and without our code."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from google.protobuf.json_format import Parse
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.v1.statement_pb2 import Statement as StatementMessage
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

from penstock.tasks.verification.bundle import Finding
from tests.tasks.published_bundle import ROWS, Published, broken, finding
from tests.tasks.signed_by_hand import approved, content_by_hand, encoded

REVIEWERS = [Ed25519PrivateKey.from_private_bytes(bytes([place] * 32)) for place in range(3)]
ROOT = Path(__file__).parents[3]


@pytest.fixture
def published(tmp_path: Path) -> Published:
    return Published(tmp_path, "mdav_id")


def test_without_reviewers_it_is_said_that_no_review_was_asked_for(published: Published) -> None:
    assert finding(published, "approval") == Finding("approval", False, "No review was asked for.")


@pytest.mark.parametrize("required", [0, 1, 2])
def test_approvals_are_counted_and_their_keys_named(published: Published, required: int) -> None:
    published.manifest["reviewers"] = required
    given = [approved(key, published.content, "Überprüft; Tabelle 3 ist gut.") for key in REVIEWERS[:2]]
    published.seal(required, *given)
    found = finding(published, "approval")
    assert found.checked
    assert found.text == (
        f"2 reviewers approved exactly this content ({published.content}), {required} required: "
        f"{given[0]['key_id']}, {given[1]['key_id']}. Who they are is vouched for by the publisher's signature."
    )


def approval_faults(published: Published, required: int, *decisions: dict[str, Any]) -> list[tuple[str, str]]:
    published.seal(required, *decisions)
    return [
        (fault.field, fault.rule) for fault in broken(published).faults if (fault.field, fault.rule) != OTHER_NUMBER
    ]


OTHER_NUMBER = ("approval", "must ask for as many reviewers as the content that they signed")
FEWER = ("approval", "must be given by as many reviewers as were required")
UNSIGNED = "must be signed over exactly this content and reason with its stated key"


def test_fewer_approvals_than_required_are_noticed(published: Published) -> None:
    assert approval_faults(published, 1) == [FEWER]
    assert approval_faults(published, 3, *(approved(key, published.content) for key in REVIEWERS[:2])) == [FEWER]


def test_a_number_of_reviewers_that_was_lowered_after_they_were_asked_is_noticed(published: Published) -> None:
    published.manifest["reviewers"] = 2
    published.seal(1, approved(REVIEWERS[0], published.content))
    assert [(fault.field, fault.rule) for fault in broken(published).faults] == [OTHER_NUMBER]


def test_an_approval_of_another_content_is_noticed(published: Published) -> None:
    given = approved(REVIEWERS[0], published.content)
    published.change("data.csv", lambda table: table.slice(0))
    published.manifest["note"] = "changed after approval"
    assert approval_faults(published, 1, given) == [("approval 1", UNSIGNED), FEWER]


@pytest.mark.parametrize(
    "change",
    [
        {"reason": "Another reason."},
        {"reason": "two\nlines"},
        {"signature": "AAAA"},
        {"signature": ""},
        {"signature": "ü"},
        approved(REVIEWERS[1], "0" * 64),
    ],
    ids=repr,
)
def test_an_approval_that_was_changed_is_noticed(published: Published, change: dict[str, Any]) -> None:
    given = {**approved(REVIEWERS[0], published.content, "Fine."), **change}
    assert approval_faults(published, 1, given) == [("approval 1", UNSIGNED), FEWER]


def test_a_refusal_does_not_pass_as_an_approval(published: Published) -> None:
    given = approved(REVIEWERS[0], published.content, "No.", word="refuse")
    assert approval_faults(published, 0, given) == [("approval 1", UNSIGNED)]


def test_one_reviewer_counts_once_however_the_key_is_written(published: Published) -> None:
    first = approved(REVIEWERS[0], published.content, "Once.")
    second = approved(REVIEWERS[0], published.content, "And once more.")
    second["public_key"] = second["public_key"].upper()
    rule = "must not be made with a key that approved before: each reviewer counts once"
    assert approval_faults(published, 2, first, second) == [("approval 2", rule), FEWER]


@pytest.mark.parametrize(
    "change", [{"key_id": "0" * 16}, {"public_key": "no key"}, {"public_key": "00"}, {"public_key": ""}], ids=repr
)
def test_a_key_that_is_none_or_has_another_id_is_noticed(published: Published, change: dict[str, Any]) -> None:
    given = {**approved(REVIEWERS[0], published.content), **change}
    assert approval_faults(published, 0, given) == [("approval 1", "must name an Ed25519 public key and its id")]


def test_every_approval_must_hold_also_beyond_the_number_required(published: Published) -> None:
    good, bad = approved(REVIEWERS[0], published.content), approved(REVIEWERS[1], "0" * 64)
    assert approval_faults(published, 1, bad, good) == [("approval 1", UNSIGNED)]


OFFLINE = """
import os, socket, sys
from pathlib import Path

from penstock.tasks.verification.bundle import verify_bundle

touched = []

def watch(event, args):
    if event.split(".")[0] in ("socket", "sqlite3", "subprocess") or event in ("os.mkdir", "os.rename", "os.remove"):
        touched.append(event)
    if event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        touched.append(f"open {args[0]}")

sys.addaudithook(watch)
if sys.argv[3] == "network":
    socket.socket().close()
if sys.argv[3] == "disk":
    open(os.devnull, "w").close()
found = verify_bundle(Path(sys.argv[1]), Path(sys.argv[2]))
print(touched, len(found))
"""


def verified_offline(published: Published, empty: Path, reach_for: str) -> str:
    """What a process of its own touched while it verified, in an empty place."""
    published.manifest["reviewers"] = 1
    published.seal(1, approved(REVIEWERS[0], published.content))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    shown = subprocess.run(
        [sys.executable, "-c", OFFLINE, str(published.folder), str(published.public), reach_for],
        cwd=empty,
        env={**environment, "PYTHONPATH": str(ROOT), "HOME": str(empty)},
        capture_output=True,
        text=True,
        check=True,
    )
    return shown.stdout


def test_verification_needs_no_home_no_database_and_no_network(
    published: Published, tmp_path_factory: pytest.TempPathFactory
) -> None:
    empty = tmp_path_factory.mktemp("empty")
    assert verified_offline(published, empty, "nothing") == "[] 8\n"
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize("reach_for", ["network", "disk"])
def test_the_offline_test_notices_a_verification_that_reaches_out(
    published: Published, tmp_path_factory: pytest.TempPathFactory, reach_for: str
) -> None:
    assert verified_offline(published, tmp_path_factory.mktemp("empty"), reach_for) != "[] 8\n"


def test_the_manifest_is_confirmed_by_other_libraries_and_by_hand(published: Published) -> None:
    published.manifest["reviewers"] = 1
    given = approved(REVIEWERS[0], published.content, "Fine.")
    published.seal(1, given)
    published.verify()
    manifest = json.loads((published.folder / "manifest.json").read_text())
    pem = load_pem_public_key(published.public.read_bytes())
    assert isinstance(pem, Ed25519PublicKey)

    # securesystemslib, as its documentation uses it.
    envelope = Envelope.from_dict(json.loads((published.folder / "manifest.json").read_text()))
    named = SSlibKey.from_crypto(pem, keyid=manifest["signatures"][0]["keyid"])
    assert list(envelope.verify([named], threshold=1)) == [named.keyid]
    assert envelope.payload_type == "application/vnd.in-toto+json"

    # in-toto-attestation, from the signed bytes.
    message = Parse(envelope.payload, StatementMessage())
    Statement.copy_from_pb(message).validate()
    assert message.predicate_type == "urn:penstock:release:v1"
    assert {file.name: file.digest["sha256"] for file in message.subject} == {
        name: hashlib.sha256((published.folder / name).read_bytes()).hexdigest()
        for name in ("data.csv", "data.parquet")
    }
    assert message.predicate["release"]["records"] == ROWS

    # By hand, with nothing but Ed25519.
    payload = base64.b64decode(manifest["payload"])
    signature = base64.b64decode(manifest["signatures"][0]["sig"])
    pem.verify(signature, encoded(b"application/vnd.in-toto+json", payload))
    stated = json.loads(payload)
    content = content_by_hand(stated["subject"], stated["predicate"]["release"])
    assert stated["predicate"]["approval"]["decisions"] == [approved(REVIEWERS[0], content, "Fine.")]
