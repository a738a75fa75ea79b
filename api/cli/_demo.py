"""The demo: a synthetic survey, released end to end. No real person is in it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.special import ndtri

from penstock.cli._screen import Screen
from penstock.flows.spec import load_spec
from penstock.mechanisms.randomness import Randomness, seeded

__all__ = ["run_demo", "synthetic_survey"]

REGIONS = ("North", "South", "East", "West")
EDUCATION = ("primary", "secondary", "bachelor", "master")

SPEC = """\
# A synthetic household survey: income and savings are confidential.
name: demo-survey
source:
  path: ../confidential/survey.parquet
  unit: row
  columns:
    person_id: {role: identifier}
    age:       {role: quasi_identifier, type: integer, domain: [16, 100]}
    region:    {role: quasi_identifier, type: nominal, categories: [North, South, East, West]}
    education: {role: quasi_identifier, type: ordinal, categories: [primary, secondary, bachelor, master]}
    income:    {role: confidential, type: continuous, domain: [0, 1000000]}
    savings:   {role: confidential, type: continuous, domain: [0, 1000000], missing: own_group}
    weight:    {role: weight}
validate: {min_rows: 1000}
protect:
  - mechanism: probabilistic_k_anonymity
    method: ir_swap          # swap each confidential value with one of similar size
    k: 400                   # among at least 400 people
    k_by_column: {savings: 500}
gates:
  - {measure: own_value_probability, max: 0.01}  # nobody's own value may be a likely guess
  - {measure: record_linkage, max: 0.1}          # share of records found again by someone who knows both values
  - {measure: correlation_change, max: 0.1}      # largest change of a correlation
publish: {path: ../published, formats: [parquet, csv]}
"""

DATA_DESCRIPTION = """\
# What the form of `release-table` needs to know of the data: a second survey, whose records nobody has released yet.
name: panel
source:
  path: ../confidential/panel.parquet
  unit: row
  columns:
    region:    {role: quasi_identifier, type: nominal, categories: [North, South, East, West]}
    education: {role: quasi_identifier, type: ordinal, categories: [primary, secondary, bachelor, master]}
    income:    {role: confidential, type: continuous, domain: [0, 100000], outside: clamp}
validate: {min_rows: 1000}
budget: {dataset: panel}
publish: {path: ../published}
# What stops a table that is asked for in the form; not for whoever fills it in to choose.
tables:
  k_anon:
    k: 3
    gates:
      - {measure: smallest_frequency, min: 3}   # records of a cell that is not empty
      - {measure: largest_share, max: 0.5}      # part of a total that is one person's
  dp:
    gates:
      - {measure: privacy_loss, max: 1}
"""


def run_demo(folder: Path, screen: Screen) -> None:
    """Write a survey and its spec into `folder`, release them, verify what was published; leave data for the form."""
    from penstock.cli._termination import end_in_time
    from penstock.flows.prefect_setup import set_up_prefect
    from penstock.records import open_records
    from penstock.records.home import Home
    from penstock.tasks.verification.bundle import verify_bundle

    end_in_time()
    source = folder / "confidential" / "survey.parquet"
    source.parent.mkdir(parents=True, exist_ok=True)
    # A new survey each time: a second release of the same records would be refused.
    pq.write_table(synthetic_survey(20_000, seeded(time.time_ns())), source)
    pq.write_table(synthetic_survey(20_000, seeded(time.time_ns())), source.with_name("panel.parquet"))
    spec = folder / "specs" / "survey.yaml"
    spec.parent.mkdir(exist_ok=True)
    spec.write_text(SPEC, encoding="utf-8")
    spec.with_name("panel-data.yaml").write_text(DATA_DESCRIPTION, encoding="utf-8")
    os.environ["PENSTOCK_HOME"] = str(folder / "confidential" / "penstock")
    home = Home.open()
    with screen.progress():
        set_up_prefect(home.root)
        from penstock.flows.release import release

        receipt = release(load_spec(spec)).as_dict()
    events = open_records(home=home).log.verify().count
    verify_bundle(Path(receipt["path"]), home.public_key_path)
    screen.show_demo(receipt, spec, events)


def synthetic_survey(rows: int, randomness: Randomness) -> pa.Table:
    """Draw age, region, education, income, savings (some unknown) and weight, with plausible dependence."""
    age = np.clip(16 + 70 * _uniform(rows, randomness) ** 1.2, 16, 100).astype(np.int64)
    level = np.searchsorted([0.15, 0.6, 0.88], _uniform(rows, randomness))
    region = (4 * _uniform(rows, randomness)).astype(np.int64)
    log_income = 10 + 0.28 * level + 0.006 * (age - 16) + 0.45 * _normal(rows, randomness)
    log_savings = log_income - 1.5 + 0.02 * (age - 16) + 0.6 * _normal(rows, randomness)
    unknown = _uniform(rows, randomness) < 0.04
    return pa.table(
        {
            "person_id": pa.array([f"P{number:07d}" for number in range(rows)]),
            "age": age,
            "region": pa.array(np.array(REGIONS)[region]),
            "education": pa.array(np.array(EDUCATION)[level]),
            "income": np.round(np.minimum(np.exp(log_income), 1e6), 2),
            "savings": pa.array(np.round(np.minimum(np.exp(log_savings), 1e6), 2), mask=unknown),
            "weight": np.round(50 + 100 * _uniform(rows, randomness), 1),
        }
    )


def _uniform(rows: int, randomness: Randomness) -> NDArray[np.float64]:
    return (randomness.words(rows) >> np.uint64(11)) / 2.0**53


def _normal(rows: int, randomness: Randomness) -> NDArray[np.float64]:
    return np.asarray(ndtri((_uniform(rows, randomness) * (2.0**53 - 1) + 0.5) / 2.0**53))
