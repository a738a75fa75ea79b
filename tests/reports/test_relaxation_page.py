"""What a relaxation bought and leaks, as those who decide read it."""

from __future__ import annotations

import re
from typing import Any

from penstock.reports.pages import confidential_report
from penstock.reports.relaxed_words import relaxation_in_short
from tests.records import page_facts as facts
from tests.reports.page_maker import outline, text_of

CELL: dict[str, Any] = {
    "cell": {"region": "<N&>"},
    "records": 40,
    "used": 12.5,
    "declared": 50.0,
    "smooth": None,
    "gain": 4.0,
    "half_width": 37.0,
    "declared_half_width": 150.0,
    "outside": 2,
    "neighbours": None,
    "tells": "The smallest and the largest value are 12.5 apart.",
}
FIGURE: dict[str, Any] = {
    "name": "income_sum",
    "what": "sum of income",
    "epsilon": "1/2",
    "cells": 30,
    "without_noise": 1,
    "gains": [1.5, 4.0],
    "outside": 7,
    "outside_cells": 4,
    "exact_neighbours": None,
    "together": 80.0,
    "answers": 386,
    "tells": "It follows from the range.",
    "worst": [CELL],
}
COUNT = {**FIGURE, "name": "count", "what": "number of records", "tells": "Nothing: it is the same.", "outside": 0}
BDP: dict[str, Any] = {"model": "bdp", "records": 1200, "outside": 7, "figures": [FIGURE, COUNT]}
INDIVIDUAL = {
    **FIGURE,
    "outside": None,
    "outside_cells": None,
    "exact_neighbours": 1,
    "worst": [{**CELL, "outside": None, "neighbours": [0.0, 20.0], "smooth": 13.5}],
}
IDP = {"model": "idp", "records": 1200, "outside": None, "figures": [INDIVIDUAL]}


def page(found: dict[str, Any] | None) -> str:
    return confidential_report(facts.confidential(relaxation=found, rows_are="cells"))


def test_the_section_is_well_formed_and_its_tables_are_labelled() -> None:
    for found in (BDP, IDP):
        html = page(found)
        parsed = outline(html)
        assert parsed.tags.count("caption") == parsed.tags.count("table")
        assert len(re.findall(r"<th\b", html)) == len(re.findall(r"<th scope=\"(?:col|row)\"", html))
        assert "<N&>" not in html


def test_the_section_says_who_has_no_deniability_and_what_the_noise_tells() -> None:
    text = text_of(page(BDP))
    assert "would need 1.50 to 4.00 times the noise that was drawn" in text
    assert "7 in 4 cells" in text
    assert "The smallest and the largest value are 12.5 apart." in text
    assert "the worst 1 of 30 cells" in text
    assert "a smooth one is not known" in text
    assert text.count("Number of records") == 0


def test_the_section_says_which_worlds_are_told_apart() -> None:
    text = text_of(page(IDP))
    assert "0 to 20.0" in text
    assert "13.5" in text
    assert "Of neighbours" in text
    assert "deniability" not in text


def test_a_column_that_would_be_empty_is_left_out() -> None:
    uncounted = {**INDIVIDUAL, "exact_neighbours": None, "worst": [{**INDIVIDUAL["worst"][0], "neighbours": None}]}
    text = text_of(page({**IDP, "figures": [uncounted]}))
    assert "neighbours”" not in text
    assert "Of neighbours" not in text
    assert "which may even be 0" in text


def test_the_section_says_what_its_numbers_mean() -> None:
    text = text_of(page(BDP))
    assert "to within a tenth, with probability 0.95" in text
    assert "means of groups whose size is secret" in text
    assert "only those that hold this very record" in text


def test_there_is_no_section_without_a_relaxation() -> None:
    assert "relaxation" not in page(None)


def test_the_account_fits_in_one_sentence() -> None:
    assert relaxation_in_short(BDP) == (
        "Differential privacy with the same epsilon would need 1.50 to 4.00 times the noise that was drawn; of 1,200 "
        "records it leaves 7 records without deniability in some figure; about 386 answers to the same question show "
        "how large the noise is, and so what it tells."
    )
    assert "1 cell below would have had no noise if one record were another" in relaxation_in_short(IDP)
    unknown = relaxation_in_short({**BDP, "outside": None, "figures": [{**COUNT, "gains": None}]})
    assert unknown.startswith("No domain is declared, without which differential privacy could not be had at all; ")
    assert "was not counted" in unknown
    assert unknown.endswith("the size of the noise tells nothing about the records.")
    assert "need 1.00 times the noise" in relaxation_in_short({**BDP, "figures": [{**COUNT, "gains": [1.0, 1.0]}]})
