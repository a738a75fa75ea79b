"""Soria-Comas 2013 (thesis), chapter 7: its worked examples by `penstock reproduce`, and wrong ways to them."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from penstock.mechanisms.microaggregation.ranking import block_starts
from penstock.mechanisms.randomness import seeded
from penstock.reproduction import thesis_7
from penstock.reproduction.beside_print import Row, printed_tables
from penstock.reproduction.computed import (
    closeness_of,
    counts_by_the_recipe,
    counts_of_a_release,
    masses_of_a_range,
    masses_of_buckets,
    minimal_generalisations,
    rounded_sizes,
)
from penstock.reproduction.entry import Given

TABLES = {table.name: table for table in thesis_7.TABLES}
FOUND = {
    "thesis-7.3": {"same": 4},
    "thesis-7.4": {"same": 8},
    "thesis-7.5": {"same": 9},
    "thesis-7.6": {"same": 10, "corrected": 2},
    "thesis-7.7": {"same": 6},
}


def rows_of(name: str, **other: Any) -> list[Row]:
    table = TABLES[name]
    assert table.rows is not None
    return table.rows(printed_tables(table.file)[table.key] | other, Given())


def differing(rows: list[Row]) -> set[str]:
    return {row.name for row in rows if row.verdict == "differs"}


@pytest.mark.parametrize("name", FOUND)
def test_every_example_is_as_printed_or_corrected(name: str) -> None:
    assert Counter(row.verdict for row in rows_of(name)) == FOUND[name]


def test_a_release_that_counts_by_the_recipe_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thesis_7, "counts_of_a_release", lambda records, t, *_: counts_by_the_recipe(records, t))
    assert differing(rows_of("thesis-7.6")) == {"17 records in a release, closeness"}


def test_a_recipe_that_keeps_its_promise_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    right = thesis_7.counts_of_a_release
    monkeypatch.setattr(thesis_7, "counts_by_the_recipe", lambda records, t: right(records, t, 5, seeded(1)))
    assert differing(rows_of("thesis-7.6")) == {"17 records by the recipe, closeness"}


def test_blocks_from_one_end_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thesis_7, "from_both_ends", block_starts)
    assert differing(rows_of("thesis-7.4")) == {"Algorithm 7.1, ten records, k = 3, sizes"}


def test_another_partition_differs() -> None:
    printed = printed_tables("examples_of_chapter_7")["partition"]["groups"]
    with pytest.raises(ValueError, match="infinite"):
        rows_of("thesis-7.5", groups=sorted(printed))
    exchanged = [printed[0], printed[4], *printed[2:4], printed[1], *printed[5:]]
    wrong = {f"{group}, {what}" for group in ("P1", "P2") for what in ("listed", "shares")}
    assert differing(rows_of("thesis-7.5", groups=exchanged)) == wrong


def test_sixteen_records_have_three_minimal_generalisations_and_other_hierarchies_others() -> None:
    pairs = [[list("ABCD"), ["AB", "AB", "CD", "CD"], list("****")]] * 2
    assert sorted(map(tuple, minimal_generalisations(pairs, 4).tolist())) == [(0, 2), (1, 1), (2, 0)]
    flat = [[levels[0], levels[2]] for levels in pairs]
    assert sorted(map(tuple, minimal_generalisations(flat, 4).tolist())) == [(0, 1), (1, 0)]


@pytest.mark.parametrize("t", [2, 3, 7])
def test_masses_of_buckets_reach_t_and_no_more(t: int) -> None:
    masses = masses_of_buckets(Fraction(t))
    assert masses.sum(axis=0).tolist() == masses.sum(axis=1).tolist() == [1] * (t + 1)
    assert max(thesis_7.closeness_to_equal(row) for row in masses) == t


def test_a_range_of_a_third_is_the_only_one_that_gives_a_density() -> None:
    for buckets in (1, 2, 3, 4, 6):
        assert masses_of_a_range(Fraction(2), buckets).sum() == 1
    assert masses_of_a_range(Fraction(2), 3).tolist() == [Fraction(1, 6), Fraction(2, 3), Fraction(1, 6)]


@pytest.mark.parametrize(("records", "t"), [*product((17, 23, 40), (2, 3))])
def test_releases_keep_the_bound_that_the_recipe_may_miss(records: int, t: int) -> None:
    released = counts_of_a_release(records, Fraction(t), t + 3, seeded(records))
    assert closeness_of(released).max() <= t
    assert released.sum() == counts_by_the_recipe(records, Fraction(t)).sum() == records
    assert released.sum(axis=1).min() >= t + 3


def test_rounded_sizes_are_those_of_the_cuts() -> None:
    assert rounded_sizes(17, 3).tolist() == [6, 5, 6]
    assert rounded_sizes(12, 3).tolist() == [4, 4, 4]
    assert int(np.ptp(rounded_sizes(1000, 7))) == 1
