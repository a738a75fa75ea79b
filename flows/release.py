"""The release line: one spec in, one bundle of protected outputs out, or one refusal on record."""

# Annotations are not postponed here: Prefect reads those of a served flow apart from this module's names.

from penstock.flows.interrupted import finish_published
from penstock.flows.overdue import end_overdue
from penstock.flows.planning import draw_up_plan
from penstock.flows.server_optional import server_optional
from penstock.flows.spec import ReleaseSpec
from penstock.records import Home
from penstock.records.ledger.lock import take_turn
from penstock.records.log.log import Action, Event
from penstock.tasks.approve import (
    Waiting,
    ask_reviewers,
    awaits_review,
    require_no_end,
    require_reviewers,
    waiting_state,
)
from penstock.tasks.assess import assess
from penstock.tasks.earlier import asked_again, give_back, published_before
from penstock.tasks.foreseen import require_nothing_foreseen
from penstock.tasks.gate import pass_gates
from penstock.tasks.ingest import ingest
from penstock.tasks.protect import drawn_digests, has_drawn, keep_drawn, protect
from penstock.tasks.publish import (
    Receipt,
    already_published,
    conclude,
    install,
    is_leaving,
    require_destination,
    seal,
    stage,
)
from penstock.tasks.report import report
from penstock.tasks.reserve import reserve
from penstock.tasks.run.job import Job, begin
from penstock.tasks.run.page import show_begun, show_published
from penstock.tasks.validate import draw_up_expectations, validate
from penstock.tasks.validation.expectations import asked_about

__all__ = ["Receipt", "Waiting", "release"]


@server_optional("release")
def release(
    spec: ReleaseSpec, run: str | None = None, started_by: str | None = None, again: bool = False
) -> Receipt | Waiting:
    """Turn one spec into one published bundle, or one refusal on record; or wait for its reviewers.

    run: resume this run only. started_by: who asked for it, where a service account runs it. again: release once more
    what this spec has published from this source before; else the receipt of that comes back. Where a Prefect server
    is named it is a flow run there; elsewhere it runs in this process, without any server.
    """
    plan = draw_up_plan(spec)  # what is promised
    end_overdue()  # runs whose reviewers did not decide in time
    # One release of a data set at a time; whatever ends the run is on record.
    with take_turn(Home.open(), plan.dataset or plan.source):
        finish_published(plan)  # runs of this spec that died between publication and its record
        with begin(plan, run=run) as job:
            if already_published(job):  # this run, the caller's own, died there too
                show_published(job)
                return conclude(job)
            require_no_end(job)  # it was refused, and died before it was cleared away
            require_reviewers(job, started_by)
            begun = Action.RESUMED if job.run.resumed else Action.PLANNED
            asked = {"again": True} if again else {}
            job.record(begun, name=plan.name, spec=plan.spec_digest, started_by=started_by, **asked)

            show_begun(job)  # on the run's page
            # What reviewers were asked about, or what readers may have seen a part of, is never made again.
            if not awaits_review(job) and not is_leaving(job):
                earlier = prepare(job)
                if earlier is not None:
                    return give_back(job, earlier)
            approval = ask_reviewers(job)  # bound to the content; a deployment is suspended here
            if approval is None:
                return waiting_state(job)

            job.record(Action.PUBLISHING, destination=str(job.destination))
            seal(job, approval)
            install(job)
            show_published(job)
            return conclude(job)


def prepare(job: Job) -> Event | None:
    """Stage a bundle on the confidential side, with its report ready, and return None. Where the same was published
    before, return that publication instead, unless another was asked for or this run has already drawn."""
    expectations = draw_up_expectations(job)  # derived from the columns, and the user's own
    # Before any data are read: a run that stops here and is begun again has answered nothing.
    require_destination(job)
    require_nothing_foreseen(
        job, again=asked_again(job)
    )  # what account, ledger and spec decide costs no look at the data
    # A reference: folder, digests, number of records; only the columns that something depends on are kept.
    source = ingest(job, asked_about(expectations, job.plan.declared))
    job.record(Action.INGESTED, source=source.digest, records=source.rows)
    earlier = published_before(job, source.digests)
    if earlier is not None and not has_drawn(job) and not asked_again(job):
        return earlier

    validated = validate(job, source, expectations)
    job.record(Action.VALIDATED, expectations=len(validated))

    reserve(job, source)  # on record before the draw, never refunded after it
    staged = protect(job, source)  # each output; the only step that draws
    job.record(Action.PROTECTED, **drawn_digests(job, staged))
    keep_drawn(job, staged)  # the same question gets the same answer

    staged, decision = assess(job, source, staged)
    job.record(Action.CHECKED, verdict=decision.verdict.name, gates=decision.public())
    report(job, source, len(validated), decision)
    pass_gates(job, decision)  # or the run ends here
    stage(job, staged, decision)
    return None
