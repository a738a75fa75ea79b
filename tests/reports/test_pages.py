"""The pages: what they show, what they escape, and what the public one cannot hold."""

from __future__ import annotations

import dataclasses
import math
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from penstock.reports.pages import SecretInReport, confidential_report, number, public_report, validation_page
from tests.records import page_facts as facts
from tests.reports.page_maker import BDP_GUARANTEE, linked_page, outline, table_page, text_of


def validation() -> str:
    return validation_page("income-survey", "run-1", facts.OUTCOMES)


PAGES = {
    "validation": validation,
    "confidential": lambda: confidential_report(facts.confidential()),
    "public": lambda: public_report(facts.public()),
    "private data": lambda: public_report(facts.public(guarantee=facts.DP_GUARANTEE, noise=facts.NOISE)),
    "table": lambda: table_page(facts.DP_GUARANTEE),
    "linked tables": linked_page,
    "table with secret errors": lambda: table_page(BDP_GUARANTEE, errors=False),
}
pages = pytest.mark.parametrize("name", PAGES)


@pages
def test_a_page_is_well_formed_and_runs_and_fetches_nothing(name: str) -> None:
    page = PAGES[name]()
    parsed = outline(page)
    assert not {"script", "link", "img", "iframe", "object", "embed", "form", "a", "base"} & set(parsed.tags)
    assert not {"src", "href", "style", "action"} & {attribute for attribute, _ in parsed.attributes}
    assert "://" not in page
    assert "url(" not in page
    assert "@import" not in page


@pages
def test_every_table_has_a_caption_and_every_header_cell_a_scope(name: str) -> None:
    page = PAGES[name]()
    parsed = outline(page)
    assert parsed.tags.count("caption") == parsed.tags.count("table") > 0
    assert len(re.findall(r"<th\b", page)) == len(re.findall(r"<th scope=\"(?:col|row)\"", page))


@pages
def test_only_the_pages_for_the_house_are_marked_confidential(name: str) -> None:
    assert ("CONFIDENTIAL: do not publish" in PAGES[name]()) == (name in ("validation", "confidential"))


def test_names_rules_and_settings_are_escaped_on_every_page() -> None:
    evil = "<script>alert('x')</script>&\""
    outcome = facts.Outcome(evil, evil, evil, "suite", False, 1)
    column = {"name": evil, "type": None, "domain": None, "categories": [evil], "role": "weight", "treatment": evil}
    guarantee = facts.GUARANTEE.model_copy(update={"statement": evil, "parameters": {evil: evil}})
    measured = facts.measurement(evil, 1.0, by_column={evil: 1.0}, columns=[evil], attacker=evil)
    for page in (
        validation_page(evil, evil, [outcome, dataclasses.replace(outcome, success=True)]),
        confidential_report(
            facts.confidential(name=evil, spec={evil: evil}, guarantee=guarantee, measurements=[measured])
        ),
        public_report(
            facts.public(
                name=evil,
                columns=[column],
                usage=[evil],
                guarantee=guarantee,
                log_head=evil,
                noise=[facts.NOISE[0] | {"column": evil, "epsilon": evil, "order": evil}],
            )
        ),
    ):
        assert "<script" not in page
        assert "&lt;script&gt;" in page
        outline(page)


def test_a_fact_that_is_missing_is_an_error_and_not_a_blank() -> None:
    with pytest.raises(UndefinedError, match="treatment"):
        public_report(
            facts.public(columns=[{"name": "a", "type": "integer", "domain": [0, 1], "role": "confidential"}])
        )
    measured = facts.measurement("linkage", 1.0)
    del measured["attacker"]
    with pytest.raises(UndefinedError, match="attacker"):
        confidential_report(facts.confidential(measurements=[measured]))


def test_an_unknown_verdict_is_an_error() -> None:
    with pytest.raises(KeyError):
        public_report(facts.public(gates=[{"gate": "a", "rule": "b", "verdict": "fine"}]))


def test_the_validation_page_shows_failures_first_with_counts_and_shares() -> None:
    text = text_of(validation())
    assert "3 of 6 expectations failed, so the release stopped here." in text
    assert text.index("Failed") < text.index("every value lies from 0 to 120") < text.index("Met")
    assert text.index("Met") < text.index("values to be unique")
    assert "3 below 0.1 %" in text
    assert "4,321 21.6 %" in text
    assert "mean to be between, max value 9 – –" in text


def test_the_validation_page_says_when_all_was_met_or_nothing_was_expected() -> None:
    met = [outcome for outcome in facts.OUTCOMES if outcome.success]
    assert "All 3 expectations were met." in validation_page("a", "b", met)
    assert "There were no expectations." in validation_page("a", "b", [])


@pytest.mark.parametrize(
    ("failing", "total", "shown"),
    [(0, 9, "0 %"), (9, 9, "100 %"), (1, 10_000, "below 0.1 %"), (9_999, 10_000, "above 99.9 %"), (0, 0, "–")],
)
def test_a_share_never_rounds_something_to_nothing_or_to_everything(failing: int, total: int, shown: str) -> None:
    outcome = facts.Outcome("expect_x", "a", "rule", "suite", False, failing, total)
    assert f"{number(failing)} {shown} " in text_of(validation_page("a", "b", [outcome]))


def test_the_confidential_report_begins_with_the_decision_and_its_cause() -> None:
    text = text_of(confidential_report(facts.confidential()))
    assert "This release is refused because of record linkage." in text
    assert text.index("refused because") < text.index("Gates") < text.index("The promise")
    assert text.index("record linkage refused") < text.index("correlation change passed")
    assert "0.0512 0.0488 to 0.0538 outside" in text
    assert "wealth 4.3e-6 0.322" in text
    assert "mechanism: probabilistic_k_anonymity" in text


def test_the_sentence_follows_the_verdict() -> None:
    def sentence(verdict: str, *verdicts: str) -> str:
        results = [
            {"gate": f"g{i}", "verdict": v, "rule": "r", "value": None, "interval": None, "reason": ""}
            for i, v in enumerate(verdicts)
        ]
        return text_of(confidential_report(facts.confidential(decision={"verdict": verdict, "results": results})))

    assert "may be published: every gate and re-check passed (2 in all)." in sentence("pass", "pass", "pass")
    assert "needs a reviewer's judgement because of g1." in sentence("review", "pass", "review").replace("&#39;", "'")
    assert "is refused because of g0, g2." in sentence("refuse", "refuse", "review", "refuse")
    assert "This release is refused. " in sentence("refuse")


def test_a_report_without_limits_or_checks_says_so() -> None:
    text = text_of(confidential_report(facts.confidential(checks=[], decision={"verdict": "refuse", "results": []})))
    assert "The spec sets no limit on any measure." in text
    assert "No check was run." in text
    assert "No limit was set on any measure." in text_of(public_report(facts.public(gates=[])))


def test_the_public_report_tells_what_is_promised_and_how_to_verify_it() -> None:
    text = text_of(public_report(facts.public()))
    for part in (
        facts.GUARANTEE.statement,
        *facts.GUARANTEE.assumptions,
        *facts.GUARANTEE.not_promised,
        *facts.GUARANTEE.public,
        "penstock verify FOLDER --key release.pub",
        "swapped within groups of at least 100 records",
        "North, South, East, West",
        "1.23 MB",
        "512 bytes",
        "Correlations between columns are weaker than in the source.",
        "b5bb9d8014a0f9b1" * 4,
    ):
        assert part.replace("'", "&#39;") in text


def test_no_measured_value_reaches_the_public_report_even_when_it_is_handed_over() -> None:
    """The same search finds every value on the confidential page, so it can find one here."""
    report = facts.confidential()
    measured = {m["value"] for m in report.measurements} | {
        bound for m in report.measurements for bound in m["interval"] or ()
    }
    shown = {number(value) for value in measured} | {str(value) for value in measured}
    inside = text_of(confidential_report(report))
    assert {number(value) for value in measured} == {value for value in shown if value in inside}
    outside = text_of(public_report(facts.public(gates=report.decision["results"])))
    assert not [value for value in shown if value in outside]
    assert not re.search(r"\boutside\b", outside)


def test_what_the_guarantee_lists_as_secret_is_not_in_the_public_report() -> None:
    page = public_report(facts.public())
    assert not [secret for secret in facts.GUARANTEE.secret if secret in page]


@pytest.mark.parametrize("parameters", [{"seed": 1}, {"parts": [{"k": 2}, {"Order-of-rows": 3}]}])
def test_a_secret_among_the_parameters_stops_the_public_report(parameters: dict[str, object]) -> None:
    guarantee = facts.GUARANTEE.model_copy(update={"parameters": parameters})
    with pytest.raises(SecretInReport, match="must not be shown: the guarantee itself lists it as secret") as refused:
        public_report(facts.public(guarantee=guarantee))
    assert refused.value.kind == "integrity"
    assert len(refused.value.faults) == 1


def test_nested_parameters_are_shown_as_lines() -> None:
    parameters = {"epsilon": "3/2", "parts": [{"epsilon": "1"}, {"epsilon": "1/2"}], "columns": ["a", "b"]}
    guarantee = facts.GUARANTEE.model_copy(update={"model": "dp", "parameters": parameters})
    text = text_of(public_report(facts.public(guarantee=guarantee)))
    assert "differential privacy epsilon 3/2 parts 1: epsilon 1 parts 2: epsilon 1/2 columns a, b" in text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "–"),
        (True, "yes"),
        (False, "no"),
        (0, "0"),
        (1234567, "1,234,567"),
        (0.0, "0"),
        (-0.0, "0"),
        (0.05, "0.0500"),
        (0.001, "0.00100"),
        (0.00099999, "0.00100"),
        (0.000999, "9.99e-4"),
        (1e-6, "1e-6"),
        (-1.234e-9, "-1.23e-9"),
        (5e-324, "4.94e-324"),
        (0.9999, "1.00"),
        (12.345, "12.3"),
        (-99.95, "-100"),
        (123456.0, "123,000"),
        (999999.0, "1e6"),
        (1.7976931348623157e308, "1.8e308"),
        (math.nan, "undefined"),
        (math.inf, "infinite"),
        (-math.inf, "minus infinite"),
        (Fraction(1, 3), "1/3"),
        ("104/4099", "104/4099"),
    ],
)
def test_awkward_numbers_are_readable(value: object, shown: str) -> None:
    assert number(value) == shown


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_shown_to_three_significant_digits(value: float) -> None:
    shown = float(number(value).replace(",", ""))
    assert math.isclose(shown, value, rel_tol=0.0051) or abs(value) < 1e-300 or abs(value) > 1.79e308


def test_the_confidential_report_names_measures_without_a_value() -> None:
    assert "Without a value for these columns: sse." in confidential_report(facts.confidential())
    assert "Without a value" not in confidential_report(facts.confidential(undefined=[]))


def test_the_public_report_tells_how_large_the_noise_is_where_there_is_any() -> None:
    text = text_of(PAGES["private data"]())
    assert "rows are not persons" in text
    assert "nothing here was measured on the data" in text
    assert "age 1/2 corners in turn 1,133 18.6 0.222 7.19" in text
    assert "region 1/3 corners in turn 1,133 – 0.783 –" in text
    assert "rows are not persons" not in text_of(PAGES["public"]())


def test_the_public_report_tells_which_values_may_be_clamped() -> None:
    income = {"name": "income", "type": "continuous", "domain": [0, 9], "role": "confidential", "treatment": "none"}
    clamped = text_of(public_report(facts.public(columns=[{**income, "outside": "clamp"}])))
    assert "0 to 9; a value outside counts as the nearest bound" in clamped
    assert "value outside" not in text_of(public_report(facts.public(columns=[{**income, "outside": "refuse"}])))


def test_the_confidential_report_tells_what_clamping_took() -> None:
    cells = [
        {"cell": {"region": "North", "kind": "a"}, "true": 6e7, "bias": -5.7e7},
        {"cell": {"region": "South", "kind": "b"}, "true": None, "bias": None},
    ]
    income = {"column": "income", "values": 1000, "clamped": 30, "true": 9e7, "bias": -6e7, "biased": 3, "cells": cells}
    alone = [{"cell": {}, "true": 5.0, "bias": 1.0}]
    age = {"column": "age", "values": 10, "clamped": 1, "true": 5.0, "bias": 1.0, "biased": 1, "cells": alone}
    hours = {"column": "hours", "values": 10, "clamped": 0, "true": None, "bias": None, "biased": 0, "cells": []}
    text = text_of(confidential_report(facts.confidential(clamped=[income, age, hours])))
    assert "income 1,000 30 3.0 % 9e7 -6e7" in text
    assert "hours 10 0 0 % – –" in text
    assert "Bias of income by cell, the largest first: 2 of 3 cells" in text
    assert "North a 6e7 3e6 -5.7e7 South b – – –" in text
    assert "all 5.00 6.00 1.00" in text
    assert "Clamped values" not in text_of(confidential_report(facts.confidential()))


def test_who_decides_about_a_private_release_is_told_not_to_look() -> None:
    """Where promises add up, whether a release appears must not depend on what was measured."""
    warned = text_of(confidential_report(facts.confidential(guarantee=facts.DP_GUARANTEE)))
    assert "Do not decide about publication by these values." in warned
    assert "Do not decide" not in text_of(confidential_report(facts.confidential()))


def test_the_confidential_report_tells_that_not_all_records_were_used() -> None:
    assert "Records 20,000 of 25,000 in the source" in text_of(
        confidential_report(facts.confidential(source_records=25_000))
    )
    assert "in the source" not in text_of(confidential_report(facts.confidential())).partition("Validation")[0]
