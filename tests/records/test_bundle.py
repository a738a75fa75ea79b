from __future__ import annotations

import base64
import errno
import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from kill_points import kill_points

from records import bundle, signing
from records.bundle import BundleAltered, BundleExists, BundleRefused
from records.digest import NotCanonical

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = PRIVATE.public_key()
FACTS = {"name": "income", "guarantee": {"model": "dp", "parameters": {"epsilon": "1/2"}}, "log_head": 7}
FILES = {"data.parquet": b"PAR1" * 100, "report.html": b"<p>", "tables/age.parquet": b"PAR1"}


def stage(folder: Path) -> Path:
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o600)
    bundle.seal(folder, FACTS, PRIVATE, PUBLIC)
    return folder


def copies(sealed: Path, count: int) -> list[Path]:
    return [Path(shutil.copytree(sealed, sealed.with_name(f"staged-{index}"))) for index in range(count)]


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    return stage(tmp_path / "staged")


def faults(folder: Path, key: Ed25519PrivateKey = PRIVATE) -> list[tuple[str, str]]:
    with pytest.raises(BundleAltered) as caught:
        bundle.check(folder, key.public_key())
    assert (caught.value.code, caught.value.kind) == ("bundle-altered", "integrity")
    return [(fault.field, fault.rule.split(":")[0]) for fault in caught.value.faults]


def sign_again(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """A manifest that the publisher did sign, with something in it that no publisher should."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    change(manifest)
    encoded = json.dumps(manifest).encode()
    (folder / "manifest.json").write_bytes(encoded)
    signature = base64.b64encode(signing.sign(PRIVATE, encoded)).decode()
    statement = {"key_id": signing.key_id(PUBLIC), "signature": signature}
    (folder / "manifest.sig").write_text(json.dumps(statement))


def test_a_sealed_bundle_checks_and_its_manifest_lists_every_file(sealed: Path) -> None:
    manifest = bundle.check(sealed, PUBLIC)
    listed = {name: {"bytes": len(c), "sha256": hashlib.sha256(c).hexdigest()} for name, c in FILES.items()}
    assert manifest == {**FACTS, "files": listed}


def test_the_seal_returns_the_digest_of_a_manifest_that_people_can_read(sealed: Path) -> None:
    digest = bundle.seal(sealed, FACTS, PRIVATE, PUBLIC)
    content = (sealed / "manifest.json").read_bytes()
    assert digest == hashlib.sha256(content).hexdigest()
    assert content.startswith(b'{\n  "files": {\n    "data.parquet": {\n      "bytes": 400,')
    assert set(json.loads((sealed / "manifest.sig").read_bytes())) == {"algorithm", "key_id", "signature"}


def test_sealing_again_replaces_the_seal(sealed: Path) -> None:
    (sealed / "more.csv").write_bytes(b"x")
    (sealed / "manifest.json").write_bytes(b"half")
    bundle.seal(sealed, FACTS, PRIVATE, PUBLIC)
    assert set(bundle.check(sealed, PUBLIC)["files"]) == {*FILES, "more.csv"}


def test_a_manifest_that_lists_files_itself_is_refused(sealed: Path) -> None:
    with pytest.raises(BundleRefused, match="written by the seal") as caught:
        bundle.seal(sealed, {"files": {}}, PRIVATE, PUBLIC)
    assert caught.value.code == "bundle-refused"


def test_a_manifest_that_is_not_json_is_refused(sealed: Path) -> None:
    with pytest.raises(NotCanonical):
        bundle.seal(sealed, {"x": float("nan")}, PRIVATE, PUBLIC)
    (sealed / os.fsdecode(b"\xff")).write_bytes(b"a name that is not Unicode")
    with pytest.raises(NotCanonical):
        bundle.seal(sealed, FACTS, PRIVATE, PUBLIC)


def test_keys_that_do_not_belong_together_seal_nothing(sealed: Path) -> None:
    with pytest.raises(signing.SignatureWrong):
        bundle.seal(sealed, FACTS, Ed25519PrivateKey.generate(), PUBLIC)
    assert not (sealed / "manifest.json").exists()


@pytest.mark.parametrize("make", [lambda p: p.symlink_to("data.parquet"), lambda p: p.symlink_to("/etc"), os.mkfifo])
def test_only_plain_files_are_sealed_installed_or_checked(
    sealed: Path, tmp_path: Path, make: Callable[[Path], object]
) -> None:
    make(sealed / "tables" / "odd")
    with pytest.raises(BundleRefused, match="tables/odd refused: a bundle holds plain files only"):
        bundle.install(sealed, tmp_path / "public")
    assert faults(sealed) == [("tables/odd", "must be a plain file"), ("tables/odd", "additional")]
    with pytest.raises(BundleRefused, match="plain files only"):
        bundle.seal(sealed, FACTS, PRIVATE, PUBLIC)


@pytest.mark.parametrize("name", FILES)
def test_each_altered_cut_or_missing_file_is_found(sealed: Path, name: str) -> None:
    path = sealed / name
    content = path.read_bytes()
    path.write_bytes(b"x" + content[1:])
    assert faults(sealed) == [(name, "altered")]
    path.write_bytes(content[:-1])
    assert faults(sealed) == [(name, "altered")]
    path.unlink()
    assert faults(sealed) == [(name, "missing")]


@pytest.mark.parametrize("name", ["extra.csv", "tables/extra.csv", ".hidden", os.fsdecode(b"\xff")])
def test_an_additional_file_is_found(sealed: Path, name: str) -> None:
    (sealed / name).write_bytes(b"")
    printable = name.encode(errors="backslashreplace").decode()
    assert faults(sealed) == [(printable, "additional")]


def test_all_faults_are_listed(sealed: Path) -> None:
    (sealed / "data.parquet").unlink()
    (sealed / "extra").write_bytes(b"")
    (sealed / "report.html").write_bytes(b"other")
    (sealed / "manifest.sig").unlink()
    assert sorted(faults(sealed)) == [
        ("data.parquet", "missing"),
        ("extra", "additional"),
        ("manifest.sig", "missing"),
        ("report.html", "altered"),
    ]


def test_a_missing_manifest_or_folder_is_found(sealed: Path, tmp_path: Path) -> None:
    assert faults(tmp_path / "nothing") == [("manifest.json", "missing"), ("manifest.sig", "missing")]
    (sealed / "manifest.json").unlink()
    assert faults(sealed) == [("manifest.json", "missing")]


WRONG = ("manifest.sig", "must be made over manifest.json with the given key")


def test_an_altered_manifest_is_found_by_its_signature(sealed: Path) -> None:
    path = sealed / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b"1/2", b"9/2"))
    assert faults(sealed) == [WRONG]


def test_another_key_is_found(sealed: Path) -> None:
    other = Ed25519PrivateKey.generate()
    identity = f"must be {signing.key_id(other.public_key())}; it names another key"
    assert faults(sealed, other) == [("manifest.sig key_id", identity), WRONG]


@pytest.mark.parametrize("content", [b"", b"[]", b'{"signature": "?"}', b"[" * 100_000, b'{"signature": "\xc3\xbc"}'])
def test_what_is_no_signature_file_is_found(sealed: Path, content: bytes) -> None:
    (sealed / "manifest.sig").write_bytes(content)
    assert [fault[0] for fault in faults(sealed)] == ["manifest.sig key_id", "manifest.sig"]


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"files": []}', b"\xff"])
def test_what_is_no_manifest_is_found(sealed: Path, content: bytes) -> None:
    (sealed / "manifest.json").write_bytes(content)
    assert faults(sealed) == [WRONG, ("manifest.json", "must be an object that lists its files")]


@pytest.mark.parametrize(
    "name", ["../outside", "/etc/passwd", "tables/../data.parquet", "./data.parquet", "tables//x", "", "manifest.json"]
)
def test_a_listed_path_that_leaves_the_bundle_is_found(sealed: Path, name: str) -> None:
    (sealed.parent / "outside").write_bytes(b"outside")
    described = {"bytes": 7, "sha256": hashlib.sha256(b"outside").hexdigest()}
    sign_again(sealed, lambda manifest: manifest["files"].update({name: described}))
    assert faults(sealed) == [(repr(name), "a listed file must lie inside the bundle")]


@pytest.mark.parametrize("name", ["data.parquet", "tables", "manifest.json", "manifest.sig"])
def test_a_symbolic_link_in_the_place_of_a_file_is_found(sealed: Path, name: str) -> None:
    (sealed / name).rename(sealed.parent / "moved")
    (sealed / name).symlink_to(sealed.parent / "moved")
    assert (name, "must be a plain file") in faults(sealed)


@pytest.mark.parametrize("described", [None, "text", {}, {"sha256": "x", "bytes": 400}])
def test_a_listing_without_digest_is_found(sealed: Path, described: object) -> None:
    sign_again(sealed, lambda manifest: manifest["files"].update({"data.parquet": described}))
    assert faults(sealed) == [("data.parquet", "altered")]


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.rglob("*")] if path.is_dir()}


@pytest.fixture(params=["same file system", "another file system"])
def public(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    if request.param == "same file system":
        yield tmp_path / "public"
        return
    memory = Path("/dev/shm")
    if not memory.is_dir() or memory.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("this machine has no second file system to write to")
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder, "public")


def test_an_installed_bundle_is_whole_public_and_gone_from_staging(sealed: Path, public: Path) -> None:
    destination = public / "income" / "release-1"
    sealed.chmod(0o700)
    bundle.install(sealed, destination)
    assert bundle.check(destination, PUBLIC)["name"] == "income"
    assert not sealed.exists()
    assert [path.name for path in destination.parent.iterdir()] == ["release-1"]
    assert {stat.S_IMODE(p.stat().st_mode) for p in destination.rglob("*") if p.is_file()} == {0o644}
    assert modes(destination) == {0o755}


@pytest.mark.parametrize("occupy", [Path.mkdir, Path.touch, lambda path: path.symlink_to("nowhere")])
def test_an_existing_destination_is_refused_and_left_alone(
    sealed: Path, tmp_path: Path, occupy: Callable[[Path], object]
) -> None:
    destination = tmp_path / "release-1"
    occupy(destination)
    with pytest.raises(BundleExists, match="must not exist") as caught:
        bundle.install(sealed, destination)
    assert caught.value.code == "bundle-exists"
    bundle.check(sealed, PUBLIC)
    assert not (destination / "manifest.json").exists()


def test_a_destination_taken_at_the_last_moment_is_refused(
    sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    destination = tmp_path / "release-1"
    rename = os.rename

    def somebody_is_faster(source: Path, target: Path) -> None:
        target.mkdir()
        (target / "theirs").touch()
        rename(source, target)

    monkeypatch.setattr(os, "rename", somebody_is_faster)
    with pytest.raises(BundleExists):
        bundle.install(sealed, destination)
    assert [path.name for path in destination.iterdir()] == ["theirs"]


@pytest.mark.parametrize("name", ["manifest.json", "manifest.sig"])
def test_what_is_not_sealed_is_not_installed(sealed: Path, tmp_path: Path, name: str) -> None:
    (sealed / name).unlink()
    with pytest.raises(BundleRefused, match=f"must be sealed before it is installed, got .'{name}'"):
        bundle.install(sealed, tmp_path / "public")
    assert not (tmp_path / "public").exists()


def test_another_failure_of_the_rename_is_not_hidden(
    sealed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_rename(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "rename", no_rename)
    with pytest.raises(OSError, match="Input/output"):
        bundle.install(sealed, tmp_path / "public")
    assert not (tmp_path / "public").exists()


def test_an_install_killed_at_any_point_leaves_nothing_or_a_whole_bundle(sealed: Path, public: Path) -> None:
    staged = copies(sealed, 100)
    nothing = whole = 0
    for point in kill_points(lambda at: bundle.install(staged[at], public / str(at) / "release-1")):
        destination = public / str(point) / "release-1"
        if destination.exists():
            bundle.check(destination, PUBLIC)
            whole += 1
        else:
            bundle.install(staged[point], destination)
            bundle.check(destination, PUBLIC)
            nothing += 1
        assert [path.name for path in destination.parent.iterdir()] == ["release-1"]
    assert nothing > 10
    assert whole > 2


def test_the_kill_test_notices_an_install_that_copies_in_place(tmp_path: Path) -> None:
    staged = stage(tmp_path / "staged")

    def careless(at: int) -> None:
        destination = tmp_path / f"public-{at}"
        for name in ["manifest.json", "manifest.sig", *FILES]:
            (destination / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(staged / name, destination / name)
            os.chmod(destination / name, 0o644)

    def kill_and_check() -> None:
        for point in kill_points(careless):
            if (tmp_path / f"public-{point}").exists():
                bundle.check(tmp_path / f"public-{point}", PUBLIC)

    with pytest.raises(BundleAltered):
        kill_and_check()


def test_a_seal_killed_at_any_point_can_be_made_again(sealed: Path) -> None:
    staged = copies(sealed, 40)
    points = 0
    for point in kill_points(lambda at: bundle.seal(staged[at], FACTS, PRIVATE, PUBLIC)):
        bundle.seal(staged[point], FACTS, PRIVATE, PUBLIC)
        bundle.check(staged[point], PUBLIC)
        points += 1
    assert points > 5
