"""A receiver of lineage events on loopback, and a strict reader made of the classes that OpenLineage generates.

The reader builds every event and facet again from those classes. An unknown key, a key that is missing, a value of
another type, a facet in a place that it is not for, and a schema address that is not the class's own are errors.
"""

from __future__ import annotations

import enum
import json
import threading
import types
import typing
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import attr
from openlineage.client.generated import (
    base,
    column_lineage_dataset,
    data_quality_assertions_dataset,
    documentation_job,
    error_message_run,
    job_type_job,
    parent_run,
    processing_engine_run,
    schema_dataset,
)
from openlineage.client.serde import Serde

__all__ = ["Receiver", "read_event", "receiving"]

FACETS: dict[str, type] = {
    "columnLineage": column_lineage_dataset.ColumnLineageDatasetFacet,
    "dataQualityAssertions": data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet,
    "documentation": documentation_job.DocumentationJobFacet,
    "errorMessage": error_message_run.ErrorMessageRunFacet,
    "jobType": job_type_job.JobTypeJobFacet,
    "parent": parent_run.ParentRunFacet,
    "processing_engine": processing_engine_run.ProcessingEngineRunFacet,
    "schema": schema_dataset.SchemaDatasetFacet,
}


@dataclass
class Receiver:
    """What arrived: path, headers and event of each request. answer: the status; hang: answer only when let go."""

    address: str = ""
    answer: int = 201
    location: str | None = None
    hang: bool = False
    let_go: threading.Event = field(default_factory=threading.Event)
    requests: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [event for _, _, event in self.requests]

    @property
    def kinds(self) -> list[str]:
        return [event["eventType"] for event in self.events]


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver for as long as this lasts."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            receiver.requests.append((self.path, dict(self.headers), json.loads(body)))
            if receiver.hang:
                receiver.let_go.wait()
            self.send_response(receiver.answer)
            if receiver.location is not None:
                self.send_header("Location", receiver.location)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Not on the screen."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        receiver.address = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield receiver
        finally:
            receiver.let_go.set()
            server.shutdown()
            thread.join()


def read_event(event: dict[str, Any]) -> base.RunEvent:
    """The event as OpenLineage's own class; what that class writes again is what came."""
    read = _built(base.RunEvent, event)
    assert _without_nothing(Serde.to_dict(read)) == _without_nothing(event)
    return typing.cast(base.RunEvent, read)


def _built(kind: Any, data: Any, key: str = "") -> Any:
    origin = typing.get_origin(kind)
    if origin in (typing.Union, types.UnionType):
        [kind] = [option for option in typing.get_args(kind) if option is not type(None)]
        return _built(kind, data, key)
    if origin is list:
        assert isinstance(data, list), key
        return [_built(typing.get_args(kind)[0], part, key) for part in data]
    if origin is dict:
        assert isinstance(data, dict), key
        return {name: _built(_facet(typing.get_args(kind)[1], name), part, name) for name, part in data.items()}
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind(data)
    if attr.has(kind):
        assert isinstance(data, dict), key
        return _object(kind, data)
    assert type(data) is kind, f"{key}: {data!r} is not of {kind}"
    return data


def _facet(expected: Any, name: str) -> Any:
    """Where facets are expected, the class of this one, which must be of the expected kind."""
    if isinstance(expected, type) and issubclass(expected, base.BaseFacet):
        assert issubclass(FACETS[name], expected), f"{name} is not for this place"
        return FACETS[name]
    return expected


def _object(kind: type, data: dict[str, Any]) -> Any:
    hints = typing.get_type_hints(kind)
    known = {each.name: each for each in attr.fields(kind)}
    assert set(data) <= set(known), f"{kind.__name__} has no {set(data) - set(known)}"
    arguments = {}
    for name, value in data.items():
        if name in ("schemaURL", "_schemaURL"):
            assert value == kind._get_schema()  # type: ignore[attr-defined]
        else:
            arguments[known[name].alias] = _built(hints[name], value, name)
    if issubclass(kind, base.BaseFacet | base.BaseEvent):
        stated = {"_producer", "_schemaURL"} if issubclass(kind, base.BaseFacet) else {"producer", "schemaURL"}
        assert stated <= set(data), f"{kind.__name__} must say who made it and by which schema"
    return kind(**arguments)


def _without_nothing(data: Any) -> Any:
    """Classes write empty lists for what was left out."""
    if isinstance(data, dict):
        return {key: _without_nothing(value) for key, value in data.items() if value not in (None, [], {})}
    return [_without_nothing(part) for part in data] if isinstance(data, list) else data
