"""Reports of tables and of tables beside the records: what they show, what they escape, and what stays secret."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from penstock.mechanisms.layout import Figure, Layout
from penstock.reports.page_facts import SeveralConfidential
from penstock.reports.pages import confidential_report, public_report
from penstock.reports.table_sheet import sheet_of
from tests.records import page_facts as facts
from tests.reports.page_maker import BDP_GUARANTEE, linked_page, outline, table_page, text_of


def test_a_table_report_shows_each_number_with_its_error_and_says_what_it_covers() -> None:
    text = text_of(table_page(facts.DP_GUARANTEE))
    assert "Cells 9, 5 of them totals" in text
    assert "count : number of records; age_mean : mean of age." in text
    assert "about 95 % of the noise" in text
    assert "sampling error is not in it" in text
    assert "f North &amp; South 120 ± 2.8 41.50 ± 0.50" in text
    assert "m North &amp; South -3 ± 2.8 undefined" in text
    order = [text.index(part) for part in ("All together", "By sex ", "By region ", "By sex and region")]
    assert order == sorted(order)


def test_a_table_report_claims_no_records_where_rows_are_cells() -> None:
    text = text_of(table_page(facts.DP_GUARANTEE))
    assert "A row is a cell of the table and not a record" in text
    assert not re.search(r"Records 9|9 records", text)
    assert "Records 20,000" in text_of(public_report(facts.public()))
    cells = text_of(confidential_report(facts.confidential(records=9, rows_are="cells")))
    assert "Cells 9, from 20,000 records in the source" in cells


def test_both_reports_say_alike_how_many_cells_and_totals_there_are() -> None:
    of_one = facts.confidential(records=9, rows_are="cells", tables={"t": {"cells": 4, "totals": 5}})
    assert "Cells 9, 5 of them totals, from 20,000 records" in text_of(confidential_report(of_one))
    linked = {"a": {"cells": 4, "totals": 1}, "b": {"cells": 1, "totals": 0}}
    outputs = [of_one, replace(of_one, tables=linked), facts.confidential(records=1)]
    alike = ("name", "run", "started", "spec", "source_records", "decision", "validation", "steps", "versions", "looks")
    shared = {name: getattr(of_one, name) for name in alike}
    told = text_of(confidential_report(SeveralConfidential(outputs=outputs, together=(), left_out=(), **shared)))
    for words in ("4 cells and 5 totals", "2 tables", "a 4 cells and 1 total ", "b 1 cell ", "1 record "):
        assert words in told


def test_every_published_error_is_drawn_and_every_drawing_has_its_numbers_in_text() -> None:
    page = table_page(facts.DP_GUARANTEE)
    assert page.count("<svg") == 18
    assert page.count("<circle") == 17  # one mean is not defined
    assert page.count('<line x1="') == 17 * 3
    assert page.count('aria-hidden="true" focusable="false"') == 18


def test_a_secret_error_is_neither_drawn_nor_told() -> None:
    page = table_page(BDP_GUARANTEE, errors=False)
    assert "must stay secret, so there is no standard error and no interval" in text_of(page)
    assert page.count("<circle") == 17
    assert '<line x1="' not in page
    assert "±" not in page
    assert "1.96" not in page


def test_a_table_without_noise_says_so() -> None:
    exact = text_of(table_page(facts.GUARANTEE.model_copy(update={"model": "k_anon"}), errors=False))
    assert "No noise was added." in exact
    assert "secret" not in exact.partition("The table")[2].partition("The columns")[0]


def test_a_table_that_is_cut_says_how_much_is_in_the_files() -> None:
    text = text_of(table_page(facts.DP_GUARANTEE, most_rows=6))
    assert "Here are 6 rows of 9. All of them are in the files below." in text
    assert "By sex and region: the first 1 of 4 rows" in text
    assert "Here are" not in text_of(table_page(facts.DP_GUARANTEE))


def test_names_and_categories_of_a_table_are_escaped() -> None:
    evil = "<script>alert(1)</script>"
    figure = Figure(evil, "count", evil, True)
    layout = Layout(evil, {evil: (evil, "b")}, ((evil,), ()), (figure,), False)
    page = public_report(facts.public(tables={"t": sheet_of(layout, {**layout.codes(), evil: np.arange(3)})}))
    assert "<script" not in page
    outline(page)


def test_a_report_says_which_table_belongs_to_the_records_and_by_which_column() -> None:
    text = text_of(linked_page())
    assert "In tables/buckets.csv and tables/buckets.parquet . Column group links it to the records" in text
    assert "in a table that can be joined to them" in text
    assert "A link is the number of the group that a record is in." in text
    assert "group integer 1 to 800 made: the group" in text
    assert "income ordinal 0 to 24000, 24000 to 500000 released by group" in text
    two = text_of(linked_page(linked=[*facts.LINKED, {**facts.LINKED[0], "name": "buckets_2"}]))
    assert "in tables that can be joined to them" in two
    assert "In tables/buckets_2.csv . Column group" in two


def test_a_report_tells_how_many_records_each_bucket_has() -> None:
    text = text_of(linked_page())
    assert "income: how many records each bucket has over all Bucket Records Share" in text
    assert "0 to 24000 9,999 50.0 %" in text
    assert "24000 to 500000 10,001 50.0 %" in text


def test_of_very_many_buckets_the_first_are_shown() -> None:
    labels = [{"label": f"bucket {place}", "records": 5} for place in range(101)]
    text = text_of(linked_page(labels=[{"column": "income", "labels": labels}]))
    assert "over all, the first 100 of 101 buckets" in text
    assert "bucket 99 5" in text
    assert "bucket 100 5" not in text


def test_a_report_of_plain_records_has_neither_tables_nor_buckets() -> None:
    text = text_of(public_report(facts.public()))
    assert "The tables beside the records" not in text
    assert "The buckets" not in text
    assert "A link is" not in text


def test_names_and_labels_of_linked_tables_are_escaped() -> None:
    evil = "<script>alert(1)</script>"
    column = facts.told(evil, evil, evil, categories=[evil])
    linked = [{"name": evil, "key": evil, "columns": [column]}]
    labels = [{"column": evil, "labels": [{"label": evil, "records": 1}]}]
    page = linked_page(linked=linked, labels=labels)
    assert "<script" not in page
    outline(page)
