"""Validate: Great Expectations over the ingested columns; a failed expectation stops the release."""

from __future__ import annotations

from penstock.reports.pages import validation_page
from penstock.tasks.files.columns import load_columns
from penstock.tasks.ingest import Ingested
from penstock.tasks.parts.validate import frame_of, validate_parts
from penstock.tasks.run.job import Job
from penstock.tasks.run.step import step
from penstock.tasks.validation.expectations import (
    Expectation,
    ExpectationResult,
    SuiteRefused,
    ValidationFailed,
    digest_of_suite,
    whole_suite,
)
from penstock.tasks.validation.expectations import validate as run_expectations

__all__ = ["draw_up_expectations", "validate"]


@step("expectations")
def draw_up_expectations(job: Job) -> list[Expectation]:
    """Return what the columns imply and what the user adds, checked before any row is read."""
    plan = job.plan
    expectations = whole_suite(plan.declared, plan.fewest, plan.suite, used=plan.used_columns)
    # A run waits for its turn between the plan and this; another suite would ask another question with the same look.
    if plan.suite is not None and digest_of_suite(expectations) != plan.suite_digest:
        raise SuiteRefused.at(
            "validate.suite", rule="must stay as it was when the run was planned", remedy="Leave it alone; run again."
        )
    return expectations


@step("validate")
def validate(job: Job, source: Ingested, expectations: list[Expectation]) -> tuple[ExpectationResult, ...]:
    """Run the expectations; write the page of counts; refuse on any failure."""
    plan = job.plan
    if source.parts:
        results = validate_parts(
            source.parts, plan.used_columns, expectations, memory=plan.memory, address=plan.address
        )
    else:
        results = run_expectations(frame_of(load_columns(source.folder), plan.declared), expectations)
    page = validation_page(job.plan.name, job.run.id, results)
    if not job.is_staged:
        job.run.path("validation.html").write_text(page, encoding="utf-8")
    if not all(result.success for result in results):
        raise ValidationFailed.from_results(results)
    return results
