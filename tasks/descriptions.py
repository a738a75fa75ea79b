"""The descriptions in a bundle, for catalogues, archives and registries; made when it is staged, from public facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from penstock.measures.gates import Decision
from penstock.mechanisms.registry import mechanism_of
from penstock.records.bundle import bundle
from penstock.reports.catalogue import catalogue_entry
from penstock.reports.codebook import codebook
from penstock.reports.deployment import deployment_record
from penstock.reports.described import Described
from penstock.tasks.formats import media_type, sheet_stem
from penstock.tasks.outputs.output import Staged
from penstock.tasks.run.job import Job

__all__ = ["FOLDER", "write_descriptions"]

FOLDER = "metadata"

_MADE = {"dataset.jsonld": catalogue_entry, "codebook.xml": codebook, "deployment.json": deployment_record}


def write_descriptions(
    job: Job,
    staged: Staged,
    decision: Decision,
    columns: Sequence[Mapping[str, Any]],
    linked: Sequence[Mapping[str, Any]],
) -> None:
    """Write the descriptions of the data files that are already in the bundle."""
    plan = job.plan
    release = Described(
        name=plan.name,
        release=job.run.id,
        created=job.started,
        reviewed=plan.rule is not None,
        software=f"Penstock {version('penstock')}",
        mechanism=plan.params.mechanism,
        guarantee=plan.guarantee,
        rows=staged.records,
        output=plan.output.words,
        columns=columns,
        linked=linked,
        usage=mechanism_of(plan.params).advice(plan.params, plan.declared),
        gates=decision.public()["results"],
        files=[
            {
                "name": file["name"],
                "stem": sheet_stem(file["name"]),
                "bytes": (job.bundle / file["name"]).stat().st_size,
                "sha256": file["digest"]["sha256"],
                "media_type": media_type(file["name"]),
            }
            for file in bundle.subjects(job.bundle)
        ],
        words=plan.spec.get("describe", {}),
    )
    folder = job.bundle / FOLDER
    folder.mkdir(mode=0o700)
    for name, made in _MADE.items():
        (folder / name).write_text(made(release), encoding="utf-8", newline="\n")
