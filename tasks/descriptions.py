"""The descriptions in a bundle, for catalogues, archives and registries; made when it is staged, from public facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.registry import mechanism_of
from penstock.records.bundle import bundle
from penstock.reports.catalogue import catalogue_entry
from penstock.reports.codebook import codebook
from penstock.reports.deployment import deployment_record
from penstock.reports.described import Described, OutputWords, Promises
from penstock.tasks.formats import media_type, sheet_stem
from penstock.tasks.outputs.output import Output, Staged
from penstock.tasks.run.job import Job
from penstock.tasks.run.plan import File

__all__ = [
    "FOLDER",
    "DescribedFile",
    "described_file",
    "files_of",
    "write_descriptions",
    "write_file_descriptions",
]

FOLDER = "metadata"

Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DescribedFile:
    """A file that several outputs share, for readers. columns: as described by their outputs, each with its promise."""

    file: File
    parts: Sequence[Job]
    records: int
    columns: Sequence[Facts]
    output: OutputWords

    @property
    def guarantees(self) -> dict[str, Guarantee]:
        return {str(each.plan.output_name): each.plan.guarantee for each in self.parts}


def described_file(file: File, outputs: Sequence[tuple[tuple[Job, Staged], Facts]]) -> DescribedFile:
    """Return the description of a file from those of its parts."""
    parts = [(each, staged, facts) for (each, staged), facts in outputs if each.plan.output_name in file.outputs]
    columns = {
        column["name"]: {**column, "promise": f"{each.plan.output_name}: {each.plan.guarantee.in_short}"}
        for each, _, facts in parts
        for column in facts["columns"]
    }
    first, staged, _ = parts[0]
    jobs = [each for each, _, _ in parts]
    return DescribedFile(file, jobs, staged.records, [columns[name] for name in file.declared], first.plan.output.words)


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
    gates: Sequence[Facts],
    columns: Sequence[Facts],
    linked: Sequence[Facts],
) -> None:
    """Write the descriptions of an output's data files, which are already in the bundle; of several outputs in a folder
    each. A file that several share is described once, beside the deployments that it rests on."""
    plan = job.plan
    folder = _folder(job, plan.output_name)
    release = Described(
        mechanism=plan.params.mechanism,
        guarantee=plan.guarantee,
        rows=plan.output.published_rows(staged),
        output=plan.output.words,
        columns=columns,
        linked=linked,
        usage=mechanism_of(plan.params).advice(plan.params, plan.declared),
        gates=gates,
        **_about(job, plan.output_name, plan.output),
    )
    _write(folder / "deployment.json", deployment_record(release, plan.guarantee))
    if plan.file_of(plan.output_name) is None:
        _write(folder / "dataset.jsonld", catalogue_entry(release))
        _write(folder / "codebook.xml", codebook(release))


def write_file_descriptions(job: Job, described: DescribedFile, results: Sequence[Facts]) -> None:
    """Write the descriptions of a file that several outputs share. results: of all gates of the release."""
    file, parts = described.file, described.parts
    own = (None, file.name, *file.outputs)
    advice = (mechanism_of(each.plan.params).advice(each.plan.params, each.plan.declared) for each in parts)
    release = Described(
        mechanism=", ".join(dict.fromkeys(each.plan.params.mechanism for each in parts)),
        guarantee=Promises.of(described.guarantees, file.together),
        rows=described.records,
        output=described.output,
        columns=[{**column, "treatment": _with_promise(column)} for column in described.columns],
        linked=[],
        usage=list(dict.fromkeys(sentence for sentences in advice for sentence in sentences)),
        gates=[result for result in results if result.get("output") in own],
        **_about(job, file.name, parts[0].plan.output),
    )
    folder = _folder(job, file.name)
    _write(folder / "dataset.jsonld", catalogue_entry(release))
    _write(folder / "codebook.xml", codebook(release))


def _with_promise(column: Facts) -> str:
    return f"{column['treatment']} (promise of {column['promise']})"


def _folder(job: Job, name: str | None) -> Path:
    folder = job.bundle / FOLDER / (name or "")
    folder.mkdir(mode=0o700, parents=True)
    return folder


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _about(job: Job, name: str | None, output: Output) -> dict[str, Any]:
    """Return what a description says of its release and its files. name: of the folder that it is in; None where there
    is one output."""
    plan = job.plan
    return {
        "name": plan.name,
        "release": job.run.id,
        "created": job.started,
        "reviewed": plan.rule is not None,
        "software": f"Penstock {version('penstock')}",
        "files": [
            {
                "name": file["name"],
                "stem": sheet_stem(file["name"]),
                "bytes": (job.bundle / file["name"]).stat().st_size,
                "sha256": file["digest"]["sha256"],
                "media_type": media_type(file["name"]),
            }
            for file in files_of(output, bundle.subjects(job.bundle))
        ],
        "words": plan.spec.get("describe", {}),
        "edition": plan.edition,
        "folder": f"{output.folder}/" if output.folder else "",
        "bundle": "../" * (1 if name is None else 2),
    }
