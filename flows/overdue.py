"""Runs whose reviewers did not decide in time end refused. Every release and every decision looks for them."""

from __future__ import annotations

from datetime import UTC, datetime

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import parse_spec
from penstock.mechanisms.refusal import SpecRefused
from penstock.records import Home, open_records
from penstock.records.approval.approval import approval_state
from penstock.records.run import RunDamaged, RunRefused, key_of, unfinished
from penstock.tasks.approve import ApprovalExpired, ask_reviewers
from penstock.tasks.run.job import begin

__all__ = ["end_overdue"]


def end_overdue() -> list[str]:
    """End every run that waited too long, and return these runs. None of them gets in the way of another release."""
    home = Home.open()
    log = open_records(home=home).log
    ended = []
    for run, spec in unfinished(home).items():
        if approval_state(log, run, datetime.now(UTC)).state == "expired":
            try:
                with begin(draw_up_plan(parse_spec(spec), begun_as=key_of(home, run)), run=run) as job:
                    ask_reviewers(job)
            except (ApprovalExpired, RunDamaged):
                ended.append(run)
            except (RunRefused, SpecRefused):
                continue  # another process is working on it, or another version of Penstock began it
    return ended
