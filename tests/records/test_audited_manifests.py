"""Manifests are held against the log, wherever their bundles lie."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.records import Action, Home, Log, open_records
from penstock.records.audit import verify_everything
from penstock.records.files.digest import plain_file
from tests.records.audit_findings import UNKNOWN, disagreements, edited
from tests.records.published_home import NOW, publish, sealed_by
from tests.records.reviewers import private


def test_a_manifest_signed_by_another_key_is_found(small: Home, public_folder: Path) -> None:
    bundle = publish(small, public_folder)
    sealed_by(bundle, private("stranger"))
    [(field, rule)] = disagreements()
    assert field == f"{bundle} manifest.json"
    assert "it names another key" in rule


def test_a_manifest_signed_again_by_the_home_is_found(small: Home, public_folder: Path) -> None:
    bundle = publish(small, public_folder)
    sealed_by(bundle, small.signing_key())
    replaced = (str(bundle), "must have the manifest that was published")
    assert disagreements() == [replaced, (str(bundle), UNKNOWN)]
    sealed_by(bundle, small.signing_key(), 1, "ab" * 32)
    assert disagreements()[2:] == [
        (str(bundle), "must have seen the same event 1: the log was cut short or replaced since")
    ]


def test_a_manifest_of_another_release_is_found(small: Home, public_folder: Path) -> None:
    bundle, other = publish(small, public_folder), publish(small, public_folder)
    shutil.copy2(other / "manifest.json", bundle / "manifest.json")
    assert disagreements() == [(str(bundle), "must have the manifest that was published")]


def as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def as_dangling_link(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def as_link(path: Path) -> None:
    path.rename(path.with_name("moved"))
    path.symlink_to("moved")


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (edited, "must be signed over its content"),
        (lambda path: path.write_bytes(b""), "must be a DSSE envelope"),
        (as_link, "must be a plain file"),
        (as_folder, "must be a plain file"),
        (as_dangling_link, "must be a plain file"),
    ],
    ids=["edited", "empty", "link", "folder", "dangling link"],
)
def test_a_manifest_that_is_no_longer_what_it_was_is_found(
    small: Home, public_folder: Path, change: Callable[[Path], None], rule: str
) -> None:
    bundle = publish(small, public_folder)
    change(bundle / "manifest.json")
    [(field, found)] = disagreements()
    assert field.startswith(str(bundle))
    assert rule in found


def test_a_manifest_that_cannot_be_read_is_found(
    small: Home, public_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = publish(small, public_folder)

    def denied(_: Path) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("penstock.records.bundle.bundle.manifest_of", denied)
    assert disagreements() == [(str(bundle), "must have a manifest that can be read (Permission denied)")]


def test_a_bundle_that_is_not_there_is_listed_and_no_failure(small: Home, public_folder: Path) -> None:
    """A public folder may lie on another machine."""
    kept, removed = publish(small, public_folder), publish(small, public_folder)
    shutil.rmtree(removed)
    found = verify_everything()
    assert (found["manifests"], found["not_reached"]) == (1, [str(removed)])
    shutil.rmtree(kept)
    assert verify_everything([public_folder])["not_reached"] == sorted([str(kept), str(removed)])


def test_a_bundle_that_the_log_does_not_know_is_found_where_it_is_looked_for(small: Home, public_folder: Path) -> None:
    bundle = publish(small, public_folder)
    strange = public_folder / "elsewhere" / "strange"
    shutil.copytree(bundle, strange)
    assert verify_everything([public_folder])["manifests"] == 2  # a copy is what was published
    sealed_by(strange, small.signing_key())
    assert verify_everything()["manifests"] == 1
    assert disagreements(public_folder) == [(str(strange), UNKNOWN)]


def test_a_folder_that_is_not_there_is_not_passed_over(small: Home, tmp_path: Path, public_folder: Path) -> None:
    publish(small, public_folder)
    (tmp_path / "file").touch()
    rule = "must be a folder; nothing in it was checked"
    for mistyped in (tmp_path / "pubic", tmp_path / "file"):
        assert disagreements(public_folder, mistyped) == [(str(mistyped), rule)]


def test_a_bundle_is_checked_once_however_its_folder_is_named(
    small: Home, tmp_path: Path, public_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(small, public_folder)
    (tmp_path / "link").symlink_to(public_folder)
    monkeypatch.chdir(tmp_path)
    for name in ("public", "./public/../public", "link"):
        assert verify_everything([Path(name)])["manifests"] == 1


def test_manifests_of_the_first_version_are_known_by_their_digest(small: Home, public_folder: Path) -> None:
    """They were no statements; the log has their digest."""
    records = open_records()
    old = public_folder / "old"
    old.mkdir(parents=True)
    (old / "manifest.json").write_text("{}")
    log = Log(records.engine, small.secret_key(), small.signing_key(), "0.1.0")
    facts = {"manifest": plain_file(old / "manifest.json"), "destination": str(old)}
    log.append(Action.PUBLISHED, run="r", actor="a", facts=facts, occurred=NOW)
    assert verify_everything([public_folder])["manifests"] == 1
    (old / "manifest.json").write_text("{} ")
    assert disagreements() == [(f"{old} manifest.json", "must be a DSSE envelope")]
