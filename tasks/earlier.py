"""Published once: what a spec has made of a source is not drawn, charged and published again; its receipt comes back.

Whoever started a command that was killed cannot know whether it had published. The truth is the audit log: a run with
the digest of this spec (PLANNED), of these records (INGESTED), that was published (PUBLISHED). Who wants another
release of the same asks for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection

from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.refusal import Refusal
from penstock.records.bundle.bundle import statement_of
from penstock.records.bundle.places import manifest_at
from penstock.records.files.addresses import place_of
from penstock.records.log.log import Action, Event
from penstock.tasks.publish import Receipt
from penstock.tasks.repeat import repeated
from penstock.tasks.run.job import Job
from penstock.tasks.run.page import show_bundle
from penstock.tasks.run.step import sealed

__all__ = ["PublicationGone", "asked_again", "give_back", "published_before"]


class PublicationGone(Refusal):
    """The spec was published from this source before, and the bundle is not where it was put."""

    code = "publication-gone"
    kind = "integrity"


def asked_again(job: Job) -> bool:
    """Whether another release was asked for, now or when this run began; a run that was killed goes on as asked."""
    return any(event.facts.get("again") for event in job.log.events(job.run.id))


def published_before(job: Job, source: Collection[str]) -> Event | None:
    """The publication by the last run of this spec from the same source. source: every digest that it goes by."""
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
    """End this run without a draw; the receipt of the one that published. Refused if the bundle is not there."""
    with sealed("publish"):
        receipt = _receipt(job, published)
    show_bundle(job, receipt.run, receipt.path, receipt.manifest)
    job.settle("refused")  # an earlier attempt of this run may have reserved; it has not drawn what counts
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
    """As it was handed out, from the log and the manifest."""
    facts = published.facts
    destination = place_of(facts["destination"])
    manifest = manifest_at(destination)
    if manifest is None or hashlib.sha256(manifest).hexdigest() != facts["manifest"]:
        raise PublicationGone.at(
            "publish.path",
            rule=f"run {published.run} published this spec from this source, and its bundle is not there any more",
            got=str(destination),
            remedy="If it was withdrawn and another release is wanted, ask for it: penstock run SPEC --again.",
        )
    release = statement_of(manifest, job.home.signing_key().public_key())["predicate"]["release"]
    return Receipt(
        name=release["name"],
        run=published.run,
        records=release["records"],
        rows_are=job.plan.output.rows_are,
        repeats=repeated(job, published.run),
        promise=Guarantee.model_validate(release["guarantee"]).in_short,
        path=str(destination),
        manifest=facts["manifest"],
        public_report=str(destination / "report.html"),
        confidential_report=str(job.home.runs / published.run / "report.html"),
        seconds=dict(job.seconds),
        earlier=True,
    )
