"""Row conditions: what they choose, how they read, and what is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from penstock.tasks.validation._row_conditions import NotACondition, row_condition
from penstock.tasks.validation._suite_settings import setting_faults

FRAME = pd.DataFrame({"age": [1.0, 2.0, np.nan], "region": pd.Series(["N", None, "S"], dtype="str")})


def compare(column: str, sign: str, parameter: Any) -> dict[str, Any]:
    return {"type": "comparison", "column": {"name": column}, "operator": sign, "parameter": parameter}


UNKNOWN = {"type": "nullity", "column": {"name": "age"}, "is_null": True}


@pytest.mark.parametrize(
    ("written", "rows", "words"),
    [
        (compare("age", "<", 2), [True, False, False], "age < 2"),
        (compare("age", "<=", 2), [True, True, False], "age <= 2"),
        (compare("age", ">", 1.5), [False, True, False], "age > 1.5"),
        (compare("age", ">=", 1), [True, True, False], "age >= 1"),
        (compare("age", "==", 2), [False, True, False], "age == 2"),
        (compare("age", "!=", 2), [True, False, True], "age != 2"),
        (compare("region", "==", "N"), [True, False, False], "region == N"),
        (compare("region", "!=", "N"), [False, True, True], "region != N"),
        (compare("age", "IN", [1, 7]), [True, False, False], "age IN 1, 7"),
        (compare("region", "NOT_IN", ["N"]), [False, True, True], "region NOT_IN N"),
        (UNKNOWN, [False, False, True], "age is missing"),
        ({**UNKNOWN, "is_null": False}, [True, True, False], "age is not missing"),
        (
            {"type": "or", "conditions": [UNKNOWN, compare("age", "<", 2)]},
            [True, False, True],
            "(age is missing) or (age < 2)",
        ),
        (
            {"type": "and", "conditions": [UNKNOWN, compare("age", "<", 2)]},
            [False] * 3,
            "(age is missing) and (age < 2)",
        ),
    ],
)
def test_a_condition_chooses_rows(written: dict[str, Any], rows: list[bool], words: str) -> None:
    condition = row_condition(written)
    assert condition.rows(FRAME).tolist() == rows
    assert str(condition) == words


@pytest.mark.parametrize(
    ("written", "rule"),
    [
        ("age > 3", "text is not run"),
        (None, "must be an object"),
        ({"type": "pass_through", "pass_through_filter": "1"}, "with exactly these keys"),
        ({**UNKNOWN, "note": 1}, "with exactly these keys"),
        ({**UNKNOWN, "is_null": "yes"}, "with exactly these keys"),
        ({**UNKNOWN, "column": "age"}, "must have a column"),
        ({**UNKNOWN, "column": {"name": "age", "of": 1}}, "must have a column"),
        ({**UNKNOWN, "column": {"name": 3}}, "must have a column"),
        (compare("age", "=~", 2), "must have an operator out of"),
        (compare("age", "<", [2]), "as the parameter of <"),
        (compare("age", "<", None), "as the parameter of <"),
        (compare("age", "==", "x" * 1001), "as the parameter of =="),
        (compare("age", "IN", 2), "must have a list of numbers or texts"),
        (compare("age", "IN", []), "must have a list of numbers or texts"),
        (compare("age", "IN", [{}]), "must have a list of numbers or texts"),
        ({"type": "and", "conditions": []}, "a list of 1 to 100"),
        ({"type": "or", "conditions": [UNKNOWN] * 101}, "a list of 1 to 100"),
        (
            {"type": "or", "conditions": [{"type": "or", "conditions": [UNKNOWN] * 51}] * 2},
            "must have at most 100 conditions",
        ),
    ],
)
def test_what_is_no_condition_is_refused(written: object, rule: str) -> None:
    with pytest.raises(NotACondition, match=rule):
        row_condition(written)


@pytest.mark.parametrize(
    ("setting", "fine", "wrong"),
    [
        ("column", "age", 3),
        ("column_list", ["age"], ["age", 3]),
        ("min_value", None, {"$PARAMETER": "x"}),
        ("max_value", "2026-01-01", [1]),
        ("mostly", 0.5, True),
        ("strict_min", False, 1),
        ("value_set", [1, "a", True], [[1]]),
        ("value_pairs_set", [[1, "a"]], [[1, 2, 3]]),
        ("regex", "^(a|b)+$", "(?=a)"),
        ("regex_list", ["a"], ["a", "(a)\\1"]),
        ("quantile_ranges", {"quantiles": [0.5], "value_ranges": [[None, 2]]}, {"quantiles": [0.5]}),
        ("allow_relative_error", False, 3),
        ("row_condition", UNKNOWN, "age"),
    ],
)
def test_a_setting_has_its_kind(setting: str, fine: object, wrong: object) -> None:
    assert list(setting_faults("field", setting, fine)) == []
    (fault,) = setting_faults("field", setting, wrong)
    assert fault.rule
    assert fault.remedy


def test_an_unknown_setting_is_refused() -> None:
    (fault,) = setting_faults("field", "json_schema", {})
    assert fault.rule == "must not be given here"
