"""The release line: one spec in, one protected bundle out, or one refusal on record."""

from __future__ import annotations

from prefect import flow

from flows.plan import draw_up_plan
from flows.spec import ReleaseSpec
from records.log import Action
from tasks.assess import assess
from tasks.ingest import ingest
from tasks.job import begin
from tasks.protect import protect
from tasks.publish import Receipt, already_published, conclude, install, seal
from tasks.report import report, require_pass
from tasks.validate import draw_up_expectations, validate

__all__ = ["Receipt", "release"]


@flow(name="release", persist_result=False, log_prints=False, retries=0)
def release(spec: ReleaseSpec) -> Receipt:
    """Turn one spec into one published bundle, or one refusal on record."""
    plan = draw_up_plan(spec)  # pure: what is promised
    with begin(plan) as job:  # whatever ends the run is on record
        if already_published(job):  # it died between publication and its record
            return conclude(job)
        job.record(Action.RESUMED if job.run.resumed else Action.PLANNED, name=plan.name, spec=plan.spec_digest)

        expectations = draw_up_expectations(job)  # derived from the columns, and the user's own
        source = ingest(job)  # a reference: folder, digest, number of records
        job.record(Action.INGESTED, source=source.digest, records=source.rows)

        validated = validate(job, source, expectations)
        job.record(Action.VALIDATED, expectations=len(validated))

        staged = protect(job, source)  # the only step that draws; records PROTECTING just before
        job.record(Action.PROTECTED, data=staged.digest)

        decision = assess(job, source, staged)
        job.record(Action.CHECKED, verdict=decision.verdict.name, gates=decision.public())
        report(job, source, len(validated), decision)
        require_pass(decision)

        job.record(Action.PUBLISHING, destination=str(job.destination))
        seal(job, source, staged, decision)
        install(job)
        return conclude(job)
