"""Runs that died between their publication and its record are finished by the next release of the same spec."""

from __future__ import annotations

from prefect.context import FlowRunContext

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import parse_spec
from penstock.mechanisms.refusal import SpecRefused
from penstock.records import Home
from penstock.records.run import RunRefused, has_committed, key_of, owners_of, unfinished
from penstock.tasks.publish import already_published, conclude
from penstock.tasks.run.job import attend
from penstock.tasks.run.plan import Plan

__all__ = ["finish_published"]


def finish_published(plan: Plan) -> list[str]:
    """Put on record what dead runs of this spec have published, and return those runs. Runs that the caller's own flow
    run began are left alone: it resumes them itself."""
    home, context = Home.open(), FlowRunContext.get()
    caller = None if context is None or context.flow_run is None else str(context.flow_run.id)
    finished = []
    for run, about in unfinished(home).items():
        if caller in owners_of(home, run) or not has_committed(home, run, "sealed"):
            continue
        try:
            theirs = draw_up_plan(parse_spec(about), begun_as=key_of(home, run))
            if theirs.spec_digest != plan.spec_digest:
                continue
            with attend(theirs, run=run) as job:
                if already_published(job):
                    conclude(job)
                    finished.append(run)
        except (RunRefused, SpecRefused):
            continue  # another process is working on it, or another version of Penstock began it
    return finished
