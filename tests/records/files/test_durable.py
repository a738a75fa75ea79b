"""A power cut cannot be staged here, so these tests look at the order of the calls that guard against it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from penstock.records.bundle import bundle
from penstock.records.files import durable
from penstock.records.home import Home
from penstock.records.run import Run


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Every fsync with the name of what it synchronised, every rename and link with its target's name."""
    seen: list[tuple[str, str]] = []
    fsync, rename, link = os.fsync, os.rename, os.link

    def seen_fsync(descriptor: int) -> None:
        seen.append(("sync", Path(os.readlink(f"/proc/self/fd/{descriptor}")).name))
        fsync(descriptor)

    def seen_as(what: str, call: Callable[[Path, Path], None]) -> Callable[[Path, Path], None]:
        def recorded(source: Path, target: Path) -> None:
            seen.append((what, target.name))
            call(source, target)

        return recorded

    monkeypatch.setattr(os, "fsync", seen_fsync)
    monkeypatch.setattr(os, "rename", seen_as("rename", rename))
    monkeypatch.setattr(os, "link", seen_as("link", link))
    return seen


def test_content_is_on_disk_before_the_name_and_the_name_before_the_call_returns(
    tmp_path: Path, calls: list[tuple[str, str]]
) -> None:
    durable.write_whole(tmp_path / "a", b"content")
    assert calls == [("sync", ".a.tmp"), ("rename", "a"), ("sync", tmp_path.name)]
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_of_two_creations_the_first_stays(tmp_path: Path, calls: list[tuple[str, str]]) -> None:
    assert durable.create_once(tmp_path / "key", b"first")
    assert [what for what, _ in calls] == ["sync", "link", "sync"]
    assert not durable.create_once(tmp_path / "key", b"second")
    assert (tmp_path / "key").read_bytes() == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_working_files_are_on_disk_before_the_marker_that_vouches_for_them(
    home: Home, now: datetime, calls: list[tuple[str, str]]
) -> None:
    with Run.begin(home, "key", now=now) as run:
        run.path("staged").mkdir()
        run.path("staged").joinpath("data.parquet").write_bytes(b"x")
        run.commit("protect", {})
    marker = calls.index(("rename", "protect.json"))
    assert calls.index(("sync", "data.parquet")) < calls.index(("sync", "staged")) < marker
    assert calls[marker + 1] == ("sync", run.id)


@pytest.fixture
def staged(tmp_path: Path, calls: list[tuple[str, str]]) -> Path:
    private = Ed25519PrivateKey.generate()
    folder = tmp_path / "staged"
    folder.mkdir()
    (folder / "data.csv").write_bytes(b"x")
    bundle.seal(
        folder,
        subject=bundle.subjects(folder),
        release={"name": "survey"},
        approval={"required": 0, "decisions": []},
        log_head={"seq": 0, "digest": "0" * 64},
        key=private,
    )
    calls.clear()
    return folder


FILES = {"data.csv", "manifest.json"}


def test_a_bundle_is_on_disk_before_it_appears(tmp_path: Path, staged: Path, calls: list[tuple[str, str]]) -> None:
    bundle.install(staged, tmp_path / "public" / "release-1")
    appears = calls.index(("rename", "release-1"))
    assert {name for what, name in calls[:appears] if what == "sync"} >= {*FILES, "staged"}
    assert calls[appears + 1] == ("sync", "public")


def test_a_copied_bundle_is_on_disk_before_it_appears(
    tmp_path: Path, staged: Path, calls: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = os.rename

    def rename_within_one_folder(source: Path, target: Path) -> None:
        if source.parent != target.parent:
            calls.append(("refused", target.name))
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        rename(source, target)

    monkeypatch.setattr(os, "rename", rename_within_one_folder)
    bundle.install(staged, tmp_path / "public" / "release-1")
    refused, appears = calls.index(("refused", "release-1")), calls.index(("rename", "release-1"))
    assert {name for what, name in calls[refused:appears] if what == "sync"} == {*FILES, ".incoming-release-1"}
    assert calls[appears + 1] == ("sync", "public")
