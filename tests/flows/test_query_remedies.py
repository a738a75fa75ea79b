"""Remedies of questions: they list what is declared, at most ten, and say how numbers are asked for."""

from __future__ import annotations

import pytest

import penstock
from penstock.flows.query_remedies import _one_of
from penstock.flows.query_text import QueryRefused, parse_query
from tests.support.question_house import asked, set_up
from tests.support.workplace import Workplace


def test_what_is_not_declared_is_refused_with_what_is(workplace: Workplace) -> None:
    data = set_up(workplace)

    def remedies(text: str) -> dict[str, str]:
        with pytest.raises(QueryRefused) as refused:
            asked(data, text, epsilon="1/4")
        return {fault.field: fault.remedy for fault in refused.value.faults}

    assert "region" in remedies("count where nothing is North")["query.where.0.column"]
    assert "North" in remedies("count where region is Atlantis")["query.where.0.is_in"]
    assert remedies("count where region is North or North")["query.where.0.is_in"] == "Remove the repetition."
    assert "age from 40 below 41" in remedies("count where age is 40")["query.where.0.is_in"]
    assert "age from 40 below 41" in remedies("count where age is old")["query.where.0.is_in"]
    assert "education" in remedies("count by age")["query.by"]
    assert "age" in remedies("mean of region")["query.of"]
    assert "person_id" not in remedies("mean of person_id")["query.of"]
    assert remedies("count where age from 40 below 30")["query.where.0.below"] == "Correct one of them."


def test_a_long_list_ends_with_dots() -> None:
    assert _one_of("abcdefghij") == "Declared are: a, b, c, d, e, f, g, h, i, j."
    assert _one_of("abcdefghijk").endswith("i, j, ....")


def test_a_second_by_is_told_as_such() -> None:
    with pytest.raises(QueryRefused, match="must have at most one by, at character 17"):
        parse_query("count by region by education")
    with pytest.raises(QueryRefused, match="needs where, and, or, by, or the end"):
        parse_query('count by "by" of')


def test_a_float_is_not_exact(workplace: Workplace) -> None:
    with pytest.raises(QueryRefused) as refused:
        penstock.plan_question(set_up(workplace), "count by region", epsilon=0.5)  # type: ignore[arg-type]
    assert refused.value.faults[0].remedy == 'A float is not exact; write it as text: "0.5".'
