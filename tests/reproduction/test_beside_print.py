"""Verdicts on a number: the same, corrected, close, not reproducible, or different."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.mechanisms.refusal import SpecRefused
from penstock.reproduction import tables
from penstock.reproduction.beside_print import Row, near, of_runs, statement, unreproducible, verdict
from penstock.reproduction.entry import Given, Printed, Table

RUNS = np.array([1.0, 2.0, 3.0, 2.0])


def test_a_mean_of_runs_is_close_where_chance_can_have_printed_the_other_number() -> None:
    row = of_runs("a", RUNS, "2.9", source_runs=2)
    assert (row.verdict, row.recomputed, row.note) == ("close", "2.0000", "4 runs, the source 2")
    # 4 sd sqrt(1/2 + 1/4) and half a unit: 4 * 0.8165 * 0.8660 + 0.05
    assert row.interval == ("-0.8784", "4.8784")
    assert of_runs("a", RUNS, "4.9", source_runs=2).verdict == "differs"
    assert of_runs("a", RUNS, "2.0", source_runs=2).verdict == "same"


@pytest.mark.parametrize(("runs", "source_runs"), [(RUNS, 5), (RUNS[:1], 1)])
def test_fewer_runs_than_the_source_are_no_comparison(runs: np.ndarray, source_runs: int) -> None:
    with pytest.raises(ValueError, match="as many runs"):
        of_runs("a", runs, "2.0", source_runs=source_runs)


def test_words_are_the_same_corrected_or_different() -> None:
    assert statement("a", "yes", "yes").verdict == "same"
    assert statement("a", "yes", "no", corrected="no").verdict == "corrected"
    assert statement("a", "yes", "no").verdict == "differs"
    assert statement("a", "yes", "yes", corrected="no").verdict == "differs"


def test_only_the_same_corrected_and_close_hold() -> None:
    assert near("a", 1.0, "1.1", True, "").holds
    assert not near("a", 1.0, "1.1", False, "").holds
    row = unreproducible("a", "1.1", "nobody knows")
    assert (row.holds, row.agrees, row.recomputed) == (False, False, None)
    assert row.note == "not reproducible because nobody knows"


def listed(monkeypatch: pytest.MonkeyPatch, *rows: Row, unavailable: str = "") -> None:
    def found(_: Printed, __: Given) -> list[Row]:
        return list(rows)

    table = Table(
        name="a-1",
        file="individual_tables",
        key="table_1",
        rows=None if unavailable else found,
        unavailable=unavailable,
    )
    whole = tables.TABLES["individual-2"]
    monkeypatch.setattr(tables, "TABLES", {"a-1": table, "individual-2": whole})
    monkeypatch.setattr(tables, "NAMES", ("a-1", "individual-2"))


def test_a_number_that_is_not_reproducible_keeps_the_list_from_holding(monkeypatch: pytest.MonkeyPatch) -> None:
    listed(monkeypatch, statement("b", "yes", "yes"), unreproducible("c", "7", "nobody knows"))
    document = tables.reproduce([], None)
    assert not document["holds"]
    assert document["tables"][0]["verdict"] == "1 of 2 agree to the printed digits; not reproducible: c"


def test_a_table_of_what_was_never_published_is_listed_and_counts_neither_way(monkeypatch: pytest.MonkeyPatch) -> None:
    listed(monkeypatch, unavailable="its data were never published")
    document = tables.reproduce([], None)
    assert document["holds"]
    assert document["tables"][0]["verdict"] == "not reproducible because its data were never published"
    assert not tables.reproduce(["a"], None)["holds"]


def test_progress_names_the_table_and_the_share_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, float]] = []

    def slow(_: Printed, given: Given) -> list[Row]:
        given.progress(0.5)
        return []

    listed(monkeypatch)
    monkeypatch.setitem(tables.TABLES, "a-1", Table(name="a-1", file="individual_tables", key="table_1", rows=slow))
    tables.reproduce([], None, lambda name, share: seen.append((name, share)))
    assert seen == [("a-1", 0.0), ("a-1", 0.25), ("individual-2", 0.5)]


def test_a_name_of_nothing_is_refused() -> None:
    with pytest.raises(SpecRefused, match="or one of thesis"):
        tables.reproduce(["thesis-4.1", "nothing"], None)


def test_many_numbers_that_are_not_reproducible_are_counted_not_listed() -> None:
    lost = [unreproducible(f"row {place}, column {place}", "7", "nobody knows") for place in range(7)]
    assert verdict(lost[:6], "exactly").endswith("row 4, column 4, row 5, column 5")
    assert verdict(lost, "exactly") == "0 of 7 agree exactly; not reproducible: 7 numbers"
