"""However long the fractions are that are spent, sums and what is left stay short, and are never too small."""

from __future__ import annotations

from fractions import Fraction

import pytest

from penstock.records import Home, open_records
from penstock.records.ledger.analysts import allow_analyst
from penstock.records.ledger.limits import AccountRefused, open_account, raise_limit
from tests.records.ledger_cases import HOW, account, claim, officer, released, with_accounts
from tests.records.question_cases import asked, stands, verified, with_analysts

LONG = Fraction(10**30, 10**30 + 57)


def test_releases_of_long_fractions_leave_a_short_rest(either_home: Home) -> None:
    records = with_analysts(open_records(home=either_home), "ann")
    exact = Fraction(0)
    for number in range(6):
        epsilon = Fraction(10**27, 10**30 - 1 - 2 * number)
        released(records, f"r{number}", claim(epsilon=epsilon, values="v1", files=("f1",)))
        exact += epsilon
    asked(records, "k1")
    spent = stands(records).spent
    assert exact.denominator.bit_length() > 256
    assert 0 <= spent - exact - Fraction(1, 10) <= Fraction(1, 2**120)
    assert len(str(stands(records).left)) < 200
    verified(records)


def test_limits_of_long_fractions_are_refused(either_home: Home) -> None:
    records = with_accounts(open_records(home=either_home), account())
    for act in (
        lambda: open_account(records.log, account(dataset="other", limit=LONG), officer(), **HOW),
        lambda: raise_limit(records.log, "income", "dp", 5 * LONG, officer(), **HOW),
        lambda: allow_analyst(records.log, "income", "dp", "ann", LONG, officer(), **HOW),
    ):
        with pytest.raises(AccountRefused, match=r"epsilon refused: must have a denominator of at most 2\^64"):
            act()
