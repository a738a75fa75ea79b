"""Report: the confidential report with every measure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

from penstock.measures.gates import Decision
from penstock.records.ledger.looks import Looks, looks
from penstock.records.log.log import Action
from penstock.reports.page_facts import ConfidentialReport, SeveralConfidential, SharedConfidential
from penstock.reports.pages import confidential_report
from penstock.tasks.ingest import Ingested
from penstock.tasks.run.job import Job
from penstock.tasks.run.plan import Plan
from penstock.tasks.run.step import step

__all__ = ["looks_before", "report", "versions"]

_version = cache(version)  # reads a file each time
_NAMED = ("penstock", "numpy", "pyarrow", "numba", "pydantic", "great-expectations", "prefect")


@step("report")
def report(job: Job, source: Ingested, expectations: int, decision: Decision) -> None:
    """Write the report whatever the decision: that of a refused run is the one that is read."""
    if job.is_staged:
        return
    assessed = json.loads(job.run.path("assessment.json").read_text(encoding="utf-8"))
    about: dict[str, Any] = {
        "run": job.run.id,
        "started": job.started.isoformat(timespec="seconds"),
        "spec": job.plan.spec,
        "source_records": source.rows,
        "validation": {"expectations": expectations, "failed": 0},
        "steps": [{"name": name, "seconds": seconds} for name, seconds in job.seconds.items()],
        "versions": versions(),
        "looks": looks_before(job, source.digest).in_words,
    }
    if job.plan.is_of_several:
        plans = {str(plan.output_name): plan for plan in job.plan.outputs}
        outputs = [_assessed(each["name"], plans[each["name"]], each, about) for each in assessed["outputs"]]
        left_out = [each.plan.output_name for each in job.every_output if each.is_left_out]
        page = confidential_report(
            SeveralConfidential(
                name=job.plan.name,
                together=job.plan.together,
                decision=assessed["decision"],
                outputs=outputs,
                left_out=[str(name) for name in left_out],
                shared=[
                    SharedConfidential(name=file.name, outputs=file.outputs, together=file.together, **_found(found))
                    for file, found in zip(job.plan.files, assessed.get("files", ()), strict=True)
                ],
                **about,
            )
        )
    else:
        page = confidential_report(_assessed(job.plan.name, job.plan, assessed, about))
    job.run.path("report.html").write_text(page, encoding="utf-8")


def _assessed(name: str, plan: Plan, assessed: Mapping[str, Any], about: Mapping[str, Any]) -> ConfidentialReport:
    """Return the report on one output. about: what it shares with the others."""
    found = {**_found(assessed), "used": assessed.get("used"), "relaxation": assessed.get("relaxation")}
    output = plan.output
    return ConfidentialReport(
        name=name, guarantee=plan.guarantee, rows_are=output.rows_are, tables=output.sizes, **found, **about
    )


def _found(assessed: Mapping[str, Any]) -> dict[str, Any]:
    return {key: assessed[key] for key in ("records", "decision", "checks", "measurements", "undefined", "clamped")}


def looks_before(job: Job, source: str) -> Looks:
    """Return the other runs whose looks at the same data count: what a reader of this one may know already. They are
    looked up under every name under which this run's own look is on record."""
    looked = [event.facts["subjects"] for event in job.log.events(job.run.id) if event.action is Action.LOOKED]
    known_by = [subject for subjects in looked for subject in subjects]
    return looks(job.log, dataset=job.plan.dataset, source=source, known_by=known_by, but=job.run.id)


def versions() -> dict[str, str]:
    """Return the versions of the software that made this release."""
    return {name: _version(name) for name in _NAMED}
