"""Patterns matched by RE2 mean what Great Expectations means by them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

from penstock.tasks.validation._engine import Outcome, kwargs_of, run
from penstock.tasks.validation._patterns import MATCHED_BY_PATTERN, values_against_patterns

TEXTS = pd.Series(["N", "NN", None, "S", "S", "north east", "Größe", ""], dtype="str")
COLUMNS = {
    "text": TEXTS,
    "pieces": pd.concat([TEXTS, TEXTS.iloc[::-1]], ignore_index=True),
    "whole": pd.Series([10, 12, -30, 40, 40]),
    "broken": pd.Series([5.0, np.nan, 50.25, 1e300, -0.0]),
    "category": pd.Series(pd.Categorical(["N", None, "S", "N"])),
    "nothing": pd.Series([None, None], dtype="str"),
}
PATTERNS = ["^N$", "N", "^$", "o", "^-?[0-9]+(\\.0)?$", "^(N|S)+$", "e", "[^N]", "^Gr.ße$", "(?i)n"]


def unexpected_by_pandas(column: pd.Series[Any], patterns: list[str], *, every: bool, never: bool) -> int:
    """As the source of Great Expectations has it."""
    known = column.dropna().astype(object).astype(str).astype(object)
    found = [known.map(lambda text, p=pattern: re.search(p, text) is not None) for pattern in patterns]
    table = pd.concat(found, axis=1).astype(bool)
    met = table.all(axis="columns") if every else table.any(axis="columns")
    return int((met if never else ~met).sum())


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_is_searched_for_in_the_values_that_are_there(column: str, pattern: str) -> None:
    values = COLUMNS[column]
    for never in (False, True):
        kind = f"expect_column_values_to_{'not_' * never}match_regex"
        expected = unexpected_by_pandas(values, [pattern], every=False, never=never)
        assert values_against_patterns(values, kind, {"regex": pattern}) == (expected, values.notna().sum())


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize(
    ("kind", "more", "every", "never"),
    [
        ("match_regex_list", {}, False, False),
        ("match_regex_list", {"match_on": "any"}, False, False),
        ("match_regex_list", {"match_on": "all"}, True, False),
        ("not_match_regex_list", {}, False, True),
    ],
)
def test_of_several_patterns_any_or_all_must_be_found(
    column: str, kind: str, more: dict[str, str], every: bool, never: bool
) -> None:
    values = COLUMNS[column]
    for patterns in (["N", "S"], ["^N", "N$"], ["0"], PATTERNS):
        expected = unexpected_by_pandas(values, patterns, every=every, never=never)
        settings = {"regex_list": patterns, **more}
        assert values_against_patterns(values, f"expect_column_values_to_{kind}", settings)[0] == expected


def test_no_pattern_at_all_is_no_question() -> None:
    with pytest.raises(ValueError, match="no pattern"):
        values_against_patterns(TEXTS, "expect_column_values_to_match_regex_list", {"regex_list": []})
    frame = pd.DataFrame({"region": TEXTS})
    asked = ("expect_column_values_to_match_regex_list", {"column": "region", "regex_list": []}, None)
    assert run(frame, [asked]) == [Outcome(False, None)]


@pytest.mark.parametrize(
    ("mostly", "outcome"),
    [({}, Outcome(False, 6)), ({"mostly": 1 / 7}, Outcome(True, None)), ({"mostly": 0.15}, Outcome(False, 6))],
)
def test_mostly_is_a_share_of_the_values_that_are_there(mostly: dict[str, float], outcome: Outcome) -> None:
    asked = ("expect_column_values_to_match_regex", {"column": "region", "regex": "^N$", **mostly}, None)
    assert run(pd.DataFrame({"region": TEXTS}), [asked]) == [outcome]


def test_where_every_value_is_missing_nothing_fails() -> None:
    asked = ("expect_column_values_to_match_regex", {"column": "region", "regex": "^N$"}, None)
    assert run(pd.DataFrame({"region": COLUMNS["nothing"]}), [asked]) == [Outcome(True, None)]


def test_every_expectation_with_a_pattern_is_matched_here() -> None:
    """A new one of Great Expectations would be matched by backtracking."""
    import penstock.tasks.validation._engine as engine

    with_pattern = {kind for kind in engine._KINDS if {"regex", "regex_list"} & (kwargs_of(kind) or frozenset())}
    assert with_pattern == MATCHED_BY_PATTERN
