"""A suite is read from its file, or refused before any row is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.tasks.validation.expectations import (
    SuiteRefused,
    derived_suite,
    digest_of_suite,
    suite_faults,
    user_suite,
    validate,
)
from tests.tasks.validation.people import CHILD, DECLARED, PEOPLE, expectation, found


def written(folder: Path, content: object) -> Path:
    path = folder / "suite.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_a_suite_saved_by_great_expectations_is_read(tmp_path: Path) -> None:
    validate(PEOPLE, [])
    import great_expectations as gx

    saved = gx.ExpectationSuite(
        name="people",
        expectations=[
            gx.expectations.ExpectColumnValuesToBeBetween(
                column="age", max_value=15, row_condition=gx.expectations.row_conditions.Column("age") < 16
            ),
            gx.expectations.ExpectColumnValuesToNotBeNull(column="income", description="income is known"),
        ],
    ).to_json_dict()
    read = user_suite(written(tmp_path, saved))
    assert suite_faults(read, DECLARED) == ()
    assert found(PEOPLE, *read) == [(True, None), (False, 1)]


def test_a_bare_list_is_read_and_cannot_pass_for_derived(tmp_path: Path) -> None:
    item = {**expectation("column_to_exist", column="age"), "meta": {"source": "derived"}, "severity": "critical"}
    read = user_suite(written(tmp_path, [item]))
    assert read == [expectation("column_to_exist", column="age")]


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        ("{", "must be valid JSON"),
        ('[{"type": "expect_column_to_exist", "kwargs": {"column": NaN}}]', "must hold finite numbers only"),
        ({}, "must have name and expectations"),
        ({"name": "a", "expectations": [], "checks": []}, "must have name and expectations"),
        ([], "at least one expectation"),
        ({"name": "a", "expectations": {}}, "at least one expectation"),
        (3, "at least one expectation"),
        (["expect_column_to_exist"], "an object with type and kwargs"),
        ([{"kwargs": {}}], "type refused: must name an expectation"),
        ([{"type": "expect_column_to_exist"}], "kwargs refused: must be an object"),
        ([{"type": "a", "kwargs": {}, "description": 3}], "description refused: must be text"),
        ([{"type": "a", "kwargs": {}, "result_format": "COMPLETE"}], "result_format refused: must be a known key"),
        ([{"type": "a", "kwargs": {}, "severity": "warning"}], "every failed expectation stops the release"),
    ],
)
def test_a_malformed_suite_is_refused(tmp_path: Path, content: object, rule: str) -> None:
    with pytest.raises(SuiteRefused) as refused:
        user_suite(written(tmp_path, content))
    assert rule in str(refused.value)
    assert (refused.value.code, refused.value.kind) == ("suite-refused", "spec")


def test_a_suite_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SuiteRefused, match="must be a readable file"):
        user_suite(tmp_path / "none.json")
    with pytest.raises(SuiteRefused, match="must be an ordinary file"):
        user_suite(tmp_path)


def test_a_suite_that_is_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "suite.json").write_bytes(b"\xff\xfe")
    with pytest.raises(SuiteRefused, match="must be text in UTF-8"):
        user_suite(tmp_path / "suite.json")


@pytest.mark.parametrize(
    ("wrong", "field", "rule"),
    [
        (expectation("nothing"), "type", "must be an expectation that can run here"),
        (
            expectation("column_values_to_match_like_pattern", column="age", like_pattern="a"),
            "type",
            "must be an expectation",
        ),
        (
            {"type": "unexpected_rows_expectation", "kwargs": {"unexpected_rows_query": "x"}},
            "type",
            "must be an expectation",
        ),
        (expectation("column_to_exist", column="age", columns="age"), "kwargs.columns", "must be a setting of"),
        (
            expectation("column_to_exist", column="age", result_format="COMPLETE"),
            "kwargs.result_format",
            "must be a setting of",
        ),
        (
            expectation("column_values_to_be_null", column="age", condition_parser="pandas"),
            "kwargs.condition_parser",
            "must be a setting of",
        ),
        (
            expectation("column_values_to_be_null", column="age", row_condition="age > 3"),
            "kwargs.row_condition",
            "text is not run",
        ),
        (
            expectation(
                "column_values_to_be_null",
                column="age",
                row_condition={"type": "and", "conditions": [CHILD, {"type": "pass_through"}]},
            ),
            "kwargs.row_condition",
            "with exactly these keys",
        ),
        (
            expectation("column_values_to_be_null", column="age", row_condition={"type": "x"}),
            "kwargs.row_condition",
            "must be a comparison",
        ),
        (
            expectation("column_values_to_be_null", column="age", row_condition={"type": "nullity"}),
            "kwargs.row_condition",
            "refused",
        ),
        (expectation("column_values_to_be_between", column="age"), "kwargs", "cannot both be None"),
        (expectation("column_to_exist"), "kwargs.column", "field required"),
        (expectation("column_to_exist", column=3), "kwargs.column", "must be text"),
        (expectation("column_values_to_be_null", column="age", mostly=3), "kwargs.mostly", "less than or equal to 1"),
        (
            expectation("column_values_to_be_in_set", column="age", value_set={"$PARAMETER": "x"}),
            "kwargs.value_set",
            "parameters are not filled in",
        ),
        (expectation("column_to_exist", column="job"), "kwargs", "that the spec reads, got 'job'"),
        (expectation("column_values_to_be_unique", column="person"), "kwargs", "that the spec reads, got 'person'"),
        (expectation("compound_columns_to_be_unique", column_list=["age", "job"]), "kwargs", "got 'job'"),
        (expectation("column_pair_values_to_be_equal", column_A="age", column_B="job"), "kwargs", "got 'job'"),
        (
            expectation(
                "column_values_to_be_null", column="age", row_condition={**CHILD, "column": {"name": "person"}}
            ),
            "kwargs",
            "got 'person'",
        ),
    ],
)
def test_what_cannot_be_checked_is_refused_before_any_row_is_read(wrong: dict[str, Any], field: str, rule: str) -> None:
    fine = expectation("column_to_exist", column="age")
    (fault,) = suite_faults([*derived_suite(DECLARED, 1), fine, wrong], DECLARED)
    assert fault.field == f"validate.suite[1].{field}"
    assert rule in str(fault)


def test_all_faults_of_a_suite_are_told_at_once() -> None:
    faults = suite_faults(
        [expectation("nothing"), expectation("column_to_exist", column="job", extra=1, more=2)], DECLARED
    )
    assert [fault.field for fault in faults] == [
        "validate.suite[0].type",
        "validate.suite[1].kwargs.extra",
        "validate.suite[1].kwargs.more",
        "validate.suite[1].kwargs",
    ]


def test_every_expectation_that_may_run_has_an_implementation_for_data_frames() -> None:
    from great_expectations.execution_engine import PandasExecutionEngine
    from great_expectations.expectations.registry import get_metric_provider

    from penstock.tasks.validation import _engine as engine

    assert len(engine._KINDS) > 40
    for kind in engine._KINDS.values():
        counted = getattr(kind, "map_metric", None)
        for metric in [*([f"{counted}.unexpected_count"] if counted else []), *kind.metric_dependencies]:
            get_metric_provider(metric, PandasExecutionEngine())


def test_a_suite_has_a_bounded_number_of_expectations(tmp_path: Path) -> None:
    path = tmp_path / "suite.json"
    item = expectation("column_to_exist", column="age")
    path.write_text(json.dumps([item] * 500), encoding="utf-8")
    assert len(user_suite(path)) == 500
    path.write_text(json.dumps([item] * 501), encoding="utf-8")
    with pytest.raises(SuiteRefused, match="must hold at most 500 expectations"):
        user_suite(path)


def test_the_digest_of_a_suite_is_about_what_it_asks() -> None:
    age, job = (expectation("column_to_exist", column=name) for name in ("age", "job"))
    assert digest_of_suite([*derived_suite(DECLARED, 1), age]) == digest_of_suite([age])
    assert digest_of_suite([age]) != digest_of_suite([job])
