"""Published once: what a spec has made of a source is not drawn, charged and published again; its receipt comes back.

Whoever started a command that was killed cannot know whether it had published. The truth is the audit log: a run with
the digest of this spec (PLANNED), of these records (INGESTED), that was published (PUBLISHED). Whoever wants
another release of the same asks for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection

from penstock.mechanisms.refusal import Refusal
from penstock.records.bundle.bundle import statement_of
from penstock.records.bundle.places import manifest_at
from penstock.records.files.addresses import place_of
from penstock.records.log.log import Action, Event
from penstock.tasks.publish import Receipt, promise_in, rows_in, rows_of
from penstock.tasks.repeat import repeated
from penstock.tasks.run.job import Job
from penstock.tasks.run.page import show_bundle
from penstock.tasks.run.step import sealed

__all__ = ["PublicationGone", "asked_again", "give_back", "published_before"]


class PublicationGone(Refusal):
    """The spec was published from this source before, and the bundle is no longer where it was put."""

    code = "publication-gone"
    kind = "integrity"
    remedy = "Put the bundle back; or ask for another release: penstock run SPEC --again."


def asked_again(job: Job) -> bool:
    """Return whether another release was asked for, now or when this run began; a killed run goes on as asked."""
    return any(event.facts.get("again") for event in job.log.events(job.run.id))


def published_before(job: Job, source: Collection[str]) -> Event | None:
    """Return the publication by the last run of this spec from the same source. source: every digest it is known by."""
    ours, made_from = set[str](), dict[str, str]()
    found = None
    for event in job.log.events():
        if event.action is Action.PLANNED and event.facts.get("spec") == job.plan.spec_digest:
            ours.add(event.run)
        elif event.action is Action.INGESTED:
            made_from[event.run] = event.facts["source"]
        elif event.action is Action.PUBLISHED and event.run in ours and made_from.get(event.run) in source:
            found = event
    return found


def give_back(job: Job, published: Event) -> Receipt:
    """End this run without a draw and return the receipt of the one that published; refuse if its bundle is gone."""
    with sealed("publish"):
        receipt = _receipt(job, published)
    show_bundle(job, receipt.run, receipt.path, receipt.manifest)
    job.settle("refused")  # an earlier attempt of this run may have reserved; it has drawn nothing that counts
    job.record(Action.FOUND_PUBLISHED, of=published.run, manifest=receipt.manifest)
    head = job.log.head()
    outcome = {
        "outcome": "found_published",
        "of": published.run,
        "log_head": {"seq": head.seq, "digest": head.digest},
    }
    job.run.finish(outcome)
    return receipt


def _receipt(job: Job, published: Event) -> Receipt:
    """Make the receipt again as it was handed out, from the log and the manifest."""
    facts = published.facts
    destination = place_of(facts["destination"])
    manifest = manifest_at(destination)
    if manifest is None or hashlib.sha256(manifest).hexdigest() != facts["manifest"]:
        raise PublicationGone.at(
            "publish.path",
            rule=f"must still hold the bundle that run {published.run} published of this spec and source",
            got=str(destination),
            remedy="Put it back; or, if it was withdrawn and another release is wanted: penstock run SPEC --again.",
        )
    release = statement_of(manifest, job.home.signing_key().public_key())["predicate"]["release"]
    return Receipt(
        name=release["name"],
        run=published.run,
        records=rows_in(release),
        rows_are=rows_of(job),
        repeats=repeated(job, published.run),
        promise=promise_in(release),
        path=str(destination),
        manifest=facts["manifest"],
        public_report=str(destination / "report.html"),
        confidential_report=str(job.home.runs / published.run / "report.html"),
        seconds=dict(job.seconds),
        left_out=job.left_out_by(published.run),
        earlier=True,
    )
