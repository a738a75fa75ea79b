from __future__ import annotations

import base64
import json

import pytest

from penstock.records.files.digest import canonical
from penstock.records.log._checkpoint import checkpoint, checkpoint_faults, removed_checkpoint
from penstock.records.signing.envelope import sealed
from tests.records.reviewers import private, public
from tests.support.damage import became

DIGESTS = {1: "a" * 64, 2: "b" * 64}
SOUND = [(seq, checkpoint(seq, digest, private("house"))) for seq, digest in DIGESTS.items()]


def rules(stored: list[tuple[int, str]], digests: dict[int, str] = DIGESTS) -> list[tuple[str, str]]:
    return [became(fault) for fault in checkpoint_faults(stored, digests, public("house"))]


def test_checkpoints_of_the_log_as_it_is_hold() -> None:
    assert rules(SOUND) == []
    assert rules([]) == []


def meaning(text: str) -> tuple[object, ...]:
    """Two texts of one base64 value differ in nothing that is said."""
    envelope = json.loads(text)
    signature = envelope["signatures"][0]
    said = base64.b64decode(envelope["payload"])
    return said, envelope["payloadType"], signature["keyid"], base64.b64decode(signature["sig"])


def test_a_checkpoint_says_number_and_digest() -> None:
    assert json.loads(base64.b64decode(json.loads(SOUND[1][1])["payload"])) == {"seq": 2, "digest": "b" * 64}


def test_every_changed_character_is_found() -> None:
    text = SOUND[0][1]
    for place, character in enumerate(text):
        changed = text[:place] + ("B" if character == "A" else "A") + text[place + 1 :]
        try:
            same = meaning(changed) == meaning(text)
        except (KeyError, ValueError):
            same = False
        assert same or rules([(1, changed)]) == [("checkpoint 1", "altered")], place


@pytest.mark.parametrize("text", ["", "x", "[]", "null", "{}", "7", "[" * 100_000, '{"payload": 1}'])
def test_what_is_no_envelope_is_found(text: str) -> None:
    assert rules([(1, text)]) == [("checkpoint 1", "altered")]


def test_another_signer_is_found() -> None:
    assert rules([(1, checkpoint(1, DIGESTS[1], private("mallory")))]) == [("checkpoint 1", "altered")]


def test_what_was_signed_as_something_else_is_no_checkpoint() -> None:
    payload = canonical({"digest": DIGESTS[1], "seq": 1})
    decision = canonical(sealed(payload, "application/vnd.penstock.decision+json", private("house"))).decode()
    assert rules([(1, decision)]) == [("checkpoint 1", "altered")]


@pytest.mark.parametrize("digests", [{}, {1: "c" * 64, 2: "b" * 64}, {2: "b" * 64}])
def test_a_log_that_lacks_the_event_or_holds_another_is_found(digests: dict[int, str]) -> None:
    assert ("checkpoint 1", "must be of this log; its event differs from the one that was signed") in rules(
        SOUND, digests
    )


def test_a_checkpoint_under_another_number_is_found() -> None:
    assert rules([(2, SOUND[0][1])]) == [
        ("checkpoint 2", "must be of this log; its event differs from the one that was signed")
    ]


def test_every_fault_is_listed() -> None:
    assert [field for field, _ in rules([(1, "x"), (2, "x")])] == ["checkpoint 1", "checkpoint 2"]


def test_a_checkpoint_that_is_gone_is_named() -> None:
    assert str(removed_checkpoint(3)).startswith("checkpoint 3 refused: must exist; it was removed.")
