"""Every number on the page about recurring releases, computed anew; with the noise that releases draw."""

from __future__ import annotations

import re
from fractions import Fraction
from math import exp, sqrt
from pathlib import Path

import numpy as np
import pytest
import yaml

from penstock.flows.account_left import account_left
from penstock.flows.planning import draw_up_plan
from penstock.flows.preview import preview
from penstock.flows.spec import load_spec
from penstock.mechanisms.composition import Charge, composed
from penstock.records import open_records
from penstock.reports.period import period_of
from tests.support.workplace import Workplace, make_table, open_dp_account

PAGE = (Path(__file__).parents[2] / "docs" / "recurring.md").read_text(encoding="utf-8")
TEXT = " ".join(PAGE.split())
MONTH, YEAR = Fraction(1, 4), Fraction(3)
MONTHS = [f"2026-{number:02}" for number in range(1, 13)]


def error(epsilon: Fraction) -> float:
    """The standard error of the two-sided geometric distribution, by its definition."""
    ratio = exp(-float(epsilon))
    places = np.arange(-2000, 2001)
    return sqrt(float(((1 - ratio) / (1 + ratio) * ratio ** np.abs(places) * places**2).sum()))


def within(epsilon: Fraction, figures: int) -> int:
    """The least width that holds 95 % of the noise of one count, or of the difference of two."""
    ratio, places = exp(-float(epsilon)), np.arange(-500, 501)
    one = (1 - ratio) / (1 + ratio) * ratio ** np.abs(places)
    noise = one if figures == 1 else np.convolve(one, one)
    distance = np.abs(np.arange(len(noise)) - len(noise) // 2)
    return next(width for width in range(500) if noise[distance <= width].sum() >= 0.95)


def charge(month: str | None, part: str | None = None) -> Charge:
    return Charge(model="dp", epsilon=MONTH, adjacency="add_remove", unit="row", part=part, edition=month)


def total(*charges: Charge) -> Fraction:
    return composed(charges, model="dp", adjacency="add_remove", unit="row")


def test_the_errors_are_those_of_the_noise() -> None:
    assert f"At 1/4 the standard error of a count is {error(MONTH):.3g} where" in TEXT
    assert f"one release a year at 3 would have {error(YEAR):.3g}." in TEXT
    assert f"a mean over 12 months has {error(MONTH) / sqrt(12):.3g}." in TEXT
    change = sqrt(error(MONTH) ** 2 + error(MONTH) ** 2)
    assert f"At 1/4 a count has {error(MONTH):.3g}, and the change of a count {change:.3g};" in TEXT
    widths = f"± {within(MONTH, 2)} of the truth, where one count is within ± {within(MONTH, 1)}."
    assert f"95 % of all changes are within {widths}" in TEXT


def test_a_plan_of_such_a_table_states_the_same_error_and_the_same_account(workplace: Workplace) -> None:
    make_table(workplace, adjacency="add_remove", epsilon="1/4", sums=[], means=[], dimensions=["region"])
    workplace.raw["budget"] = {"dataset": "labour-2026", "epsilon": "1/4"}
    workplace.raw["source"]["edition"] = "2026-11"
    open_dp_account(3, dataset="labour-2026", adjacency="add_remove")
    ahead = preview(load_spec(workplace.write_spec()), count=False)
    assert any(f"standard error {error(MONTH):.3g}, 95 % interval ± 12;" in line for line in ahead["expect"])
    assert ahead["cost"][:2] == re.findall(r"(?m)^(?:Epsilon|Left): .*|^Left in .*", PAGE)[:2]
    plan = draw_up_plan(load_spec(workplace.spec_file))
    assert list(account_left(plan, open_records())) == [ahead["cost"][1]]


def test_losses_add_up_over_months() -> None:
    assert total(*map(charge, MONTHS)) == YEAR == 12 * MONTH
    assert "Somebody in all 12 loses 3." in TEXT
    assert total(*map(charge, MONTHS[:4])) == 1
    assert "everybody stays for 4 months, nobody loses more than 1, but the account counts 3" in TEXT


def test_parts_of_one_edition_count_as_the_largest_and_of_two_editions_add_up() -> None:
    assert total(charge("2026-11", "a"), charge("2026-11", "b")) == MONTH
    assert "two rotation groups at 1/4 cost 1/4." in TEXT
    assert total(charge("2026-11", "a"), charge("2026-12", "b")) == Fraction(1, 2)
    assert "in two months they cost 1/2." in TEXT


def test_the_spec_on_the_page_is_of_the_period_and_the_account_that_the_page_is_about() -> None:
    [written] = re.findall(r"(?s)```yaml\n(.*?)```", PAGE)
    spec = yaml.safe_load(written)
    assert period_of(spec["source"]["edition"]) is not None
    assert spec["budget"] == {"dataset": "labour-2026", "epsilon": str(MONTH)}


@pytest.mark.parametrize("edition", ["2026", "2026-Q3", "2026-11", "2026-11-09", "2026-Q3 final"])
def test_the_editions_that_the_page_calls_periods_are(edition: str) -> None:
    assert period_of(edition) is not None
    assert f"`{edition}`" in TEXT
