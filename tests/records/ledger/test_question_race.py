"""Real processes ask adaptively, in each other's way, some killed: nothing beyond the budget, nothing lost."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import pytest

from penstock.records import Action, Home, Records, open_records
from penstock.records.audit import verify_everything
from penstock.records.ledger.limits import raise_limit
from penstock.records.ledger.questions import allow_analyst, stored_answer
from tests.records.ledger_cases import HOW, officer
from tests.records.question_cases import stands, with_analysts
from tests.records.question_clients import clients

ANALYSTS = ("analyst-0", "analyst-1", "analyst-2")


def opened(home: Home, budget: Fraction) -> Records:
    """Accounts of this much, of which each analyst may spend half."""
    records = with_analysts(open_records(home=home))
    for dataset in ("income", "people"):
        raise_limit(records.log, dataset, "dp", budget, officer(), **HOW)
        for name in ANALYSTS:
            allow_analyst(records.log, dataset, "dp", name, budget / 2, officer(), **HOW)
    return records


@pytest.mark.parametrize(
    ("count", "questions", "budget"),
    [
        pytest.param(5, 60, Fraction(2), id="few"),
        # Some 67 would be asked for, so that the last ones are refused whatever the answers were.
        pytest.param(20, 1000, Fraction(40), id="many", marks=pytest.mark.slow),
    ],
)
def test_adaptive_questions_of_killed_clients(
    checked: Home, tmp_path: Path, count: int, questions: int, budget: Fraction
) -> None:
    records = opened(checked, budget)
    killed, told = clients(checked, count, questions, tmp_path / "told")
    assert killed >= 10
    assert any(line["refused"] for line in told)
    answers = [line for line in told if line["refused"] is None]
    events = records.log.events()
    charged = {event.seq: event for event in events if event.action is Action.ANSWERED}

    # Nothing lost: whatever a client was told is on record, and stored.
    for line in answers:
        event, found = charged[line["seq"]], stored_answer(records.log, line["key"])
        assert (event.facts["key"], event.facts["answer"]) == (line["key"], line["digest"])
        assert found is not None
        assert (found.answer.hex(), found.digest, found.seq) == (line["answer"], line["digest"], line["seq"])
    # Charged once, however often it was asked.
    assert len({event.facts["key"] for event in charged.values()}) == len(charged)
    fresh = [line["seq"] for line in answers if not line["repeated"]]
    assert len(fresh) == len(set(fresh)) <= len(charged) <= len(fresh) + killed

    # Never beyond the budget, counted here a second time.
    everybody, persons = Fraction(0), dict[str, Fraction]()
    by_analyst: defaultdict[tuple[str, str], Fraction] = defaultdict(Fraction)
    for event in charged.values():
        epsilon, person = Fraction(event.facts["epsilon"]), event.facts["individual"]
        if person is None:
            everybody += epsilon
            by_analyst[event.facts["dataset"], event.facts["analyst"]] += epsilon
        else:
            persons[person] = persons.get(person, Fraction(0)) + epsilon
    assert everybody == stands(records, "income").spent <= budget
    assert max(persons.values(), default=Fraction(0)) == stands(records, "people").spent <= budget
    for name in ANALYSTS:
        assert by_analyst["income", name] == stands(records, "income", name).spent_by_analyst <= budget / 2
    verify_everything()
