"""Nothing that a Prefect server names is unpickled, imported or loaded.

A server answers a flow run with a state, and a state can refer to a stored result: a file, and the serializer that
reads it. Prefect reads it, by unpickling, which runs whatever code the file holds. So whoever answers in the place of a
server, or can write into its database, would run code as whoever runs the release. A serializer can also name the
module to import, and a reference the block of the server through which its file is fetched.

No flow of ours stores a result, so nobody honest refers to one: every way to read one is closed for the whole process.
Only texts and numbers are left of what a server sends. One bad answer must not stop the worker: it takes such a
reference as it is named, and imports nothing for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NoReturn
from uuid import UUID

import prefect.results
import prefect.serializers
from prefect._internal.result_records import ResultRecord
from prefect._internal.schemas import validators
from prefect.results import ResultStore
from prefect.serializers import CompressedSerializer, PickleSerializer, Serializer

from penstock.mechanisms.refusal import Refusal

__all__ = ["StoredResultRefused", "leave_results_unread", "refuse_stored_results"]

_STORE = ("_from_metadata", "_read", "_aread", "read", "aread")
_RECORD = ("deserialize", "deserialize_from_result_and_metadata")


class StoredResultRefused(Refusal):
    """A Prefect server refers to a stored result, which would have to be unpickled."""

    code = "stored-result-refused"
    kind = "integrity"
    remedy = "Find out who can write into the database of the Prefect server; use another server until then."


def leave_results_unread() -> None:
    """Keep this process from importing any library for the result of a state. The stand-in has the names that Prefect
    looks for."""
    library = SimpleNamespace(dumps=_refuse, loads=_refuse, compress=_refuse, decompress=_refuse)
    vars(validators).update(from_qualified_name=lambda _: library)


def refuse_stored_results() -> None:
    """Close every way by which Prefect reads a stored result in this process, for good. Call it before asking a server
    anything."""
    for serializer in _kinds(Serializer):
        _replace(serializer, "loads")
    for name in _STORE:
        _replace(ResultStore, name)
    for name in _RECORD:
        _replace(ResultRecord, name)
    # A serializer is checked by importing what it names, and a server names it.
    vars(prefect.serializers).update(
        validate_picklelib=_only(PickleSerializer, "picklelib"),
        validate_compressionlib=_only(CompressedSerializer, "compressionlib"),
    )
    vars(prefect.results).update(
        resolve_result_storage=_without_blocks_of_the_server(prefect.results.resolve_result_storage),
        aresolve_result_storage=_without_blocks_of_the_server(prefect.results.aresolve_result_storage),
        # Where a server keeps results by default does not concern a process that stores none.
        _read_server_default_result_storage_block_id=lambda: None,
        _aread_server_default_result_storage_block_id=_nothing,
    )


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise StoredResultRefused.at(
        "PREFECT_API_URL",
        rule="must name a server that refers to no stored result, because reading one runs the code in it",
        remedy="Find out who answers at this address, and who can write into its database; nothing was read.",
    )


def _kinds(base: type[Any]) -> Iterator[type[Any]]:
    yield base
    for below in base.__subclasses__():
        yield from _kinds(below)


def _replace(owner: type[Any], name: str) -> None:
    setattr(owner, name, staticmethod(_refuse))


def _only(serializer: type[Any], field: str) -> Any:
    """Return a check that lets only the default of a field pass, and imports nothing."""
    known = serializer.model_fields[field].default

    def check(value: str) -> str:
        return value if value == known else _refuse()

    return check


def _without_blocks_of_the_server(resolve: Any) -> Any:
    def refuse_or_resolve(storage: Any, **options: Any) -> Any:
        return _refuse() if isinstance(storage, UUID) else resolve(storage, **options)

    return refuse_or_resolve


async def _nothing() -> None:
    return None
