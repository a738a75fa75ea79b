"""What a manifest states for somebody who knows members of a group is counted again from the published tables."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tests.tasks.close_release import House, Signed, text_of
from tests.tasks.verification.test_closeness_claims import FILES, UNSTATED, broken

RULE = "must have groups of which the stated factors for known members (`after_known`) are true"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    return House(tmp_path_factory.mktemp("known"))


def stated(signed: Signed) -> Any:
    return signed.release["settled"]["after_known"]


@pytest.mark.parametrize("form", ["anatomy", "each"])
@pytest.mark.parametrize(
    "change",
    [
        lambda part: part["factors"].__setitem__(0, "1"),
        lambda part: part["factors"].__setitem__(-1, str(Fraction(part["factors"][-1]) + 1)),
        lambda part: part["factors"].pop(),
        lambda part: part["factors"].append("100"),
        lambda part: part.update(unbounded_from=part["unbounded_from"] + 1),
    ],
)
def test_a_factor_that_does_not_follow_from_the_tables_is_noticed(
    house: House, tmp_path: Path, form: str, change: Callable[[Any], None]
) -> None:
    signed = house.copy(tmp_path, form)
    change(stated(signed)[0])
    signed.seal()
    table = FILES if form == "anatomy" else [name.replace("buckets", "buckets_1") for name in FILES]
    assert broken(signed) == [(name, RULE) for name in table]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda settled: settled.pop("after_known"),
        lambda settled: settled.update(after_known=[]),
        lambda settled: settled.update(after_known="none"),
        lambda settled: settled["after_known"].append(settled["after_known"][0]),
        lambda settled: settled["after_known"][0].update(columns=["age"]),
        lambda settled: settled["after_known"][0].update(unbounded_from=0),
        lambda settled: settled["after_known"][0].update(factors=["1"] * 21),
        lambda settled: settled["after_known"][0].update(factors=[1.5]),
    ],
)
def test_what_is_not_stated_as_promised_is_noticed(
    house: House, tmp_path: Path, spoil: Callable[[dict[str, Any]], Any]
) -> None:
    signed = house.copy(tmp_path)
    spoil(signed.release["settled"])
    signed.seal()
    assert broken(signed) == [UNSTATED]


def test_bundles_from_before_it_was_stated_still_verify(house: House, tmp_path: Path) -> None:
    signed = house.copy(tmp_path)
    del signed.release["settled"]["after_known"]
    signed.release["guarantee"]["audit"].remove("after_known")
    signed.carry()
    assert {each.name: each for each in signed.verify()}["closeness"].checked


def test_the_public_page_has_the_factors_rounded_up(house: House) -> None:
    for form in ("anatomy", "permuted"):
        page = text_of(house.bundle(form) / "report.html")
        assert "Who knows others of a group" in page
    assert "Who knows others of a group" not in text_of(house.bundle("ranked") / "report.html")
