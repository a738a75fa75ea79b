"""Bootstrap and individual promises are about one actual data set; other data are charged to its account.

Three data sets went into one account as parts: each got a constant column, and `budget.part` named it. No partition had
been agreed, and one of them was charged for the whole.
"""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.mechanisms.refusal import Refusal
from penstock.records import Ledger, open_records
from penstock.records.ledger._transactions import LedgerWriter
from penstock.records.ledger.accounts import Claim, LedgerAltered
from penstock.records.log.log import Action
from tests.support.private_release import begun
from tests.support.workplace import ROWS, Workplace, make_table, open_dp_account

RELAXED = {
    "bdp": {"adjacency": "bootstrap_replace", "scale": "per_cell", "empty_cells": "noise", "acknowledges": ["bdp"]},
    "idp": {"adjacency": "from_D", "acknowledges": ["idp"]},
}
HOW: dict[str, Any] = {"actor": "mallory", "now": datetime(2026, 11, 16, 2, 15, tzinfo=UTC)}
OTHERS = {
    "other records": {"source": "s2", "values": "v2"},
    "another edition": {"edition": "2026-11"},
    "another edition of other records": {"source": "s2", "values": "v2", "edition": "2026-11"},
}


def claim_of(model: str, **changes: Any) -> Claim:
    given = {
        "dataset": "survey",
        "source": "s1",
        "values": "v1",
        "edition": "2026-10",
        "model": model,
        "epsilon": Fraction(1),
        "adjacency": RELAXED[model]["adjacency"],
        "unit": "row",
    }
    return Claim(**{**given, **changes})


def ledger() -> Ledger:
    return open_records().ledger


def codes(act: Any) -> str | None:
    try:
        act()
    except Refusal as refusal:
        return refusal.code
    return None


@pytest.mark.parametrize("model", RELAXED)
def test_a_table_of_other_records_is_not_charged_to_the_same_account(either_workplace: Workplace, model: str) -> None:
    make_table(either_workplace, model=model, **RELAXED[model])
    with begun(either_workplace) as line:
        line.publish()
    either_workplace.write_survey(ROWS, seed=2)
    either_workplace.raw["name"] = "other"

    def other() -> None:
        with begun(either_workplace, account=False) as line:
            line.publish()

    assert codes(other) == "other-data"
    assert len(ledger().book("survey").costs) == 1


@pytest.mark.parametrize("change", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("model", RELAXED)
def test_other_data_are_refused_and_found(either_workplace: Workplace, model: str, change: dict[str, str]) -> None:
    open_dp_account(9, model=model, adjacency=RELAXED[model]["adjacency"])  # type: ignore[arg-type]
    ledger().reserve(claim_of(model), run="r1", **HOW)
    ledger().reserve(claim_of(model, source="s3"), run="r2", **HOW)  # saved again
    assert codes(lambda: ledger().reserve(claim_of(model, **change), run="r3", **HOW)) == "other-data"
    ledger().verify()
    wrong = claim_of(model, **change)
    with open_records().log.transaction() as writer:
        facts = {**wrong.facts(), "attempt": 1}
        LedgerWriter(writer, **HOW).write(Action.RESERVED, run="r3", facts=facts, subjects=wrong.subjects)
    with pytest.raises(LedgerAltered, match=f"{model} account of survey refused: must have charges of one"):
        ledger().verify()


PARTS = {"adjacency": "bootstrap_add_remove", "scale": "per_cell", "empty_cells": "noise", "acknowledges": ["bdp"]}


def other_people_as_a_part(place: Workplace, number: int) -> None:
    """Another survey with a column that says the same of everybody."""
    survey = place.write_survey(ROWS, seed=number + 1)
    pq.write_table(survey.append_column("batch", pa.array([str(number)] * ROWS)), place.source)
    batch = {"role": "quasi_identifier", "type": "nominal", "categories": [str(number)]}
    place.raw["source"]["columns"]["batch"] = batch
    place.raw["budget"]["part"] = "batch"
    place.raw["name"] = f"other-{number}"


def published(place: Workplace) -> None:
    with begun(place, account=False) as line:
        line.publish()


@pytest.mark.parametrize("partition", [None, "education", "batch"])
def test_other_records_called_a_part_are_not_charged_beside_a_whole(
    either_workplace: Workplace, partition: str | None
) -> None:
    """Also where the account knows that partition: what was charged for the whole is not made from these files."""
    make_table(either_workplace, model="bdp", dimensions=["region"], sums=[], means=[], **PARTS)
    open_dp_account(9, model="bdp", adjacency=PARTS["adjacency"], partition=partition)  # type: ignore[arg-type]
    published(either_workplace)
    for number in (1, 2):
        other_people_as_a_part(either_workplace, number)
        assert codes(lambda: published(either_workplace)) == "other-data"
    assert len(ledger().book("survey").costs) == 1
    ledger().verify()


@pytest.mark.parametrize(("partition", "refused"), [(None, "other-data"), ("region", "other-data"), ("batch", None)])
def test_parts_are_parts_of_the_partition_that_the_account_was_opened_with(
    either_workplace: Workplace, partition: str | None, refused: str | None
) -> None:
    make_table(either_workplace, model="bdp", dimensions=["region"], sums=[], means=[], **PARTS)
    open_dp_account(9, model="bdp", adjacency=PARTS["adjacency"], partition=partition)  # type: ignore[arg-type]
    found = []
    for number in (1, 2):
        other_people_as_a_part(either_workplace, number)
        found.append(codes(lambda: published(either_workplace)))
    assert found == [None, refused]
    ledger().verify()


def test_a_pair_that_is_not_of_one_data_set_is_not_said_to_be_counted_together(workplace: Workplace) -> None:
    """Were such a pair ever charged, its reason would be the true one."""
    whole = claim_of("bdp", adjacency="bootstrap_add_remove", about=("region",), table=True)
    part = claim_of(
        "bdp",
        adjacency="bootstrap_add_remove",
        about=("region",),
        table=True,
        source="s2",
        values="v2",
        column="zz",
        part="0",
    )
    assert not part.is_known_to_be_of_data_of(whole, partition=None)
    assert not part.is_known_to_be_of_data_of(whole, partition="zz")
