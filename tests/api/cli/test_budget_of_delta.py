"""`penstock budget` for delta: opened, raised, spent and shown beside epsilon."""

from __future__ import annotations

from fractions import Fraction

from tests.api.cli.test_budget_commands import Desk, refused, small_desk, spend

__all__ = ["small_desk"]  # the fixture


def test_delta_is_opened_raised_spent_and_shown(small_desk: Desk) -> None:
    opened = small_desk.open(delta="1/1000000")
    assert opened.out == "Opened: income may spend 2, and delta 1/1000000, under dp, add_remove.\n"
    spend("r1", delta=Fraction(1, 10**6))
    raised = small_desk.raise_(epsilon=None, delta="0.000002")
    assert raised.out == "Raised: income may spend 2, and delta 1/500000, under dp.\n"
    [told] = small_desk.shown("income")
    [account] = told["accounts"]
    assert (account["delta"], account["delta_spent"], account["delta_left"]) == ("1/500000", "1/1000000", "1/1000000")
    assert told["releases"][0]["delta"] == "1/1000000"
    shown = small_desk.typed("budget", "show", "income").out
    assert "delta of dp: limit 1/500000, spent 1/1000000, left 1/1000000\n" in shown
    assert shown.count("1/1000000") == 3
    assert refused(small_desk.raise_("income", "--json", epsilon=None), 2) == ("spec-refused", "--epsilon")
    assert refused(small_desk.raise_("income", "--json", delta="small", epsilon=None), 2) == ("spec-refused", "--delta")
    assert refused(small_desk.open("wages", "--json", delta="1")) == ("account-refused", "delta")
