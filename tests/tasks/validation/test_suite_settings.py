"""Patterns and formats of a suite are bounded before they are used."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.tasks.validation._suite_settings import _unfolded, pattern_faults, setting_faults


def suite(*lists: list[Any]) -> list[dict[str, Any]]:
    return [{"type": "expect_column_values_to_match_regex_list", "kwargs": {"regex_list": each}} for each in lists]


def rules(*lists: list[Any]) -> list[str]:
    return [fault.rule for fault in pattern_faults(suite(*lists))]


def test_a_suite_has_a_bounded_number_of_patterns() -> None:
    single: list[dict[str, Any]] = [{"type": "expect_column_values_to_match_regex", "kwargs": {"regex": "a"}}]
    assert rules(["a"] * 100, ["b"] * 100) == []
    assert pattern_faults([*suite(["a"] * 199), *single]) == []
    for too_many in (suite(["a"] * 100, ["b"] * 101), [*suite(["a"] * 200), *single]):
        (fault,) = pattern_faults(too_many)
        assert (fault.field, fault.rule, fault.got) == (
            "validate.suite",
            "must hold at most 200 patterns in all",
            "201",
        )


def test_its_patterns_are_bounded_as_they_are_written_out() -> None:
    assert rules(["a" * 100] * 200) == []
    (fault,) = pattern_faults(suite(["a" * 100] * 199, ["a" * 101]))
    assert "at most 20,000 characters" in fault.rule
    assert fault.got == "20,001"


def test_what_is_no_pattern_is_left_to_who_looks_at_its_setting() -> None:
    assert rules([1, None]) == []
    assert pattern_faults([{"kwargs": {"regex_list": "a" * 30_000}}, {"kwargs": {"regex": 3}}]) == []


@pytest.mark.parametrize(
    ("pattern", "least", "most"),
    [
        ("^[A-Z]{2}-[0-9]{4}$", 12, 60),
        ("a{1000}", 1000, 1010),
        ("a{3,}", 4, 10),
        ("(ab){10}", 20, 40),
        ("((ab){10}c){10}", 210, 700),
        ("(?:a{0,1000})(?:a{0,1000})", 2000, 2100),
        ("[abcd]{100}", 400, 700),
        (r"\pL{10}", 2000, 2300),
        (r"[\pL\PN]{10}", 4000, 4500),
        (r"\p{Greek}{10}", 2000, 2300),
        ("(a{500}){0}", 1, 600),
        ("(a{500}){2}(b){0}", 1000, 1100),
        ("^[A-Z]{2}[0-9]{2}[A-Z0-9]{4}[0-9]{7}([A-Z0-9]?){0,16}$", 200, 2000),
    ],
)
def test_repetitions_are_written_out(pattern: str, least: int, most: int) -> None:
    assert least <= _unfolded(pattern) <= most


PATTERN = st.recursive(
    st.sampled_from(["a", "b", ".", "[ab]", r"\d"]).map(lambda atom: (atom, 1)),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=4).map(
            lambda parts: ("(" + "".join(text for text, _ in parts) + ")", sum(size for _, size in parts))
        ),
        st.tuples(inner, st.integers(1, 9)).map(lambda pair: (f"({pair[0][0]}){{{pair[1]}}}", pair[0][1] * pair[1])),
    ),
    max_leaves=12,
)


@given(PATTERN)
def test_nothing_is_longer_than_it_is_said_to_be(pattern: tuple[str, int]) -> None:
    text, atoms = pattern
    assert _unfolded(text) >= atoms


def test_a_format_has_few_parts() -> None:
    """Python would try every way to share the digits of a text among them."""

    def faults(written: object) -> list[str]:
        return [fault.rule for fault in setting_faults("x", "strftime_format", written)]

    assert faults("%Y-%m-%dT%H:%M:%S.%f%z") == []
    assert faults("%d%m%y%H%M%S%j%U%w%f%Y") == ["must be a format of at most 10 parts (%)"]
    assert faults("x" * 1001) == faults(3) == ["must be a format of at most 10 parts (%)"]
