"""A made-up run with every part that a page can show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.layout import Figure, Layout
from penstock.reports.page_facts import ConfidentialReport, PublicReport
from penstock.reports.table_sheet import TableSheet, sheet_of


@dataclass(frozen=True)
class Outcome:
    """One result of validation."""

    expectation: str
    column: str | None
    rule: str
    source: str
    success: bool
    unexpected: int | None
    total: int = 20_000


OUTCOMES = (
    Outcome("expect_table_row_count_to_be_between", None, "at least 1000 rows", "derived", True, None),
    Outcome("expect_column_to_exist", "age", "the column exists", "derived", True, None),
    Outcome("expect_column_values_to_be_between", "age", "every value lies from 0 to 120", "derived", False, 3),
    Outcome("expect_column_values_to_not_be_null", "income", "no value is missing", "derived", False, 4321),
    Outcome("expect_column_mean_to_be_between", "income", "mean to be between, max value 9", "suite", False, None),
    Outcome("expect_column_values_to_be_unique", "age, region", "values to be unique", "suite", True, None),
)

GUARANTEE = Guarantee(
    model="prob_k",
    parameters={"method": "ir_swap", "k": 25, "k_by_column": {"income": 100}},
    adjacency="one record's value exchanged with another of its group",
    unit="row",
    statement="Each confidential column is cut into groups of at least k records; inside every group its values are "
    "dealt out at random. Which record a value belongs to is known with probability at most 1/k.",
    public=("the method and k", "the number of records"),
    secret=("the groups", "seed", "order_of_rows"),
    assumptions=("the intruder holds the records of a group interchangeable",),
    not_promised=("differential privacy", "protection of a value that other columns predict"),
    postprocessing="any",
    composes_with="nothing: release one of these per data set",
    audit=("group sizes",),
)

DP_GUARANTEE = GUARANTEE.model_copy(update={"model": "dp", "parameters": {"epsilon": "1"}, "adjacency": "replace"})
NOISE = (
    {
        "column": "age",
        "epsilon": "1/2",
        "together": [],
        "order": "corners_in_turn",
        "k": 1_133,
        "expected_error": 0.22155,
        "unit_error": 18.61,
        "noise_error": 7.1912,
        "delta": None,
        "moved": None,
    },
    {
        "column": "region",
        "epsilon": "1/3",
        "together": [],
        "order": "corners_in_turn",
        "k": 1_133,
        "expected_error": 0.7834,
        "unit_error": None,
        "noise_error": None,
        "delta": None,
        "moved": None,
    },
)

CLOSE_GUARANTEE = GUARANTEE.model_copy(update={"model": "t_close", "parameters": {"t": "2", "k": 25}})


def told(name: str, kind: str, treatment: str, **values: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "domain": None, "categories": None, "treatment": treatment, **values}


LINKED = (
    {
        "name": "buckets",
        "key": "group",
        "columns": [
            told("group", "integer", "made: the group", domain=[1, 800]),
            told("income", "ordinal", "released by group", categories=["0 to 24000", "24000 to 500000"]),
            told("records", "integer", "made: how many", domain=[0, 20_000]),
        ],
    },
)
LABELS = (
    {
        "column": "income",
        "labels": [{"label": "0 to 24000", "records": 9_999}, {"label": "24000 to 500000", "records": 10_001}],
    },
)
LINKED_FILES = tuple(
    {"name": f"tables/{name}", "bytes": 512, "sha256": "60303ae22b998861" * 4}
    for name in ("buckets.csv", "buckets.parquet", "buckets_2.csv")
)


def measurement(name: str, value: float, **other: Any) -> dict[str, Any]:
    return {
        "name": name,
        "value": value,
        "interval": None,
        "concerns": "risk",
        "direction": "lower_is_safer",
        "n": 20_000,
        "columns": ["income", "wealth"],
        "by_column": {},
        "attacker": "",
        "weights": "not used",
        "missing": "left out",
        **other,
    }


def confidential(**other: Any) -> ConfidentialReport:
    facts: dict[str, Any] = {
        "name": "income-survey-2026-10",
        "run": "01JC9S5Z7Q",
        "started": "2026-11-02 04:15 UTC",
        "spec": {"name": "income-survey-2026-10", "protect": [{"mechanism": "probabilistic_k_anonymity", "k": 25}]},
        "guarantee": GUARANTEE,
        "records": 20_000,
        "source_records": 20_000,
        "undefined": ["sse"],
        "decision": {
            "verdict": "refuse",
            "results": [
                {
                    "gate": "group_sizes",
                    "verdict": "pass",
                    "rule": "every group has at least k records",
                    "value": None,
                    "interval": None,
                    "reason": "holds",
                },
                {
                    "gate": "correlation_change",
                    "verdict": "pass",
                    "rule": "correlation_change at most 0.02",
                    "value": 0.0123456,
                    "interval": None,
                    "reason": "inside",
                },
                {
                    "gate": "record_linkage",
                    "verdict": "refuse",
                    "rule": "record_linkage at most 0.04",
                    "value": 0.0512345,
                    "interval": [0.0487654, 0.0537654],
                    "reason": "outside",
                },
            ],
        },
        "checks": [
            {"name": "group_sizes", "passed": True, "rule": "every group has at least k records", "found": "holds"}
        ],
        "measurements": [
            measurement(
                "record_linkage",
                0.0512345,
                interval=[0.0487654, 0.0537654],
                attacker="knows all released columns of every record",
            ),
            measurement(
                "correlation_change",
                0.0123456,
                concerns="utility",
                direction="lower_is_better",
                by_column={"income": 0.0098765, "wealth": 0.0000043},
            ),
            measurement(
                "information_loss",
                0.3217654,
                concerns="utility",
                direction="lower_is_better",
                by_column={"wealth": 0.3217654},
            ),
        ],
        "validation": {"expectations": 24, "failed": 0},
        "steps": [{"name": "ingest", "seconds": 0.8123}, {"name": "protect", "seconds": 12.345}],
        "versions": {"penstock": "0.1.0", "python": "3.11.7"},
        "looks": "3 of 10 allowed",
    }
    return ConfidentialReport(**(facts | other))


def public(**other: Any) -> PublicReport:
    facts: dict[str, Any] = {
        "name": "income-survey-2026-10",
        "release": "2026-11-02-7f3a",
        "date": "2026-11-02",
        "records": 20_000,
        "guarantee": GUARANTEE,
        "columns": [
            {
                "name": "age",
                "type": "integer",
                "domain": [0, 120],
                "categories": None,
                "role": "quasi_identifier",
                "treatment": "released unchanged",
            },
            {
                "name": "region",
                "type": "nominal",
                "domain": None,
                "categories": ["North", "South", "East", "West"],
                "role": "quasi_identifier",
                "treatment": "released unchanged",
            },
            {
                "name": "income",
                "type": "continuous",
                "domain": [0, 500000],
                "categories": None,
                "role": "confidential",
                "treatment": "swapped within groups of at least 100 records",
            },
            {
                "name": "weight",
                "type": None,
                "domain": None,
                "categories": None,
                "role": "weight",
                "treatment": "released unchanged",
            },
        ],
        "noise": [],
        "gates": [
            {"gate": "group_sizes", "rule": "every group has at least k records", "verdict": "pass"},
            {"gate": "record_linkage", "rule": "record_linkage at most 0.04", "verdict": "pass"},
        ],
        "files": [
            {"name": "data.parquet", "bytes": 1_234_567, "sha256": "9f86d081884c7d65" * 4},
            {"name": "data.csv", "bytes": 512, "sha256": "60303ae22b998861" * 4},
        ],
        "usage": [
            "Means, variances and quantiles of each column are exactly those of the source.",
            "Correlations between columns are weaker than in the source.",
        ],
        "log_head": "b5bb9d8014a0f9b1" * 4,
    }
    return PublicReport(**(facts | other))


def sheet(*, errors: bool = True, most_rows: int = 200) -> TableSheet:
    """Four cells and five totals of a count and a mean."""
    dimensions = {"sex": ("f", "m"), "region": ("North & South", "East")}
    levels = (("sex", "region"), ("sex",), ("region",), ())
    figures = (Figure("count", "count", None, True), Figure("age_mean", "mean", "age", False))
    layout = Layout("ages", dimensions, levels, figures, errors)
    columns: dict[str, Any] = dict(layout.codes())
    columns["count"] = np.array([120, 80, -3, 40, 200, 37, 117, 120, 237])
    columns["age_mean"] = np.array([41.5, 38.25, np.nan, 40.0, 40.2, 40.1, 41.3, 38.9, 40.25])
    if errors:
        columns["count_standard_error"] = np.array([2.83] * 4 + [4.0] * 4 + [5.66])
        columns["age_mean_standard_error"] = np.array([0.5, 0.75, np.nan, 1.5, 0.4, 1.6, 0.5, 0.5, 0.25])
    return sheet_of(layout, columns, most_rows)
