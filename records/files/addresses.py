"""Where things lie: a local path, or an address in an object store such as s3://bucket/folder/.

An address never holds credentials or options: those come from the environment, so that what is logged,
signed or shown can be an address.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from penstock.mechanisms.refusal import Refusal

__all__ = ["AddressRefused", "ObjectPath", "Place", "is_address", "place_of"]

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
# Characters that need no escaping in a URL, a signature or a shell, and those that Hive folders need.
_PART = re.compile(r"[A-Za-z0-9._=+,:()!-]+")
_LONGEST_PATH = 4000
_LONGEST_NAME = 255
_REMEDY = "Write s3://bucket/folder; credentials and endpoint come from the environment."


class AddressRefused(Refusal):
    """The address is not one that Penstock can use."""

    code = "address-refused"
    kind = "spec"
    remedy = "Write a local path or s3://bucket/folder; credentials come from the environment."


@dataclass(frozen=True, slots=True)
class ObjectPath:
    """An object, or everything whose name begins with it and a slash; `key` is empty for a whole bucket."""

    bucket: str
    key: str

    def __truediv__(self, name: str) -> ObjectPath:
        return ObjectPath(self.bucket, f"{self.key}/{name}" if self.key else name)

    def __str__(self) -> str:
        return f"s3://{self.bucket}/{self.key}"

    @property
    def name(self) -> str:
        return self.key.rpartition("/")[2]

    @property
    def parent(self) -> ObjectPath:
        return ObjectPath(self.bucket, self.key.rpartition("/")[0])


Place = Path | ObjectPath


def is_address(text: str) -> bool:
    """Return whether the text names a place in an object store, correctly or not, rather than a local path."""
    return "://" in text


def _require_path(text: str, field: str) -> None:
    """Refuse a path that no file system accepts, before one is asked."""
    try:
        written = text.encode()
    except UnicodeEncodeError:
        written = b"\0"
    if b"\0" in written or len(written) > _LONGEST_PATH or max(map(len, written.split(b"/"))) > _LONGEST_NAME:
        rule = f"must have at most {_LONGEST_PATH} bytes, each name {_LONGEST_NAME}, and no zero byte"
        raise AddressRefused.at(field, rule=rule, remedy="Choose a shorter path.")


def place_of(text: str, field: str = "path") -> Place:
    """Return the place that a text names. A refused text is not quoted: it may hold a password."""
    if not is_address(text):
        _require_path(text, field)
        return Path(text)
    scheme, _, rest = text.partition("://")
    if scheme != "s3":
        raise AddressRefused.at(
            field, rule="must begin with s3:// if it is an address", remedy="Use a local path, or S3."
        )
    if "@" in rest.partition("/")[0] or "?" in rest or "#" in rest:
        rule = "must not hold credentials or options"
        raise AddressRefused.at(field, rule=rule, remedy=_REMEDY)
    bucket, _, key = rest.partition("/")
    if not _BUCKET.fullmatch(bucket):
        raise AddressRefused.at(field, rule="must name a bucket after s3://", remedy=_REMEDY)
    parts = key.removesuffix("/").split("/") if key else []
    if not all(_PART.fullmatch(part) and part not in (".", "..") for part in parts):
        rule = "must have folders with plain names: letters, digits and . _ = + , : ( ) ! -"
        raise AddressRefused.at(field, rule=rule, remedy=_REMEDY)
    return ObjectPath(bucket, "/".join(parts))
