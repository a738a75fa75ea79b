"""Validation: what the columns imply, what the user adds, what is counted, and what a failure tells."""

from __future__ import annotations

import gc
import logging
import pickle
import subprocess
import sys
import warnings
import weakref
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.tasks.validation.expectations import (
    ExpectationResult,
    ValidationFailed,
    derived_suite,
    suite_faults,
    validate,
)
from tests.support.order import examples
from tests.tasks.validation.people import CHILD, DECLARED, PEOPLE, expectation, found

FRAME = pd.DataFrame(
    {
        "age": [30, 40, 50],
        "region": pd.Series(["N", None, "S"], dtype="str"),
        "grade": [1, 2, 3],
        "income": [0.0, np.nan, 1000.5],
        "weight": [0.5, 1.0, 2.0],
    }
)


# what the columns imply


def test_the_derived_suite_says_what_the_columns_declare() -> None:
    said = [(e["kwargs"].get("column"), e["type"], e["description"]) for e in derived_suite(DECLARED, 10)]
    exist, filled = "expect_column_to_exist", "expect_column_values_to_not_be_null"
    between, member = "expect_column_values_to_be_between", "expect_column_values_to_be_in_set"
    assert said == [
        (None, "expect_table_row_count_to_be_between", "at least 10 rows"),
        ("age", exist, "the column exists"),
        ("age", filled, "no value is missing"),
        ("age", "expect_column_values_to_match_regex", "every value is a whole number"),
        ("age", between, "every value lies from 0 to 120"),
        ("region", exist, "the column exists"),
        ("region", member, "every value is one of N, S"),
        ("grade", exist, "the column exists"),
        ("grade", filled, "no value is missing"),
        ("grade", member, "every value is one of 1, 2, 3"),
        ("income", exist, "the column exists"),
        ("income", between, "every value lies from 0 to 1000.5"),
        ("weight", exist, "the column exists"),
        ("weight", filled, "no value is missing"),
        ("weight", between, "every weight is above 0 and finite"),
    ]


def test_the_derived_suite_has_settings_that_great_expectations_accepts() -> None:
    as_if_added = [{"type": e["type"], "kwargs": e["kwargs"]} for e in derived_suite(DECLARED, 10)]
    assert suite_faults(as_if_added, DECLARED) == ()


def test_a_long_list_of_categories_is_shortened_in_the_rule() -> None:
    many = Column(role="confidential", type="nominal", categories=tuple(f"c{i}" for i in range(40)))
    rule = derived_suite({"job": many}, 1)[-1]["description"]
    assert rule.endswith("c10, c11 … (40 in all)")


def test_data_as_declared_meet_every_expectation() -> None:
    results = validate(FRAME, derived_suite(DECLARED, 3))
    assert all(result.success for result in results)
    assert {result.source for result in results} == {"derived"}
    assert {result.total for result in results} == {3}
    assert {result.unexpected for result in results} == {None}


def test_too_few_rows_fail() -> None:
    (first, *_) = validate(FRAME, derived_suite(DECLARED, 4))
    assert not first.success
    assert first.column is None


def test_an_expectation_on_a_column_that_is_not_there_fails() -> None:
    results = validate(FRAME.drop(columns="age"), derived_suite(DECLARED, 1))
    assert {result.column for result in results if not result.success} == {"age"}
    assert sum(not result.success for result in results) == 4


@pytest.mark.parametrize("values", [["x", "y", "z"], [1, "y", None]])
def test_text_where_numbers_are_declared_fails(values: list[object]) -> None:
    results = validate(FRAME.assign(income=values, age=values), derived_suite(DECLARED, 1))
    failed = {(result.column, result.expectation) for result in results if not result.success}
    assert ("income", "expect_column_values_to_be_between") in failed
    assert ("age", "expect_column_values_to_match_regex") in failed


def test_weights_are_above_zero_and_finite() -> None:
    weight = {"weight": DECLARED["weight"]}
    frame = pd.DataFrame({"weight": [1e-300, 1e300, 0.0, -1.0, np.inf]})
    assert found(frame, *derived_suite(weight, 1)[1:]) == [(True, None), (True, None), (False, 3)]


whole = st.integers(-(2**53), 2**53)
numbers = st.one_of(whole.map(float), st.floats(-1e6, 1e6), st.sampled_from([np.nan, np.inf, -0.0, 1e-300, 0.5]))


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(numbers, min_size=1, max_size=20), st.lists(st.sampled_from(["N", "S", "X", None]), min_size=1))
def test_counts_agree_with_plain_python(ages: list[float], regions: list[str | None]) -> None:
    rows = min(len(ages), len(regions))
    ages, regions = ages[:rows], regions[:rows]
    frame = pd.DataFrame({"age": np.array(ages), "region": pd.Series(regions, dtype="str")})
    declared = {
        "age": Column(role="quasi_identifier", type="integer", domain=(-100, 2**52)),
        "region": Column(role="quasi_identifier", type="nominal", categories=("N", "S")),
    }
    have = [age for age in ages if not np.isnan(age)]
    expected = {
        ("age", "no value is missing"): len(ages) - len(have),
        ("age", "every value is a whole number"): sum(not float(age).is_integer() for age in have),
        ("age", f"every value lies from -100 to {2**52}"): sum(not -100 <= age <= 2**52 for age in have),
        ("region", "no value is missing"): regions.count(None),
        ("region", "every value is one of N, S"): regions.count("X"),
    }
    results = {(r.column, r.rule): r for r in validate(frame, derived_suite(declared, 1))}
    for key, count in expected.items():
        assert results[key].success == (count == 0)
        assert results[key].unexpected == (count or None)


# what the user adds


RICH = {"type": "comparison", "column": {"name": "income"}, "operator": ">", "parameter": 10}
UNPAID = {"type": "nullity", "column": {"name": "income"}, "is_null": True}

COUNTED = [
    (expectation("column_values_to_be_between", column="age", max_value=39), 2),
    (expectation("column_values_to_be_between", column="age", max_value=39, mostly=0.9), 2),
    (expectation("column_values_to_be_in_set", column="region", value_set=["N"]), 3),
    (expectation("column_values_to_not_be_in_set", column="region", value_set=["S"]), 2),
    (expectation("column_values_to_not_be_null", column="income"), 1),
    (expectation("column_values_to_be_null", column="income"), 4),
    (expectation("column_values_to_be_null", column="income", row_condition=CHILD), 1),
    (expectation("column_values_to_be_unique", column="age"), 2),
    (expectation("column_values_to_match_regex", column="region", regex="^N$"), 3),
    (expectation("column_values_to_not_match_regex", column="region", regex="^N$"), 1),
    (expectation("column_value_lengths_to_equal", column="region", value=1), 1),
    (expectation("column_value_lengths_to_be_between", column="region", min_value=2), 3),
    (expectation("column_pair_values_a_to_be_greater_than_b", column_A="grade", column_B="weight"), 5),
    (expectation("column_pair_values_to_be_equal", column_A="grade", column_B="weight"), 4),
    (expectation("compound_columns_to_be_unique", column_list=["age", "grade", "weight"]), 2),
    (expectation("multicolumn_sum_to_equal", column_list=["age", "grade"], sum_total=11), 4),
    (expectation("column_max_to_be_between", column="age", max_value=39), None),
    (expectation("column_mean_to_be_between", column="age", max_value=1), None),
    (expectation("column_distinct_values_to_be_in_set", column="region", value_set=["N"]), None),
    (expectation("column_values_to_be_of_type", column="age", type_="float64"), None),
    (expectation("table_row_count_to_equal", value=4), None),
    (expectation("table_columns_to_match_set", column_set=["age"]), None),
]


def test_an_expectation_that_fails_is_counted_where_it_is_about_rows() -> None:
    assert suite_faults([e for e, _ in COUNTED], DECLARED) == ()
    assert found(PEOPLE, *(e for e, _ in COUNTED)) == [(False, count) for _, count in COUNTED]


def test_results_come_in_the_order_of_the_expectations_and_name_their_columns() -> None:
    results = validate(PEOPLE, [e for e, _ in COUNTED])
    assert [result.expectation for result in results] == [e["type"] for e, _ in COUNTED]
    assert {result.source for result in results} == {"suite"}
    assert [results[i].column for i in (0, 6, 12, 14, 20)] == [
        "age",
        "income",
        "grade, weight",
        "age, grade, weight",
        None,
    ]


@pytest.mark.parametrize(
    ("kwargs", "rule"),
    [
        ({"min_value": 0, "mostly": 0.95}, "values to be between, min value 0, for at least 95 % of the values"),
        ({"row_condition": CHILD}, "values to be between, where age < 16"),
        (
            {"row_condition": {"type": "and", "conditions": [RICH, UNPAID]}},
            "values to be between, where (income > 10) and (income is missing)",
        ),
        ({"row_condition": {**UNPAID, "is_null": False}}, "values to be between, where income is not missing"),
    ],
)
def test_the_rule_is_readable_and_made_of_settings(kwargs: dict[str, Any], rule: str) -> None:
    added = {"max_value": 10**9, **kwargs} if "min_value" not in kwargs else kwargs
    one = expectation("column_values_to_be_between", column="age", **added)
    assert suite_faults([one], DECLARED) == ()
    (result,) = validate(PEOPLE, [one])
    assert result.rule == rule.replace("between, where", "between, max value 1000000000, where")
    (described,) = validate(PEOPLE, [{**one, "description": "ages make sense"}])
    assert described.rule == "ages make sense"


def test_a_list_in_a_rule_is_shortened() -> None:
    (result,) = validate(PEOPLE, [expectation("column_values_to_be_in_set", column="age", value_set=list(range(99)))])
    assert result.rule == "values to be in set, value set 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 … (99 in all)"


def test_an_expectation_that_great_expectations_cannot_run_counts_as_failed() -> None:
    cases = [
        expectation("column_mean_to_be_between", column="region", min_value=0),
        expectation("column_values_to_match_strftime_format", column="age", strftime_format="%Y"),
        expectation(
            "column_values_to_be_of_type",
            column="age",
            type_="int64",
            row_condition={**CHILD, "column": {"name": "region"}},
        ),
    ]
    assert suite_faults(cases, DECLARED) == ()
    assert found(PEOPLE, *cases) == [(False, None)] * 3


def test_the_frame_is_left_as_it_was_and_not_kept() -> None:
    frame = PEOPLE.copy()
    validate(frame, [e for e, _ in COUNTED])
    pd.testing.assert_frame_equal(frame, PEOPLE)
    kept = weakref.ref(frame)
    del frame
    gc.collect()
    assert kept() is None


@pytest.mark.slow
def test_great_expectations_sends_nothing_about_its_use() -> None:
    """It reads these settings when it is imported, and a test may have put back what stood there before."""
    code = (
        "import os, penstock.tasks.validation._engine;"
        "print(os.environ['GX_ANALYTICS_ENABLED'], os.environ['DO_NOT_TRACK'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False 1\n"


def test_great_expectations_is_kept_quiet_and_leaves_the_process_alone() -> None:
    validate(PEOPLE, [])
    assert not logging.getLogger("great_expectations.validator.validator").isEnabledFor(logging.CRITICAL)
    assert not logging.getLogger("great_expectations.born_later").isEnabledFor(logging.CRITICAL)
    with pytest.warns(UserWarning, match="still heard"):
        warnings.warn("still heard", UserWarning, stacklevel=1)


# the refusal


def test_a_failed_validation_names_what_the_columns_imply_and_of_the_suite_nothing() -> None:
    results = (
        ExpectationResult("expect_a", "age", "no value is missing", "derived", False, 4321, 98765),
        ExpectationResult("expect_b", None, "at least 10 rows", "suite", False, None, 98765),
        ExpectationResult("expect_c", "job", "fine", "suite", True, None, 98765),
        ExpectationResult("expect_d", "job", "other", "suite", False, 17, 98765),
    )
    refusal = ValidationFailed.from_results(results)
    assert (refusal.code, refusal.kind) == ("validation-failed", "data")
    assert str(refusal).splitlines() == [
        "age refused: must meet expect_a: no value is missing. Correct the data, or the declared column.",
        "validate.suite refused: must hold; at least one expectation failed. "
        "Read the validation page of the run, on the confidential side.",
    ]
    assert str(pickle.loads(pickle.dumps(refusal))) == str(refusal)


def test_without_a_failure_of_the_suite_the_refusal_does_not_mention_it() -> None:
    met = ExpectationResult("expect_b", None, "at least 10 rows", "suite", True, None, 98765)
    failed = ExpectationResult("expect_a", "age", "no value is missing", "derived", False, 4321, 98765)
    assert [fault.field for fault in ValidationFailed.from_results([met, failed]).faults] == ["age"]
