"""The files of a source, on this machine or in an object store, as pyarrow reads them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING
from urllib.parse import unquote

from pyarrow import fs

from penstock.mechanisms.refusal import Refusal
from penstock.records.files import store_access
from penstock.records.files.addresses import ObjectPath, place_of
from penstock.records.files.object_store import store_refusal

if TYPE_CHECKING:  # addresses are looked at without reading any data
    import pyarrow.dataset as ds

__all__ = [
    "SourceFiles",
    "SourceUnreadable",
    "changed",
    "partition_of",
    "root_of",
    "source_files",
    "source_state",
    "store_system",
    "unreadable",
]

_LONGEST_SHOWN = 200
# The value of a Hive folder whose records have none.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


class SourceUnreadable(Refusal):
    """The source is not readable Parquet."""

    code = "source-unreadable"
    kind = "data"
    remedy = "Check the path and the files of the source."


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """The file itself, or every file below the folder; names that begin with _ or . are not data.

    root and names: as the file system knows them, the names in the order of their folders.
    """

    system: fs.FileSystem
    root: str
    names: list[str]


def source_files(path: str, *, only: str | None = None) -> SourceFiles:
    """Return the files to read; refuse if there are none. only: a name that was found before."""
    place = place_of(path, "source.path")
    if isinstance(place, ObjectPath):
        system, root = store_system(), root_of(path)
        try:
            names = _names_in_store(system, root) if only is None else [only]
        except OSError as error:
            raise store_refusal(place, str(error)) from None
    else:
        system, root = fs.LocalFileSystem(), root_of(path)
        try:
            # Only plain files: a pipe or a device might never end.
            files = [place] if place.is_file() else place.rglob("*")
            names = [str(file) for file in files if file.is_file()] if only is None else [only]
        except OSError as error:
            raise unreadable(system, root[:_LONGEST_SHOWN], error) from None
    if not all(map(_is_text, names)):
        raise SourceUnreadable.at(
            "source.path",
            rule="must have only names in UTF-8 below it",
            got=path,
            remedy="Rename files and folders.",
        )
    found = SourceFiles(system, root, sorted((name for name in names if _is_data(name, root)), key=PurePosixPath))
    if not found.names:
        raise SourceUnreadable.at(
            "source.path", rule="must hold at least one Parquet file", got=path, remedy="Check the path."
        )
    return found


def root_of(path: str) -> str:
    """Return the file or folder of a source, as its file system knows it."""
    place = place_of(path, "source.path")
    return f"{place.bucket}/{place.key}".removesuffix("/") if isinstance(place, ObjectPath) else str(place)


def partition_of(name: str, root: str) -> dict[str, str | None]:
    """Return the columns that Hive folders such as region=N between the root and a file give, outermost first, as
    pyarrow reads them: escapes decoded, and the outer one of a key that occurs twice."""
    found: dict[str, str | None] = {}
    for folder in PurePosixPath(name).relative_to(root).parts[:-1]:
        key, is_key, value = folder.partition("=")
        if is_key:
            found.setdefault(unquote(key), None if unquote(value) == _NO_VALUE else unquote(value))
    return found


def unreadable(system: fs.FileSystem, name: str, error: Exception) -> Refusal:
    """Return why a file or folder could not be read, with the store's reasons told apart from those of the data."""
    shown = name
    if isinstance(system, fs.S3FileSystem):
        bucket, _, key = name.partition("/")
        shown = str(ObjectPath(bucket, key))
        if "AWS Error" in str(error):
            return store_refusal(ObjectPath(bucket, key), str(error))
    return SourceUnreadable.at(
        "source.path", rule="must be readable, complete Parquet", got=shown, remedy="Check the path and the files."
    )


def _is_text(name: str) -> bool:
    """Return whether a name is in UTF-8; other bytes come as half characters, which neither pyarrow nor a screen
    takes."""
    return not any("\ud800" <= sign <= "\udfff" for sign in name)


def _is_data(name: str, root: str) -> bool:
    return name == root or not any(part[0] in "_." for part in PurePosixPath(name).relative_to(root).parts)


def _names_in_store(system: fs.FileSystem, root: str) -> list[str]:
    if "/" in root and system.get_file_info(root).type == fs.FileType.File:
        return [root]
    below = system.get_file_info(fs.FileSelector(root, recursive=True, allow_not_found=True))
    return [info.path for info in below if info.type == fs.FileType.File]


def store_system() -> fs.FileSystem:
    """Return the object store of the environment, as pyarrow sees it."""
    given = store_access.access()
    scheme, _, host = given.endpoint.partition("://")
    return fs.S3FileSystem(
        access_key=given.key_id,
        secret_key=given.secret,
        session_token=given.token,
        region=given.region,
        endpoint_override=host,
        scheme=scheme,
        connect_timeout=store_access.CONNECT_SECONDS,
        request_timeout=store_access.REQUEST_SECONDS,
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=3),
    )


def source_state(dataset: ds.Dataset) -> tuple[tuple[str, int, int], ...]:
    """Return the files of a source as they are now: name, size, when they were written."""
    try:
        found = dataset.filesystem.get_file_info(sorted(dataset.files))
    except OSError as error:
        raise unreadable(dataset.filesystem, dataset.files[0], error) from None
    return tuple((info.path, info.size, info.mtime_ns) for info in found)


def changed(source: str) -> SourceUnreadable:
    """Return the refusal of a source whose digest and content were not read from the same files."""
    return SourceUnreadable.at(
        "source.path", rule="must not change while it is read", got=source, remedy="Run again when it rests."
    )
