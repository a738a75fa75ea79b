"""The release line: one spec in, one protected bundle out, or one refusal on record."""

# Annotations are not postponed here: Prefect reads those of a served flow apart from this module's names.

from prefect import flow

from flows.overdue import end_overdue
from flows.plan import draw_up_plan
from flows.spec import ReleaseSpec
from records import Home
from records.log import Action
from records.turn import take_turn
from tasks.approve import Waiting, ask_reviewers, awaits_review, require_no_end, waiting_state
from tasks.assess import assess
from tasks.expectations import asked_about
from tasks.ingest import ingest
from tasks.job import Job, begin
from tasks.protect import protect
from tasks.publish import Receipt, already_published, conclude, install, is_leaving, seal, stage
from tasks.report import report, require_pass
from tasks.reserve import reserve
from tasks.run_page import show_begun, show_gates, show_published
from tasks.validate import draw_up_expectations, validate

__all__ = ["Receipt", "Waiting", "release"]


@flow(name="release", persist_result=False, log_prints=False, retries=0)
def release(spec: ReleaseSpec, run: str | None = None, started_by: str | None = None) -> Receipt | Waiting:
    """Turn one spec into one published bundle, or one refusal on record; or wait for its reviewers.

    run: resume this run only. started_by: who asked for it, where a service account runs it.
    """
    plan = draw_up_plan(spec)  # pure: what is promised
    end_overdue()  # runs whose reviewers did not decide in time
    # One release of a data set at a time; whatever ends the run is on record.
    with take_turn(Home.open(), plan.dataset or plan.source), begin(plan, run=run) as job:
        if already_published(job):  # it died between publication and its record
            return conclude(job)
        require_no_end(job)  # it was refused, and died before it was cleared away
        begun = Action.RESUMED if job.run.resumed else Action.PLANNED
        job.record(begun, name=plan.name, spec=plan.spec_digest, started_by=started_by)

        show_begun(job)  # on the run's page
        # What reviewers were asked about, or what readers may have seen a part of, is never made again.
        if not awaits_review(job) and not is_leaving(job):
            prepare(job)
        approval = ask_reviewers(job)  # bound to the content; a deployment is suspended here
        if approval is None:
            return waiting_state(job)

        job.record(Action.PUBLISHING, destination=str(job.destination))
        seal(job, approval)
        install(job)
        show_published(job)
        return conclude(job)


def prepare(job: Job) -> None:
    """From the source to a bundle that is staged on the confidential side, its report ready."""
    expectations = draw_up_expectations(job)  # derived from the columns, and the user's own
    # A reference: folder, digests, number of records; only the columns that something depends on are kept.
    source = ingest(job, asked_about(expectations, job.plan.declared))
    job.record(Action.INGESTED, source=source.digest, records=source.rows)

    validated = validate(job, source, expectations)
    job.record(Action.VALIDATED, expectations=len(validated))

    reserve(job, source)  # on record before the draw, never refunded after it
    staged = protect(job, source)  # the only step that draws
    job.record(Action.PROTECTED, **staged.digests)

    decision = assess(job, source, staged)
    job.record(Action.CHECKED, verdict=decision.verdict.name, gates=decision.public())
    report(job, source, len(validated), decision)
    show_gates(job, decision)
    require_pass(job, decision)
    stage(job, staged, decision)
