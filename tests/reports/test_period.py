"""Which editions are periods, and which days these have."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.reports.period import period_of

DAYS = st.dates(date(1, 1, 1), date(9999, 12, 31))


@pytest.mark.parametrize(
    ("edition", "interval"),
    [
        ("2026", "2026-01-01/2026-12-31"),
        ("2026-Q1", "2026-01-01/2026-03-31"),
        ("2026-Q3", "2026-07-01/2026-09-30"),
        ("2026-11", "2026-11-01/2026-11-30"),
        ("2024-02", "2024-02-01/2024-02-29"),
        ("2100-02", "2100-02-01/2100-02-28"),
        ("2026-11-09", "2026-11-09/2026-11-09"),
        ("2026-Q3 final", "2026-07-01/2026-09-30"),
    ],
)
def test_an_edition_that_begins_with_a_period_is_about_its_days(edition: str, interval: str) -> None:
    found = period_of(edition)
    assert found is not None
    assert (found.interval, found.text) == (interval, edition.partition(" ")[0])


@pytest.mark.parametrize(
    "edition",
    [
        *(None, "spring", "final 2026-Q3", "2026-13", "2026-00", "2026-Q0", "2026-Q5", "2026-02-30", "2026-1", "0000"),
        *("2026-Q3-01", "20261", "2026.11", "2026-Q3_final", "2026-q3", "v2026", "２０２６"),
    ],
)
def test_any_other_edition_is_a_name(edition: str | None) -> None:
    assert period_of(edition) is None


@given(DAYS)
def test_every_day_is_in_its_year_its_quarter_its_month_and_no_other(day: date) -> None:
    year = f"{day.year:04}"
    quarters = {f"{year}-Q{number}" for number in range(1, 5)}
    months = {f"{year}-{number:02}" for number in range(1, 13)}
    for names, own in (
        ({year}, year),
        (quarters, f"{year}-Q{(day.month + 2) // 3}"),
        (months, f"{year}-{day.month:02}"),
        ({day.isoformat()}, day.isoformat()),
    ):
        around = {name: period_of(name) for name in names}
        assert {name for name, each in around.items() if each is not None and each.first <= day <= each.last} == {own}


@given(st.integers(1, 9998))
def test_the_months_and_the_quarters_of_a_year_fill_it_without_a_gap(year: int) -> None:
    whole = period_of(f"{year:04}")
    assert whole is not None
    for parts in ([f"{year:04}-{number:02}" for number in range(1, 13)], [f"{year:04}-Q{n}" for n in range(1, 5)]):
        found = [each for each in map(period_of, parts) if each is not None]
        assert (found[0].first, found[-1].last, len(found)) == (whole.first, whole.last, len(parts))
        assert all(after.first - before.last == timedelta(1) for before, after in pairwise(found))
