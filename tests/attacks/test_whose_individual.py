"""An account for individuals counts the same individuals in every release.

A person has four records. An account of epsilon 2 took two releases of epsilon 1 with one record of each unit: one
named the column of persons, the other one that is different in every record. By it each of the four was somebody else,
and all four were used: the person lost up to 1 + 4, and the account said 2.
"""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.flows.planning import draw_up_plan
from penstock.flows.preview import preview
from penstock.flows.spec import load_spec
from penstock.mechanisms.refusal import Refusal
from penstock.records import Ledger, open_records
from penstock.records.ledger._transactions import LedgerWriter
from penstock.records.ledger.accounts import Claim, LedgerAltered
from penstock.records.ledger.looks import looks_of
from penstock.records.log.log import Action
from tests.attacks.typed_line import typed
from tests.support.private_release import begun
from tests.support.workplace import ROWS, Workplace, make_table, make_units, open_dp_account

HOW: dict[str, Any] = {"actor": "mallory", "now": datetime(2026, 11, 16, 2, 15, tzinfo=UTC)}


def claim_by(whose: str | None, **changes: Any) -> Claim:
    given = {
        "dataset": "survey",
        "source": "s1",
        "values": "v1",
        "model": "dp",
        "epsilon": Fraction(1),
        "adjacency": "add_remove",
        "unit": "individual",
        "whose": whose,
    }
    return Claim(**{**given, **changes})


def ledger() -> Ledger:
    return open_records().ledger


def reserved(run: str, claim: Claim) -> str | None:
    try:
        ledger().reserve(claim, run=run, **HOW)
    except Refusal as refusal:
        return refusal.code
    return None


def write(run: str, claim: Claim) -> None:
    """As another version, or whoever has the keys, would."""
    with open_records().log.transaction() as writer:
        facts = {**claim.facts(), "attempt": 1}
        if claim.whose is None:
            del facts["whose"]
        LedgerWriter(writer, **HOW).write(Action.RESERVED, run=run, facts=facts, subjects=claim.subjects)


def make_persons(place: Workplace) -> None:
    """Four records of each person, and a second identifier that no two records share."""
    make_table(place, dimensions=["region"], sums=[], means=[], adjacency="add_remove")
    make_units(place, most=1)
    survey = pq.read_table(place.source)
    numbers = pa.array([f"record {row}" for row in range(ROWS)])
    pq.write_table(survey.append_column("record_id", numbers), place.source)
    place.raw["source"]["columns"]["record_id"] = {"role": "identifier"}


def released_by(place: Workplace, column: str) -> str | None:
    place.raw["source"]["unit"] = column
    place.raw["name"] = f"by-{column.replace('_', '-')}"
    try:
        with begun(place, account=False) as line:
            line.publish()
    except Refusal as refusal:
        return refusal.code
    return None


def test_another_column_of_the_same_records_is_not_charged_to_the_account(either_workplace: Workplace) -> None:
    make_persons(either_workplace)
    open_dp_account(2, unit="individual", adjacency="add_remove")
    found = [released_by(either_workplace, column) for column in ("person_id", "record_id")]
    assert found == [None, "other-unit"]
    assert [cost.claim.whose for cost in ledger().book("survey").costs] == ["person_id"]
    assert len(either_workplace.bundles()) == 1
    ledger().verify()


def test_the_command_says_which_column_it_must_be(workplace: Workplace) -> None:
    make_persons(workplace)
    open_dp_account(2, unit="individual", adjacency="add_remove")
    assert released_by(workplace, "person_id") is None
    workplace.raw |= {"name": "second", "source": {**workplace.raw["source"], "unit": "record_id"}}
    ended = typed("run", workplace.write_spec())
    ended.require_refusal(5)
    assert "other-unit" in ended.err
    assert "must be person_id, by which the releases" in " ".join(ended.err.split())


@pytest.mark.parametrize("change", [{}, {"source": "s2", "values": "v2"}, {"edition": "2026-11"}], ids=str)
def test_two_columns_are_refused_in_the_transaction_and_found_by_the_check(
    either_workplace: Workplace, change: dict[str, str]
) -> None:
    open_dp_account(9, unit="individual", adjacency="add_remove")
    assert reserved("r1", claim_by("person_id")) is None
    other = claim_by("record_id", **change)
    assert reserved("r2", other) == "other-unit"
    assert reserved("r3", claim_by("person_id", **change)) is None
    ledger().verify()
    write("r4", other)
    with pytest.raises(LedgerAltered, match="dp account of survey refused: must count individuals by one column"):
        ledger().verify()


def test_parts_of_a_partition_are_of_the_same_individuals(either_workplace: Workplace) -> None:
    open_dp_account(9, unit="individual", adjacency="add_remove", partition="region")
    north = {"column": "region", "part": "North", "source": "s2", "values": "v2"}
    south = {"column": "region", "part": "South", "source": "s3", "values": "v3"}
    assert reserved("r1", claim_by("person_id", **north)) is None
    assert reserved("r2", claim_by("record_id", **south)) == "other-unit"
    assert reserved("r3", claim_by("person_id", **south)) is None


def test_an_older_charge_without_a_column_agrees_with_the_first_that_is_named(either_workplace: Workplace) -> None:
    open_dp_account(9, unit="individual", adjacency="add_remove")
    write("r1", claim_by(None))
    assert reserved("r2", claim_by("person_id")) is None
    assert reserved("r3", claim_by("record_id")) == "other-unit"
    ledger().verify()
    assert [cost.claim.whose for cost in ledger().book("survey").costs] == [None, "person_id"]


def test_a_reservation_that_was_given_back_binds_nobody(workplace: Workplace) -> None:
    open_dp_account(9, unit="individual", adjacency="add_remove")
    assert reserved("r1", claim_by("record_id")) is None
    ledger().settle("r1", "refused", **HOW)
    assert reserved("r2", claim_by("person_id")) is None


@pytest.mark.parametrize("claim", [claim_by(None), claim_by("person_id", unit="row")], ids=["nobody", "a row"])
def test_a_claim_for_individuals_names_their_column_and_no_other_does(workplace: Workplace, claim: Claim) -> None:
    open_dp_account(9, unit="individual", adjacency="add_remove")
    assert reserved("r1", claim) == "claim-refused"


def test_every_column_that_is_tried_is_a_look(workplace: Workplace) -> None:
    """That it came so far says that nobody is missing there, which no epsilon covers."""
    make_persons(workplace)
    open_dp_account(2, unit="individual", adjacency="add_remove")
    counted, declared = [], []
    for column in ("person_id", "record_id"):
        released_by(workplace, column)
        counted.append(len(looks_of(open_records().log, "survey").runs))
        declared.append(draw_up_plan(load_spec(workplace.spec_file)).declarations)
    assert counted == [1, 2]
    [person], [record] = ([each for each in found if "unit" in each] for found in declared)
    assert (person, record) == ({"unit": "person_id"}, {"unit": "record_id"})


def test_plan_and_promise_name_the_column(workplace: Workplace) -> None:
    make_persons(workplace)
    document = preview(load_spec(workplace.write_spec()), count=False)
    assert any("all records with the same value of person_id" in each for each in document["guarantee"]["assumptions"])
    assert any("whoever has one value of person_id" in each for each in document["expect"])
