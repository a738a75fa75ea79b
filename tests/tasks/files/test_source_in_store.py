"""Sources in an object store are read, checked, refused and digested as those on this machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.refusal import ColumnMissing, ColumnTypeWrong, Refusal, ValueOutsideDomain
from penstock.records.files import store_access
from penstock.records.files.object_store import StoreRefused, StoreUnreachable
from penstock.records.files.store_access import AccessRefused
from penstock.tasks.files.source import SourceUnreadable, count_rows, open_source, read_source
from penstock.tasks.files.source_digest import digest_source
from penstock.tasks.files.source_files import root_of, source_state, store_system
from tests.support.s3_server import DENIED, KEY_ID, SECRET, TOKEN, Bucket, answering, nowhere, silent, use_store

DECLARED = {
    "age": Column(role="quasi_identifier", type="integer", domain=(0, 120)),
    "region": Column(role="quasi_identifier", type="nominal", categories=("N", "S", "01")),
}
TABLE = pa.table({"age": [30, 40, 50], "region": ["N", "S", "01"]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A Hive-partitioned source with files that are no data."""
    root = tmp_path / "income"
    for place, region in enumerate(("N", "S", "01")):
        for part in (1, 2):
            file = root / f"region={region}" / f"part-{part}.parquet"
            file.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table({"age": [10 * place + part]}), file)
    (root / "_SUCCESS").write_bytes(b"")
    (root / "_temporary").mkdir()
    (root / "_temporary" / "x.parquet").write_bytes(b"no data")
    (root / "region=N" / ".part.crc").write_bytes(b"no data")
    return root


def copy(folder: Path, bucket: Bucket, prefix: str) -> str:
    for file in folder.rglob("*"):
        if file.is_file():
            bucket.put(f"{prefix}/{file.relative_to(folder)}", file.read_bytes())
    return bucket.address(prefix)


def stored(table: pa.Table, tmp_path: Path, bucket: Bucket, key: str = "x.parquet") -> str:
    pq.write_table(table, tmp_path / "table.parquet")
    bucket.put(key, (tmp_path / "table.parquet").read_bytes())
    return bucket.address(key)


@pytest.mark.parametrize("marked", [False, True], ids=["bare", "with objects that stand for folders"])
@pytest.mark.parametrize("slash", ["", "/"])
def test_a_partitioned_folder_is_the_same_in_a_store(folder: Path, bucket: Bucket, slash: str, marked: bool) -> None:
    address = copy(folder, bucket, "confidential/income")
    bucket.put("confidential/income-2/region=N/part-1.parquet", b"another source")
    if marked:
        bucket.put("confidential/income/", b"")
        bucket.put("confidential/income/region=N/", b"")
    here, there = open_source(str(folder), DECLARED), open_source(address + slash, DECLARED)
    one, two = read_source(here, DECLARED), read_source(there, DECLARED)
    assert all(np.array_equal(one[name], two[name]) for name in DECLARED)
    assert sorted(two["age"]) == [1, 2, 11, 12, 21, 22]
    assert count_rows(there) == 6
    digest = digest_source(here, root_of(str(folder)), b"key")
    assert digest == digest_source(there, root_of(address + slash), b"key")
    assert digest.content != digest_source(there, root_of(address), b"other").content


def test_a_file_is_the_same_in_a_store(tmp_path: Path, bucket: Bucket) -> None:
    address, file = stored(TABLE, tmp_path, bucket, "deep/table.parquet"), str(tmp_path / "table.parquet")
    there, here = open_source(address, DECLARED), open_source(file, DECLARED)
    assert digest_source(here, file, b"key") == digest_source(there, root_of(address), b"key")
    assert read_source(there, DECLARED)["age"].tolist() == [30, 40, 50]


def test_a_whole_bucket_can_be_a_source(tmp_path: Path, bucket: Bucket) -> None:
    stored(TABLE, tmp_path, bucket)
    assert count_rows(open_source(bucket.address(), DECLARED)) == 3


def test_a_name_with_encoded_signs_is_read(tmp_path: Path, bucket: Bucket) -> None:
    declared = {**DECLARED, "region": Column(role="quasi_identifier", type="nominal", categories=("São Tomé",))}
    stored(TABLE.select(["age"]), tmp_path, bucket, "income/region=S%C3%A3o%20Tom%C3%A9/x y+z.parquet")
    read = read_source(open_source(bucket.address("income"), declared), declared)
    assert read["region"].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("table", "refusal"),
    [
        (TABLE.select(["age"]), ColumnMissing),
        (TABLE.set_column(0, "age", pa.array(["a", "b", "c"])), ColumnTypeWrong),
        (TABLE.set_column(0, "age", pa.array([1, 2, 999])), ValueOutsideDomain),
    ],
)
def test_the_same_faults_are_refused(tmp_path: Path, bucket: Bucket, table: pa.Table, refusal: type[Refusal]) -> None:
    address = stored(table, tmp_path, bucket)
    with pytest.raises(refusal):
        read_source(open_source(address, DECLARED), DECLARED)


@pytest.mark.parametrize(
    ("content", "rule"), [(None, "at least one Parquet file"), (b"no parquet", "readable, complete Parquet")]
)
def test_what_is_no_parquet_is_refused(bucket: Bucket, content: bytes | None, rule: str) -> None:
    if content is not None:
        bucket.put("income/x.parquet", content)
    with pytest.raises(SourceUnreadable, match=rule) as caught:
        open_source(bucket.address("income"), DECLARED)
    assert bucket.address("income") in str(caught.value)


def test_a_file_that_is_damaged_inside_is_refused(tmp_path: Path, bucket: Bucket) -> None:
    address = stored(TABLE, tmp_path, bucket)
    content = bytearray(bucket.get("x.parquet"))
    content[4:40] = bytes(36)
    bucket.put("x.parquet", bytes(content))
    dataset = open_source(address, DECLARED)
    with pytest.raises(SourceUnreadable, match=address):
        read_source(dataset, DECLARED)


def test_a_bucket_that_does_not_exist_holds_nothing(bucket: Bucket) -> None:
    with pytest.raises(SourceUnreadable, match="at least one Parquet file"):
        open_source("s3://no-such-bucket/x.parquet", DECLARED)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_access, "REQUEST_SECONDS", 1.0)
    monkeypatch.setattr(store_access, "CONNECT_SECONDS", 1.0)


def refused(address: str, refusal: type[Refusal], rule: str) -> None:
    """Opening is refused as a failure, after which a run can go on, and without a credential in it."""
    with pytest.raises(refusal, match=rule) as caught:
        open_source(address, DECLARED)
    assert caught.value.kind == "failure"
    assert caught.value.__suppress_context__
    assert not any(secret in f"{caught.value!r}" for secret in (KEY_ID, SECRET, TOKEN))


@pytest.mark.slow
@pytest.mark.usefixtures("hurried")
def test_a_store_that_cannot_be_asked_is_a_failure_and_no_fault_of_the_data(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    with answering(*DENIED) as denying, silent() as never:
        for endpoint, refusal, rule in (
            (denying, StoreRefused, "denies access"),
            (nowhere(), StoreUnreachable, "must be in a store that answers"),
            (never, StoreUnreachable, "must be in a store that answers"),
        ):
            use_store(monkeypatch, endpoint)
            refused(bucket.address("income"), refusal, rule)


@pytest.mark.slow  # both wait for somebody to answer
@pytest.mark.usefixtures("hurried")
def test_a_store_that_stops_answering_while_it_is_read_is_a_failure(
    tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = stored(TABLE, tmp_path, bucket)
    dataset = open_source(address, DECLARED)
    with silent() as never:
        use_store(monkeypatch, never)
        system = store_system()
        fragment = dataset.format.make_fragment(dataset.files[0], system)
        there = ds.FileSystemDataset([fragment], dataset.schema, dataset.format, system)
        with pytest.raises(StoreUnreachable, match="must be in a store that answers"):
            read_source(there, DECLARED)
        with pytest.raises(StoreUnreachable, match="must be in a store that answers"):
            digest_source(there, root_of(address), b"key")


def test_without_credentials_nothing_is_asked(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(AccessRefused, match="must both be set where a spec names an object store"):
        open_source(bucket.address("income"), DECLARED)


def test_a_store_that_refuses_to_tell_of_its_files_is_no_fault_of_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering(*DENIED) as endpoint:
        use_store(monkeypatch, endpoint)
        system, kind = store_system(), ds.ParquetFileFormat()
        fragment = kind.make_fragment("bucket/income.parquet", filesystem=system)
        with pytest.raises(StoreRefused) as caught:
            source_state(ds.FileSystemDataset([fragment], TABLE.schema, kind, system))
    assert KEY_ID not in str(caught.value)
