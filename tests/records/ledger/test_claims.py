"""Columns that two releases share where one of them chooses its records."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.records.files.digest import canonical
from penstock.records.ledger.claims import Claim
from tests.records.ledger_cases import claim, uncounted

WHOLE = uncounted(model="k_anon", about=("sex",), table=True)
SOME = uncounted(model="k_anon", about=("region", "age"), table=True, chosen=("age",))
PART = uncounted(model="k_anon", about=("region",), table=True, column="land", part="up")


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        (WHOLE, SOME, ("age",)),
        (SOME, WHOLE, ("age",)),
        (WHOLE, PART, ("land",)),
        (PART, SOME, ("region", "land", "age")),
        (SOME, uncounted(model="k_anon", about=("age", "sex"), chosen=("age",)), ("age",)),
        (WHOLE, uncounted(model="k_anon", about=("region",)), ()),
        (PART, uncounted(model="k_anon", about=("sex",), column="land", part="up"), ()),
        (SOME, claim(about=("sex",)), ("age",)),
        (claim(about=("sex",)), claim(about=("region", "age"), chosen=("age",)), ()),
    ],
)
def test_beside_an_exact_release_the_choice_of_either_is_shared(
    one: Claim, other: Claim, shared: tuple[str, ...]
) -> None:
    """Totals of both are about everybody whom each chose; where both add up, the ledger has counted both."""
    assert one.shares_with(other) == shared


@pytest.mark.parametrize(("wanted", "said"), [(SOME, {"chosen": ["age"]}), (WHOLE, {})])
def test_the_choice_is_in_the_log_where_there_is_one(wanted: Claim, said: dict[str, Any]) -> None:
    facts = wanted.facts()
    assert {name: value for name, value in facts.items() if name == "chosen"} == said
    assert Claim.of(json.loads(canonical(facts))) == wanted
