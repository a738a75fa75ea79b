"""A public key of small order: one signature, made without any private key, holds for many contents, or for all.

The eight points of order 1, 2, 4 and 8 are computed here; every encoding of them is tried, also those that are not
canonical (y of p or more, or the sign of x = 0).
"""

from __future__ import annotations

import base64
import hashlib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from penstock.records import Home, open_records
from penstock.records.approval.decision import APPROVE, DecisionRefused, verify_decision
from penstock.records.people.trusted_keys import KeyWeak, people, trust
from penstock.records.signing.envelope import opened
from penstock.records.signing.keyfile import KeyDamaged
from penstock.records.signing.signing import SignatureWrong, key_id, public_key, public_pem
from penstock.tasks.verification.bundle import approval_faults
from tests.records.reviewers import CONTENT, public

P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P
NOW = datetime(2026, 11, 16, 2, 15, tzinfo=UTC)


def _torsion() -> set[tuple[int, int]]:
    """x = 0 has orders 1 and 2; y = 0 has order 4; doubling onto (+-i, 0) has order 8: y^2 = -x^2, so d y^4 = 1 +..."""
    root = pow(2, (P - 1) // 4, P)  # of -1
    points = {(0, 1), (0, P - 1), (root, 0), (P - root, 0)}
    # A point whose double has y = 0 has y^2 = -x^2, so by the curve d x^2 y^2 = -d y^4 and y^2 + y^2 = 1 - d y^4.
    square_root = _root((1 + D) % P)
    assert square_root is not None
    for sign in (1, -1):
        y2 = (-1 + sign * square_root) * pow(D, -1, P) % P
        y = _root(y2)
        if y is not None:
            x = root * y % P
            points |= {(x, y), (P - x, y), (x, P - y), (P - x, P - y)}
    return points


def _root(a: int) -> int | None:
    candidate = pow(a, (P + 3) // 8, P)
    for each in (candidate, candidate * pow(2, (P - 1) // 4, P) % P):
        if each * each % P == a % P:
            return each
    return None


def _encodings() -> list[bytes]:
    found = set()
    for x, y in _torsion():
        for number in (y, y + P):
            if number < 2**255:
                for sign in (0, 1) if x == 0 else (x & 1,):
                    found.add((number | sign << 255).to_bytes(32, "little"))
    return sorted(found)


WEAK = _encodings()
CANONICAL = sorted((y | (x & 1) << 255).to_bytes(32, "little") for x, y in _torsion())


def test_there_are_eight_points_and_fourteen_encodings() -> None:
    assert all((-x * x + y * y - 1 - D * x * x * y * y) % P == 0 for x, y in _torsion())
    assert (len(_torsion()), len(CANONICAL), len(WEAK)) == (8, 8, 14)


def forged(key: bytes, message: bytes) -> bytes | None:
    """A signature under a key of small order, found by trying its eight points as R with S = 0."""
    loaded = Ed25519PublicKey.from_public_bytes(key)
    for point in CANONICAL:
        signature = point + bytes(32)
        try:
            loaded.verify(signature, message)
        except Exception:  # noqa: BLE001 - the library's own class, whatever it is called
            continue
        return signature
    return None


def _pae(payload: bytes, kind: str) -> bytes:
    return b" ".join([b"DSSEv1", str(len(kind)).encode(), kind.encode(), str(len(payload)).encode(), payload])


def test_the_library_takes_forgeries_under_these_keys() -> None:
    """Why Penstock must look for itself: nobody holds a private key, and signatures hold."""
    taken = sum(forged(key, hashlib.sha256(bytes([n])).digest()) is not None for key in CANONICAL for n in range(20))
    assert taken > 80  # of 160; the identity alone gives 20


@pytest.mark.parametrize("raw", WEAK, ids=lambda raw: raw.hex()[:8] + raw.hex()[-2:])
def test_such_a_key_is_refused_wherever_one_enters(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raw: bytes
) -> None:
    key = Ed25519PublicKey.from_public_bytes(raw)
    (tmp_path / "weak.pub").write_bytes(public_pem(key))
    with pytest.raises(KeyDamaged, match="not of small order"):
        public_key(tmp_path / "weak.pub")
    log = open_records(home=home).log
    with pytest.raises(KeyWeak, match="not of small order"):
        trust(log, "eve", key, actor="admin", reason="hired", now=NOW)
    assert people(log) == {}


@pytest.mark.parametrize("raw", WEAK, ids=lambda raw: raw.hex()[:8] + raw.hex()[-2:])
def test_no_signature_holds_under_such_a_key(raw: bytes) -> None:
    """Also where the key came in before: in an old log, or in the manifest of somebody else."""
    from penstock.records.approval.decision import KIND, _payload

    key = Ed25519PublicKey.from_public_bytes(raw)
    fooled = 0
    for reason in map(str, range(20)):
        payload = _payload(CONTENT, APPROVE, reason)
        signature = forged(raw, _pae(payload, KIND))
        if signature is None:
            continue
        fooled += 1
        text = base64.b64encode(signature).decode()
        with pytest.raises(DecisionRefused):
            verify_decision(key, content=CONTENT, decision=APPROVE, reason=reason, signature=text)
        given = {"key_id": key_id(key), "public_key": raw.hex(), "signature": text, "reason": reason}
        assert approval_faults({"required": 1, "decisions": [given]}, CONTENT, 1)
        envelope = {
            "payload": base64.b64encode(payload).decode(),
            "payloadType": KIND,
            "signatures": [{"keyid": key_id(key), "sig": text}],
        }
        with pytest.raises(SignatureWrong):
            opened(envelope, KIND, key)
    assert fooled or raw not in CANONICAL


def test_an_honest_key_is_not_mistaken_for_one() -> None:
    from penstock.records.signing.curve import is_sound_key

    assert all(is_sound_key(public(str(number)).public_bytes_raw()) for number in range(50))
    assert not any(is_sound_key(raw) for raw in WEAK)
    # Not on the curve, or a y that is no number below p.
    assert not is_sound_key((2).to_bytes(32, "little"))
    assert not is_sound_key(b"\xff" * 32)
    assert not is_sound_key(b"")
