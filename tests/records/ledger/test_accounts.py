from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.records.files.digest import canonical
from penstock.records.ledger.accounts import Claim, LedgerAltered, read_book
from penstock.records.log.log import Action, Event
from tests.records.ledger_cases import account, claim, uncounted

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
    about=st.none() | st.lists(WORDS, max_size=3).map(tuple),
    values=st.none() | WORDS,
    edition=st.none() | WORDS,
    table=st.none() | st.booleans(),
    repeats=st.none() | WORDS,
    formerly=st.none() | WORDS,
    files=st.lists(WORDS, max_size=3).map(tuple),
)


SAID_SINCE = ("values", "edition", "formerly", "table", "repeats", "files")


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


def test_a_claim_of_a_version_that_said_less_keeps_its_meaning() -> None:
    said = {name: value for name, value in claim().facts().items() if name not in ("about", *SAID_SINCE)}
    old = Claim.of(said)
    assert old == claim()
    assert old.subjects == ("dataset income", "source s1")
    assert not old.has_records_of(claim(source="s2", values="v"))


def test_a_release_is_found_by_its_records_and_by_its_data_set_if_it_has_one() -> None:
    assert claim().subjects == ("dataset income", "source s1")
    assert uncounted().subjects == ("source s1",)
    assert claim(values="v").subjects == ("dataset income", "source s1", "values v")
    assert uncounted(formerly="s0", values="v").subjects == ("source s0", "source s1", "values v")
    assert uncounted(files=("f", "g")).subjects == ("file f", "file g", "source s1")


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
    assert uncounted(**one).is_apart_from(uncounted(source="s2", **other)) is apart
    assert uncounted(source="s2", **other).is_apart_from(uncounted(**one)) is apart


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"source": "s1"}, {"source": "s1"}),
        ({"source": "s1", "values": "v"}, {"source": "s2", "values": "v"}),
        ({"source": "s1"}, {"source": "s2", "formerly": "s1"}),
        ({"source": "s1", "files": ("f", "g")}, {"source": "s2", "files": ("g", "h")}),
        ({"source": "s1", "edition": "2026-10"}, {"source": "s2", "edition": "2026-11"}),
        ({"source": "s1"}, {"source": "s2", "edition": "2026-11"}),
    ],
)
def test_whatever_is_said_the_same_records_and_other_editions_are_not_apart(
    one: dict[str, str], other: dict[str, str]
) -> None:
    north, south = uncounted(column="region", part="N", **one), uncounted(column="region", part="S", **other)
    assert not north.is_apart_from(south)
    assert not south.is_apart_from(north)


@pytest.mark.parametrize(
    ("model", "said", "may_be"),
    [
        ("prob_k", None, False),
        ("t_close", None, False),
        ("k_anon", None, True),
        ("dp", None, True),
        ("dp", False, False),
        ("k_anon", True, True),
    ],
)
def test_what_may_have_been_a_table_is_taken_for_one(model: Any, said: bool | None, may_be: bool) -> None:
    assert uncounted(model=model, table=said).may_be_table is may_be


@pytest.mark.parametrize(
    ("change", "known"),
    [
        ({}, True),
        ({"source": "s2", "values": "v1"}, True),
        ({"source": "s2"}, False),
        ({"source": "s2", "values": "v2"}, False),
        ({"edition": "2026-11"}, False),
        ({"source": "s2", "column": "region", "part": "N"}, False),
        ({"source": "s2", "values": "v1", "column": "region", "part": "N"}, True),
        ({"source": "s2", "values": "v2", "column": "region", "part": "N", "files": ("f",)}, True),
        ({"source": "s2", "values": "v2", "column": "region", "part": "N", "files": ("f", "z")}, False),
        ({"source": "s2", "values": "v2", "files": ("f",)}, False),
    ],
)
def test_two_releases_are_of_one_data_set_where_records_and_edition_say_so(change: Any, known: bool) -> None:
    one = claim(values="v1", files=("f", "g"))
    other = claim(**{"values": "v1", **change} if "source" not in change else change)
    for partition in ("region", *(() if "files" in change else ("sex", None))):
        assert one.is_known_to_be_of_data_of(other, partition) is known
        assert other.is_known_to_be_of_data_of(one, partition) is known


@pytest.mark.parametrize(
    ("change", "partition", "known"),
    [
        ({"part": "S"}, "region", True),
        ({"part": "S"}, "sex", False),
        ({"part": "S"}, None, False),
        ({"part": "N"}, "region", False),
        ({"column": "sex", "part": "S"}, "region", False),
        ({"part": "S", "edition": "2026-11"}, "region", False),
    ],
)
def test_parts_are_of_one_data_set_where_the_account_knows_the_partition(
    change: Any, partition: str | None, known: bool
) -> None:
    one = claim(values="v1", column="region", part="N")
    other = claim(**{"source": "s2", "values": "v2", "column": "region", **change})
    assert one.is_known_to_be_of_data_of(other, partition) is known
    assert other.is_known_to_be_of_data_of(one, partition) is known


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
    with pytest.raises(
        LedgerAltered, match=f"event {len(lines)} refused: must follow the events that it refers to"
    ) as caught:
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
    parts = [reserved(f"r{part}", wanted=claim(source=part, column="region", part=part)) for part in "NS"]
    assert account(partition=partition).spent(read_book(happened(*parts)).costs) == total


@pytest.mark.parametrize("model", ["idp", "bdp"])
@pytest.mark.parametrize(
    ("change", "one"),
    [
        ({}, True),
        ({"source": "s2"}, True),
        ({"values": "v2"}, True),
        ({"source": "s2", "values": "v2"}, False),
        ({"source": "s2", "values": None}, True),
        ({"source": "s2", "values": "v2", "column": "region", "part": "N"}, False),
        ({"source": "s2", "values": "v2", "column": "region", "part": "N", "files": ("f",)}, False),
        ({"edition": "2026-10"}, False),
        ({"edition": "2026-10", "column": "region", "part": "N"}, False),
        ({"source": "s2", "values": "v2", "model": "dp", "adjacency": "replace"}, True),
        ({"source": "s2", "values": "v2", "epsilon": None, "repeats": "r0"}, False),
    ],
)
def test_an_account_whose_promise_is_about_one_data_set_knows_another(model: Any, change: Any, one: bool) -> None:
    first = claim(model=model, adjacency="a", values="v1")
    costs = read_book(happened(reserved("r1", wanted=first), reserved("r2", wanted=replace(first, **change)))).costs
    assert account(model=model, adjacency="a").is_of_one_data_set(costs) is one
    assert account().is_of_one_data_set(costs)


@pytest.mark.parametrize(
    ("claims", "one"),
    [
        ([("s1", "N", "f"), ("s2", "S", "g")], True),
        ([("s1", "N", "f"), ("s2", "S", "g"), ("s3", "N", "h")], False),
        ([("s1", "N", "f"), ("s2", "S", "g"), ("s3", None, "fg")], True),
        ([("s3", None, "fgh"), ("s1", "N", "fg")], True),
        ([("s3", None, "f"), ("s1", "N", "fg")], False),
        ([("s3", None, "f"), ("s1", "N", "")], False),
        ([("s3", None, ""), ("s1", "N", "")], False),
        ([("s3", None, "fg"), ("s1", "N", "f"), ("s2", "S", "z")], False),
        ([("s3", None, "fg"), ("s4", None, "fg"), ("s1", "N", "f")], False),
    ],
)
def test_parts_of_the_declared_partition_are_of_one_data_set_and_of_the_whole_whose_files_they_have(
    claims: list[tuple[str, str | None, str]], one: bool
) -> None:
    lines = [
        reserved(
            f"r{place}",
            wanted=claim(
                model="bdp",
                adjacency="bootstrap_add_remove",
                source=source,
                values=f"v {source}",
                column="region" if part else None,
                part=part,
                files=tuple(files),
            ),
        )
        for place, (source, part, files) in enumerate(claims)
    ]
    costs = read_book(happened(*lines)).costs
    bdp = account(model="bdp", adjacency="bootstrap_add_remove", partition="region")
    assert bdp.is_of_one_data_set(costs) is one
    assert not replace(bdp, partition="sex").is_of_one_data_set(costs)


def test_one_data_set_is_known_by_way_of_a_third_release() -> None:
    common = {"model": "idp", "adjacency": "from_D"}
    links = [claim(**common, values="v1"), claim(**common, values="v2"), claim(**common, source="s2", values="v2")]
    costs = read_book(happened(*(reserved(f"r{place}", wanted=link) for place, link in enumerate(links)))).costs
    idp = account(model="idp", adjacency="from_D")
    assert idp.is_of_one_data_set(costs)
    assert not idp.is_of_one_data_set([costs[0], costs[2]])


def test_what_an_earlier_version_charged_for_the_same_source_is_one_part_with_it() -> None:
    old = claim(source="former", column="region", part="N")
    new = claim(source="s1", values="v", formerly="former", column="region", part="S")
    renamed = claim(source="s2", values="w", formerly="former", column="region", part="E")  # names of partitions only
    book = read_book(
        happened(*(reserved(run, wanted=one) for run, one in zip("abc", (old, new, renamed), strict=True)))
    )
    by_region = account(partition="region")
    assert [by_region.spent(book.costs[:2]), by_region.spent(book.costs[1:]), by_region.spent(book.costs)] == [2, 2, 3]
    assert not new.has_records_of(renamed)


def test_a_file_in_two_parts_makes_one_of_them_and_the_whole_makes_none() -> None:
    north = claim(source="s1", column="region", part="N", files=("f",))
    south = claim(source="s2", column="region", part="S", files=("g",))
    again = claim(source="s3", column="region", part="E", files=("f", "h"))
    whole = claim(source="s4", files=("f", "g"))
    lines = [reserved(run, wanted=one) for run, one in zip("abcd", (north, south, again, whole), strict=True)]
    costs = read_book(happened(*lines)).costs
    by_region = account(partition="region")
    assert [by_region.spent(costs[:2]), by_region.spent(costs[:3])] == [1, 2]
    assert by_region.spent([*costs[:2], costs[3]]) == 2


def test_a_repeat_costs_nothing_and_is_of_the_run_that_drew_it() -> None:
    book = read_book(happened(reserved("r1"), reserved("r2", wanted=claim(epsilon=None, repeats="r1"))))
    assert account().spent(book.costs) == 1
    assert [cost.drawn_by for cost in book.costs] == ["r1", "r1"]


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
                "whose": None,
                "edition": None,
                "repeats": None,
                "state": "reserved",
            }
        ],
    }


def test_delta_reads_as_exact_text_where_there_is_some() -> None:
    with_delta = claim(epsilon=Fraction(1, 3), delta=Fraction(1, 7))
    assert Claim.of(with_delta.facts()) == with_delta
    assert "delta" not in claim().facts()
    book = read_book(happened(opened(limit="2", delta="1/4"), reserved("r1", wanted=with_delta)))
    [told] = book.as_dict("income")["accounts"]
    assert (told["delta"], told["delta_spent"], told["delta_left"]) == ("1/4", "1/7", "3/28")
