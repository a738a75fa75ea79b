"""Objects in an S3 store: read, listed, put in parts, created once.

Errors of the store quote addresses, keys and its own messages; they are read here to find out what happened, and
only our refusals are passed on. All of them are failures: what a run has drawn waits for its next attempt.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, InvalidPathError
from obstore.store import S3Store

from penstock.mechanisms.refusal import Refusal
from penstock.records.files import store_access
from penstock.records.files.addresses import ObjectPath
from penstock.records.files.store_access import access

__all__ = [
    "BLOCK_BYTES",
    "ObjectNameRefused",
    "StoreRefused",
    "StoreUnreachable",
    "Stored",
    "blocks",
    "create",
    "digest_of",
    "found_below",
    "put_file",
    "read",
    "store_refusal",
    "told_of",
]

BLOCK_BYTES = 8 << 20  # of a part of an upload, and of a piece that is read back
_PARTS_AT_ONCE = 2
_MOST_PARTS = 10_000
_KINDS = {".html": "text/html; charset=utf-8", ".csv": "text/csv; charset=utf-8", ".json": "application/json"}


class StoreUnreachable(Refusal):
    """The store did not answer, or not as an S3 store does."""

    code = "store-unreachable"
    remedy = "Check endpoint, region and network, and run again."


class StoreRefused(Refusal):
    """The object store denied access, or has no such bucket."""

    code = "store-refused"
    remedy = "Check bucket, endpoint and the rights of the credentials."


class ObjectNameRefused(Refusal):
    """An object has a name that is no path, such as one with `..` in it."""

    code = "object-name-refused"
    kind = "integrity"
    remedy = "Find out who put the object there, and remove it."


def read(path: ObjectPath, *, most: int | None = None) -> bytes | None:
    """Return the content of a small object; None if it does not exist. most: read no more bytes than this."""
    with _asking(path):
        try:
            content = bytearray()
            for piece in obstore.get(_store(path.bucket), path.key).stream():
                content += piece
                if most is not None and len(content) > most:
                    break
            return bytes(content)
        except FileNotFoundError as error:
            if "<Code>NoSuchBucket</Code>" in str(error):
                raise
            return None


def found_below(path: ObjectPath) -> dict[str, int]:
    """Return the names of the objects below `path`, relative to it, with their sizes; sorted by name."""
    found: dict[str, int] = {}
    start = len(path.key) + 1 if path.key else 0
    with _asking(path):
        for batch in obstore.list(_store(path.bucket), path.key or None):
            # A store's own web pages make empty objects that stand for folders.
            found |= {meta["path"][start:]: meta["size"] for meta in batch if len(meta["path"]) > start}
    return dict(sorted(found.items()))


@dataclass(frozen=True, slots=True)
class Stored:
    """An object as its store describes it.

    tag: the ETag, which follows the content; "" if there is none. written: when, by the store's own clock.
    """

    name: str
    size: int
    tag: str
    written: datetime


def told_of(path: ObjectPath) -> list[Stored]:
    """Return what the store says of the object of this name, or else of every object below it, sorted by name; nothing
    is read."""
    store = _store(path.bucket)
    with _asking(path):
        try:
            found = [obstore.head(store, path.key)] if path.key else []
        except FileNotFoundError:
            found = []
        if not found:
            found = [meta for batch in obstore.list(store, path.key or None) for meta in batch]
    told = (Stored(each["path"], each["size"], each["e_tag"] or "", each["last_modified"]) for each in found)
    return sorted(told, key=lambda each: each.name)


def blocks(path: ObjectPath, size: int) -> Iterator[bytes]:
    """Yield the content of an object of this size, piece by piece; each piece is a request with its own deadline."""
    store = _store(path.bucket)
    for start in range(0, size, BLOCK_BYTES):
        with _asking(path):
            piece = bytes(obstore.get_range(store, path.key, start=start, end=min(start + BLOCK_BYTES, size)))
        yield piece


def digest_of(path: ObjectPath, size: int) -> str | None:
    """Return the SHA-256 of an object as the store returns it; None if there is none, or none of this size."""
    with _asking(path):
        try:
            if obstore.head(_store(path.bucket), path.key)["size"] != size:
                return None
        except FileNotFoundError:
            return None
    digest = hashlib.sha256()
    for piece in blocks(path, size):
        digest.update(piece)
    return digest.hexdigest()


def create(path: ObjectPath, content: bytes) -> bool:
    """Create an object unless one of this name exists; of several callers exactly one succeeds."""
    with _asking(path):
        try:
            obstore.put(_store(path.bucket), path.key, content, mode="create", attributes=_kind(path))
        except AlreadyExistsError:
            return False
    return True


def put_file(path: ObjectPath, file: Path) -> None:
    """Upload a file, in parts if it is large; only a few parts are in memory at once."""
    part = max(BLOCK_BYTES, -(-file.stat().st_size // _MOST_PARTS))
    with file.open("rb") as content, _asking(path):
        obstore.put(
            _store(path.bucket),
            path.key,
            content,
            attributes=_kind(path),
            chunk_size=part,
            max_concurrency=_PARTS_AT_ONCE,
        )


def _kind(path: ObjectPath) -> dict[str, str]:
    """Return the content type of an object, so that a browser shows the report instead of saving it."""
    kind = _KINDS.get(Path(path.name).suffix)
    return {} if kind is None else {"Content-Type": kind}


def _store(bucket: str) -> S3Store:
    """Return the store of a bucket with every option set, because an unset one would be taken from other variables."""
    given = access()
    return S3Store(
        bucket,
        config={} if given.token is None else {"session_token": given.token},
        endpoint=given.endpoint,
        aws_endpoint_url_s3=given.endpoint,
        region=given.region,
        access_key_id=given.key_id,
        secret_access_key=given.secret,
        conditional_put="etag",
        s3_express=False,
        skip_signature=False,
        unsigned_payload=False,
        virtual_hosted_style_request=False,
        client_options={
            "allow_http": not given.is_encrypted,
            "allow_invalid_certificates": False,
            "connect_timeout": timedelta(seconds=store_access.CONNECT_SECONDS),
            "timeout": timedelta(seconds=store_access.REQUEST_SECONDS),
        },
        retry_config={
            "max_retries": 4,
            "retry_timeout": timedelta(seconds=store_access.REQUEST_SECONDS / 2),
            "backoff": {
                "init_backoff": timedelta(milliseconds=100),
                "max_backoff": timedelta(seconds=5),
                "base": 2,
            },
        },
    )


@contextmanager
def _asking(path: ObjectPath) -> Iterator[None]:
    try:
        yield
    except InvalidPathError:
        raise ObjectNameRefused.at(
            str(path),
            rule="must hold only objects whose names are paths",
            remedy="Find out who put it there; remove it.",
        ) from None
    except (BaseError, FileNotFoundError) as error:
        raise store_refusal(path, str(error)) from None


def store_refusal(path: ObjectPath, words: str) -> Refusal:
    """Return the refusal that a client library's error message means; the message is not repeated."""
    if "NoSuchBucket" in words or "NO_SUCH_BUCKET" in words:
        rule, remedy = (
            "must be in a bucket that exists in this store",
            "Create it, or correct the address or the endpoint.",
        )
        return StoreRefused.at(str(path), rule=rule, remedy=remedy)
    if any(sign in words for sign in ("403 Forbidden", "401 Unauthorized", "ACCESS_DENIED", "FORBIDDEN")):
        rule, remedy = (
            "must be open to this run; the store denies access",
            "Check the credentials of this run and what they may do.",
        )
        return StoreRefused.at(str(path), rule=rule, remedy=remedy)
    return StoreUnreachable.at(
        str(path),
        rule="must be in a store that answers as an S3 store does",
        remedy="Check endpoint, region and network, and run again.",
    )
