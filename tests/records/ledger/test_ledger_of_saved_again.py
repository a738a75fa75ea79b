"""The ledger recognises records by content, by values, and by what earlier versions called them."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.records import Home, Records, open_records
from penstock.records.ledger.accounts import Claim
from penstock.records.ledger.ledger import SecondRelease, SourceElsewhere
from tests.records.ledger_cases import HOW, account, claim, uncounted, with_accounts

OLD = {"source": "former", "values": None, "formerly": None}


@pytest.fixture
def records(either_home: Home) -> Records:
    return with_accounts(open_records(home=either_home), account(), account(dataset="copy"))


def reserve(records: Records, run: str, made: Claim) -> None:
    records.ledger.reserve(made, run=run, **HOW)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"source": "one", "values": "same"}, {"source": "two", "values": "same"}),
        ({"source": "same", "values": "one"}, {"source": "same", "values": "two"}),
        (OLD, {"source": "new", "values": "v", "formerly": "former"}),
    ],
    ids=["saved again", "the same content", "charged by an earlier version"],
)
def test_a_second_name_is_refused_and_a_second_release_is_found(
    records: Records, first: dict[str, Any], second: dict[str, Any]
) -> None:
    reserve(records, "r1", claim(**first))
    with pytest.raises(SourceElsewhere, match="must be the name under which these records ar"):
        reserve(records, "r2", claim(dataset="copy", **second))
    with pytest.raises(SecondRelease, match="r1"):
        reserve(records, "r3", uncounted(dataset=None, **second))
    assert records.ledger.verify() > 0


def test_partitions_that_share_their_former_digest_are_counted_under_one_name(records: Records) -> None:
    reserve(records, "r1", claim(source="one", values="a", formerly="former"))
    with pytest.raises(SourceElsewhere, match="must be the name under which these records ar"):
        reserve(records, "r2", claim(dataset="copy", source="two", values="b", formerly="former"))


def test_a_claim_comes_back_from_the_log_as_it_was(records: Records) -> None:
    made = claim(values="v", formerly="former")
    reserve(records, "r1", made)
    reserve(records, "r1", made)
    [cost] = records.ledger.book("income").costs
    assert cost.claim == made == Claim.of(made.facts())
    assert "source former" in made.known_by
    assert "source former" in made.subjects


def test_claims_of_versions_that_did_not_say_are_read() -> None:
    facts = {name: value for name, value in claim().facts().items() if name not in ("values", "formerly", "edition")}
    assert Claim.of(facts).formerly is None
    assert not Claim.of(facts).has_records_of(claim(source="another"))
