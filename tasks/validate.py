"""Validate: Great Expectations over the ingested columns; a failed expectation stops the release."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa

from records.pages import validation_page
from tasks.expectations import Expectation, ExpectationResult, ValidationFailed, whole_suite
from tasks.expectations import validate as run_expectations
from tasks.ingest import Ingested
from tasks.job import Job
from tasks.step import step
from tasks.tables import load_columns

__all__ = ["draw_up_expectations", "validate"]


@step("expectations")
def draw_up_expectations(job: Job) -> list[Expectation]:
    """What the columns imply and what the user adds, checked before any row is read."""
    return whole_suite(job.plan.declared, job.plan.min_rows, job.plan.suite)


@step("validate")
def validate(job: Job, source: Ingested, expectations: list[Expectation]) -> tuple[ExpectationResult, ...]:
    """Run the expectations; write the page of counts; refuse on any failure."""
    results = run_expectations(_frame(job, source), expectations)
    page = validation_page(job.plan.name, job.run.id, results)
    job.run.path("validation.html").write_text(page, encoding="utf-8")
    if not all(result.success for result in results):
        raise ValidationFailed.from_results(results)
    return results


def _frame(job: Job, source: Ingested) -> pd.DataFrame:
    """The columns as a person would see them: categories by name, missing values as missing."""
    shown = {}
    for name, values in load_columns(source.folder).items():
        categories = job.plan.declared[name].categories
        if categories is None:
            shown[name] = pd.Series(values)
        else:
            codes = pa.array(np.asarray(values), mask=np.asarray(values) < 0)
            shown[name] = pa.DictionaryArray.from_arrays(codes, pa.array(categories)).dictionary_decode().to_pandas()
    return pd.DataFrame(shown)
