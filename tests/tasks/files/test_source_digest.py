"""A source is known by what its files hold and which partitions they are; what earlier versions wrote is found."""

from __future__ import annotations

import hashlib
import hmac
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.mechanisms.columns import Column
from penstock.tasks.files import source_digest
from penstock.tasks.files.source import open_source
from penstock.tasks.files.source_digest import SourceDigest, digest_source
from penstock.tasks.files.source_files import partition_of, root_of

AGE = {"age": Column(role="quasi_identifier", type="integer", domain=(0, 120))}
KEY = b"key"


def digest(path: Path, key: bytes = KEY) -> SourceDigest:
    return digest_source(open_source(str(path), AGE), root_of(str(path)), key)


def write(path: Path, *ages: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"age": list(ages)}), path)
    return path


def test_names_of_files_and_of_plain_folders_do_not_matter(tmp_path: Path) -> None:
    for place, ages in (
        ("a/1.parquet", [1]),
        ("a/2.parquet", [2, 2]),
        ("b/deep/z.parquet", [1]),
        ("b/a.parquet", [2, 2]),
    ):
        write(tmp_path / place, *ages)
    assert digest(tmp_path / "a").content == digest(tmp_path / "b").content
    assert digest(tmp_path / "a").formerly != digest(tmp_path / "b").formerly
    assert digest(tmp_path / "a" / "1.parquet").content != digest(tmp_path / "a").content


def test_a_file_is_the_same_in_a_folder_and_by_itself(tmp_path: Path) -> None:
    file = write(tmp_path / "folder" / "data.parquet", 1, 2)
    assert digest(file).content == digest(tmp_path / "folder").content


def test_contents_how_often_they_come_and_the_key_matter(tmp_path: Path) -> None:
    one, other = write(tmp_path / "one.parquet", 1), write(tmp_path / "other.parquet", 2)
    (tmp_path / "twice").mkdir()
    for place in range(2):
        shutil.copy(one, tmp_path / "twice" / f"{place}.parquet")
    found = [digest(one), digest(other), digest(tmp_path / "twice"), digest(one, b"other key")]
    assert len({each.content for each in found}) == len(found)


def test_partitions_matter_as_they_are_read(tmp_path: Path) -> None:
    def partitioned(name: str, *folders: str) -> str:
        for place, folder in enumerate(folders):
            write(tmp_path / name / folder / "data.parquet", place)
        return digest(tmp_path / name).content

    plain = partitioned("plain", "region=a b/year=1", "region=c")
    assert partitioned("escaped", "region=a%20b/year=1", "re%67ion=c") == plain
    assert partitioned("order", "year=1/more/region=a b", "region=c") == plain
    assert partitioned("renamed", "region=a b/year=1", "region=d") != plain
    assert partitioned("exchanged", "region=c", "region=a b/year=1") != plain
    assert partitioned("without", "x/y", "z") != plain


def test_partitions_are_read_as_pyarrow_reads_them() -> None:
    def found(folders: str) -> dict[str, str | None]:
        return partition_of(f"root/{folders}/file", "root")

    assert found("region=c+d") == {"region": "c+d"}
    assert found("region=%zz") == {"region": "%zz"}
    assert found("region=a=b") == {"region": "a=b"}
    assert found("region=N/region=S") == {"region": "N"}
    assert found("region=__HIVE_DEFAULT_PARTITION__") == {"region": None}
    assert found("region%3DN/x") == {}
    assert partition_of("data/region=N/file", "data/region=N/file") == {}


def test_the_former_digest_is_what_earlier_versions_wrote(tmp_path: Path) -> None:
    files = [write(tmp_path / "source" / name, place) for place, name in enumerate(("a/2.parquet", "b/1.parquet"))]
    mac = hmac.new(KEY, digestmod=hashlib.sha256)
    for file in files:
        mac.update(f"{file.name}\0{file.stat().st_size}\0".encode() + file.read_bytes())
    found = digest(tmp_path / "source")
    assert found.formerly == mac.hexdigest()
    assert found.is_of(found.content)
    assert found.is_of(mac.hexdigest())
    assert not found.is_of("another")


def test_the_former_digest_says_nothing_certain_about_partitions(tmp_path: Path) -> None:
    for region in ("N", "S"):
        write(tmp_path / region / f"region={region}" / "data.parquet", 1)
    north, south = digest(tmp_path / "N"), digest(tmp_path / "S")
    assert north.formerly == south.formerly
    assert north.content != south.content
    assert not north.is_of(south.formerly)


def test_each_file_is_known_by_its_bytes_wherever_it_lies(tmp_path: Path) -> None:
    one, other = write(tmp_path / "one.parquet", 1), write(tmp_path / "other.parquet", 2)
    for place in ("both/region=N", "both/region=S", "alone/region=W"):
        (tmp_path / place).mkdir(parents=True)
        shutil.copy(one, tmp_path / place / "a name.parquet")
    shutil.copy(other, tmp_path / "both" / "region=S")
    assert digest(tmp_path / "alone").files == digest(one).files
    assert digest(tmp_path / "both").files == tuple(sorted(digest(one).files + digest(other).files))
    assert len(digest(tmp_path / "both").files) == 2
    assert digest(one, b"other key").files != digest(one).files
    assert digest(one).files != (hashlib.sha256(one.read_bytes()).hexdigest(),)


def test_a_file_without_records_is_nobodys(tmp_path: Path) -> None:
    one = write(tmp_path / "one" / "a.parquet", 1)
    pq.write_table(pa.table({"age": pa.array([], pa.int64())}), tmp_path / "one" / "empty.parquet")
    assert digest(tmp_path / "one").files == digest(one).files


def test_of_very_many_files_the_least_digests_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in range(5):
        write(tmp_path / "many" / f"{place}.parquet", place)
    every = digest(tmp_path / "many").files
    monkeypatch.setattr(source_digest, "_MOST_FILES", 3)
    assert digest(tmp_path / "many").files == every[:3]


def test_a_file_that_went_away_is_refused(tmp_path: Path) -> None:
    from penstock.tasks.files.source import SourceUnreadable

    file = write(tmp_path / "data.parquet", 1)
    dataset = open_source(str(file), AGE)
    file.unlink()
    with pytest.raises(SourceUnreadable):
        digest_source(dataset, str(file), KEY)
