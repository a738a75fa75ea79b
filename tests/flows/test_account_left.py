"""What a plan says of the account: as many releases as it names are granted by the ledger, and not one more."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.flows.account_left import UNKNOWN, account_left
from penstock.flows.planning import draw_up_plan
from penstock.flows.preview import preview
from penstock.flows.spec import load_spec
from penstock.records import Home, LogAltered, open_records
from penstock.records.ledger.accounts import Account, Book, Cost
from penstock.records.ledger.claims import Claim
from penstock.records.ledger.ledger import BudgetExceeded
from penstock.tasks.run.plan import Plan
from tests.support.order import examples
from tests.support.private_release import begun
from tests.support.workplace import Workplace, make_table, open_dp_account


def left(place: Workplace) -> list[str]:
    """What a plan says of accounts."""
    said = preview(load_spec(place.write_spec()), count=False)["cost"]
    return [line for line in said if line.startswith(("Left in", "This home", "What its account"))]


def granted(plan: Plan) -> int:
    """How many such releases the ledger of this home grants, each of other data that come after those before."""
    ledger, now = open_records().ledger, datetime.now(UTC)
    for number in range(100):
        edition = plan.edition if number == 0 or plan.edition is None else f"{plan.edition} and {number}"
        claims = [
            replace(each.claim(f"{number:064x}"), edition=edition if each.guarantee.model == "dp" else plan.edition)
            for each in plan.outputs
        ]
        try:
            ledger.reserve_all(claims, run=f"run-{number}", actor="olga", now=now)
        except BudgetExceeded:
            return number
    raise AssertionError("no limit was found")


def by_hand(place: Workplace) -> Plan:
    return draw_up_plan(load_spec(place.write_spec()))


@pytest.fixture
def table(workplace: Workplace) -> Workplace:
    make_table(workplace, adjacency="add_remove")
    return workplace


def test_a_plan_says_what_is_left_and_how_many_such_releases_that_pays_for(table: Workplace) -> None:
    table.raw["protect"][0]["epsilon"] = "1/4"
    open_dp_account(4, adjacency="add_remove")
    whose = "Left in the dp account of data set survey:"
    assert left(table) == [f"{whose} 4 of 4. That pays for 16 releases like this one."]
    with begun(table, account=False) as line:
        line.publish()
    assert left(table) == [f"{whose} 15/4 of 4. That pays for 15 releases like this one."]
    table.raw["protect"][0]["epsilon"] = "2"
    table.raw["gates"] = [{"measure": "privacy_loss", "max": 2}]
    assert left(table) == [f"{whose} 15/4 of 4. That pays for this release alone."]
    table.raw["protect"][0]["epsilon"] = table.raw["budget"]["epsilon"] = "15/4"
    table.raw["gates"] = [{"measure": "privacy_loss", "max": 4}]
    assert left(table) == [f"{whose} 15/4 of 4. That pays for this release alone."]
    table.raw["protect"][0]["epsilon"] = table.raw["budget"]["epsilon"] = "4"
    assert left(table) == [f"{whose} 15/4 of 4. That does not pay for this release."]


@pytest.mark.parametrize("edition", [None, "2026-11"])
@pytest.mark.parametrize(("partition", "part"), [(None, None), ("region", None), ("region", "region")])
@pytest.mark.parametrize("spent", [None, "other part", "whole"])
def test_the_ledger_grants_as_many_as_the_plan_says(
    table: Workplace, edition: str | None, partition: str | None, part: str | None, spent: str | None
) -> None:
    """Parts of one edition are charged as the largest of them; of another edition they add up."""
    open_dp_account(3, adjacency="add_remove", partition=partition)
    raw = table.raw["source"]
    if edition is not None:
        raw["edition"] = edition
    if part is not None:
        table.raw["protect"][0]["dimensions"] = ["education"]
        raw["columns"]["region"]["categories"] = ["North"]
        table.raw["budget"]["part"] = part
    table.raw["protect"][0]["epsilon"] = "2/5"
    plan = by_hand(table)
    if spent is not None:
        before = replace(plan.claim("f" * 64), epsilon=Fraction(1))
        other = {"column": "region", "part": "South"} if spent == "other part" else {"column": None, "part": None}
        open_records().ledger.reserve(replace(before, **other), run="before", actor="olga", now=datetime.now(UTC))
    [said] = left(table)
    number = granted(plan)
    assert number >= 5
    assert said.endswith(f"That pays for {number} releases like this one.")


def test_outputs_are_paid_for_together(table: Workplace) -> None:
    first = table.raw["protect"][0]
    table.raw["protect"] = [{**first, "epsilon": "1/2"}, {**first, "table": "again", "sums": [], "means": []}]
    table.raw["budget"]["epsilon"] = "3/2"
    open_dp_account(4, adjacency="add_remove")
    assert left(table) == ["Left in the dp account of data set survey: 4 of 4. That pays for 2 releases like this one."]
    assert granted(by_hand(table)) == 2


def test_a_dp_release_is_paid_from_the_accounts_of_relaxations_too(table: Workplace) -> None:
    open_dp_account(4, adjacency="add_remove")
    open_dp_account(3, model="idp", adjacency="from_D")
    said = left(table)
    assert said[1] == "Left in the idp account of data set survey: 3 of 3. That pays for this release alone."
    assert granted(by_hand(table)) == 1  # 2 of 3: a record that is replaced is one removed and one added


def test_delta_may_end_before_epsilon(table: Workplace) -> None:
    account = Account(
        dataset="survey",
        model="dp",
        limit=Fraction(10),
        adjacency="add_remove",
        unit="row",
        partition=None,
        delta=Fraction(3, 1000),
    )
    claim = replace(by_hand(table).claim(""), delta=Fraction(1, 1000))
    told = list(account_left(PlanOf(claim), RecordsOf(Book({"dp": account}, ()))))  # type: ignore[arg-type]
    assert told == [
        "Left in the dp account of data set survey: 10 of 10, and of delta 3/1000 of 3/1000. That pays for 3 releases "
        "like this one."
    ]


class PlanOf:
    """A plan with one output, whose claim is given."""

    dataset = "survey"

    def __init__(self, claim: Claim) -> None:
        self._claim, self.outputs = claim, (self,)

    def claim(self, _: str) -> Claim:
        return self._claim


class RecordsOf:
    """Records of one book."""

    def __init__(self, book: Book) -> None:
        self.ledger, self._book = self, book

    def book(self, _: str) -> Book:
        return self._book


FRACTIONS = st.fractions(Fraction(1, 50), 3, max_denominator=50)


@given(FRACTIONS, FRACTIONS, st.lists(st.tuples(FRACTIONS, st.sampled_from(["north", "south", None]))), st.data())
@settings(max_examples=examples(50), deadline=None)
def test_the_number_is_the_largest_that_one_by_one_can_be_charged(
    epsilon: Fraction, limit: Fraction, spent: list[tuple[Fraction, str | None]], data: st.DataObject
) -> None:
    edition, part = data.draw(st.sampled_from([None, "2026"])), data.draw(st.sampled_from(["north", None]))

    def cost(number: int, epsilon: Fraction, part: str | None, edition: str | None) -> Cost:
        claim = Claim(
            dataset="survey",
            source="" if number == 0 else str(number),
            model="dp",
            epsilon=epsilon,
            adjacency="add_remove",
            unit="row",
            column=None if part is None else "region",
            part=part,
            edition=edition,
        )
        return Cost(run=str(number), attempt=1, claim=claim, state="published", occurred="")

    account = Account(dataset="survey", model="dp", limit=limit, adjacency="add_remove", unit="row", partition="region")
    costs = [cost(100 + number, each, where, edition) for number, (each, where) in enumerate(spent)]
    asked = cost(0, epsilon, part, edition).claim
    [said] = account_left(PlanOf(asked), RecordsOf(Book({"dp": account}, tuple(costs))))  # type: ignore[arg-type]
    number, charged = 0, list(costs)
    while not account.is_overdrawn(
        charged := [*charged, cost(0, epsilon, part, edition and f"{edition}{'' if number == 0 else number}")]
    ):
        number += 1
    words = {0: "does not pay for this release", 1: "pays for this release alone"}
    assert said.endswith(f"That {words.get(number, f'pays for {number} releases like this one')}.")


def test_an_account_that_cannot_count_the_promise_is_named(workplace: Workplace) -> None:
    make_table(workplace, adjacency="add_remove")
    open_dp_account(4, adjacency="presence", unit="individual")
    [said] = left(workplace)
    assert said.endswith("It counts presence of each individual, and cannot count this promise.")


def test_without_an_account_or_a_home_the_plan_says_so_and_makes_neither(table: Workplace) -> None:
    assert left(table) == [UNKNOWN]
    assert not table.home.exists()
    open_dp_account(4, dataset="another")
    assert left(table) == [
        "This home has no dp account of data set survey: an officer opens one, `penstock budget open`."
    ]


def test_a_release_that_spends_nothing_asks_no_account(workplace: Workplace) -> None:
    open_records()
    assert left(workplace) == []


def test_a_plan_puts_nothing_on_record(table: Workplace) -> None:
    open_dp_account(4, adjacency="add_remove")
    table.raw["source"]["edition"] = "2026-11"
    before = open_records().log.head()
    left(table)
    assert open_records().log.head() == before


def test_a_log_that_was_altered_is_no_base_for_a_plan(table: Workplace) -> None:
    open_dp_account(4, adjacency="add_remove")
    database = sqlite3.connect(Home.located().root / "penstock.db")
    with database:
        changed = database.execute('UPDATE log_events SET facts = replace(facts, \'"limit":"4"\', \'"limit":"400"\')')
        assert changed.rowcount > 0
    database.close()
    with pytest.raises(LogAltered):
        left(table)
