"""Which records a question is about: the digests of its source, kept from one question to the next.

    state    = for each file: name below the source, size, times of its last writing and last change, inode, device;
               of an object store: its endpoint, name, size, time of writing, ETag
    identity = digests of content, files and values (files/source_digest.py, files/fingerprint.py), number of records

    <home>/sources/<keyed(K, "identity", path, columns)>.json    state, identity, keyed(K, "identity", both)      (1)

An identity costs a read of the whole source, a question a read of a few columns. So (1) is kept until the state is
another one. It is sealed: whoever can write into the home without its key cannot have other records taken for these.

Whoever can write the source itself decides what is answered about, whatever is kept. The time of the last change is the
system's and cannot be set by a program, so content that is exchanged under an old time of writing is noticed; whoever
can set the clock, or writes to the disk below the file system, can hide an exchange. New questions are then charged to
the same account, under the digests of the old content, and old ones get their old answers: nothing is spent twice for
that, but the promises of idp and bdp, about one actual data set, would be about two.

A file that has changed so lately that its clock may not have moved on since is read, and its identity not kept.

A store sets the time of writing itself, at each writing, and nobody who writes an object can set it. The ETag follows
the content too; it is compared, but nothing rests on it: that of MD5 can be forged, and that of an upload in parts
depends on the parts. So an object that was written anew has a later time, if the store's clock had moved on. It may be
another clock than the machine's, by at most 15 minutes: a signed request of which the times differ by more is refused.
So an identity is kept if every object was written at least 16 minutes before it was read, by the machine's clock.
Whoever can set the store's clock, or writes below it, stands where whoever can set the machine's does.
"""

from __future__ import annotations

import hmac
import json
import os
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.mechanisms.columns import Column
from penstock.records.files.addresses import ObjectPath, place_of
from penstock.records.files.digest import canonical, keyed
from penstock.records.files.durable import fresh_name, write
from penstock.records.home import Home, make_private

if TYPE_CHECKING:  # pyarrow is loaded where something is read, so that a repeated question does not wait for it
    import pyarrow.dataset as ds

__all__ = ["Identity", "identify", "known_identity"]

# How old the last change of a file must be, in nanoseconds; clocks of file systems move in steps.
_AT_REST = 2 * 10**9
# In a store: the same, where clocks differ by as much as requests may (15 minutes).
_AT_REST_IN_STORE = 16 * 60 * 10**9

State = list[list[str | int]]


@dataclass(frozen=True, slots=True)
class Identity:
    """The digests of a source, as a claim has them, and how many records it has. state: of its files, when they were
    read; None where there is none that could be compared."""

    source: str
    values: str
    formerly: str
    files: tuple[str, ...]
    records: int
    state: State | None = None

    def require_still(self, path: str) -> None:
        """Refuse a source that has changed since it was identified."""
        if _state(path) != self.state:
            from penstock.tasks.files.source_files import changed

            raise changed(path)


def known_identity(home: Home, path: str, declared: Mapping[str, Column]) -> Identity | None:
    """Return the identity of a source that was identified before and has not changed since; None if there is none."""
    if not (home.root / "sources").is_dir():
        return None  # nothing was ever identified here, and a plan makes no home
    state = _state(path)
    key = home.secret_key()
    try:
        told = json.loads(_file(home, key, path, declared).read_bytes())
        kept = {"state": told["state"], "identity": told["identity"]}
        genuine = hmac.compare_digest(str(told["seal"]), keyed(key, "identity", canonical(kept)))
    except (OSError, ValueError, KeyError, TypeError):
        return None  # not there, or not written here: the source is read again
    if state is None or not genuine or kept["state"] != state:
        return None
    found = kept["identity"]
    return Identity(found["source"], found["values"], found["formerly"], tuple(found["files"]), found["records"], state)


def identify(home: Home, path: str, declared: Mapping[str, Column], *, unit: str | None = None) -> Identity:
    """Return the identity of a source; read the whole of it, unless it is known. No value is checked: the number of
    records and what they hold refuse nothing."""
    known = known_identity(home, path, declared)
    if known is not None:
        return known
    from penstock.tasks.files.source import open_source

    begun, state = time.time_ns(), _state(path)
    dataset = open_source(path, declared, unit=unit)
    found = replace(_read(home, dataset, path, declared), state=state)
    found.require_still(path)
    rest = _AT_REST if isinstance(place_of(path, "source.path"), Path) else _AT_REST_IN_STORE
    if state is not None and all(begun - int(each[3]) > rest for each in state):
        _keep(home, path, declared, state, found)
    return found


def _read(home: Home, dataset: ds.Dataset, path: str, declared: Mapping[str, Column]) -> Identity:
    import pyarrow as pa

    from penstock.tasks.files.fingerprint import Fingerprint, Sums, digest_of_values, key_of_values
    from penstock.tasks.files.source_digest import digest_source
    from penstock.tasks.files.source_files import changed, root_of, source_state, unreadable

    key, names = home.secret_key(), _names(declared)
    as_found = source_state(dataset)
    total = Sums(0, 0, 0)
    with ThreadPoolExecutor(1) as beside:
        hashing = beside.submit(digest_source, dataset, root_of(path), key)
        try:
            for batch in dataset.to_batches(columns=names):
                fingerprint = Fingerprint(key_of_values(key))
                for name in names if batch.num_rows else ():
                    fingerprint.add(name, pa.chunked_array([batch.column(name)]))
                total += fingerprint.sums()
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise unreadable(dataset.filesystem, dataset.files[0], error) from None
        told = hashing.result()
    if source_state(dataset) != as_found:
        raise changed(path)
    return Identity(told.content, digest_of_values(key, names, [total]), told.formerly, told.files, total.records)


def _keep(home: Home, path: str, declared: Mapping[str, Column], state: State, identity: Identity) -> None:
    key = home.secret_key()
    told = {name: value for name, value in asdict(identity).items() if name != "state"}
    kept: dict[str, Any] = {"state": state, "identity": {**told, "files": list(identity.files)}}
    place = _file(home, key, path, declared)
    make_private(place.parent)
    incoming = place.with_name(fresh_name(f".{place.name}"))
    write(incoming, canonical({**kept, "seal": keyed(key, "identity", canonical(kept))}))
    os.replace(incoming, place)


def _names(declared: Mapping[str, Column]) -> list[str]:
    """Return the columns whose values a source is known by: all that are declared but the identifiers."""
    return [name for name, column in declared.items() if column.role != "identifier"]


def _file(home: Home, key: bytes, path: str, declared: Mapping[str, Column]) -> Path:
    named = keyed(key, "identity", canonical([path, sorted(_names(declared))]))
    return home.root / "sources" / f"{named}.json"


def _state(path: str) -> State | None:
    """Return the files of a source as they are now; None if there is nothing there, or a store tells too little."""
    place = place_of(path, "source.path")
    if not isinstance(place, Path):
        return _in_store(place)
    try:
        files = [place] if place.is_file() else sorted(place.rglob("*"))
        return [_of_file(file, place) for file in files if file.is_file()] or None
    except OSError:
        return None


def _in_store(place: ObjectPath) -> State | None:
    from penstock.records.files.object_store import told_of
    from penstock.records.files.store_access import access

    found, endpoint = told_of(place), access().endpoint
    if not all(each.tag for each in found):
        return None
    return [
        [f"{endpoint} {each.name}", each.size, each.tag, int(each.written.timestamp() * 1000) * 10**6] for each in found
    ] or None


def _of_file(file: Path, root: Path) -> list[str | int]:
    found = file.stat()
    name = os.fsencode(file.relative_to(root)).hex()  # a name may hold bytes that are no text
    return [name, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev]
