"""Validate: Great Expectations over the ingested columns; a failed expectation stops the release."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa

from records.pages import validation_page
from tasks.expectations import (
    ExpectationResult,
    SuiteRefused,
    ValidationFailed,
    derived_suite,
    suite_faults,
    user_suite,
)
from tasks.expectations import validate as run_expectations
from tasks.ingest import Ingested
from tasks.job import Job
from tasks.step import step
from tasks.tables import load_columns

__all__ = ["validate"]


@step("validate")
def validate(job: Job, source: Ingested) -> tuple[ExpectationResult, ...]:
    """Run the derived and the user's expectations; write the page of counts; refuse on any failure."""
    plan = job.plan
    expectations = derived_suite(plan.declared, plan.min_rows)
    if plan.suite is not None:
        expectations += user_suite(plan.suite)
    SuiteRefused.raise_for(suite_faults(expectations, plan.declared))
    results = run_expectations(_frame(job, source), expectations)
    page = validation_page(plan.name, job.run.id, results)
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
