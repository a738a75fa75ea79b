from __future__ import annotations

import hashlib
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from penstock.records.signing import signing
from penstock.records.signing.keyfile import KeyDamaged, KeyExposed
from penstock.records.signing.signing import KeyNotMade

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


def test_the_name_of_a_key_is_that_of_the_first_test_vector_of_rfc_8032() -> None:
    private = Ed25519PrivateKey.from_private_bytes(
        bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    )
    raw = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    assert signing.key_id(private.public_key()) == hashlib.sha256(raw).hexdigest()[:16]


def test_the_private_key_is_kept_and_its_public_key_lies_beside_it(tmp_path: Path) -> None:
    private = signing.private_key(tmp_path / "signing.pem")
    public = signing.public_key(tmp_path / "signing.pub")
    public.verify(signing.private_key(tmp_path / "signing.pem").sign(b"x"), b"x")
    assert signing.key_id(public) == signing.key_id(private.public_key())
    assert stat.S_IMODE((tmp_path / "signing.pem").stat().st_mode) == 0o600


def test_a_public_key_that_does_not_belong_is_replaced(tmp_path: Path) -> None:
    private = signing.private_key(tmp_path / "signing.pem")
    (tmp_path / "signing.pub").write_bytes(signing.public_pem(KEY.public_key()))
    signing.private_key(tmp_path / "signing.pem")
    assert (tmp_path / "signing.pub").read_bytes() == signing.public_pem(private.public_key())


def other_private(
    encryption: BestAvailableEncryption | NoEncryption, key: Ed25519PrivateKey | X25519PrivateKey
) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a key",
        other_private(NoEncryption(), X25519PrivateKey.generate()),
        other_private(BestAvailableEncryption(b"password"), KEY),
    ],
)
def test_a_file_that_holds_no_usable_private_key_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "signing.pem"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(KeyDamaged, match="unencrypted Ed25519 private key") as caught:
        signing.private_key(path)
    assert (caught.value.code, caught.value.kind) == ("key-damaged", "integrity")


@pytest.mark.parametrize(
    "content",
    [
        b"not a key",
        X25519PrivateKey.generate().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
    ],
)
def test_a_file_that_holds_no_ed25519_public_key_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "key.pub").write_bytes(content)
    with pytest.raises(KeyDamaged, match="an Ed25519 public key"):
        signing.public_key(tmp_path / "key.pub")


def test_a_new_key_pair_is_private_and_its_public_half_is_for_all(tmp_path: Path) -> None:
    public = signing.new_key_pair(tmp_path / "anna.b")
    assert stat.S_IMODE((tmp_path / "anna.b").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "anna.b.pub").stat().st_mode) == 0o644
    assert signing.public_key(tmp_path / "anna.b.pub") == public
    assert signing.existing_private_key(tmp_path / "anna.b").public_key() == public


@pytest.mark.parametrize("taken", ["anna", "anna.pub"])
def test_a_new_key_pair_replaces_nothing(tmp_path: Path, taken: str) -> None:
    (tmp_path / taken).write_bytes(b"kept")
    with pytest.raises(KeyNotMade, match="neither it nor its") as caught:
        signing.new_key_pair(tmp_path / "anna")
    assert (caught.value.code, caught.value.kind) == ("key-not-made", "failure")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [(taken, b"kept")]


def test_a_key_pair_is_made_in_a_folder_that_exists(tmp_path: Path) -> None:
    with pytest.raises(KeyNotMade, match="folder that you can write to"):
        signing.new_key_pair(tmp_path / "no" / "anna")


def test_a_private_key_that_does_not_exist_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(KeyDamaged, match="it does not exist"):
        signing.existing_private_key(tmp_path / "anna")
    assert list(tmp_path.iterdir()) == []


def test_a_private_key_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyDamaged, match="that you can read"):
        signing.existing_private_key(tmp_path)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_private_key_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    signing.new_key_pair(tmp_path / "anna")
    (tmp_path / "anna").chmod(mode)
    with pytest.raises(KeyExposed, match="readable by its owner only"):
        signing.existing_private_key(tmp_path / "anna")


def test_reading_a_private_key_leaves_the_files_beside_it_alone(tmp_path: Path) -> None:
    signing.new_key_pair(tmp_path / "anna")
    (tmp_path / "anna.pub").unlink()
    signing.existing_private_key(tmp_path / "anna")
    assert [path.name for path in tmp_path.iterdir()] == ["anna"]


def test_a_public_key_is_no_private_key(tmp_path: Path) -> None:
    signing.new_key_pair(tmp_path / "anna")
    (tmp_path / "anna.pub").chmod(0o600)
    with pytest.raises(KeyDamaged, match="unencrypted Ed25519 private key"):
        signing.existing_private_key(tmp_path / "anna.pub")
