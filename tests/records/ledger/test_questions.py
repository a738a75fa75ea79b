"""Questions are charged before their answers are seen, once, to the account and to the analyst."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from penstock.mechanisms.refusal import Refusal
from penstock.records import Action, Home, Records, open_records
from penstock.records.ledger.accounts import Claim
from penstock.records.ledger.analysts import AllowanceExceeded, AnalystNotAllowed
from penstock.records.ledger.countable import ClaimRefused
from penstock.records.ledger.ledger import (
    AccountMissing,
    BudgetExceeded,
    OtherData,
    OtherUnit,
    SecondRelease,
    SourceElsewhere,
)
from penstock.records.ledger.limits import open_account, raise_limit
from penstock.records.ledger.questions import allow_analyst, record_refusal, standing, stored_answer
from penstock.records.log.sighting import remembered
from tests.records.ledger_cases import HOW, account, claim, officer, released, uncounted
from tests.records.question_cases import PERSONAL, QUESTION, TENTH, asked, stands, verified, with_analysts


@pytest.fixture
def records(either_home: Home) -> Records:
    return with_analysts(open_records(home=either_home), "ann", "bob")


@pytest.fixture
def small(home: Home) -> Records:
    """On SQLite alone, for what does not depend on the database."""
    return with_analysts(open_records(home=home), "ann", "bob")


def actions(records: Records) -> list[Action]:
    return [event.action for event in records.log.events()]


def nothing_was_drawn() -> bytes:
    raise AssertionError("drawn")


def refused(records: Records, kind: type[Refusal], field: str, **wanted: Any) -> str:
    """Refused before anything is drawn, and nothing is written."""
    before = records.log.head()
    with pytest.raises(kind) as caught:
        asked(records, wanted.pop("key", "refused"), draw=nothing_was_drawn, **wanted)
    assert [fault.field for fault in caught.value.faults] == [field]
    assert records.log.head() == before
    return str(caught.value)


def test_a_question_is_charged_once_and_its_answer_is_kept(records: Records) -> None:
    first = asked(records, "k1", mechanism="laplace")
    assert (first.answer, first.repeated) == (b"canary answer to k1", False)
    assert actions(records)[-2:] == [Action.SITTING_OPENED, Action.ANSWERED]
    event = records.log.events()[-1]
    assert (event.seq, event.facts["answer"], event.facts["key"]) == (first.seq, first.digest, "k1")
    assert (event.facts["epsilon"], event.facts["analyst"], event.facts["dataset"]) == ("1/10", "ann", "income")
    assert event.facts["question"] == {"query": "k1", "mechanism": "laplace"}
    assert event.facts["subjects"] == {f"questions {event.run}": 0}
    assert not any("canary" in str(each.facts) for each in records.log.events() if each.action is Action.ANSWERED)
    assert stands(records).spent == stands(records).spent_by_analyst == TENTH
    assert (stands(records).left, stands(records).left_to_analyst) == (Fraction(9, 10), Fraction(9, 10))
    assert (stands(records, analyst="bob").spent_by_analyst, stands(records, analyst="eve").allowed) == (0, 0)
    verified(records)


def test_a_sitting_is_opened_once_under_everything_its_claim_is_known_by(records: Records) -> None:
    asked(records, "k1")
    asked(records, "k2")
    asked(records, "k3", analyst="bob")
    asked(records, "k4", of=replace(QUESTION, about=("age",), acknowledges=("r9",)))
    asked(records, "k5", of=replace(QUESTION, edition="2026"))
    opened = [event for event in records.log.events() if event.action is Action.SITTING_OPENED]
    assert [event.facts["analyst"] for event in opened] == ["ann", "bob", "ann"]
    assert set(opened[0].facts["subjects"]) == {"dataset income", "source s1", "values v1", "file f1"}
    assert Claim.of(opened[0].facts) == replace(QUESTION, epsilon=None)
    assert records.log.events()[-3].facts["acknowledges"] == ["r9"]
    sittings = records.ledger.book("income").sittings
    assert [(each.balance.sum, each.balance.questions) for each in sittings.values()] == [
        (3 * TENTH, 3),
        (TENTH, 1),
        (TENTH, 1),
    ]
    assert verified(records) == 2 + 4 + 3 + 5


def test_the_same_question_gets_the_same_answer_for_nothing(records: Records) -> None:
    first = asked(records, "k1")
    for analyst in ("ann", "bob"):
        again = asked(records, "k1", analyst=analyst, draw=nothing_was_drawn)
        assert (again.answer, again.digest, again.seq, again.repeated) == (first.answer, first.digest, first.seq, True)
        event = records.log.events()[-1]
        assert (event.action, event.facts["analyst"], event.facts["of"]) == (Action.ASKED_AGAIN, analyst, first.seq)
    found = stored_answer(records.log, "k1")
    assert found is not None
    assert (found.answer, found.seq, found.repeated) == (first.answer, first.seq, True)
    assert stored_answer(records.log, "k2") is None
    assert stands(records).spent == TENTH
    verified(records)


def test_a_stored_answer_is_given_when_nothing_is_left(records: Records) -> None:
    asked(records, "k1", epsilon=Fraction(1))
    refused(records, BudgetExceeded, "epsilon")
    assert asked(records, "k1").repeated


def test_the_same_key_of_another_data_set_is_refused(small: Records) -> None:
    asked(small, "k1")
    refused(small, ClaimRefused, "key", key="k1", of=replace(PERSONAL, epsilon=TENTH))


def test_no_answer_goes_beyond_the_account_and_none_below_it_is_refused(records: Records) -> None:
    for number in range(10):
        asked(records, f"k{number}", analyst=("ann", "bob")[number % 2])
    told = refused(records, BudgetExceeded, "epsilon", epsilon=Fraction(1, 1000))
    assert "what the dp account of income has left, 0 of 1, got 1/1000" in told
    raise_limit(records.log, "income", "dp", Fraction(11, 10), officer(), **HOW)
    asked(records, "more")
    refused(records, BudgetExceeded, "epsilon", epsilon=Fraction(1, 1000))
    verified(records)


def test_questions_and_releases_spend_the_same_account(records: Records) -> None:
    asked(records, "k1", epsilon=Fraction(1, 2))
    released(records, "r1", claim(epsilon=Fraction(2, 5), values="v1"))
    refused(records, BudgetExceeded, "epsilon", epsilon=Fraction(1, 5))
    with pytest.raises(BudgetExceeded):
        records.ledger.reserve(claim(epsilon=Fraction(1, 5), values="v1"), run="r2", **HOW)
    asked(records, "k2")
    assert stands(records).left == 0
    verified(records)


def test_a_dp_question_counts_in_the_other_accounts_too(small: Records) -> None:
    open_account(small.log, account(model="idp", adjacency="from_D", limit=Fraction(1, 2)), officer(), **HOW)
    asked(small, "k1", epsilon=Fraction(1, 4))  # which is twice as much from D
    refused(small, BudgetExceeded, "epsilon")
    assert standing(small.log, dataset="income", model="idp", analyst="ann").left == 0


def test_an_analyst_spends_no_more_than_was_allowed(either_home: Home) -> None:
    records = with_analysts(open_records(home=either_home), "ann", "bob", allowed=Fraction(1, 4))
    asked(records, "k1")
    asked(records, "k2", of=replace(QUESTION, edition="2026"))  # of another sitting
    told = refused(records, AllowanceExceeded, "epsilon")
    assert "what ann has left under dp, 1/20 of 1/4, got '1/10'" in told
    asked(records, "k3", epsilon=Fraction(1, 20))
    asked(records, "k4", analyst="bob")
    allow_analyst(records.log, "income", "dp", "ann", Fraction(7, 20), officer(), **HOW)
    asked(records, "k5")
    refused(records, AllowanceExceeded, "epsilon", epsilon=Fraction(1, 1000))
    assert (stands(records).spent_by_analyst, stands(records).left_to_analyst) == (Fraction(7, 20), 0)
    verified(records)


def test_who_was_not_allowed_gets_no_answer_not_even_a_stored_one(records: Records) -> None:
    asked(records, "k1")
    told = refused(records, AnalystNotAllowed, "analyst", key="k1", analyst="eve")
    assert "must be allowed to ask questions of income under dp, got 'eve'" in told
    assert (AnalystNotAllowed.code, AnalystNotAllowed.kind) == ("analyst-not-allowed", "budget")
    assert (AllowanceExceeded.code, AllowanceExceeded.kind) == ("allowance-exceeded", "budget")
    idp = replace(QUESTION, model="idp", adjacency="from_D")
    refused(records, AccountMissing, "budget.dataset", of=idp)
    open_account(records.log, account(model="idp", adjacency="from_D"), officer(), **HOW)
    refused(records, AnalystNotAllowed, "analyst", of=idp)


@pytest.mark.parametrize(
    ("wanted", "field"),
    [
        ({"of": replace(QUESTION, epsilon=Fraction(0))}, "epsilon"),
        ({"of": replace(QUESTION, epsilon=Fraction(1, 2**64 + 1))}, "epsilon"),
        ({"of": replace(QUESTION, epsilon=None, repeats="r1")}, "epsilon"),
        ({"of": uncounted(dataset="income")}, "epsilon"),
        ({"of": replace(QUESTION, dataset=None)}, "budget.dataset"),
        ({"of": QUESTION, "individual": "i1"}, "adjacency"),
        ({"of": replace(PERSONAL, unit="row", whose=None), "individual": "i1"}, "adjacency"),
    ],
)
def test_a_claim_that_no_question_can_make_is_refused(small: Records, wanted: Any, field: str) -> None:
    refused(small, ClaimRefused, field, **wanted)


def test_what_is_refused_to_a_release_is_refused_to_a_question(small: Records) -> None:
    open_account(small.log, account(model="bdp", adjacency="bootstrap_add_remove"), officer(), **HOW)
    open_account(small.log, account(dataset="wages"), officer(), **HOW)
    for dataset, model in (("wages", "dp"), ("income", "bdp")):
        allow_analyst(small.log, dataset, model, "ann", Fraction(1), officer(), **HOW)
    asked(small, "k1")
    refused(small, SourceElsewhere, "budget.dataset", of=replace(QUESTION, dataset="wages"))
    bootstrap = replace(QUESTION, model="bdp", adjacency="bootstrap_add_remove")
    asked(small, "k2", of=bootstrap)
    refused(small, OtherData, "budget.dataset", of=replace(bootstrap, source="s9", values="v9", files=()))
    asked(small, "k3", of=PERSONAL)
    refused(small, OtherUnit, "source.unit", of=replace(PERSONAL, whose="household"))
    released(small, "masked", uncounted(source="s1", acknowledges=tuple(small.ledger.book("income").sittings)))
    assert "masked" in refused(small, SecondRelease, "budget.acknowledges")
    asked(small, "k4", of=replace(QUESTION, acknowledges=("masked",)))
    verified(small)


def test_a_release_that_nothing_covers_acknowledges_the_sitting(records: Records) -> None:
    asked(records, "k1")
    [sitting] = records.ledger.book("income").sittings
    with pytest.raises(SecondRelease, match=sitting):
        records.ledger.reserve(uncounted(source="s1"), run="masked", **HOW)
    released(records, "masked", uncounted(source="s1", acknowledges=(sitting,)))
    verified(records)


def test_a_release_waiting_for_reviewers_is_asked_about_as_releases_do(small: Records) -> None:
    """The state of its approval needs the events of its run, for which the log is scanned."""
    asked(small, "k1")
    [sitting] = small.ledger.book("income").sittings
    small.ledger.reserve(uncounted(source="s1", acknowledges=(sitting,)), run="masked", **HOW)
    small.ledger.spend("masked", **HOW)
    assert "masked" in refused(small, SecondRelease, "budget.acknowledges")


def test_an_individual_pays_for_the_own_questions_only(records: Records) -> None:
    """The account loses what the one who was asked about most has lost, whoever asked."""
    half = Fraction(1, 2)
    asked(records, "k1", of=PERSONAL, individual="i1", epsilon=half)
    asked(records, "k2", of=PERSONAL, individual="i2", epsilon=half, analyst="bob")
    asked(records, "k3", of=replace(PERSONAL, about=("age",)), individual="i3", epsilon=half)
    assert [stands(records, "people", name).spent for name in ("ann", "bob")] == [half, half]
    assert [stands(records, "people", name).spent_by_analyst for name in ("ann", "bob")] == [half, half]
    asked(records, "k4", of=PERSONAL, individual="i1", epsilon=Fraction(1, 4), analyst="bob")
    assert stands(records, "people").spent == Fraction(3, 4)
    assert [stands(records, "people", name).spent_by_analyst for name in ("ann", "bob")] == [half, half]
    asked(records, "k5", of=PERSONAL, epsilon=Fraction(1, 8))  # about everybody
    assert stands(records, "people").spent == Fraction(7, 8)
    told = refused(records, BudgetExceeded, "epsilon", of=PERSONAL, individual="i1", epsilon=Fraction(1, 4))
    assert "1/8 of 1, got 1/4" in told
    asked(records, "k6", of=PERSONAL, individual="i3", epsilon=Fraction(1, 4), analyst="bob")
    asked(records, "k7", of=PERSONAL, individual="i4", epsilon=Fraction(3, 4), analyst="bob")
    assert stands(records, "people").spent == Fraction(7, 8)
    assert len(records.ledger.book("people").costs) == 2
    assert not any("i1" in str(event.facts) for event in records.log.events() if event.action is Action.ANSWERED)
    verified(records)


def test_the_allowance_counts_the_one_asked_about_most_too(small: Records) -> None:
    allow_analyst(small.log, "people", "dp", "cy", Fraction(1, 4), officer(), **HOW)
    for individual in ("i1", "i2", "i1", "i3"):
        asked(small, f"{individual} {small.log.head().seq}", of=PERSONAL, individual=individual, analyst="cy")
    refused(small, AllowanceExceeded, "epsilon", of=PERSONAL, individual="i1", analyst="cy")
    asked(small, "k5", of=PERSONAL, individual="i2", analyst="cy")
    assert stands(small, "people", "cy").spent_by_analyst == Fraction(1, 5)


def test_a_refused_question_is_on_record_without_any_charge(records: Records, either_home: Home) -> None:
    before = stands(records)
    told = {"dataset": "income", "analyst": "eve", "key": "k1", "code": "analyst-not-allowed"}
    record_refusal(records.log, **told, **HOW)
    event = records.log.events()[-1]
    assert (event.action, event.facts) == (Action.QUESTION_REFUSED, told)
    assert stands(records) == before
    assert remembered(either_home) == {(event.seq, event.digest)}
    verified(records)


def test_a_draw_that_fails_leaves_nothing(records: Records) -> None:
    before = records.log.head()

    def fails() -> bytes:
        raise ZeroDivisionError

    for individual, of in ((None, QUESTION), ("i1", PERSONAL)):
        with pytest.raises(ZeroDivisionError):
            asked(records, "k1", of=of, individual=individual, draw=fails)
    assert (records.log.head(), stored_answer(records.log, "k1")) == (before, None)
    verified(records)


def test_standing_needs_an_account(small: Records) -> None:
    with pytest.raises(AccountMissing) as caught:
        standing(small.log, dataset="wages", model="dp", analyst="ann")
    assert [fault.field for fault in caught.value.faults] == ["budget.dataset"]


def test_the_book_shows_what_each_analyst_may_spend(small: Records) -> None:
    asked(small, "k1", epsilon=Fraction(1, 4))
    shown = small.ledger.books()["income"].as_dict("income")
    ann, bob = shown["analysts"]
    assert ann == {"analyst": "ann", "model": "dp", "allowed": "1", "spent": "1/4", "left": "3/4"}
    assert (bob["analyst"], bob["spent"]) == ("bob", "0")
    [sitting] = shown["releases"]
    assert (sitting["epsilon"], sitting["state"]) == ("1/4", "published")
    assert set(small.ledger.books()) == {"income", "people"}
