"""Of data that change under one name, an answer that comes back tells that nothing changed. An edition draws anew."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock.records import open_records
from penstock.tasks.publish import Receipt
from tests.support.private_release import begun
from tests.support.workplace import Workplace, budget_of, make_table, predicate


def publish(place: Workplace, edition: str | None, *, account: bool = False) -> Receipt:
    place.raw["source"].pop("edition", None)
    if edition is not None:
        place.raw["source"]["edition"] = edition
    place.raw["name"] = f"survey-{edition}".lower()
    with begun(place, account=account) as line:
        return line.publish()


def counts(receipt: Receipt) -> list[int]:
    return list(pq.read_table(Path(receipt.path) / "tables/incomes.parquet")["count"].to_pylist())


def test_an_answer_does_not_tell_that_nothing_changed_between_two_editions(either_workplace: Workplace) -> None:
    """The chance that 25 noisy counts with standard errors above 1 come out alike is below 1e-10."""
    make_table(either_workplace)
    october = publish(either_workplace, "2026-10", account=True)
    november = publish(either_workplace, "2026-11")
    assert counts(october) != counts(november)
    assert (november.repeats, budget_of()) == (None, ("2", "2", ["published", "published"]))
    again = publish(either_workplace, "2026-11")  # within an edition the same question has the same answer
    assert (again.repeats, counts(again)) == (november.run, counts(november))
    assert budget_of()[0] == "2"
    assert predicate(Path(november.path))["release"]["edition"] == "2026-11"
    editions = [cost.claim.edition for cost in open_records().ledger.book("survey").costs]
    assert editions == ["2026-10", "2026-11", "2026-11"]


@pytest.mark.parametrize("edition", [None, "2026-10"])
def test_the_promise_says_what_a_repeat_would_tell(workplace: Workplace, edition: str | None) -> None:
    make_table(workplace)
    promised = predicate(Path(publish(workplace, edition, account=True).path))["release"]["guarantee"]
    [assumed] = [text for text in promised["assumptions"] if "the records of a data set name do not change" in text]
    assert ("within an edition: an answer that comes back tells" in assumed) is (edition is not None)
    assert ("edition of the data" in promised["public"]) is (edition is not None)
