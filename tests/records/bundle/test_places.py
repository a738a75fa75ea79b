"""Bundles in an object store, on a real S3 server: whole exactly when the manifest exists, and checked when fetched."""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from penstock.mechanisms.refusal import Refusal
from penstock.records.bundle import bundle, places
from penstock.records.bundle._upload import UploadDamaged, upload
from penstock.records.bundle.bundle import BundleAltered, BundleExists
from penstock.records.files import object_store, store_access
from penstock.records.files.addresses import ObjectPath
from penstock.records.files.object_store import ObjectNameRefused, StoreRefused, StoreUnreachable
from tests.support.damage import became
from tests.support.s3_server import DENIED, KEY_ID, SECRET, TOKEN, Bucket, answering, nowhere, silent, use_store

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = PRIVATE.public_key()
FILES = {"data.parquet": b"PAR1" * 1000, "report.html": b"<p>", "tables/age.csv": b"age\n1\n"}


def sealed(folder: Path, files: dict[str, bytes] | None = None, note: str = "") -> Path:
    for name, content in (files or FILES).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    bundle.seal(
        folder,
        subject=bundle.subjects(folder),
        release={"name": "income", "note": note},
        approval={"required": 0, "decisions": []},
        log_head={"seq": 7, "digest": "d"},
        key=PRIVATE,
    )
    return folder


@pytest.fixture
def staged(tmp_path: Path) -> Path:
    return sealed(tmp_path / "staged")


@pytest.fixture
def place(bucket: Bucket) -> ObjectPath:
    return ObjectPath(bucket.name, "public/income/release-1")


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait a minute for a store that does not answer."""
    monkeypatch.setattr(store_access, "REQUEST_SECONDS", 1.0)
    monkeypatch.setattr(store_access, "CONNECT_SECONDS", 1.0)


def fetched(place: ObjectPath) -> dict[str, bytes]:
    with places.at_hand(place) as folder:
        bundle.check(folder, PUBLIC)
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_an_uploaded_bundle_is_the_staged_one(staged: Path, place: ObjectPath, bucket: Bucket) -> None:
    assert places.manifest_at(place) is None
    places.install(staged, place, PUBLIC)
    expected = {**FILES, "manifest.json": (staged / "manifest.json").read_bytes()}
    assert bucket.files("public/income/release-1/") == expected == fetched(place)
    assert places.manifest_at(place) == expected["manifest.json"]
    shown = bucket.client.head_object(Bucket=bucket.name, Key="public/income/release-1/report.html")
    assert shown["ContentType"] == "text/html; charset=utf-8"
    assert not places.appears_at_once(place)
    assert places.appears_at_once(staged)


def test_bundles_are_found_below_a_place_and_at_it(staged: Path, place: ObjectPath, bucket: Bucket) -> None:
    places.install(staged, place, PUBLIC)
    bucket.put("public/income/abandoned/data.parquet", b"1")
    bucket.put("public/income-2/x/manifest.json", b"1")
    for above in (place, place.parent):
        assert places.bundles_below(above) == [place]
    assert places.bundles_below(ObjectPath(bucket.name, "")) == [ObjectPath(bucket.name, "public/income-2/x"), place]


def test_a_file_above_the_size_of_a_part_goes_up_in_parts(
    tmp_path: Path, place: ObjectPath, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_store, "BLOCK_BYTES", 5 << 20)  # the least that S3 takes
    content = os.urandom((12 << 20) + 1)
    places.install(sealed(tmp_path / "large", {"data.parquet": content}), place, PUBLIC)
    stored = bucket.client.head_object(Bucket=bucket.name, Key=f"{place.key}/data.parquet")
    assert stored["ETag"].strip('"').endswith("-3")
    assert fetched(place)["data.parquet"] == content


def test_a_release_never_replaces_another(staged: Path, tmp_path: Path, place: ObjectPath, bucket: Bucket) -> None:
    places.install(staged, place, PUBLIC)
    before = bucket.files("public/")
    for again in (staged, sealed(tmp_path / "other", note="other")):
        with pytest.raises(BundleExists, match="must not exist") as caught:
            places.install(again, place, PUBLIC)
        assert caught.value.code == "bundle-exists"
    assert bucket.files("public/") == before


def test_a_manifest_that_somebody_else_put_is_not_replaced(staged: Path, place: ObjectPath, bucket: Bucket) -> None:
    bucket.put(f"{place.key}/manifest.json", b"theirs")
    with pytest.raises(BundleExists):
        places.install(staged, place, PUBLIC)
    assert bucket.files(f"{place.key}/") == {"manifest.json": b"theirs"}


def test_a_manifest_that_appears_at_the_last_moment_is_not_replaced(
    staged: Path, place: ObjectPath, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_file = object_store.put_file

    def somebody_is_faster(path: ObjectPath, file: Path) -> None:
        put_file(path, file)
        bucket.put(f"{place.key}/manifest.json", b"theirs")

    monkeypatch.setattr(object_store, "put_file", somebody_is_faster)
    with pytest.raises(BundleExists):
        places.install(staged, place, PUBLIC)
    assert bucket.get(f"{place.key}/manifest.json") == b"theirs"


@pytest.mark.parametrize("same", [True, False], ids=["of the same bytes", "of other bytes"])
def test_of_eight_racers_one_publishes_and_its_files_are_its_own(
    tmp_path: Path, place: ObjectPath, bucket: Bucket, same: bool
) -> None:
    def racer(number: int) -> Path:
        note = "" if same else str(number)
        return sealed(tmp_path / str(number), {"data.parquet": f"{note}".encode() * 1000 or b"x"}, note)

    def run(folder: Path) -> Path | None:
        try:
            upload(folder, place, PUBLIC)
        except BundleExists:
            return None
        return folder

    folders = [racer(number) for number in range(1, 9)]
    with ThreadPoolExecutor(8) as racers:
        winners = [folder for folder in racers.map(run, folders) if folder is not None]
    assert len(winners) == 1
    expected = {name: (winners[0] / name).read_bytes() for name in ("data.parquet", "manifest.json")}
    assert fetched(place) == expected


@pytest.mark.parametrize("left", [{}, {"data.parquet": FILES["data.parquet"]}, {"data.parquet": b"half"}])
def test_what_an_abandoned_upload_left_is_no_release_and_the_next_attempt_finishes(
    staged: Path, place: ObjectPath, bucket: Bucket, left: dict[str, bytes]
) -> None:
    claim = hashlib.sha256((staged / "manifest.json").read_bytes()).hexdigest().encode() + b"\n"
    bucket.put(f"{place.key}.claim", claim)
    for name, content in left.items():
        bucket.put(f"{place.key}/{name}", content)
    assert places.manifest_at(place) is None
    assert places.bundles_below(place) == []
    with pytest.raises(BundleAltered, match=r"manifest\.json refused: must exist"), places.at_hand(place):
        pytest.fail("it was fetched")
    places.install(staged, place, PUBLIC)
    fetched(place)


def test_what_is_there_already_is_not_sent_again(
    staged: Path, place: ObjectPath, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.put(f"{place.key}/data.parquet", FILES["data.parquet"])
    sent = []
    put_file = object_store.put_file
    monkeypatch.setattr(object_store, "put_file", lambda path, file: (sent.append(path.name), put_file(path, file)))
    places.install(staged, place, PUBLIC)
    assert sent == ["report.html", "age.csv"]
    fetched(place)


def test_a_staged_file_that_was_changed_since_the_seal_does_not_leave(
    staged: Path, place: ObjectPath, bucket: Bucket
) -> None:
    (staged / "data.parquet").write_bytes(b"other")
    with pytest.raises(BundleAltered, match=r"data\.parquet refused: must have the listed digest; it was altered"):
        places.install(staged, place, PUBLIC)
    assert bucket.keys() == []


def test_a_store_that_gives_back_something_else_gets_no_manifest(
    staged: Path, place: ObjectPath, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_file = object_store.put_file

    def damaging(path: ObjectPath, file: Path) -> None:
        put_file(path, file)
        content = bytearray(bucket.get(path.key))
        content[-1] ^= 1
        bucket.put(path.key, bytes(content))

    monkeypatch.setattr(object_store, "put_file", damaging)
    with pytest.raises(UploadDamaged, match="must come back from the store as it was sent") as caught:
        places.install(staged, place, PUBLIC)
    assert (caught.value.code, caught.value.kind) == ("upload-damaged", "failure")
    assert places.manifest_at(place) is None


def refusals(staged: Path, place: ObjectPath) -> list[Refusal]:
    """What every way to ask the store ends with."""
    found = []
    for ask in (
        lambda: places.install(staged, place, PUBLIC),
        lambda: places.manifest_at(place),
        lambda: places.bundles_below(place),
        lambda: object_store.digest_of(place / "data.parquet", 4000),
        lambda: object_store.put_file(place / "data.parquet", staged / "data.parquet"),
    ):
        with pytest.raises(Refusal) as caught:
            ask()
        text = f"{caught.value!r}{caught.value}{caught.value.__cause__}"
        assert not any(secret in text for secret in (KEY_ID, SECRET, TOKEN))
        assert caught.value.__suppress_context__
        found.append(caught.value)
    return found


def test_a_store_that_denies_access_is_told(staged: Path, place: ObjectPath, monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(*DENIED) as endpoint:
        use_store(monkeypatch, endpoint)
        found = refusals(staged, place)
    assert {(type(refusal), refusal.code, refusal.kind) for refusal in found} == {
        (StoreRefused, "store-refused", "failure")
    }
    assert all("denies access" in str(refusal) for refusal in found)


def test_a_bucket_that_does_not_exist_is_told(staged: Path, bucket: Bucket) -> None:
    absent = ObjectPath("no-such-bucket", "public/release-1")
    for ask in (places.manifest_at, places.bundles_below, lambda place: places.install(staged, place, PUBLIC)):
        with pytest.raises(StoreRefused, match="must be in a bucket that exists in this store"):
            ask(absent)


@pytest.mark.usefixtures("hurried")
def test_a_store_that_nobody_answers_for_is_told(
    staged: Path, place: ObjectPath, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_store(monkeypatch, nowhere())
    assert {(type(refusal), refusal.code, refusal.kind) for refusal in refusals(staged, place)} == {
        (StoreUnreachable, "store-unreachable", "failure")
    }


@pytest.mark.usefixtures("hurried")
def test_a_store_that_stops_answering_is_told(
    staged: Path, place: ObjectPath, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.put(f"{place.key}/data.parquet", FILES["data.parquet"])
    with silent() as endpoint:
        head = object_store.create

        def then_silence(path: ObjectPath, content: bytes) -> bool:
            made = head(path, content)
            use_store(monkeypatch, endpoint)
            return made

        monkeypatch.setattr(object_store, "create", then_silence)
        with pytest.raises(StoreUnreachable, match="must be in a store that answers"):
            places.install(staged, place, PUBLIC)
    assert "manifest.json" not in "".join(bucket.keys())


@pytest.mark.parametrize("answer", [(200, b"<html>hello</html>"), (400, b""), (301, b"")])
@pytest.mark.usefixtures("hurried")
def test_what_does_not_answer_as_a_store_publishes_nothing(
    staged: Path, place: ObjectPath, monkeypatch: pytest.MonkeyPatch, answer: tuple[int, bytes]
) -> None:
    with answering(*answer) as endpoint:
        use_store(monkeypatch, endpoint)
        with pytest.raises(Refusal):
            places.install(staged, place, PUBLIC)


@pytest.mark.parametrize("name", ["bad name.csv", ".hidden", "a\\b", "data.parquet/inner", "x" * 300, "-x"])
def test_an_object_with_a_strange_name_is_never_written_to_disk(
    staged: Path, place: ObjectPath, bucket: Bucket, name: str
) -> None:
    places.install(staged, place, PUBLIC)
    bucket.put(f"{place.key}/{name}", b"1")
    with pytest.raises(BundleAltered, match="name of a plain file"), places.at_hand(place):
        pytest.fail("it was fetched")


@pytest.mark.parametrize("name", ["../x", "a//b"])
def test_an_object_whose_name_is_no_path_is_refused(staged: Path, place: ObjectPath, bucket: Bucket, name: str) -> None:
    places.install(staged, place, PUBLIC)
    bucket.put(f"{place.key}/{name}", b"1")
    with (
        pytest.raises(ObjectNameRefused, match="must hold only objects whose names are paths") as caught,
        places.at_hand(place),
    ):
        pytest.fail("it was fetched")
    assert (caught.value.code, caught.value.kind) == ("object-name-refused", "integrity")


def test_a_changed_or_added_object_is_found(staged: Path, place: ObjectPath, bucket: Bucket) -> None:
    places.install(staged, place, PUBLIC)
    bucket.put(f"{place.key}/report.html", b"<p>!")
    bucket.put(f"{place.key}/more.csv", b"1")
    with places.at_hand(place) as folder, pytest.raises(BundleAltered) as caught:
        bundle.check(folder, PUBLIC)
    assert {became(fault) for fault in caught.value.faults} == {
        ("report.html", "altered"),
        ("more.csv", "added"),
    }


def test_a_private_copy_is_private_and_gone_afterwards(staged: Path, place: ObjectPath) -> None:
    places.install(staged, place, PUBLIC)
    with places.at_hand(place) as folder:
        assert folder.stat().st_mode & 0o077 == 0
    assert not folder.exists()
    with places.at_hand(staged) as itself:
        assert itself == staged


def test_no_variable_switches_a_check_off(
    staged: Path, tmp_path: Path, place: ObjectPath, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {
        "AWS_CONDITIONAL_PUT": "disabled",
        "AWS_SKIP_SIGNATURE": "true",
        "AWS_ENDPOINT": nowhere(),
        "AWS_ENDPOINT_URL_S3": "",
        "AWS_UNSIGNED_PAYLOAD": "true",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ALLOW_INVALID_CERTIFICATES": "true",
        "AWS_VIRTUAL_HOSTED_STYLE_REQUEST": "true",
        "AWS_S3_EXPRESS": "true",
    }.items():
        monkeypatch.setenv(name, value)
    places.install(staged, place, PUBLIC)
    fetched(place)
    assert not object_store.create(place / "manifest.json", b"other")
