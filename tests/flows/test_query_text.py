"""A question as text: what is written is read back, and what is not of the language is refused with its place."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.flows.query_text import QueryRefused, as_text, parse_conditions, parse_query, read_query
from penstock.mechanisms.questions import Condition, Query
from tests.support.order import examples

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12) | st.sampled_from(
    ["of", "where", "by", "is", "12", "-3", "1/2", "a b", 'say "no"', "count", "<=50K", "é"]
)
numbers = st.fractions(min_value=0, max_value=10**6, max_denominator=10**6)
ALPHABET = 'abc of where by is from below and or "0/1-.<=\\\t\n'


@st.composite
def conditions(draw: st.DrawFn) -> Condition:
    column = draw(texts)
    if draw(st.booleans()):
        return Condition(column=column, is_in=tuple(draw(st.lists(texts, min_size=1, max_size=3, unique=True))))
    low, high = sorted(draw(st.tuples(numbers, numbers).filter(lambda pair: pair[0] != pair[1])))
    either = draw(st.sampled_from(["both", "low", "high"]))
    return Condition(column=column, at_least=None if either == "high" else low, below=None if either == "low" else high)


@st.composite
def queries(draw: st.DrawFn) -> Query:
    statistic = draw(st.sampled_from(["count", "sum", "mean", "median", "quantile", "minimum", "maximum", "value"]))
    individual = None
    if statistic == "value":
        individual = draw(texts | st.integers(-(10**17), 10**17))
    return Query(
        statistic=statistic,
        of=None if statistic == "count" else draw(texts),
        share=draw(st.fractions(0, 1, max_denominator=100)) if statistic == "quantile" else None,
        where=() if statistic == "value" else tuple(draw(st.lists(conditions(), max_size=3))),
        by=None if statistic == "value" else draw(st.none() | texts),
        individual=individual,
    )


@settings(max_examples=examples(200))
@given(queries())
def test_what_is_written_is_read_back(query: Query) -> None:
    assert parse_query(as_text(query)) == query


@settings(max_examples=examples(200))
@given(st.text(ALPHABET, max_size=60) | st.lists(st.sampled_from(ALPHABET.split()), max_size=12).map(" ".join))
def test_any_text_is_a_question_or_refused_with_its_place(text: str) -> None:
    refused, found = None, None
    try:
        found = parse_query(text)
    except QueryRefused as refusal:
        refused = refusal
    if found is not None:
        assert parse_query(as_text(found)) == found
    else:
        assert refused is not None
        assert all(fault.field.startswith("query") for fault in refused.faults)


def test_a_question_is_read_as_it_says() -> None:
    asked = parse_query("mean of income where sex is F or M and age from 18 below 65 and score below 1/2 by region")
    assert asked == Query(
        statistic="mean",
        of="income",
        where=(
            Condition(column="sex", is_in=("F", "M")),
            Condition(column="age", at_least=18, below=65),
            Condition(column="score", below="1/2"),
        ),
        by="region",
    )
    assert parse_query(' quantile 0.25 of "hours per week" ').share == Fraction(1, 4)
    assert parse_query("value of income for 17").individual == 17
    assert parse_query('value of income for "017"').individual == "017"


@pytest.mark.parametrize(
    ("text", "place", "needed"),
    [
        ("", 1, "one of count"),
        ("average of income", 1, "one of count"),
        ('"count"', 1, "one of count"),
        ("mean income", 6, "the word of"),
        ("mean of", 8, "a column"),
        ("mean of of", 9, "a column"),
        ("mean of 12", 9, "a column"),
        ("quantile of income", 10, "a share"),
        ("value of income", 16, "the word for"),
        ("value of income for by", 21, "an individual"),
        ("count where", 12, "a column"),
        ("count where sex", 16, "is, from or below"),
        ("count where sex is", 19, "a category"),
        ("count where age from x", 22, "a number"),
        ('count where age from "18"', 22, "a number"),
        ("count where age below", 22, "a number"),
        ("count where age below 1e9", 23, "a number"),
        ("count by", 9, "a column to group by"),
        ("count; drop table", 1, "one of count"),
        ("count by region by sex", 17, "at most one by"),
    ],
)
def test_a_fault_says_at_which_character(text: str, place: int, needed: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        parse_query(text)
    (fault,) = refused.value.faults
    assert (refused.value.code, fault.field) == ("query-refused", "query")
    assert fault.rule.endswith(f"at character {place}")
    assert needed in fault.rule


@pytest.mark.parametrize(
    "text", ['count where sex is "F', 'count by "\\q"', "x" * 10_001], ids=["open", "escape", "long"]
)
def test_broken_quotes_and_long_texts_are_refused(text: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        parse_query(text)
    assert refused.value.faults[0].field == "query"


def test_conditions_of_a_form_name_their_field() -> None:
    assert parse_conditions("sex is F and age from 18", "where.0") == [
        {"column": "sex", "is_in": ["F"]},
        {"column": "age", "at_least": "18"},
    ]
    with pytest.raises(QueryRefused) as refused:
        parse_conditions("sex is F by region", "where.0")
    assert refused.value.faults[0].field == "where.0"


def test_a_file_holds_the_same_keys(tmp_path: Path) -> None:
    asked = parse_query("sum of income where sex is F by region")
    raw = asked.model_dump(mode="json")
    (tmp_path / "q.json").write_text(json.dumps(raw), encoding="utf-8")
    (tmp_path / "q.yaml").write_text(yaml.safe_dump(raw), encoding="utf-8")
    assert read_query(str(tmp_path / "q.json")) == read_query(str(tmp_path / "q.yaml")) == asked
    assert read_query("count") == Query(statistic="count")


def test_a_file_with_other_keys_is_refused(tmp_path: Path) -> None:
    (tmp_path / "q.json").write_text('{"statistic": "count", "sql": "select 1"}', encoding="utf-8")
    with pytest.raises(QueryRefused) as refused:
        read_query(str(tmp_path / "q.json"))
    assert [fault.field for fault in refused.value.faults] == ["query.sql"]
    with pytest.raises(QueryRefused):
        read_query(str(tmp_path / "absent.json"))
