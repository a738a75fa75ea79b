"""A bundle from a stranger: nothing large is read before it is refused, and what is said of it holds.

A manifest of 300 MB was read and parsed before it was refused, and a folder that is not listed, because it is empty,
was passed over while `verify` said that there is nothing else.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from penstock.records.bundle import bundle, places, statement
from penstock.records.bundle.bundle import BundleAltered, BundleRefused
from penstock.records.files import object_store
from penstock.records.files.addresses import ObjectPath, place_of
from penstock.records.signing.signing import public_pem
from tests.attacks.measured_command import measured
from tests.support.s3_server import Bucket

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
MORE = "must have at most 64 MiB"
MOST_MEMORY = 600 * 1024  # KiB; a manifest of 300 MB took several times itself


def seal(folder: Path, note: str = "") -> None:
    subject = [{"name": "report.html", "digest": {"sha256": hashlib.sha256(b"<p>").hexdigest()}}]
    approval: dict[str, Any] = {"required": 0, "decisions": []}
    head = {"seq": 1, "digest": "d"}
    bundle.seal(folder, subject=subject, release={"note": note}, approval=approval, log_head=head, key=PRIVATE)


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    folder = tmp_path / "bundle"
    folder.mkdir()
    (folder / "report.html").write_bytes(b"<p>")
    seal(folder)
    return folder


def faults(folder: Path) -> list[tuple[str, str]]:
    with pytest.raises(BundleAltered) as refused:
        bundle.check(folder, PRIVATE.public_key())
    return [(fault.field, fault.rule) for fault in refused.value.faults]


def test_a_large_manifest_is_not_read(sealed: Path) -> None:
    os.truncate(sealed / "manifest.json", statement.LARGEST_MANIFEST + 1)
    with mock.patch.object(Path, "read_bytes") as read:
        assert faults(sealed) == [("manifest.json", MORE)]
    assert read.call_count == 0


def test_verify_refuses_a_large_manifest_without_holding_it(sealed: Path, tmp_path: Path) -> None:
    os.truncate(sealed / "manifest.json", 1 << 30)
    (tmp_path / "key.pub").write_bytes(public_pem(PRIVATE.public_key()))
    ended = measured("verify", sealed, "--key", tmp_path / "key.pub")
    assert MORE in ended.printed
    assert ended.code != 0
    assert ended.memory < MOST_MEMORY


def test_a_large_manifest_in_a_store_is_not_fetched(
    sealed: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = place_of(f"s3://{bucket.name}/large")
    assert isinstance(place, ObjectPath)
    content = b"{" * 100_000
    object_store.create(place / "manifest.json", content)
    monkeypatch.setattr(statement, "LARGEST_MANIFEST", 1000)
    monkeypatch.setattr(places, "LARGEST_MANIFEST", 1000)
    with (
        mock.patch("penstock.records.bundle.places.object_store.blocks") as fetched,
        pytest.raises(BundleAltered, match=r"manifest\.json"),
        places.at_hand(place),
    ):
        pass
    assert fetched.call_count == 0
    found = places.manifest_at(place)
    assert found is not None
    with pytest.raises(BundleAltered, match=r"manifest\.json refused: must have at most"):
        statement.opened(found, PRIVATE.public_key())


def test_the_beginning_of_a_large_object_is_enough(bucket: Bucket, tmp_path: Path) -> None:
    place = place_of(f"s3://{bucket.name}/large/object")
    assert isinstance(place, ObjectPath)
    content = os.urandom(40 << 20)
    (tmp_path / "object").write_bytes(content)
    object_store.put_file(place, tmp_path / "object")
    beginning = object_store.read(place, most=1000)
    assert beginning is not None
    assert 1000 < len(beginning) < len(content)
    assert content.startswith(beginning)
    assert object_store.read(place) == content


def test_what_could_not_be_verified_is_not_sealed(sealed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statement, "LARGEST_MANIFEST", 2000)
    with pytest.raises(BundleRefused, match=r"manifest\.json refused: must have at most"):
        seal(sealed, "x" * 2000)


def test_a_manifest_of_very_many_signatures_is_no_envelope(sealed: Path) -> None:
    manifest = json.loads((sealed / "manifest.json").read_bytes())
    manifest["signatures"] *= 101
    (sealed / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert faults(sealed) == [("manifest.json", "must be a DSSE envelope")]


@pytest.mark.parametrize("name", ["evil", ".evil", "tables/evil"])
def test_an_empty_folder_is_additional(sealed: Path, name: str) -> None:
    (sealed / name).mkdir(parents=True)
    assert faults(sealed) == [(name, "must be listed; it was added")]


def test_a_folder_that_cannot_be_listed_is_additional(sealed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody knows what is in it. Root may list every folder, so that listing it is made to fail."""
    (sealed / "closed").mkdir()
    for function in (os.listdir, os.scandir):
        monkeypatch.setattr(os, function.__name__, closed(function))
    assert faults(sealed) == [("closed", "must be listed; it was added")]


def closed(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def refusing(path: Any) -> Any:
        if Path(path).name == "closed":
            raise PermissionError(13, "closed")
        return function(path)

    return refusing
