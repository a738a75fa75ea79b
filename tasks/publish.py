"""Publish: the bundle is staged and settled, then sealed, then appears at its destination whole or not at all.

Between stage and seal a reviewer may take days. What they approve is the content digest, settled when
the bundle is staged; the seal refuses a bundle whose files are no longer those.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from penstock.measures.gates import Decision
from penstock.mechanisms.composition import uncovered
from penstock.mechanisms.guarantee import Guarantee, includes, side_by_side, sum_in_short
from penstock.mechanisms.refusal import Fault
from penstock.records.bundle import bundle
from penstock.records.bundle.places import appears_at_once, manifest_at, require_outside, require_writable
from penstock.records.bundle.places import install as publish_at
from penstock.records.files.digest import keyed_file
from penstock.records.log.log import Action
from penstock.records.run import RunDamaged, RunRefused
from penstock.tasks.descriptions import described_file, write_descriptions, write_file_descriptions
from penstock.tasks.editions import earlier_editions
from penstock.tasks.outputs.claims import SEVERAL, SINGLE
from penstock.tasks.outputs.output import Staged
from penstock.tasks.public_page import public_page
from penstock.tasks.repeat import repeated
from penstock.tasks.report import versions
from penstock.tasks.run.job import KEPT, Job
from penstock.tasks.run.step import step
from penstock.tasks.verification.bundle import ClaimBroken, approval_faults

__all__ = [
    "Receipt",
    "already_published",
    "conclude",
    "install",
    "is_leaving",
    "promise_in",
    "require_destination",
    "rows_in",
    "rows_of",
    "seal",
    "stage",
    "staged_content",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """A published release: where it is, and what it promises.

    records: the rows of the output, or of all of several; they are records or, in a table, cells. repeats: the run that
    drew it, if all of it was drawn before; then nothing was spent. Several runs have commas between them. left_out:
    outputs that were refused, and because of what [output, because]; the others were published without them. earlier:
    an earlier run of the same spec from the same source published this; nothing was drawn, spent or published now.
    """

    name: str
    run: str
    records: int
    rows_are: str
    repeats: str | None
    promise: str
    path: str
    manifest: str
    public_report: str
    confidential_report: str
    seconds: dict[str, float]
    left_out: tuple[dict[str, Any], ...] = ()
    earlier: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; left_out only where something was."""
        return {name: value for name, value in asdict(self).items() if name != "left_out" or value}


@step("stage")
def stage(job: Job, staged: Sequence[Staged], decision: Decision) -> None:
    """Write the files of the bundle and settle its content; once per run."""
    if job.run.committed("staged") is not None:
        return
    plan = job.plan
    shutil.rmtree(job.bundle, ignore_errors=not job.bundle.exists())
    job.bundle.mkdir(mode=0o700)
    outputs = list(zip(job.outputs, staged, strict=True))
    for each, drawn in outputs:
        each.plan.output.write(each, drawn)
    results = decision.public()["results"]
    described = [_described(each, drawn) for each, drawn in outputs]
    for (each, drawn), facts in zip(outputs, described, strict=True):
        name = each.plan.output_name
        gates = [result for result in results if result.get("output") in (None, name)]
        write_descriptions(each, drawn, gates, facts["columns"], facts.get("linked", []))
    described_files = [described_file(file, list(zip(outputs, described, strict=True))) for file in plan.files]
    for file in described_files:
        write_file_descriptions(job, file, results)
    # Settled here: reviewers approve it, whatever else is published meanwhile.
    earlier = earlier_editions(job.log.events(), plan)
    page = public_page(job, outputs, described, described_files, results, earlier)
    (job.bundle / "report.html").write_text(page, encoding="utf-8")
    subject = bundle.subjects(job.bundle)
    release = {
        "name": plan.name,
        "release": job.run.id,
        "created": job.started.isoformat(timespec="seconds"),
        **({} if plan.edition is None else {"edition": plan.edition}),
        **({"earlier_editions": earlier} if earlier else {}),
        **_stated_outputs(outputs, described),
        **({"spreadsheet": "escape"} if plan.escape else {}),
        "gates": decision.public(),
        "reviewers": plan.rule.reviewers if plan.rule is not None else 0,
        "spec_sha256": plan.spec_digest,
        "bytes": {file["name"]: (job.bundle / file["name"]).stat().st_size for file in subject},
        "environment": _environment(),
        # Where nobody reviews, readers have no use for it.
        **({} if plan.rule is None else {"confidential": confidential_digests(job)}),
    }
    content = bundle.content_digest(subject, release)
    job.run.commit("staged", {"content": content, "subject": subject, "release": release, "records": rows_in(release)})


def _described(job: Job, staged: Staged) -> dict[str, Any]:
    """Return what the manifest states of one output."""
    plan = job.plan
    linked = plan.output.describe_linked(staged)
    return {
        "records": plan.output.published_rows(staged),
        "guarantee": plan.guarantee.model_dump(mode="json"),
        "settled": dict(staged.chosen),
        "columns": plan.output.describe(staged),
        **plan.output.stated,
        **({"linked": linked} if linked else {}),
    }


def _stated_outputs(outputs: Sequence[tuple[Job, Staged]], described: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return what the manifest states of all outputs: of the only one, or of each and all of them together."""
    if outputs[0][0].whole is None:
        return {"penstock": SINGLE, **described[0]}
    guarantees = {str(each.plan.output_name): each.plan.guarantee for each, _ in outputs}
    together = [each.model_dump(mode="json") for each in side_by_side(list(guarantees.values()))]
    apart = uncovered({name: guarantee.model for name, guarantee in guarantees.items()})
    included = includes(guarantees)
    return {
        "penstock": SEVERAL,
        "outputs": [{"name": name, **facts} for name, facts in zip(guarantees, described, strict=True)],
        "together": {
            "guarantees": together,
            **({"includes": included} if included else {}),
            "uncovered": list(apart),
        },
        **_stated_files(outputs),
    }


def _stated_files(outputs: Sequence[tuple[Job, Staged]]) -> dict[str, Any]:
    """Return what the manifest states of files that outputs share; nothing where there are none."""
    files = [
        {"name": file.name, "outputs": list(file.outputs), "columns": list(file.declared), "together": file.together}
        for file in outputs[0][0].plan.files
    ]
    return {"files": files} if files else {}


def staged_content(job: Job) -> dict[str, Any] | None:
    """Return what was staged: content, subject, release, records; None before. Refuse it if a file has changed."""
    settled = _settled(job)
    if settled is not None:
        RunDamaged.raise_for([*bundle.alterations(job.bundle, settled["subject"]), *_changed_pages(job, settled)])
    return settled


def confidential_digests(job: Job) -> dict[str, str]:
    """Return keyed digests of the pages that reviewers read; without the key they say nothing, so readers may have
    them."""
    key = job.home.secret_key()
    return {name: keyed_file(key, job.run.path(name)) for name in KEPT if job.run.path(name).exists()}


def _changed_pages(job: Job, settled: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield the pages that are not as they were when reviewers were asked; earlier versions did not bind them."""
    bound, found = settled["release"].get("confidential", {}), confidential_digests(job)
    for name, digest in bound.items():
        if found.get(name) != digest:
            yield Fault(
                name,
                "must be as it was when the reviewers were asked",
                "Find out who changed it. This run ends here; the next one begins anew.",
            )


@step("seal")
def seal(job: Job, approval: Mapping[str, Any]) -> None:
    """Sign what was staged, with its approval and the head of the log; once per run.

    approval: required, decisions [key_id, public_key, signature, reason].
    """
    if job.run.committed("sealed") is not None:
        return
    settled = _settled(job)
    if settled is None:
        raise RunRefused.at("bundle", rule="must be staged before it is sealed", remedy="Stage it.")
    RunDamaged.raise_for(_changed_pages(job, settled))
    ClaimBroken.raise_for(approval_faults(approval, settled["content"], settled["release"]["reviewers"]))
    head = job.log.head()
    digest = bundle.seal(
        job.bundle,
        subject=settled["subject"],
        release=settled["release"],
        approval=approval,
        log_head={"digest": head.digest},
        key=job.home.signing_key(),
    )
    job.run.commit(
        "sealed", {"manifest": digest, "destination": str(job.destination), "records": rows_in(settled["release"])}
    )


@step("publish")
def install(job: Job) -> None:
    """Move the sealed bundle to its destination."""
    require_outside(job.destination, job.home)  # a link may lead elsewhere by now
    if not appears_at_once(job.destination):
        job.run.commit("leaving", {"destination": str(job.destination)})
    publish_at(job.bundle, job.destination, job.home.signing_key().public_key())


def is_leaving(job: Job) -> bool:
    """Return whether files of the bundle may be visible already. Then it is finished as it is, never drawn again."""
    return job.run.committed("leaving") is not None


def already_published(job: Job) -> bool:
    """Return whether this run died after its bundle had appeared and before that was recorded.

    The destination is asked in every case, so that a store that cannot be used stops the run before it draws.
    """
    sealed = job.run.committed("sealed")
    manifest = manifest_at(job.destination)
    return sealed is not None and manifest is not None and hashlib.sha256(manifest).hexdigest() == sealed["manifest"]


def require_destination(job: Job) -> None:
    """Refuse a destination inside the home and, before the draw, one that cannot be written to."""
    require_outside(job.destination, job.home)
    if job.run.committed("protected") is None:
        require_writable(job.destination.parent)


def conclude(job: Job) -> Receipt:
    """Record the publication, remove the working files, hand out the receipt."""
    sealed = job.run.committed("sealed") or {}
    job.settle("published")
    if not any(event.action is Action.PUBLISHED for event in job.log.events(job.run.id)):  # else it died right after
        job.record(Action.PUBLISHED, manifest=sealed["manifest"], destination=str(job.destination))
    head = job.log.head()
    receipt = Receipt(
        name=job.plan.name,
        run=job.run.id,
        records=sealed["records"],
        rows_are=rows_of(job),
        repeats=repeated(job, job.run.id),
        promise=promise_in((job.run.committed("staged") or {})["release"]),
        path=str(job.destination),
        manifest=sealed["manifest"],
        public_report=str(job.destination / "report.html"),
        confidential_report=str(job.run.path("report.html")),
        seconds=dict(job.seconds),
        left_out=job.left_out,
    )
    outcome = {
        "outcome": "published",
        "manifest": sealed["manifest"],
        "destination": str(job.destination),
        "log_head": {"seq": head.seq, "digest": head.digest},
    }
    job.run.finish(outcome, keep=KEPT)
    return receipt


def rows_of(job: Job) -> str:
    """Return what the rows of a release are called."""
    kinds = {each.output.rows_are for each in job.plan.outputs}
    return kinds.pop() if len(kinds) == 1 else "rows"


def promise_in(release: Mapping[str, Any]) -> str:
    """Return what the release part of a manifest promises, on one line."""
    if "together" not in release:
        return Guarantee.model_validate(release["guarantee"]).in_short
    together = release["together"]
    guarantees = [Guarantee.model_validate(each) for each in together["guarantees"]]
    listed = "; ".join(sum_in_short(each, together.get("includes", {})) for each in guarantees)
    if not together["uncovered"]:
        return listed
    return f"{listed} (each alone; no theorem covers {'both' if len(guarantees) == 2 else 'them together'})"


def rows_in(release: Mapping[str, Any]) -> int:
    """Return the number of rows that the release part of a manifest states, of all outputs together; those of a file
    that several share are counted once."""
    again = {name for file in release.get("files", ()) for name in file["outputs"][1:]}
    return sum(each["records"] for each in release.get("outputs", [release]) if each.get("name") not in again)


def _settled(job: Job) -> dict[str, Any] | None:
    """Return the facts of the staged bundle; refuse them if they no longer give the digest they were committed with."""
    facts = job.run.committed("staged")
    if facts is None:
        return None
    needed = {"content", "subject", "release", "records"}
    if facts.keys() != needed or facts["content"] != bundle.content_digest(facts["subject"], facts["release"]):
        raise RunDamaged.at(
            "staged.json",
            rule="must be as it was written",
            remedy="Find out who changed it. This run ends here; the next one begins anew.",
        )
    return facts


def _environment() -> dict[str, Any]:
    """Return the software that made this release, and no more of the machine than its kind."""
    packages = versions()
    return {
        "penstock": packages.pop("penstock"),
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "packages": packages,
    }
