"""No value of the data leaves validation: not in a result, a page, a refusal, a log or an output stream.

Every column holds values that occur nowhere else, every expectation fails or breaks on them, and
everything that comes out is searched for them. A twin shows that the search would find them in a
result of Great Expectations as it comes by default.
"""

from __future__ import annotations

import logging
import traceback
from typing import Any

import numpy as np
import pandas as pd
import pytest

from penstock.mechanisms.columns import Column
from penstock.reports.pages import validation_page
from penstock.tasks.validation import _engine as engine
from penstock.tasks.validation.expectations import ValidationFailed, derived_suite, suite_faults, validate

SENTINELS = ("73190573", "73190574", "8264.0517", "8264.0518", "Qzxvanary", "Wqbvanary", "-91827364", "5519.5519")

DECLARED = {
    "age": Column(role="quasi_identifier", type="integer", domain=(0, 120)),
    "share": Column(role="quasi_identifier", type="integer", domain=(0, 120)),
    "income": Column(role="confidential", type="continuous", domain=(0, 10)),
    "region": Column(role="quasi_identifier", type="nominal", categories=("N", "S")),
    "grade": Column(role="quasi_identifier", type="ordinal", categories=(1, 2, 3)),
    "mixed": Column(role="confidential", type="continuous", domain=(0, 10)),
    "weight": Column(role="weight"),
    "gone": Column(role="confidential", type="continuous", domain=(0, 1)),
}


def canaries() -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "age": [73190573, 73190574, 73190574],
            "share": [8264.0517, np.nan, 8264.0518],
            "income": [8264.0517, np.nan, 8264.0518],
            "region": pd.Series(["Qzxvanary", None, "Wqbvanary"], dtype="str"),
            "grade": [73190573.0, np.nan, 73190574.0],
            "mixed": ["Qzxvanary", 73190573, None],
            "weight": [-91827364.0, np.nan, -5519.5519],
        }
    )
    return pd.concat([frame, frame.tail(1)], ignore_index=True)


def expectation(kind: str, **kwargs: Any) -> dict[str, Any]:
    return {"type": f"expect_{kind}", "kwargs": kwargs}


def added() -> list[dict[str, Any]]:
    """Every expectation type that may run, on every column it fits and on some that break it."""
    by_type = {
        "column_distinct_values_to_be_in_set": {"value_set": ["a"]},
        "column_distinct_values_to_contain_set": {"value_set": ["a"]},
        "column_distinct_values_to_equal_set": {"value_set": ["a"]},
        "column_max_to_be_between": {"min_value": 1, "max_value": 2},
        "column_mean_to_be_between": {"min_value": 1, "max_value": 2},
        "column_median_to_be_between": {"min_value": 1, "max_value": 2},
        "column_min_to_be_between": {"min_value": 1, "max_value": 2},
        "column_most_common_value_to_be_in_set": {"value_set": ["a"]},
        "column_proportion_of_non_null_values_to_be_between": {"max_value": 0.1},
        "column_proportion_of_unique_values_to_be_between": {"max_value": 0.1},
        "column_quantile_values_to_be_between": {"quantile_ranges": {"quantiles": [0.5], "value_ranges": [[1, 2]]}},
        "column_stdev_to_be_between": {"min_value": 1e12},
        "column_sum_to_be_between": {"min_value": 1, "max_value": 2},
        "column_to_exist": {"column_index": 40},
        "column_type_to_be": {"type_": "datetime64[ns]"},
        "column_unique_value_count_to_be_between": {"min_value": 40},
        "column_value_lengths_to_be_between": {"max_value": 1},
        "column_value_lengths_to_equal": {"value": 1},
        "column_value_z_scores_to_be_less_than": {"threshold": 0.001, "double_sided": True},
        "column_values_to_be_between": {"min_value": 1, "max_value": 2, "mostly": 0.9},
        "column_values_to_be_dateutil_parseable": {},
        "column_values_to_be_decreasing": {"strictly": True},
        "column_values_to_be_in_set": {"value_set": ["a", 1]},
        "column_values_to_be_in_type_list": {"type_list": ["datetime64[ns]"]},
        "column_values_to_be_increasing": {"strictly": True},
        "column_values_to_be_json_parseable": {},
        "column_values_to_be_null": {},
        "column_values_to_be_of_type": {"type_": "datetime64[ns]"},
        "column_values_to_be_unique": {},
        "column_values_to_match_regex": {"regex": "^a$"},
        "column_values_to_match_regex_list": {"regex_list": ["^a$"]},
        "column_values_to_match_strftime_format": {"strftime_format": "%Y"},
        "column_values_to_not_be_in_set": {"value_set": ["N", 1]},
        "column_values_to_not_be_null": {},
        "column_values_to_not_be_outliers": {"method": "std", "multiplier": 0.001},
        "column_values_to_not_match_regex": {"regex": "."},
        "column_values_to_not_match_regex_list": {"regex_list": ["."]},
    }
    pairs = {
        "column_pair_values_a_to_be_greater_than_b": {},
        "column_pair_values_to_be_equal": {},
        "column_pair_values_to_be_in_set": {"value_pairs_set": [["a", "b"]]},
    }
    several = {
        "compound_columns_to_be_unique": {},
        "multicolumn_sum_to_equal": {"sum_total": 1},
        "multicolumn_values_to_be_equal": {},
        "select_column_values_to_be_unique_within_record": {},
    }
    tables = {
        "table_column_count_to_be_between": {"max_value": 1},
        "table_column_count_to_equal": {"value": 1},
        "table_columns_to_match_ordered_list": {"column_list": ["age"]},
        "table_columns_to_match_set": {"column_set": ["age"]},
        "table_row_count_to_be_between": {"min_value": 40},
        "table_row_count_to_equal": {"value": 40},
    }
    condition = {"type": "comparison", "column": {"name": "region"}, "operator": "<", "parameter": 3}
    columns = ("age", "income", "region", "mixed")
    others = ("income", "mixed", "grade")
    return [
        *(expectation(kind, column=name, **kwargs) for kind, kwargs in by_type.items() for name in columns),
        *(expectation(kind, column_A="age", column_B=b, **kw) for kind, kw in pairs.items() for b in columns[1:]),
        *(expectation(kind, column_list=["age", b], **kw) for kind, kw in several.items() for b in others),
        *(expectation(kind, **kwargs) for kind, kwargs in tables.items()),
        expectation("column_values_to_be_null", column="age", row_condition=condition),
        expectation("column_values_to_be_null", column="gone"),
    ]


def leaked(text: str) -> list[str]:
    return [sentinel for sentinel in SENTINELS if sentinel in text]


def test_the_canary_suite_covers_every_expectation_that_may_run() -> None:
    assert {e["type"] for e in added()} == set(engine._KINDS)
    assert suite_faults(added(), DECLARED) == ()


def test_no_value_of_the_data_leaves_validation(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("tests").debug("the log is listening")
        results = validate(canaries(), [*derived_suite(DECLARED, 1000), *added()])
        derived = [result for result in results if result.source == "derived"]
        failed = {result.expectation for result in results if not result.success}
        with pytest.raises(ValidationFailed) as refused:
            raise ValidationFailed.from_results(results)
    met = {(result.column, result.rule) for result in derived if result.success}
    exist = {(name, "the column exists") for name in DECLARED if name != "gone"}
    assert met == exist | {("age", "no value is missing"), ("age", "every value is a whole number")}
    # It can fail only on a value that its own settings quote.
    assert failed == {e["type"] for e in added()} - {"expect_column_values_to_not_be_in_set"}
    out, err = capfd.readouterr()
    searched = {
        "results": repr(results),
        "page": validation_page("canary", "run", results),
        "refusal": repr(refused.value) + str(refused.value) + "".join(traceback.format_exception(refused.value)),
        "log": caplog.text + "".join(map(repr, caplog.records)),
        "streams": out + err,
        "warnings": "".join(str(warning.message) for warning in recwarn),
    }
    assert {place: leaked(text) for place, text in searched.items()} == {place: [] for place in searched}
    assert "the log is listening" in caplog.text
    assert (out, err) == ("", "")


def test_the_same_search_finds_values_in_a_result_of_the_default_format() -> None:
    import great_expectations as gx

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    asset = context.data_sources.add_pandas("canary").add_dataframe_asset("frame")
    whole = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": canaries()})
    result = whole.validate(gx.expectations.ExpectColumnValuesToBeBetween(column="age", max_value=1))
    context.data_sources.delete("canary")
    assert leaked(repr(result)) == ["73190573", "73190574"]


def test_validation_never_asks_great_expectations_for_a_result_with_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """What GX itself returns is searched too, not only what is made of it."""
    from great_expectations.validator.validator import Validator

    returned: list[str] = []
    real = Validator.graph_validate

    def listening(self: Any, *args: Any, **kwargs: Any) -> Any:
        results = real(self, *args, **kwargs)
        returned.extend(repr(result.result) for result in results)
        return results

    monkeypatch.setattr(Validator, "graph_validate", listening)
    validate(canaries(), [*derived_suite(DECLARED, 1000), *added()])
    assert set(returned) == {"{}"}
