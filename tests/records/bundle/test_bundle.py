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

from penstock.records.bundle import bundle
from penstock.records.bundle.bundle import BundleAltered, BundleExists, BundleRefused
from penstock.records.files.digest import NotCanonical, canonical
from penstock.records.signing import signing
from penstock.records.signing.envelope import sealed as sealed_envelope
from tests.records.kill_points import kill_points
from tests.support.damage import became

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = PRIVATE.public_key()
FILES = {"data.parquet": b"PAR1" * 100, "report.html": b"<p>", "tables/age.parquet": b"PAR1"}
SUBJECT = [{"name": name, "digest": {"sha256": hashlib.sha256(content).hexdigest()}} for name, content in FILES.items()]
RELEASE = {"name": "income", "guarantee": {"model": "dp", "parameters": {"epsilon": "1/2"}}, "records": 7}
APPROVAL: dict[str, Any] = {"required": 0, "decisions": []}
LOG_HEAD = {"seq": 7, "digest": "d"}


def seal(folder: Path, **changes: Any) -> str:
    facts = {"subject": SUBJECT, "release": RELEASE, "approval": APPROVAL, "log_head": LOG_HEAD, **changes}
    return bundle.seal(folder, **facts, key=PRIVATE)


def stage(folder: Path) -> Path:
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o600)
    seal(folder)
    return folder


def copies(sealed: Path, count: int) -> list[Path]:
    return [Path(shutil.copytree(sealed, sealed.with_name(f"staged-{index}"))) for index in range(count)]


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    return stage(tmp_path / "staged")


def found(refusal: BundleAltered) -> list[tuple[str, str]]:
    assert (refusal.code, refusal.kind) == ("bundle-altered", "integrity")
    return [became(fault) for fault in refusal.faults]


def faults(folder: Path, key: Ed25519PrivateKey = PRIVATE) -> list[tuple[str, str]]:
    with pytest.raises(BundleAltered) as caught:
        bundle.check(folder, key.public_key())
    return found(caught.value)


def not_sealed(folder: Path) -> list[tuple[str, str]]:
    with pytest.raises(BundleAltered, match="Find out who changed it") as caught:
        seal(folder)
    assert not (folder / "manifest.json").exists()
    return found(caught.value)


def sign_again(folder: Path, *more: object) -> None:
    """A manifest that the publisher did sign, with a subject in it that no publisher should list."""
    stated = bundle.statement_of(folder, PUBLIC)
    stated["subject"] += more
    envelope = sealed_envelope(canonical(stated), "application/vnd.in-toto+json", PRIVATE)
    (folder / "manifest.json").write_text(json.dumps(envelope))


def test_a_sealed_bundle_checks_and_its_statement_lists_every_file(sealed: Path) -> None:
    stated = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": SUBJECT,
        "predicateType": "urn:penstock:release:v1",
        "predicate": {"release": RELEASE, "approval": APPROVAL, "log_head": LOG_HEAD},
    }
    assert bundle.subjects(sealed) == SUBJECT
    assert bundle.check(sealed, PUBLIC) == stated
    assert bundle.statement_of(sealed, PUBLIC) == stated
    assert bundle.statement_of((sealed / "manifest.json").read_bytes(), PUBLIC) == stated


def test_the_seal_returns_the_digest_of_the_manifest(sealed: Path) -> None:
    digest = seal(sealed)
    content = (sealed / "manifest.json").read_bytes()
    assert digest == hashlib.sha256(content).hexdigest()
    assert content.startswith(b'{\n  "payload": "')


def test_sealing_again_replaces_the_seal(sealed: Path) -> None:
    (sealed / "manifest.json").write_bytes(b"half")
    seal(sealed, log_head={"digest": "e"})  # versions before wrote the number too, as above
    assert bundle.check(sealed, PUBLIC)["predicate"]["log_head"] == {"digest": "e"}
    seal(sealed, log_head={"seq": 8, "digest": "e"})
    assert bundle.check(sealed, PUBLIC)["predicate"]["log_head"]["seq"] == 8


@pytest.mark.parametrize("name", FILES)
def test_what_was_changed_after_it_was_staged_is_not_sealed(sealed: Path, name: str) -> None:
    content = (sealed / name).read_bytes()
    (sealed / name).write_bytes(content + b"x")
    assert not_sealed(sealed) == [(name, "altered")]
    (sealed / name).unlink()
    assert not_sealed(sealed) == [(name, "must exist")]
    (sealed / name).write_bytes(content)
    (sealed / "more.csv").write_bytes(b"x")
    assert not_sealed(sealed) == [("more.csv", "added")]


def test_a_symbolic_link_to_the_same_content_is_not_sealed(sealed: Path) -> None:
    (sealed / "report.html").rename(sealed.parent / "moved")
    (sealed / "report.html").symlink_to(sealed.parent / "moved")
    assert not_sealed(sealed) == [("report.html", "must be a plain file")]


def test_nothing_is_written_where_the_statement_is_refused(sealed: Path) -> None:
    (sealed / "manifest.json").unlink()
    with pytest.raises(BundleRefused, match=r"manifest\.json predicate\.log_head\.digest refused"):
        seal(sealed, log_head={"seq": 7})
    with pytest.raises(NotCanonical):
        seal(sealed, release={"x": float("nan")})
    assert not (sealed / "manifest.json").exists()


def test_a_name_that_is_not_unicode_has_no_content_digest(sealed: Path) -> None:
    (sealed / os.fsdecode(b"\xff")).write_bytes(b"")
    with pytest.raises(NotCanonical):
        bundle.content_digest(bundle.subjects(sealed), RELEASE)


@pytest.mark.parametrize("make", [lambda p: p.symlink_to("data.parquet"), lambda p: p.symlink_to("/etc"), os.mkfifo])
def test_only_plain_files_are_staged_installed_or_checked(
    sealed: Path, tmp_path: Path, make: Callable[[Path], object]
) -> None:
    make(sealed / "tables" / "odd")
    with pytest.raises(BundleRefused, match="tables/odd refused: must be a plain file"):
        bundle.install(sealed, tmp_path / "public")
    assert faults(sealed) == [("tables/odd", "must be a plain file"), ("tables/odd", "added")]
    with pytest.raises(BundleRefused, match="must be a plain file"):
        bundle.subjects(sealed)


@pytest.mark.parametrize("name", FILES)
def test_each_altered_cut_or_missing_file_is_found(sealed: Path, name: str) -> None:
    path = sealed / name
    content = path.read_bytes()
    path.write_bytes(b"x" + content[1:])
    assert faults(sealed) == [(name, "altered")]
    path.write_bytes(content[:-1])
    assert faults(sealed) == [(name, "altered")]
    path.unlink()
    assert faults(sealed) == [(name, "must exist")]


@pytest.mark.parametrize("name", ["extra.csv", "tables/extra.csv", ".hidden", "manifest.sig", os.fsdecode(b"\xff")])
def test_an_additional_file_is_found(sealed: Path, name: str) -> None:
    (sealed / name).write_bytes(b"")
    printable = name.encode(errors="backslashreplace").decode()
    assert faults(sealed) == [(printable, "added")]


def test_all_faults_are_listed(sealed: Path) -> None:
    (sealed / "data.parquet").unlink()
    (sealed / "extra").write_bytes(b"")
    (sealed / "report.html").write_bytes(b"other")
    os.mkfifo(sealed / "pipe")
    assert sorted(faults(sealed)) == [
        ("data.parquet", "must exist"),
        ("extra", "added"),
        ("pipe", "added"),
        ("pipe", "must be a plain file"),
        ("report.html", "altered"),
    ]


def test_a_missing_manifest_or_folder_is_found(sealed: Path, tmp_path: Path) -> None:
    assert faults(tmp_path / "nothing") == [("manifest.json", "must exist")]
    (sealed / "manifest.json").unlink()
    os.mkfifo(sealed / "pipe")
    assert faults(sealed) == [("pipe", "must be a plain file"), ("manifest.json", "must exist")]


WRONG = (
    "manifest.json",
    f"must be signed over its content, as application/vnd.in-toto+json, with key {signing.key_id(PUBLIC)}",
)


def test_an_altered_manifest_is_found_by_its_signature_and_its_list_is_not_believed(sealed: Path) -> None:
    manifest = json.loads((sealed / "manifest.json").read_bytes())
    payload = base64.b64decode(manifest["payload"]).replace(b"1/2", b"9/2").replace(b"report.html", b"report.exe")
    manifest["payload"] = base64.b64encode(payload).decode()
    (sealed / "manifest.json").write_text(json.dumps(manifest))
    assert faults(sealed) == [WRONG]


def test_another_key_is_found(sealed: Path) -> None:
    other = Ed25519PrivateKey.generate()
    identity = f"must be signed with key {signing.key_id(other.public_key())}; it names another key"
    assert faults(sealed, other) == [("manifest.json", identity)]


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"[" * 100_000, b"\xff"], ids=lambda content: repr(content[:4]))
def test_what_is_no_manifest_is_found(sealed: Path, content: bytes) -> None:
    (sealed / "manifest.json").write_bytes(content)
    assert faults(sealed) == [("manifest.json", "must be a DSSE envelope")]


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "/etc/passwd",
        "tables/../data.parquet",
        "./data.parquet",
        "tables//x",
        "",
        "manifest.json",
        "a\0/..",
    ],
)
def test_a_listed_path_that_leaves_the_bundle_is_found(sealed: Path, name: str) -> None:
    (sealed.parent / "outside").write_bytes(b"outside")
    sign_again(sealed, {"name": name, "digest": {"sha256": hashlib.sha256(b"outside").hexdigest()}})
    assert faults(sealed) == [(repr(name), "must lie inside the bundle")]


def test_a_file_listed_twice_is_found_whether_the_digests_agree_or_not(sealed: Path) -> None:
    sign_again(sealed, SUBJECT[0], {"name": "data.parquet", "digest": {"sha256": "0" * 64}})
    assert faults(sealed) == [("data.parquet", "must be listed only once")] * 2


def test_a_folder_that_is_listed_as_a_file_is_found(sealed: Path) -> None:
    sign_again(sealed, {"name": "tables", "digest": {"sha256": "0" * 64}})
    assert faults(sealed) == [("tables", "must exist")]


@pytest.mark.parametrize("name", ["data.parquet", "tables", "manifest.json"])
def test_a_symbolic_link_in_the_place_of_a_file_is_found(sealed: Path, name: str) -> None:
    (sealed / name).rename(sealed.parent / "moved")
    (sealed / name).symlink_to(sealed.parent / "moved")
    assert (name, "must be a plain file") in faults(sealed)


def test_a_manifest_that_is_a_pipe_or_a_folder_is_not_opened(sealed: Path) -> None:
    (sealed / "manifest.json").unlink()
    os.mkfifo(sealed / "manifest.json")
    assert faults(sealed) == [("manifest.json", "must be a plain file")]
    (sealed / "manifest.json").unlink()
    (sealed / "manifest.json").mkdir()
    assert faults(sealed) == [("manifest.json", "must be a plain file")]


def modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.rglob("*")] if path.is_dir()}


@pytest.fixture(params=["same file system", "another file system"])
def public(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    if request.param == "same file system":
        yield tmp_path / "public"
        return
    here = tmp_path.stat().st_dev
    others = [each for each in map(Path, ("/dev/shm", "/var/tmp")) if each.is_dir() and each.stat().st_dev != here]
    if not others:
        pytest.skip("this machine has no second file system to write to")
    with tempfile.TemporaryDirectory(dir=others[0]) as folder:
        yield Path(folder, "public")


def test_an_installed_bundle_is_whole_public_and_gone_from_staging(sealed: Path, public: Path) -> None:
    destination = public / "income" / "release-1"
    sealed.chmod(0o700)
    bundle.install(sealed, destination)
    assert bundle.check(destination, PUBLIC)["predicate"]["release"] == RELEASE
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


def test_what_is_not_sealed_is_not_installed(sealed: Path, tmp_path: Path) -> None:
    (sealed / "manifest.json").unlink()
    with pytest.raises(BundleRefused, match="must be sealed before it is installed"):
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
        for name in ["manifest.json", *FILES]:
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
    for point in kill_points(lambda at: seal(staged[at])):
        seal(staged[point])
        bundle.check(staged[point], PUBLIC)
        points += 1
    assert points > 5
