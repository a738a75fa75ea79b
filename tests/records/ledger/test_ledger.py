"""The rules of the ledger, one by one. test_ledger_laws.py tries them in any order."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from penstock.mechanisms.composition import NotCountable
from penstock.records import Action, Home, Records, open_records
from penstock.records.ledger.accounts import Claim
from penstock.records.ledger.ledger import (
    AccountMissing,
    BudgetExceeded,
    ClaimRefused,
    OtherData,
    ReservationMissing,
    SecondRelease,
    SourceElsewhere,
)
from penstock.records.ledger.limits import open_account, raise_limit
from penstock.records.log.log import EventRefused
from tests.records.ledger_cases import HOW, account, charges, claim, officer, released, states, uncounted, with_accounts

THIRD = Fraction(1, 3)
IDP = account(model="idp", adjacency="from_D")
BDP = account(model="bdp", adjacency="bootstrap_add_remove")


@pytest.fixture
def records(either_home: Home) -> Records:
    """One data set that may spend 1 under dp."""
    return with_accounts(open_records(home=either_home), account())


def reserve(records: Records, run: str, **changes: Any) -> int:
    return records.ledger.reserve(claim(**changes), run=run, **HOW).attempt


def test_a_reservation_is_on_record_and_counts_when_it_returns(records: Records) -> None:
    cost = records.ledger.reserve(claim(epsilon=THIRD), run="r1", **HOW)
    assert (cost.run, cost.attempt, cost.state, cost.claim) == ("r1", 1, "reserved", claim(epsilon=THIRD))
    assert records.ledger.book("income").costs == (cost,)
    assert records.log.events("r1")[-1].facts["epsilon"] == "1/3"
    assert records.ledger.verify() == 2


def test_thirds_fill_the_limit_exactly_and_nothing_goes_beyond(records: Records) -> None:
    for run in ("r1", "r2", "r3"):
        reserve(records, run, epsilon=THIRD)
    message = "must not exceed what the dp account of income"
    with pytest.raises(BudgetExceeded, match=message) as caught:
        reserve(records, "r4", epsilon=Fraction(1, 10**10))
    assert (caught.value.code, caught.value.kind) == ("budget-exceeded", "budget")
    assert [run for run, *_ in states(records)] == ["r1", "r2", "r3"]


def test_a_raised_limit_can_be_spent(records: Records) -> None:
    reserve(records, "r1")
    raise_limit(records.log, "income", "dp", 1 + THIRD, officer(), **HOW)
    with pytest.raises(BudgetExceeded, match="must not exceed what the dp account of income"):
        reserve(records, "r2")
    reserve(records, "r2", epsilon=THIRD)


def test_what_was_drawn_stays_spent_also_when_the_run_is_refused(records: Records) -> None:
    released(records, "r1", claim(), "refused")
    assert states(records) == [("r1", 1, "refused")]
    with pytest.raises(BudgetExceeded):
        reserve(records, "r2")


def test_a_reservation_without_a_draw_is_given_back_and_cannot_be_drawn_then(records: Records) -> None:
    reserve(records, "r1")
    records.ledger.settle("r1", "refused", **HOW)
    assert states(records) == []
    with pytest.raises(ReservationMissing):
        records.ledger.spend("r1", **HOW)
    assert reserve(records, "r2") == 1


def test_a_draw_needs_a_reservation_and_uses_it_up(records: Records) -> None:
    with pytest.raises(ReservationMissing, match="needs a reservation before anything is drawn") as caught:
        records.ledger.spend("r1", **HOW)
    assert (caught.value.code, caught.value.kind) == ("reservation-missing", "failure")
    reserve(records, "r1")
    records.ledger.spend("r1", **HOW)
    with pytest.raises(ReservationMissing):
        records.ledger.spend("r1", **HOW)
    assert states(records) == [("r1", 1, "spent")]


def test_a_run_killed_before_its_draw_is_charged_once(records: Records, either_home: Home) -> None:
    assert reserve(records, "r1") == reserve(open_records(home=either_home), "r1") == 1
    assert len(charges(records, "r1")) == 1


def test_a_run_whose_draw_was_lost_is_charged_again(records: Records) -> None:
    reserve(records, "r1", epsilon=Fraction(1, 2))
    records.ledger.spend("r1", **HOW)
    assert reserve(records, "r1", epsilon=Fraction(1, 2)) == 2
    assert states(records) == [("r1", 1, "spent"), ("r1", 2, "reserved")]
    records.ledger.spend("r1", **HOW)
    with pytest.raises(BudgetExceeded):
        reserve(records, "r1", epsilon=Fraction(1, 2))
    records.ledger.settle("r1", "published", **HOW)
    assert states(records) == [("r1", 1, "refused"), ("r1", 2, "published")]


def test_a_published_draw_is_published_also_if_another_was_reserved_after_it(records: Records) -> None:
    records.ledger.reserve(uncounted(), run="r1", **HOW)
    records.ledger.spend("r1", **HOW)
    records.ledger.reserve(uncounted(), run="r1", **HOW)
    records.ledger.settle("r1", "published", **HOW)
    with pytest.raises(SecondRelease):
        records.ledger.reserve(uncounted(), run="r2", **HOW)


def test_settling_twice_changes_nothing(records: Records) -> None:
    released(records, "r1", claim())
    before = records.log.head()
    records.ledger.settle("r1", "refused", **HOW)
    assert (records.log.head(), states(records)) == (before, [("r1", 1, "published")])


def test_a_source_that_changed_before_the_draw_is_charged_once(records: Records) -> None:
    assert [reserve(records, "r1"), reserve(records, "r1", source="s2")] == [1, 2]
    assert [cost.claim.source for cost in charges(records, "r1")] == ["s2"]
    assert [event.action for event in records.log.events("r1")] == [Action.RESERVED, Action.RETURNED, Action.RESERVED]


def test_a_changed_claim_that_is_refused_leaves_the_reservation_as_it_was(records: Records) -> None:
    reserve(records, "r1")
    with pytest.raises(BudgetExceeded):
        reserve(records, "r1", epsilon=Fraction(2))
    assert [cost.claim for cost in charges(records, "r1")] == [claim()]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dataset": None}, "budget.dataset refused: must be given for a release under dp, which s"),
        ({"epsilon": None}, "epsilon refused: must be above 0, got 'None'"),
        ({"epsilon": Fraction(0)}, "epsilon refused: must be above 0, got '0'"),
        ({"epsilon": Fraction(-1, 2)}, "epsilon refused: must be above 0, got '-1/2'"),
        ({"delta": Fraction(1)}, "delta refused: must be below 1, and not be given except where"),
        ({"delta": Fraction(-1, 9)}, "delta refused: must be below 1, and not be given except where"),
        (
            {"delta": Fraction(1, 9), "model": "idp", "adjacency": "from_D"},
            "delta refused: must be below 1, and not be given",
        ),
        (
            {"delta": Fraction(1, 9), "epsilon": None, "repeats": "r0"},
            "delta refused: must be below 1, and not be given",
        ),
        ({"model": "t_close"}, "epsilon refused: must not be given for a release under t"),
        (
            {"adjacency": "replace", "column": "region", "part": "N"},
            "budget.part refused: cannot be used with adjacency replace: a reco",
        ),
    ],
)
def test_a_claim_that_cannot_be_counted_is_refused(home: Home, changes: dict[str, Any], message: str) -> None:
    records = open_records("sqlite://", home)
    with pytest.raises(ClaimRefused, match=message) as caught:
        reserve(records, "r1", **changes)
    assert (caught.value.code, caught.value.kind) == ("claim-refused", "budget")
    assert records.log.head().seq == 0


def test_a_data_set_without_an_account_of_the_model_is_refused(records: Records) -> None:
    with pytest.raises(AccountMissing, match=r"must have an account of model idp, got 'income'. Open one:") as caught:
        reserve(records, "r1", model="idp", adjacency="from_D")
    assert (caught.value.code, caught.value.kind) == ("account-missing", "budget")
    with pytest.raises(AccountMissing, match="got 'wages'"):
        reserve(records, "r1", dataset="wages")


def test_dp_counts_in_the_other_accounts_also_in_those_opened_later(records: Records) -> None:
    for other in (IDP, BDP):
        open_account(records.log, other, officer(), **HOW)
    raise_limit(records.log, "income", "dp", Fraction(9), officer(), **HOW)
    with pytest.raises(
        BudgetExceeded, match="must not exceed what the idp account of income has left, 1 of 1"
    ) as caught:
        reserve(records, "r1")  # one record added or removed is half of one replaced
    assert len(caught.value.faults) == 1
    reserve(records, "r1", epsilon=Fraction(1, 2))
    with pytest.raises(BudgetExceeded) as caught:
        reserve(records, "r2", epsilon=Fraction(2, 3))
    assert [fault.rule.partition(" account")[0].split()[-1] for fault in caught.value.faults] == ["idp", "bdp"]
    with pytest.raises(BudgetExceeded, match="must not exceed what the idp account of income has left, 0 of 1"):
        reserve(records, "r2", model="idp", adjacency="from_D", epsilon=THIRD)
    reserve(records, "r2", model="bdp", adjacency="bootstrap_add_remove", epsilon=Fraction(1, 2))


def test_a_dp_release_that_another_account_cannot_count_is_refused(records: Records) -> None:
    open_account(records.log, account(dataset="wages", adjacency="presence"), officer(), **HOW)
    open_account(records.log, account(dataset="wages", model="idp", adjacency="from_D"), officer(), **HOW)
    with pytest.raises(NotCountable, match="must be one under which a promise says something about idp from_D"):
        reserve(records, "r1", dataset="wages", adjacency="presence")
    with pytest.raises(NotCountable, match="must be the unit of the account, row"):
        reserve(records, "r1", unit="individual", whose="person_id")
    assert states(records) == states(records, "wages") == []


def test_parts_of_the_declared_partition_spend_beside_each_other(records: Records) -> None:
    open_account(records.log, account(dataset="wages", partition="region"), officer(), **HOW)
    for part in "NS":
        reserve(records, f"r{part}", dataset="wages", source=part, column="region", part=part)
    with pytest.raises(BudgetExceeded):
        reserve(records, "r3", dataset="wages", source="N", column="region", part="N", epsilon=THIRD)
    with pytest.raises(BudgetExceeded):  # whatever is said, those of the North
        reserve(records, "r3", dataset="wages", source="N", column="region", part="E", epsilon=THIRD)
    with pytest.raises(BudgetExceeded):
        reserve(records, "r3", dataset="wages", column="sex", part="F", epsilon=THIRD)
    with pytest.raises(BudgetExceeded):
        reserve(records, "r3", dataset="wages", epsilon=THIRD)


NAMED = uncounted(dataset="income")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (uncounted(), uncounted()),
        (uncounted(), uncounted(model="k_anon")),
        (uncounted(), NAMED),
        (NAMED, uncounted()),
        (NAMED, uncounted(dataset="income", source="s2", model="t_close")),
        (NAMED, claim(source="s2")),
        (claim(), uncounted(dataset="income", source="s2")),
        (claim(), uncounted()),
        (uncounted(), claim()),
    ],
)
def test_a_second_release_of_the_same_records_must_be_acknowledged(home: Home, first: Claim, second: Claim) -> None:
    records = with_accounts(open_records("sqlite://", home), account(limit=Fraction(9)))
    records.ledger.reserve(first, run="r1", **HOW)
    changes = {field: getattr(second, field) for field in ("dataset", "source", "model", "epsilon", "adjacency")}
    for acknowledged in ((), ("r0",)):
        with pytest.raises(SecondRelease, match="If you accept that, list the earlier ones: r1") as caught:
            records.ledger.reserve(claim(**changes, acknowledges=acknowledged), run="r2", **HOW)
        assert (caught.value.code, caught.value.kind) == ("second-release", "budget")
        assert f"got {list(acknowledged)}" in str(caught.value)
    records.ledger.reserve(claim(**changes, acknowledges=("r0", "r1")), run="r2", **HOW)
    with pytest.raises(SecondRelease, match="list the earlier ones: r1, r2"):
        records.ledger.reserve(uncounted(dataset=second.dataset or first.dataset), run="r3", **HOW)


def test_what_was_refused_does_not_block_and_what_may_still_come_out_does(records: Records) -> None:
    released(records, "r1", uncounted(), "refused")
    records.ledger.reserve(uncounted(), run="r2", **HOW)
    with pytest.raises(SecondRelease, match="the earlier ones: r2"):
        records.ledger.reserve(uncounted(), run="r3", **HOW)
    records.ledger.spend("r2", **HOW)
    with pytest.raises(SecondRelease, match="the earlier ones: r2"):
        records.ledger.reserve(uncounted(), run="r3", **HOW)


def test_two_parts_of_the_same_records_do_not_block_each_other(records: Records) -> None:
    for part in "NS":
        wanted = uncounted(dataset="wages", source=part, column="region", part=part)
        records.ledger.reserve(wanted, run=f"r{part}", **HOW)
    with pytest.raises(SecondRelease, match="the earlier ones: rN, rS"):
        records.ledger.reserve(uncounted(dataset="wages"), run="r3", **HOW)
    with pytest.raises(SecondRelease, match="the earlier ones: rN"):
        records.ledger.reserve(uncounted(dataset="wages", source="N", column="region", part="E"), run="r3", **HOW)


def test_a_name_of_the_same_records_is_found_by_way_of_a_third_release(records: Records) -> None:
    open_account(records.log, account(dataset="wages"), officer(), **HOW)
    reserve(records, "r1", values="v1", epsilon=THIRD)
    released(records, "r2", uncounted(values="v2", acknowledges=("r1",)))  # the same file with other columns
    saved_again = {"source": "s2", "values": "v2", "acknowledges": ("r2",)}
    with pytest.raises(SourceElsewhere, match="must be the name under which these records ar"):
        reserve(records, "r3", dataset="wages", **saved_again)
    reserve(records, "r3", epsilon=THIRD, **saved_again)


REPEAT = {"epsilon": None, "repeats": "r1"}


def test_a_repeat_is_registered_and_charged_nothing(records: Records) -> None:
    released(records, "r1", claim(), "refused")
    assert records.ledger.reserve(claim(**REPEAT), run="r2", **HOW).drawn_by == "r1"
    with pytest.raises(ReservationMissing):  # or it would be a draw for nothing
        records.ledger.spend("r2", **HOW)
    records.ledger.spend("r2", draws=(), **HOW)
    records.ledger.settle("r2", "published", **HOW)
    assert states(records) == [("r1", 1, "refused"), ("r2", 1, "published")]
    with pytest.raises(SecondRelease, match="the earlier ones: r2"):
        records.ledger.reserve(uncounted(), run="r3", **HOW)
    assert records.ledger.verify() == 7


def test_a_table_and_its_repeats_are_acknowledged_once_but_a_refused_one_names_nothing(records: Records) -> None:
    exact = uncounted(model="k_anon")
    released(records, "r1", exact, "refused")
    released_again = replace(exact, repeats="r1")
    for run in ("r2", "r3"):
        records.ledger.reserve(released_again, run=run, **HOW)
        records.ledger.spend(run, draws=(), **HOW)
    with pytest.raises(SecondRelease, match="the earlier ones: r2, r3"):
        records.ledger.reserve(replace(exact, acknowledges=("r1",)), run="r4", **HOW)
    records.ledger.reserve(replace(exact, acknowledges=("r3",)), run="r4", **HOW)
    with pytest.raises(SecondRelease, match="the earlier ones: r4"):
        records.ledger.reserve(released_again, run="r5", **HOW)


@pytest.mark.parametrize("epsilon", [Fraction(1), Fraction(0)])
def test_a_repeat_with_an_epsilon_is_refused(records: Records, epsilon: Fraction) -> None:
    with pytest.raises(ClaimRefused, match="epsilon refused"):
        reserve(records, "r1", epsilon=epsilon, repeats="r0")


def test_a_promise_about_one_data_set_is_not_charged_for_another(records: Records) -> None:
    for one in (IDP, BDP):
        open_account(records.log, replace(one, limit=Fraction(9)), officer(), **HOW)
    for one in (IDP, BDP):
        common: dict[str, Any] = {"model": one.model, "adjacency": one.adjacency, "values": "v1", "epsilon": THIRD}
        reserve(records, f"{one.model}1", **common)
        reserve(records, f"{one.model}2", **common, source="s2")
        before = records.log.head()
        for change in ({"source": "s3", "values": "v3"}, {"edition": "2026-11"}):
            with pytest.raises(
                OtherData, match="is about one actual data set, and these are other records or"
            ) as caught:
                reserve(records, f"{one.model}3", **{**common, **change})
            assert (caught.value.code, caught.value.kind) == ("other-data", "budget")
            assert "open an account under a data set name of its own" in str(caught.value)
        assert records.log.head() == before
    reserve(records, "dp", source="s3", values="v3", epsilon=THIRD)  # dp is about every data set
    records.ledger.verify()


def test_releases_that_share_a_column_overlap_if_one_is_a_table(records: Records) -> None:
    def overlapping(wanted: Claim) -> list[str]:
        (found,) = records.ledger.overlapping([wanted], run="new")
        return [cost.run for cost in found]

    table = uncounted(model="k_anon", about=("age", "sex"), table=True, dataset="income")
    released(records, "r1", table)
    assert overlapping(table) == ["r1"]
    assert overlapping(replace(table, about=("region",))) == []
    assert overlapping(replace(table, model="prob_k", table=False, source="s2")) == ["r1"]
    assert overlapping(replace(table, repeats="r1")) == []
    released(records, "r2", replace(table, model="prob_k", table=False, acknowledges=("r1",)))
    assert overlapping(replace(table, model="prob_k", table=False)) == ["r1"]
    assert overlapping(table) == ["r1", "r2"]
    other = replace(table, dataset="wages", source="s8", column="region", part="N")
    released(records, "r3", other)
    assert overlapping(replace(other, source="s9", part="S")) == []
    assert overlapping(replace(other, part="S")) == ["r3"]


@pytest.mark.parametrize("outcome", ["published", "refused"])
def test_the_same_records_have_no_second_budget_under_another_name(records: Records, outcome: str) -> None:
    open_account(records.log, account(dataset="wages"), officer(), **HOW)
    released(records, "r1", claim(), outcome)
    message = "must be the name under which these records are counted: income, got 'wages'. Use that name"
    with pytest.raises(SourceElsewhere, match=message) as caught:
        reserve(records, "r2", dataset="wages")
    assert (caught.value.code, caught.value.kind) == ("source-elsewhere", "budget")
    with pytest.raises(SourceElsewhere):
        reserve(records, "r1", dataset="wages")


def test_a_wrong_name_that_cost_nothing_and_led_to_nothing_can_be_corrected(records: Records) -> None:
    released(records, "r1", uncounted(dataset="incme"), "refused")
    reserve(records, "r2")
    with pytest.raises(SourceElsewhere):
        records.ledger.reserve(uncounted(dataset="incme"), run="r4", **HOW)


def test_a_moment_without_time_zone_reserves_nothing(records: Records) -> None:
    with pytest.raises(EventRefused):
        records.ledger.reserve(claim(), run="r1", actor="a", now=HOW["now"].replace(tzinfo=None))
    assert states(records) == []


def test_books_show_every_data_set_and_what_had_none(records: Records) -> None:
    reserve(records, "r1")
    records.ledger.reserve(uncounted(source="s9"), run="r2", **HOW)
    records.ledger.reserve(uncounted(source="t1", formerly="t0"), run="r3", **HOW)
    books = records.ledger.books()
    assert {name: [cost.run for cost in book.costs] for name, book in books.items()} == {
        "income": ["r1"],
        "": ["r2", "r3"],
    }
    assert books["income"] == records.ledger.book("income")
    assert records.ledger.book("unknown").costs == ()
