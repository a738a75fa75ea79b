"""The run's page in Prefect: how far it is, what the gates said, where the reports are. Outside a flow run there is no
page, and nothing is shown.

Everybody who may open the page reads it, so it holds rules and verdicts and never a measured value. Reports are
linked where PENSTOCK_REPORTS_URL says under which address they are served:

    <url>/<run>          the confidential report, for reviewers and officers
    <url>/<run>/public   the public one
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, cast
from uuid import UUID

from prefect.artifacts import (
    create_link_artifact,
    create_markdown_artifact,
    create_progress_artifact,
    update_progress_artifact,
)
from prefect.context import FlowRunContext

from penstock.measures.gates import Decision, GateRefused, Verdict
from penstock.tasks.run.job import Job
from penstock.tasks.run.steps import STEPS

__all__ = [
    "confidential_report",
    "gate_table",
    "show_begun",
    "show_bundle",
    "show_gates",
    "show_progress",
    "show_published",
]


def show_begun(job: Job) -> None:
    """Show the bar, at its beginning or, after a review, at what is left."""
    if FlowRunContext.get() is None:
        return
    left = STEPS.index("seal") if job.run.committed("staged") is not None else 0
    _show(job, 100 * left / len(STEPS), "Begun")


def show_progress(job: Job, step: str) -> None:
    """Show, before a step, how much is done."""
    if FlowRunContext.get() is not None:
        _show(job, 100 * STEPS.index(step) / len(STEPS), f"At {step}")


def show_gates(job: Job, decision: Decision, *, refused: bool) -> None:
    """Show what the gates said, and where to read why. refused: whether the run ends here (tasks/gate.py)."""
    if FlowRunContext.get() is None:
        return
    doubted = ", ".join(
        result.gate if result.output is None else f"{result.gate} of {result.output}"
        for result in decision.results
        if result.verdict is not Verdict.PASS
    )
    heading = f"In doubt at {doubted}: reviewers decide" if doubted else "Passed every gate"
    if refused:
        heading = f"Refused by {doubted}: {GateRefused.code}"
    served = _served(job.run.id)
    create_markdown_artifact(
        key="release-gates",
        description=heading,
        markdown=f"## {heading}\n\n{gate_table(decision.public())}\n\n{job.plan.statement}\n\n"
        f"Release {job.plan.name}, run `{job.run.id}`. Every measure stands in the {confidential_report(job)}.",
    )
    if served is not None:
        create_link_artifact(
            key="confidential-report",
            link=served,
            link_text="Confidential report",
            description="Every measure. For reviewers and officers.",
        )


def show_published(job: Job) -> None:
    """Show where the bundle of this run is."""
    sealed = job.run.committed("sealed") or {}
    show_bundle(job, job.run.id, str(job.destination), sealed["manifest"])


def show_bundle(job: Job, run: str, place: str, manifest: str) -> None:
    """Show where a bundle is, and the digest by which its manifest is known. run: which published it, now or before."""
    if FlowRunContext.get() is None:
        return
    served = _served(run)
    report = "Its public report lies in it" if served is None else f"[The public report]({served}/public) lies in it"
    create_markdown_artifact(
        key="release-published",
        description=place,  # for programs, which read no prose
        markdown=f"## {job.plan.name} is published\n\nThe bundle is at `{place}`. {report}.\n\n"
        f"SHA-256 of its manifest: `{manifest}`\n\nCheck it: `penstock verify {place}`",
    )
    if served is not None:
        create_link_artifact(
            key="public-report",
            link=f"{served}/public",
            link_text="Public report",
            description="What is promised, and how to use it.",
        )
    _show(job, 100, "Published")


def gate_table(decision: Mapping[str, Any]) -> str:
    """Return verdicts and rules as Markdown; rules are long, and the page cuts off on the right."""
    if not any("output" in r for r in decision["results"]):
        gates = "\n".join(f"| {r['gate']} | {r['verdict']} | {r['rule']} |" for r in decision["results"])
        return f"| gate | verdict | rule |\n|---|---|---|\n{gates}"
    gates = "\n".join(
        f"| {r.get('output', 'all')} | {r['gate']} | {r['verdict']} | {r['rule']} |" for r in decision["results"]
    )
    return f"| output | gate | verdict | rule |\n|---|---|---|---|\n{gates}"


def confidential_report(job: Job) -> str:
    """Return where the confidential report is, in Markdown."""
    served = _served(job.run.id)
    return (
        f"confidential report (`{job.run.path('report.html')}`)"
        if served is None
        else f"[confidential report]({served})"
    )


def _served(run: str) -> str | None:
    url = os.environ.get("PENSTOCK_REPORTS_URL")
    return f"{url.rstrip('/')}/{run}" if url else None


def _show(job: Job, percent: float, description: str) -> None:
    if job.progress is None:
        made = create_progress_artifact(percent, key="release-progress", description=description)
        job.progress = cast(UUID, made)  # outside of coroutines it is one
    else:
        update_progress_artifact(job.progress, percent, description=description)
