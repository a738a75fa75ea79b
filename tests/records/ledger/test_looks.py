"""Runs that looked at the data and published nothing: which of them count, under what names, and who allows more."""

from __future__ import annotations

import multiprocessing
from fractions import Fraction
from typing import Any

import pytest

from penstock.records import Action, Home, LogAltered, Records, open_records
from penstock.records.ledger._transactions import LedgerWriter
from penstock.records.ledger.accounts import Claim, LedgerAltered
from penstock.records.ledger.ledger import BudgetExceeded
from penstock.records.ledger.limits import AccountRefused, OfficerNotTrusted, open_account
from penstock.records.ledger.looks import (
    ALLOWED,
    ENOUGH,
    LooksExhausted,
    allow_looks,
    look,
    looks,
    looks_of,
    note_left_out,
    on_record,
)
from tests.records.database_faults import tamper
from tests.records.ledger_cases import HOW, account, claim, officer, released, uncounted, with_accounts

TENTH = Fraction(1, 10)


@pytest.fixture
def records(either_home: Home) -> Records:
    return with_accounts(open_records(home=either_home))


def looked(records: Records, *runs: str, dataset: str | None = "income", source: str = "s1", **other: Any) -> None:
    for run in runs:
        look(records.log, dataset=dataset, source=source, run=run, **HOW, **other)


def counted(records: Records, dataset: str | None = "income", source: str = "s1", **other: Any) -> tuple[str, ...]:
    return looks(records.log, dataset=dataset, source=source, **other).runs


def many(number: int, name: str = "r") -> list[str]:
    return [f"{name}{place}" for place in range(number)]


def published(records: Records, run: str, wanted: Claim) -> None:
    released(records, run, wanted)
    records.log.append(Action.PUBLISHED, run=run, actor="a", facts={}, occurred=HOW["now"])


def test_looks_are_allowed_up_to_the_limit_and_then_refused(records: Records) -> None:
    looked(records, *many(ALLOWED))
    before = records.log.head()
    with pytest.raises(LooksExhausted, match=f"{ALLOWED} runs have looked at these data and published nothing") as none:
        looked(records, "one-more")
    assert (none.value.code, none.value.kind) == ("looks-exhausted", "budget")
    assert "penstock budget looks" in str(none.value)
    assert records.log.head() == before, "a refused look is none"
    assert records.ledger.verify() == ALLOWED


def test_a_run_that_goes_on_after_a_kill_looks_once(records: Records) -> None:
    looked(records, *many(ALLOWED))
    looked(records, "r0", f"r{ALLOWED - 1}")
    assert counted(records) == tuple(many(ALLOWED))
    assert counted(records, but="r0") == tuple(many(ALLOWED)[1:])


def test_a_run_that_starts_over_with_another_source_is_known_under_both(records: Records) -> None:
    looked(records, "r0")
    looked(records, "r0", source="s2")
    assert counted(records) == counted(records, None, "s1") == counted(records, None, "s2") == ("r0",)


@pytest.mark.parametrize(
    ("dataset", "source"),
    [("income", "s2"), (None, "s1"), ("wages", "s1")],
    ids=["another file of the data set", "no data set named", "another name of the data set"],
)
def test_neither_another_name_nor_none_begins_a_new_count(records: Records, dataset: str | None, source: str) -> None:
    looked(records, *many(ALLOWED))
    with pytest.raises(LooksExhausted):
        looked(records, "renamed", dataset=dataset, source=source)
    looked(records, "other", dataset="wages", source="s9")
    looked(records, "unnamed", dataset=None, source="s8")


def test_the_smallest_limit_of_all_names_of_a_source_counts(records: Records) -> None:
    looked(records, "r0", "r1")
    allow_looks(records.log, "wages", 50, officer(), **HOW)
    allow_looks(records.log, "income", 2, officer(), **HOW)
    with pytest.raises(LooksExhausted):
        looked(records, "r2", dataset="wages")
    with pytest.raises(LooksExhausted):
        looked(records, "r2", dataset=None)


def test_looks_without_a_name_do_not_bind_the_limit_of_the_name_given_later(records: Records) -> None:
    looked(records, *many(ALLOWED), dataset=None)
    allow_looks(records.log, "income", ALLOWED + 1, officer(), **HOW)
    looked(records, "named")
    with pytest.raises(LooksExhausted):
        looked(records, "one-more")


def test_what_was_published_or_spent_epsilon_is_bounded_elsewhere(records: Records) -> None:
    open_account(records.log, account(), officer(), **HOW)
    looked(records, "published", "repeated", "receipt", "drawn", "hardly", "reserved", "refused", "waits", "exact")
    published(records, "published", uncounted(dataset="income"))
    records.ledger.reserve(uncounted(dataset="income", repeats="published"), run="repeated", **HOW)
    records.ledger.spend("repeated", draws=(), **HOW)
    records.ledger.settle("repeated", "published", **HOW)  # its figures were out, its gates may be new
    records.log.append(Action.FOUND_PUBLISHED, run="receipt", actor="a", facts={}, occurred=HOW["now"])
    acknowledging = {"acknowledges": ("published",)}
    released(records, "drawn", claim(epsilon=TENTH, **acknowledging), outcome="refused")
    released(records, "hardly", claim(epsilon=ENOUGH / 2, **acknowledging), outcome="refused")
    records.ledger.reserve(claim(epsilon=TENTH, **acknowledging), run="reserved", **HOW)
    with pytest.raises(BudgetExceeded):
        records.ledger.reserve(claim(epsilon=Fraction(5), **acknowledging), run="refused", **HOW)
    # Nothing bounds how often an exact table is drawn and refused.
    released(records, "exact", uncounted(dataset="income", acknowledges=("published", "reserved")), outcome="refused")
    assert (
        counted(records)
        == looks_of(records.log, "income").runs
        == (
            "repeated",
            "hardly",
            "reserved",
            "refused",
            "waits",
            "exact",
        )
    )


def test_what_spent_epsilon_counts_if_it_declared_something_anew(records: Records) -> None:
    open_account(records.log, account(), officer(), **HOW)
    declared = {"first": "ab", "same": "ab", "fewer": "b", "more": "abc", "tiny": "bc", "tiny-new": "d", "exact": ""}
    for run, letters in declared.items():
        looked(records, run, declared=letters)
        spends = claim(epsilon=ENOUGH / 2 if run.startswith("tiny") else TENTH, acknowledges=("exact",))
        if run == "exact":
            spends = uncounted(dataset="income", acknowledges=("first", "same", "fewer", "more", "tiny", "tiny-new"))
        released(records, run, spends)
    assert counted(records) == ("first", "more", "tiny-new")
    looked(records, "drawn", declared="e")
    released(records, "drawn", claim(epsilon=TENTH, acknowledges=("exact",)), outcome="refused")
    looked(records, "drawn-again", declared="e")
    released(records, "drawn-again", claim(epsilon=TENTH, acknowledges=("exact",)), outcome="refused")
    assert counted(records) == ("first", "more", "tiny-new", "drawn")


def test_a_look_is_found_by_all_that_its_records_are_known_by(records: Records) -> None:
    looked(records, "r0", dataset=None, known_by=["values v"])
    assert counted(records, None, "s2") == ()
    assert counted(records, None, "s2", known_by=["values v"]) == ("r0",)


def test_an_officer_allows_more_or_less(records: Records) -> None:
    looked(records, *many(ALLOWED))
    allow_looks(records.log, "income", ALLOWED + 1, officer(), **HOW)
    looked(records, "one-more")
    allow_looks(records.log, "income", 1, officer(), **HOW)
    with pytest.raises(LooksExhausted):
        looked(records, "last")
    assert looks_of(records.log, "income").allowed == 1
    assert looks_of(records.log, "income").in_words == f"{ALLOWED + 1} of 1 allowed"
    assert looks_of(records.log, "wages").in_words == f"0 of {ALLOWED} allowed"
    records.log.verify()
    records.ledger.verify()


@pytest.mark.parametrize(
    ("dataset", "most", "signer", "refusal", "rule"),
    [
        ("income", 0, officer(), AccountRefused, "most refused: must be at least 1"),
        (" ", 3, officer(), AccountRefused, "dataset refused: must be a name"),
        ("income", 3, officer(reason=""), AccountRefused, "reason refused: must be given"),
        ("income", 3, officer("otto"), OfficerNotTrusted, "must have a trusted key"),
        ("income", 3, officer(owner="otto"), OfficerNotTrusted, "must have a trusted key"),
    ],
)
def test_a_limit_without_a_name_a_number_a_reason_or_a_trusted_key_is_refused(
    records: Records, dataset: str, most: int, signer: Any, refusal: type[Exception], rule: str
) -> None:
    before = records.log.head()
    with pytest.raises(refusal, match=rule):
        allow_looks(records.log, dataset, most, signer, **HOW)
    assert records.log.head() == before


def test_a_limit_that_nobody_signed_is_found(records: Records) -> None:
    """Whoever holds the key of the log can write the event, but not the signature of the officer."""
    allow_looks(records.log, "income", 3, officer(), **HOW)
    [signed] = [event for event in records.log.events() if event.action is Action.LOOKS_LIMITED]
    forged = {name: fact for name, fact in signed.facts.items() if name != "subjects"} | {"looks": 1000}
    records.ledger.verify()
    with records.log.transaction() as writer:
        sheet = LedgerWriter(writer, actor="canary", now=HOW["now"])
        sheet.write(Action.LOOKS_LIMITED, run="-", facts=forged, subjects=["dataset income"])
    with pytest.raises(LedgerAltered, match="must carry the signature of its officer, and does not"):
        records.ledger.verify()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM ledger_entries",
        "DELETE FROM ledger_entries WHERE seq = (SELECT max(seq) FROM ledger_entries)",
        "DELETE FROM ledger_tails",
    ],
)
def test_looks_that_were_taken_out_of_the_tables_stop_every_further_one(
    records: Records, either_home: Home, statement: str
) -> None:
    looked(records, *many(3))
    tamper(either_home, statement)
    with pytest.raises(LedgerAltered):
        looked(records, "one-more")
    with pytest.raises(LedgerAltered):
        counted(records)


def test_a_receipt_is_not_moved_to_another_run(records: Records, either_home: Home) -> None:
    looked(records, "receipt")
    records.log.append(Action.FOUND_PUBLISHED, run="receipt", actor="a", facts={}, occurred=HOW["now"])
    assert counted(records) == ()
    looked(records, "refused")
    tamper(either_home, "UPDATE log_events SET run = 'refused' WHERE action = 'FOUND_PUBLISHED'")
    with pytest.raises(LogAltered):
        counted(records)


def test_of_runs_that_start_together_no_more_may_look_than_allowed(either_home: Home) -> None:
    open_records(home=either_home)
    context = multiprocessing.get_context("fork")
    ready, done = context.Barrier(4), context.SimpleQueue()

    def begin(name: str) -> None:
        records, allowed = open_records(home=either_home), 0
        ready.wait()
        for run in many(5, name):
            try:
                looked(records, run)
                allowed += 1
            except LooksExhausted:
                pass
        done.put(allowed)

    children = [context.Process(target=begin, args=(name,)) for name in "abcd"]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert sum(done.get() for _ in children) == ALLOWED
    assert len(counted(open_records(home=either_home))) == ALLOWED


def left_out(records: Records, run: str, *outputs: str) -> None:
    for output in outputs:
        note_left_out(records.log, run=run, output=output, why={"code": "gate-refused"}, **HOW)


def test_every_output_that_was_left_out_is_a_look_whatever_became_of_its_run(records: Records) -> None:
    looked(records, "published", "refused")
    left_out(records, "published", "one", "two", "one")
    left_out(records, "refused", "one")
    published(records, "published", uncounted(dataset="income"))
    found = looks_of(records.log, "income")
    assert (found.runs, found.left_out, found.count) == (("refused",), 3, 4)
    assert found.in_words == f"4 of {ALLOWED} allowed"
    assert looks(records.log, dataset=None, source="s1").count == 4
    assert looks(records.log, dataset="income", source="s1", but="refused").count == 2
    assert records.ledger.verify() > 0
    records.log.verify()


def test_the_same_output_left_out_of_another_source_is_another_look(records: Records) -> None:
    looked(records, "r0")
    left_out(records, "r0", "one")
    looked(records, "r0", source="s2")
    left_out(records, "r0", "one", "one")
    assert looks_of(records.log, "income").left_out == 2
    assert on_record(records.log.events("r0"), "s2") == {"one": {"code": "gate-refused"}}
    assert on_record(records.log.events("r0"), "s3") == {}


def test_nothing_is_left_out_before_a_look(records: Records) -> None:
    with pytest.raises(ValueError, match="at which it has not looked"):
        left_out(records, "r0", "one")


@pytest.mark.parametrize(("before", "outputs", "allowed"), [(0, ALLOWED, True), (0, ALLOWED + 1, False), (7, 4, False)])
def test_a_run_needs_a_look_for_each_output_that_it_may_leave_out(
    records: Records, before: int, outputs: int, allowed: bool
) -> None:
    looked(records, *many(before))
    if allowed:
        looked(records, "several", may_leave_out=outputs)
        return
    with pytest.raises(LooksExhausted, match=f"must allow {outputs} more looks, one for each output"):
        looked(records, "several", may_leave_out=outputs)
