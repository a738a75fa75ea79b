"""Real processes that race for what is left."""

from __future__ import annotations

import pytest

from penstock.records import Action, Home, Records, open_records
from tests.records.ledger_cases import account, states, with_accounts
from tests.records.ledger_worker import race


@pytest.fixture
def records(either_home: Home) -> Records:
    """A budget for seven of them."""
    return with_accounts(open_records(home=either_home), account())


def test_fifty_processes_race_for_the_last_of_a_budget_and_exactly_seven_get_it(
    records: Records, either_home: Home
) -> None:
    assert race(either_home, 50, "reserve") == {0: 7, 5: 43}
    costs = records.ledger.book("income").costs
    assert (len({cost.run for cost in costs}), account().spent(costs)) == (7, 1)
    assert records.log.verify().count == 2 + 7
    assert records.ledger.verify() == 1 + 7


def test_processes_that_resume_one_run_together_are_charged_once(records: Records, either_home: Home) -> None:
    assert race(either_home, 10, "resume") == {0: 10}
    assert states(records) == [("one", 1, "reserved")]
    assert [event.action for event in records.log.events("one")] == [Action.RESERVED]
    assert records.ledger.verify() == 2
