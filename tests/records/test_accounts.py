from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ledger_cases import account, claim, uncounted

from records.accounts import Claim, LedgerAltered, read_book
from records.digest import canonical
from records.log import Action, Event

WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
CLAIMS = st.builds(
    Claim,
    dataset=st.none() | WORDS,
    source=WORDS,
    model=st.sampled_from(["dp", "idp", "bdp", "prob_k", "t_close", "k_anon"]),
    epsilon=st.none() | st.fractions(min_value=0),
    adjacency=WORDS,
    unit=WORDS,
    column=st.none() | WORDS,
    part=st.none() | WORDS,
    acknowledges=st.lists(WORDS, max_size=3).map(tuple),
)


def happened(*lines: tuple[Action, str, dict[str, Any]]) -> list[Event]:
    """Events as the log gives them out."""
    common = {"actor": "a", "code": "0", "previous": "", "digest": ""}
    return [
        Event(seq=seq, occurred=f"t{seq}", run=run, action=action, facts=facts, **common)
        for seq, (action, run, facts) in enumerate(lines, start=1)
    ]


def reserved(run: str, attempt: int = 1, wanted: Claim | None = None) -> tuple[Action, str, dict[str, Any]]:
    return Action.RESERVED, run, {**(wanted or claim()).facts(), "attempt": attempt}


def step(action: Action, run: str, attempt: int = 1, **facts: str) -> tuple[Action, str, dict[str, Any]]:
    return action, run, {"attempt": attempt, **facts}


@given(CLAIMS)
def test_a_claim_comes_back_from_the_log_as_it_was(wanted: Claim) -> None:
    assert Claim.of(json.loads(canonical(wanted.facts()))) == wanted


def test_a_release_is_found_by_its_records_and_by_its_data_set_if_it_has_one() -> None:
    assert claim().subjects == ("dataset income", "source s1")
    assert uncounted().subjects == ("source s1",)


def test_no_name_of_a_data_set_can_pass_as_records() -> None:
    assert not set(claim(dataset="source s1", source="x").subjects) & set(claim(dataset="x").subjects)


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ({"column": "region", "part": "N"}, {"column": "region", "part": "S"}, True),
        ({"column": "region", "part": "N"}, {"column": "region", "part": "N"}, False),
        ({"column": "region", "part": "N"}, {"column": "sex", "part": "S"}, False),
        ({"column": "region", "part": "N"}, {"column": "region", "part": None}, False),
        ({"column": "region", "part": "N"}, {}, False),
        ({"part": "N"}, {"part": "S"}, False),
        ({"column": "region", "part": "N", "unit": "individual"}, {"column": "region", "part": "S"}, False),
    ],
)
def test_only_rows_of_two_parts_of_one_column_are_apart(
    one: dict[str, str], other: dict[str, str], apart: bool
) -> None:
    assert uncounted(**one).is_apart_from(uncounted(**other)) is apart
    assert uncounted(**other).is_apart_from(uncounted(**one)) is apart


def test_a_cost_goes_from_reserved_to_spent_to_its_outcome() -> None:
    lines = [
        reserved("r1"),
        reserved("r2"),
        step(Action.SPENT, "r1"),
        step(Action.SETTLED, "r1", outcome="published"),
    ]
    seen = [[cost.state for cost in read_book(happened(*lines[:count])).costs] for count in range(len(lines) + 1)]
    assert seen == [[], ["reserved"], ["reserved", "reserved"], ["spent", "reserved"], ["published", "reserved"]]


def test_costs_stay_in_the_order_of_their_reservations() -> None:
    book = read_book(happened(reserved("r1"), reserved("r2"), step(Action.SPENT, "r1")))
    assert [(cost.run, cost.occurred, cost.claim) for cost in book.costs] == [
        ("r1", "t1", claim()),
        ("r2", "t2", claim()),
    ]


def test_what_is_given_back_before_the_draw_is_gone() -> None:
    assert read_book(happened(reserved("r1"), step(Action.RETURNED, "r1"))).costs == ()


@pytest.mark.parametrize(
    "lines",
    [
        [reserved("r1"), step(Action.SPENT, "r1"), step(Action.RETURNED, "r1")],
        [
            reserved("r1"),
            step(Action.SPENT, "r1"),
            step(Action.SETTLED, "r1", outcome="refused"),
            step(Action.RETURNED, "r1"),
        ],
        [step(Action.SPENT, "r1")],
        [step(Action.RETURNED, "r1")],
        [reserved("r1"), step(Action.SETTLED, "r1", outcome="refused")],
        [reserved("r1"), step(Action.SPENT, "r1"), step(Action.SPENT, "r1")],
        [reserved("r1"), step(Action.SPENT, "r2")],
        [reserved("r1"), step(Action.SPENT, "r1", attempt=2)],
    ],
)
def test_an_event_that_does_not_follow_from_those_before_it_is_refused(
    lines: list[tuple[Action, str, dict[str, Any]]],
) -> None:
    with pytest.raises(LedgerAltered, match=f"event {len(lines)} refused: an event before it is missing") as caught:
        read_book(happened(*lines))
    assert (caught.value.code, caught.value.kind) == ("ledger-altered", "integrity")


def test_only_a_refused_release_does_not_block() -> None:
    lines = [reserved("r1"), step(Action.SPENT, "r1")]
    ends = [lines[:1], lines, *([*lines, step(Action.SETTLED, "r1", outcome=end)] for end in ("published", "refused"))]
    assert [read_book(happened(*end)).costs[0].blocks for end in ends] == [True, True, True, False]


def opened(**facts: Any) -> tuple[Action, str, dict[str, Any]]:
    return Action.BUDGET_OPENED, "-", {**account().as_dict(), **facts}


def test_accounts_are_opened_and_raised_each_for_its_model() -> None:
    raised = (Action.BUDGET_RAISED, "-", {**account().as_dict(), "limit": "7/3"})
    book = read_book(happened(opened(), opened(model="bdp", adjacency="bootstrap_replace"), raised))
    assert book.accounts == {
        "dp": account(limit=Fraction(7, 3)),
        "bdp": account(model="bdp", adjacency="bootstrap_replace"),
    }


def test_thirds_fill_one_exactly() -> None:
    third = claim(epsilon=Fraction(1, 3))
    book = read_book(happened(*(reserved(f"r{index}", wanted=third) for index in range(3))))
    assert account().spent(book.costs) == 1


def test_a_release_without_epsilon_costs_nothing() -> None:
    book = read_book(happened(reserved("r1", wanted=uncounted(dataset="income"))))
    assert account().spent(book.costs) == 0


@pytest.mark.parametrize(("partition", "total"), [("region", 1), ("sex", 2), (None, 2)])
def test_parts_count_apart_only_under_the_partition_that_the_account_declared(
    partition: str | None, total: int
) -> None:
    parts = [reserved(f"r{part}", wanted=claim(column="region", part=part)) for part in "NS"]
    assert account(partition=partition).spent(read_book(happened(*parts)).costs) == total


def test_a_book_reads_as_exact_text() -> None:
    book = read_book(happened(opened(limit="2"), reserved("r1", wanted=claim(epsilon=Fraction(1, 3)))))
    assert json.loads(canonical(book.as_dict("income"))) == {
        "dataset": "income",
        "accounts": [{**account().as_dict(), "limit": "2", "spent": "1/3", "left": "5/3"}],
        "releases": [
            {
                "run": "r1",
                "occurred": "t2",
                "model": "dp",
                "epsilon": "1/3",
                "adjacency": "add_remove",
                "part": None,
                "state": "reserved",
            }
        ],
    }
