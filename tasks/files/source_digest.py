"""A source known by its content: what its files hold and which partitions they are, not what they are called.

    e_f = (keys and values of the partition folders of file f, as they are read; SHA-256 of its bytes)
    D = keyed(K, "source", e_1 .. e_m),   e sorted                                                            (1)

So a renamed copy is the same source, in a folder or not, and a renamed partition is another one. What is keyed can be
on record: the plain digest of a small table could be guessed.

A partition may be a name that somebody made up for the same file. So each file with records is known by itself too:

    F = {keyed(K, "file of a source", SHA-256 of the bytes of f)},   the 1,000 least of them                  (3)

A file without records is about nobody, and many sources may have the same one. Of more than 1,000 files the least
digests are kept, which nobody can choose without K; two large sources that share only few files may share none of
these.

Up to version 0.3 a source was known by the names and contents of its files, its partitions not among them:

    E = HMAC(K, name_1 || 0 || size_1 || 0 || bytes_1 || name_2 ..),   in the order of their paths            (2)

(2) is computed beside (1), so that what these versions charged and drew is found again.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from pathlib import PurePosixPath

import pyarrow as pa
import pyarrow.dataset as ds

from penstock.records.files.digest import canonical, keyed
from penstock.tasks.files.source_files import partition_of, unreadable

__all__ = ["SourceDigest", "digest_source"]

# The ledger looks each of them up before it reserves.
_MOST_FILES = 1000


@dataclass(frozen=True, slots=True)
class SourceDigest:
    """The digests of a source. content: (1). formerly: (2). by_folder: partition folders give some of the values, which
    (2) ignores. files: (3), sorted."""

    content: str
    formerly: str
    by_folder: bool
    files: tuple[str, ...] = ()

    def is_of(self, told: str) -> bool:
        """Return whether a digest that this version or an earlier one wrote down is certainly of this source."""
        return told == self.content or (told == self.formerly and not self.by_folder)


def digest_source(dataset: ds.Dataset, root: str, key: bytes) -> SourceDigest:
    """Return all digests, from one pass. root: the file or folder that was opened, as the file system knows it."""
    former = hmac.new(key, digestmod=hashlib.sha256)
    entries: list[bytes] = []
    by_folder = False
    files: set[str] = set()
    for fragment in sorted(dataset.get_fragments(), key=lambda each: each.path):
        file = fragment.path
        plain = hashlib.sha256()
        try:
            size = dataset.filesystem.get_file_info(file).size
            former.update(f"{PurePosixPath(file).name}\0{size}\0".encode())
            with dataset.filesystem.open_input_stream(file) as stream:
                while block := stream.read(1 << 20):
                    former.update(block)
                    plain.update(block)
            if fragment.count_rows():
                files.add(keyed(key, "file of a source", plain.hexdigest()))
        except (pa.ArrowException, OSError) as error:
            raise unreadable(dataset.filesystem, file, error) from None
        partition = partition_of(file, root)
        by_folder = by_folder or bool(partition)
        entries.append(canonical([sorted(partition.items()), plain.hexdigest()]))
    content = keyed(key, "source", *sorted(entries))
    return SourceDigest(content, former.hexdigest(), by_folder, tuple(sorted(files)[:_MOST_FILES]))
