"""Gate: whether the decision ends the run. What the gates said is shown first, so that a refused run is told why."""

from __future__ import annotations

from penstock.measures.gates import Decision, GateRefused, Verdict
from penstock.tasks.run.job import Job
from penstock.tasks.run.page import show_gates

__all__ = ["pass_gates", "refuses"]


def pass_gates(job: Job, decision: Decision) -> None:
    """Go on only if the decision leaves no doubt; doubt is for reviewers, and without them the run is refused."""
    refused = refuses(job, decision)
    show_gates(job, decision, refused=refused)
    if refused:
        raise GateRefused.by(decision, str(job.run.path("report.html")))


def refuses(job: Job, decision: Decision) -> bool:
    """Return whether the decision refuses: in doubt too, where there is nobody to review."""
    doubt_allowed = decision.verdict is Verdict.REVIEW and job.plan.rule is not None
    return decision.verdict is not Verdict.PASS and not doubt_allowed
