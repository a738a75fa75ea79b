"""Report: the confidential report with every measure, and a summary for the run's page in Prefect."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from prefect.artifacts import create_markdown_artifact

from measures.gates import Decision, GateRefused, Verdict
from records.pages import ConfidentialReport, confidential_report
from tasks.ingest import Ingested
from tasks.job import Job
from tasks.step import step

__all__ = ["gate_table", "report", "require_pass", "versions"]

_NAMED = ("penstock", "numpy", "pyarrow", "numba", "pydantic", "great-expectations", "prefect")


@step("report")
def report(job: Job, source: Ingested, expectations: int, decision: Decision) -> None:
    """Write the report whatever the decision: a refused run is the one that is read."""
    assessed = json.loads(job.run.path("assessment.json").read_text(encoding="utf-8"))
    page = confidential_report(
        ConfidentialReport(
            name=job.plan.name,
            run=job.run.id,
            started=job.started.isoformat(timespec="seconds"),
            spec=job.plan.spec,
            guarantee=job.plan.guarantee,
            records=assessed["records"],
            source_records=source.rows,
            decision=assessed["decision"],
            checks=assessed["checks"],
            measurements=assessed["measurements"],
            undefined=assessed["undefined"],
            validation={"expectations": expectations, "failed": 0},
            steps=[{"name": name, "seconds": seconds} for name, seconds in job.seconds.items()],
            versions=versions(),
            rows_are="records" if job.plan.layout is None else "cells",
        )
    )
    job.run.path("report.html").write_text(page, encoding="utf-8")
    create_markdown_artifact(key="release-summary", markdown=_summary(job, decision.public()))


def require_pass(job: Job, decision: Decision) -> None:
    """Only a decision without doubt goes on; doubt is for reviewers, and without them refuses."""
    doubt_allowed = decision.verdict is Verdict.REVIEW and job.plan.rule is not None
    if decision.verdict is not Verdict.PASS and not doubt_allowed:
        raise GateRefused.by(decision)


def versions() -> dict[str, str]:
    """The software that made this release."""
    return {name: version(name) for name in _NAMED}


def _summary(job: Job, decision: Mapping[str, Any]) -> str:
    """What the run page may show: rules and verdicts, never a measured value."""
    return (
        f"## {job.plan.name}: {decision['verdict']}\n\n{job.plan.guarantee.statement}\n\n{gate_table(decision)}\n\n"
        f"Run `{job.run.id}`. The confidential report lies in its run folder."
    )


def gate_table(decision: Mapping[str, Any]) -> str:
    """Rules and verdicts as Markdown."""
    gates = "\n".join(f"| {r['gate']} | {r['rule']} | {r['verdict']} |" for r in decision["results"])
    return f"| gate | rule | verdict |\n|---|---|---|\n{gates}"
