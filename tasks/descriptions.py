"""The descriptions in a bundle, for catalogues, archives and registries; made when it is staged, from public facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from penstock.mechanisms.registry import mechanism_of
from penstock.records.bundle import bundle
from penstock.reports.catalogue import catalogue_entry
from penstock.reports.codebook import codebook
from penstock.reports.deployment import deployment_record
from penstock.reports.described import Described
from penstock.tasks.formats import media_type, sheet_stem
from penstock.tasks.outputs.output import Output, Staged
from penstock.tasks.run.job import Job

__all__ = ["FOLDER", "files_of", "write_descriptions"]

FOLDER = "metadata"

_MADE = {"dataset.jsonld": catalogue_entry, "codebook.xml": codebook, "deployment.json": deployment_record}


def files_of(output: Output, subject: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the files of one output among those of a bundle."""
    if output.folder:
        return [file for file in subject if file["name"].startswith(f"{output.folder}/")]
    if not output.is_table:
        return [file for file in subject if not file["name"].startswith(f"{FOLDER}/")]
    stems = tuple(f"{stem}." for stem in output.words.sheets)
    return [file for file in subject if file["name"].startswith(stems)]


def write_descriptions(
    job: Job,
    staged: Staged,
    gates: Sequence[Mapping[str, Any]],
    columns: Sequence[Mapping[str, Any]],
    linked: Sequence[Mapping[str, Any]],
) -> None:
    """Write the descriptions of an output's data files, which are already in the bundle; of several outputs in a folder
    each."""
    plan = job.plan
    place = FOLDER if plan.output_name is None else f"{FOLDER}/{plan.output_name}"
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
        gates=gates,
        files=[
            {
                "name": file["name"],
                "stem": sheet_stem(file["name"]),
                "bytes": (job.bundle / file["name"]).stat().st_size,
                "sha256": file["digest"]["sha256"],
                "media_type": media_type(file["name"]),
            }
            for file in files_of(plan.output, bundle.subjects(job.bundle))
        ],
        words=plan.spec.get("describe", {}),
        folder=f"{plan.output.folder}/" if plan.output.folder else "",
        bundle="../" * (1 + place.count("/")),
    )
    folder = job.bundle / place
    folder.mkdir(mode=0o700, parents=True)
    for name, made in _MADE.items():
        (folder / name).write_text(made(release), encoding="utf-8", newline="\n")
