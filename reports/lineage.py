"""OpenLineage events of a release: which columns came from which, what was masked, which gates were passed.

Pure: facts in, one event as plain data out. An event holds settings, declared columns, rules and verdicts; never a
statistic, a number of records, a digest, or a measured value. A refused release is reported by its code alone.

    event         when                                            what it adds
    START         planned                                         the source with its declared columns
    RUNNING       resumed after a stop                            the same
    OTHER         waits for its reviewers                         the same
    COMPLETE      published                                       the bundle, its columns and their origins, the gates
    FAIL          refused                                         the code
    ABORT         stopped by a failure; it may be resumed         the code

Gates are attached to the input, because the standard has no place for them on an output.

Source: OpenLineage 2-0-2, its facets and its naming of data sets.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from penstock.mechanisms.columns import Column
from penstock.mechanisms.layout import error_of

__all__ = ["Bundle", "Kind", "Lineage", "named_place", "run_event"]

Kind = Literal["START", "RUNNING", "OTHER", "COMPLETE", "FAIL", "ABORT"]
Facts = Mapping[str, Any]
Field = dict[str, Any]

_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS = {
    "columnLineage": "1-2-0/ColumnLineageDatasetFacet",
    "dataQualityAssertions": "1-1-0/DataQualityAssertionsDatasetFacet",
    "documentation": "1-1-0/DocumentationJobFacet",
    "errorMessage": "1-0-1/ErrorMessageRunFacet",
    "jobType": "2-0-4/JobTypeJobFacet",
    "parent": "1-2-0/ParentRunFacet",
    "processing_engine": "1-1-1/ProcessingEngineRunFacet",
    "schema": "1-2-0/SchemaDatasetFacet",
}
# One release is one run, whichever process continues it; its OpenLineage number is made from its number here.
_RUNS = uuid.UUID("6f1c9a4e-5d0b-5a51-9a58-3f3d6b1f7c20")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """The facts that all events of a release have in common. parent: job and run that started it, if they are known."""

    namespace: str
    name: str
    run: str
    version: str
    promise: str
    source: str
    declared: Mapping[str, Column]
    parent: tuple[str, str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A published bundle, or one of several outputs in it.

    release: the release part of its manifest; of an output, its own part with the gates of all. masked: the columns
    that a mechanism changed.
    """

    destination: str
    release: Facts
    masked: frozenset[str]


def run_event(
    kind: Kind, about: Lineage, *, occurred: datetime, code: str | None = None, bundles: Sequence[Bundle] = ()
) -> dict[str, Any]:
    """Return one event. code: that of the refusal or failure. bundles: the outputs, given once they are published."""
    producer = f"urn:penstock:{about.version}"

    def facet(key: str, **content: Any) -> dict[str, Any]:
        place = _FACETS[key]
        url = f"https://openlineage.io/spec/facets/{place}.json#/$defs/{place.partition('/')[2]}"
        return {key: {"_producer": producer, "_schemaURL": url, **content}}

    run_facets = facet("processing_engine", version=about.version, name="Penstock")
    if about.parent is not None:
        job, run = about.parent
        run_facets |= facet("parent", run={"runId": run}, job={"namespace": about.namespace, "name": job})
    if code is not None:
        run_facets |= facet("errorMessage", message=code, programmingLanguage="Python")
    source: dict[str, Any] = {
        **named_place(about.source),
        "facets": facet("schema", fields=list(_declared_fields(about.declared))),
    }
    outputs = []
    for bundle in bundles:
        source["inputFacets"] = facet("dataQualityAssertions", assertions=_assertions(bundle.release["gates"]))
        for place, columns in _sheets(bundle):
            lineage = {column["name"]: {"inputFields": list(_origins(column, about, bundle))} for column in columns}
            facets = facet("schema", fields=[_field(c["name"], c["type"], c["treatment"]) for c in columns])
            outputs.append({**named_place(place), "facets": {**facets, **facet("columnLineage", fields=lineage)}})
    return {
        "eventType": kind,
        "eventTime": occurred.isoformat(),
        "producer": producer,
        "schemaURL": _SPEC,
        "run": {"runId": str(uuid.uuid5(_RUNS, f"{about.namespace}/{about.run}")), "facets": run_facets},
        "job": {
            "namespace": about.namespace,
            "name": about.name,
            "facets": {
                **facet("documentation", description=about.promise),
                **facet("jobType", processingType="BATCH", integration="PENSTOCK", jobType="RELEASE"),
            },
        },
        "inputs": [source],
        "outputs": outputs,
    }


def named_place(place: str) -> dict[str, str]:
    """Return the name of a data set: a local path under `file`, an object under its bucket. Passwords are left out."""
    if "://" not in place:
        return {"namespace": "file", "name": place}
    parts = urlsplit(place)
    if parts.scheme == "file" and not parts.netloc:
        return {"namespace": "file", "name": unquote(parts.path)}
    user, _, host = parts.netloc.rpartition("@")
    # A container@account of Azure names the place; user:password does not.
    authority = host if not user or ":" in user else parts.netloc
    return {"namespace": f"{parts.scheme}://{authority}", "name": parts.path.strip("/") or "/"}


def _declared_fields(declared: Mapping[str, Column]) -> Iterator[Field]:
    for name, column in declared.items():
        never = ", never read" if column.role == "identifier" else ""
        yield _field(name, column.type, f"{column.role}{never}")


def _field(name: str, kind: str | None, description: str) -> Field:
    return {"name": name, **({} if kind is None else {"type": kind}), "description": description}


def _assertions(gates: Facts) -> list[Field]:
    return [
        {
            "assertion": result["gate"],
            "success": result["verdict"] == "pass",
            "description": f"Of the release made from it: {result['rule']}",
        }
        for result in gates["results"]
    ]


def _sheets(bundle: Bundle) -> Iterator[tuple[str, Sequence[Facts]]]:
    """Yield the bundle with the columns of its released file, and each table beside it."""
    yield bundle.destination, bundle.release["columns"]
    for table in bundle.release.get("linked", ()):
        yield f"{bundle.destination}/tables/{table['name']}", table["columns"]


def _origins(column: Facts, about: Lineage, bundle: Bundle) -> Iterator[Field]:
    """Yield the columns of the source that a released column was made from, and how."""
    layout = bundle.release.get("layout", {"dimensions": (), "figures": ()})  # records have none
    dimensions = [dimension["name"] for dimension in layout["dimensions"]]
    figures = {name: each for each in layout["figures"] for name in (each["name"], error_of(each["name"]))}
    read = [name for name, each in about.declared.items() if each.role != "identifier"]

    def origin(name: str, kind: str, subtype: str, masking: bool) -> Field:
        how = {"type": kind, "subtype": subtype, "description": column["treatment"], "masking": masking}
        return {**named_place(about.source), "field": name, "transformations": [how]}

    if column["name"] in dimensions:
        yield origin(column["name"], "INDIRECT", "GROUP_BY", True)  # its values are the declared categories
    elif column["name"] in figures:
        figure = figures[column["name"]]
        exact = bundle.release["guarantee"]["model"] == "k_anon"
        if figure["column"] is not None:
            yield origin(figure["column"], "DIRECT", "AGGREGATION", not exact)
        for name in dimensions:
            yield origin(name, "INDIRECT", "GROUP_BY", True)
    elif column["name"] not in about.declared:  # groups, and how many records they have
        for name in read:
            yield origin(name, "INDIRECT", "GROUP_BY", True)
    elif column["name"] in bundle.masked:
        yield origin(column["name"], "DIRECT", "TRANSFORMATION", True)
    else:
        yield origin(column["name"], "DIRECT", "IDENTITY", False)
