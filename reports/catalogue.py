"""A release for catalogues: one JSON-LD document that is a StatDCAT-AP 3 description and a schema.org Dataset.

The context is written out, so no reader has to fetch one. Plain keys are schema.org, prefixed ones are what DCAT-AP and
StatDCAT-AP use. Links are relative to the document, which lies in metadata/: wherever the bundle is published, they
lead to its files. What the spec does not say (publisher, licence) is left out.

Departure: a day of issue is stated only where no reviewer has to agree first, because it is not known before.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from penstock.reports.described import Described, Facts

__all__ = ["catalogue_entry"]

_CONTEXT: dict[str, Any] = {
    "@vocab": "https://schema.org/",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "dqv": "http://www.w3.org/ns/dqv#",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "prov": "http://www.w3.org/ns/prov#",
    "qb": "http://purl.org/linked-data/cube#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "spdx": "http://spdx.org/rdf/terms#",
    "stat": "http://data.europa.eu/s1n/",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
    "contentUrl": {"@id": "https://schema.org/contentUrl", "@type": "@id"},
    "license": {"@id": "https://schema.org/license", "@type": "@id"},
}
_COMPONENTS = {
    "dimension": ("stat:dimension", "qb:DimensionProperty"),
    "figure": ("stat:measure", "qb:MeasureProperty"),
    "standard_error": ("stat:attribute", "qb:AttributeProperty"),
}


def catalogue_entry(release: Described) -> str:
    """Return the text of dataset.jsonld."""
    words, created = release.words, release.created.isoformat(timespec="seconds")
    entry: dict[str, Any] = {
        "@context": _CONTEXT,
        "@id": release.bundle,
        "@type": ["dcat:Dataset", "Dataset"],
        "dct:title": release.title,
        "dct:description": release.abstract,
        "dct:identifier": release.identifier,
        "dct:created": _typed(created, "xsd:dateTime"),
        "name": release.title,
        "description": release.abstract,
        "identifier": release.identifier,
        "dateCreated": created,
        "dct:provenance": {"@type": "dct:ProvenanceStatement", "rdfs:label": release.guarantee.statement},
        "prov:wasGeneratedBy": {
            "@type": "prov:Activity",
            "rdfs:label": f"Release {release.release}",
            "prov:wasAssociatedWith": {"@type": "prov:SoftwareAgent", "rdfs:label": release.software},
        },
        "foaf:page": [{"@id": f"{release.bundle}report.html"}, {"@id": "codebook.xml"}],
        "dqv:hasQualityMeasurement": [_verdict(gate) for gate in release.gates],
        "variableMeasured": _variables(release),
        **_components(release),
        "dcat:distribution": list(_distributions(release)),
        "distribution": [{"@id": _link(release, file)} for file in release.files],
    }
    if release.edition is not None:
        entry |= {"dcat:version": release.edition, "version": release.edition}
    if release.period is not None:
        first, last = (_typed(day.isoformat(), "xsd:date") for day in (release.period.first, release.period.last))
        about = {"@type": "dct:PeriodOfTime", "dcat:startDate": first, "dcat:endDate": last}
        entry |= {"dct:temporal": about, "temporalCoverage": release.period.interval}
    if not release.reviewed:
        issued = release.created.date().isoformat()
        entry |= {"dct:issued": _typed(issued, "xsd:date"), "datePublished": issued}
    if "publisher" in words:
        publisher = {"@type": ["foaf:Agent", "Organization"], "foaf:name": words["publisher"]}
        entry |= {"dct:publisher": {"@id": "#publisher"}, "publisher": {"@id": "#publisher", **publisher}}
        entry["publisher"]["name"] = words["publisher"]
    if "license" in words:
        entry["license"] = words["license"]
    if "keywords" in words:
        entry |= {"dcat:keyword": list(words["keywords"]), "keywords": list(words["keywords"])}
    if "language" in words:
        code = words["language"]
        entry |= {"dct:language": {"@id": f"http://id.loc.gov/vocabulary/iso639-1/{code}"}, "inLanguage": code}
    return json.dumps(entry, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _typed(value: object, kind: str) -> dict[str, Any]:
    return {"@type": kind, "@value": value}


def _link(release: Described, file: Facts) -> str:
    return release.bundle + quote(file["name"])


def _distributions(release: Described) -> Iterator[dict[str, Any]]:
    for file in release.files:
        kind = file["media_type"]
        made: dict[str, Any] = {
            "@id": _link(release, file),
            "@type": ["dcat:Distribution", "DataDownload"],
            "dct:title": file["name"],
            "name": file["name"],
            "dcat:accessURL": {"@id": release.bundle},
            "dcat:downloadURL": {"@id": _link(release, file)},
            "contentUrl": _link(release, file),
            "dcat:mediaType": {"@id": f"http://www.iana.org/assignments/media-types/{kind}"},
            "encodingFormat": kind,
            "dcat:byteSize": _typed(str(file["bytes"]), "xsd:nonNegativeInteger"),
            "contentSize": f"{file['bytes']} B",
            "spdx:checksum": {
                "@type": "spdx:Checksum",
                "spdx:algorithm": {"@id": "spdx:checksumAlgorithm_sha256"},
                "spdx:checksumValue": _typed(file["sha256"], "xsd:hexBinary"),
            },
            "sha256": file["sha256"],
        }
        if "license" in release.words:
            made["dct:license"] = {"@id": release.words["license"]}
        yield made


def _verdict(gate: Facts) -> dict[str, Any]:
    """Return the statement that a limit was kept, without the value that was measured."""
    metric = {
        "@type": "dqv:Metric",
        "skos:prefLabel": gate["gate"],
        "skos:definition": gate["rule"],
        "dqv:expectedDataType": {"@id": "xsd:string"},
    }
    return {"@type": "dqv:QualityMeasurement", "dqv:isMeasurementOf": metric, "dqv:value": gate["verdict"]}


def _variables(release: Described) -> list[dict[str, Any]]:
    """Return every column once, including those that link tables."""
    columns = {column["name"]: column for sheet in release.sheets for column in sheet.columns}
    return [
        {
            "@type": "PropertyValue",
            "name": name,
            "description": column["treatment"],
            **({} if column["domain"] is None else dict(zip(("minValue", "maxValue"), column["domain"], strict=True))),
        }
        for name, column in columns.items()
    ]


def _components(release: Described) -> dict[str, Sequence[dict[str, Any]]]:
    """Return the dimensions, measures and attributes of a table; records have none."""
    found: dict[str, list[dict[str, Any]]] = {}
    for column in release.columns:
        if column["role"] not in _COMPONENTS:
            continue
        name, kind = _COMPONENTS[column["role"]]
        part = {"@id": f"#column-{quote(column['name'])}", "@type": kind, "rdfs:label": column["name"]}
        found.setdefault(name, []).append(part)
    return dict(found)
