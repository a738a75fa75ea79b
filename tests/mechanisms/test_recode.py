"""Bands and groups: every stored value has one place, which depends on nothing but the value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from penstock.mechanisms.columns import Column
from penstock.mechanisms.recode import Recode, in_bands, stored_name, stored_names
from penstock.mechanisms.refusal import Fault

AGE = {"of": "age"}
AGES = {"of": "age", "bands": [0, 18, 65, 120]}
REGIONS = {"groups": {"North": ["N1", "N2"], "South": ["S"]}}


def column(kind: str = "ordinal", recode: dict[str, Any] | None = None, **settings: Any) -> Column:
    return Column(role="quasi_identifier", type=kind, recode=recode, **settings)  # type: ignore[arg-type]


def faults_of(kind: str, recode: dict[str, Any], **settings: Any) -> list[Fault]:
    with pytest.raises(ValidationError) as refused:
        column(kind, recode, **settings)
    [error] = refused.value.errors()
    return list(error["ctx"]["faults"])


def test_bands_and_groups_name_their_categories() -> None:
    assert column(recode=AGES).categories == ("0 to under 18", "18 to under 65", "65 to 120")
    named = {**AGES, "labels": ["young", "working", "old"]}
    assert column(recode=named).categories == ("young", "working", "old")
    assert column("nominal", REGIONS).categories == ("North", "South")
    assert column("integer", {"of": "years"}, domain=(0, 120)).categories is None


def test_a_number_that_must_be_in_bands_is_to_be_made_into_another_column_of_what_the_source_calls_it() -> None:
    for name, numbers in (
        ("age", column("integer", domain=(0, 120))),
        ("years", column("integer", AGE, domain=(0, 120))),
    ):
        told = in_bands(name, numbers)
        assert "{role: ..., type: ordinal, recode: {of: age, bands: [...]}}" in told
        written = told[told.index("{") : told.rindex("}") + 1]
        made = yaml.safe_load(written.replace("role: ...", "role: confidential").replace("[...]", "[0, 18, 120]"))
        assert Column(**made).categories == ("0 to under 18", "18 to 120")


def test_a_column_that_was_declared_with_its_own_categories_reads_back_as_it_was() -> None:
    """A spec is written down with the categories that it makes, and read again."""
    for made in (column(recode=AGES), column("nominal", REGIONS)):
        assert Column.model_validate(made.model_dump(mode="json")) == made
        assert Column.model_validate_json(made.model_dump_json()) == made


def test_columns_without_a_recode_are_written_as_ever() -> None:
    assert "recode" not in column("nominal", None, categories=("a", "b")).model_dump()


@pytest.mark.parametrize(
    ("kind", "recode", "field"),
    [
        ("ordinal", {}, "recode"),
        ("ordinal", {**AGES, **REGIONS}, "recode"),
        ("nominal", AGES, "recode.bands"),
        ("integer", AGES, "recode.bands"),
        ("ordinal", {"bands": [0, 18]}, "recode.bands"),
        ("ordinal", {"bands": [0, 18, 18]}, "recode.bands"),
        ("ordinal", {"bands": [0, 18, 17]}, "recode.bands"),
        ("ordinal", {"bands": [0, 2**53, 2**53 + 1]}, "recode.bands"),
        ("ordinal", {"bands": [0, 1, 2e150]}, "recode.bands"),
        ("ordinal", {"bands": [0, 1, 10**400]}, "recode.bands"),
        ("ordinal", {"bands": [0, 5, 2**53]}, "recode.bands"),
        ("ordinal", {"bands": [-(2**53), 0, 5]}, "recode.bands"),
        ("ordinal", {"bands": [-(10**400), 0, 1]}, "recode.bands"),
        ("ordinal", {"bands": [0, 10**400, 10**401]}, "recode.bands"),
        ("ordinal", {**AGES, "labels": ["a", "b"]}, "recode.labels"),
        ("ordinal", {"of": "x", "labels": ["a"]}, "recode.labels"),
        ("integer", REGIONS, "recode.groups"),
        ("nominal", {"groups": {"North": [], "South": ["S"]}}, "recode.groups"),
        ("nominal", {"groups": {"North": ["N"], "South": [1]}}, "recode.groups"),
        ("nominal", {"groups": {"North": ["N", "S"], "South": ["S"]}}, "recode.groups"),
    ],
)
def test_what_makes_no_sense_is_refused(kind: str, recode: dict[str, Any], field: str) -> None:
    settings = {"categories": ("a", "b")} if recode == {"of": "x", "labels": ["a"]} else {}
    assert [fault.field for fault in faults_of(kind, recode, **settings)] == [field]


def test_labels_that_are_not_different_are_refused() -> None:
    assert [fault.field for fault in faults_of("ordinal", {**AGES, "labels": ["a", "a", "b"]})] == ["recode.labels"]


def test_a_label_of_a_band_below_zero_is_no_formula() -> None:
    assert column(recode={"bands": [-5, -3, 0]}).categories == ("from -5 to under -3", "from -3 to 0")


def test_categories_and_taxonomies_of_their_own_are_refused() -> None:
    assert [fault.field for fault in faults_of("ordinal", AGES, categories=("a", "b"))] == ["categories"]
    tree = {"North": ["all"], "South": ["all"], "all": []}
    assert [fault.field for fault in faults_of("nominal", REGIONS, taxonomy=tree)] == ["taxonomy"]


@pytest.mark.parametrize("role", ["identifier", "weight"])
def test_what_is_not_described_is_not_recoded(role: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        Column(role=role, recode=AGES)
    assert [fault.field for fault in refused.value.errors()[0]["ctx"]["faults"]] == ["recode"]


@pytest.mark.parametrize(
    "recode",
    [
        {"of": ""},
        {"bands": [0, float("nan"), 1]},
        {"bands": [0, float("inf"), float("inf")]},
        {"bands": ["0", "1", "2"]},
        {"bands": [True, 2, 3]},
        {"groups": {"North": [1.5]}},
        {"groups": {"": ["N"], "South": ["S"]}},
        {"bands": [0, 1, 2], "labels": ["", "x"]},
        {"groups": {f"g{place}": [place] for place in range(2**16 + 1)}},
        {"groups": {"a": list(range(2**16)), "b": [-1]}},
        {"groups": {"North": [True]}},
        {"bands": list(range(1002))},
        {"of": 3},
        {"cut": 3},
    ],
)
def test_what_has_another_form_is_refused(recode: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Recode.model_validate(recode)


finite = st.floats(allow_nan=False, allow_infinity=False, width=64)


@st.composite
def bounds(draw: st.DrawFn) -> list[float]:
    number = st.one_of(st.integers(-5, 5), st.floats(-1e9, 1e9, allow_nan=False))
    found = sorted({float(each): each for each in draw(st.lists(number, min_size=3, max_size=8))}.values())
    return found if len(found) >= 3 else [0, 1, 2]


@given(bounds(), st.lists(st.one_of(finite, st.integers(-6, 6).map(float)), max_size=20))
def test_a_number_is_in_the_one_band_that_holds_it(bands: list[float], numbers: list[float]) -> None:
    """By (1), one number at a time; both neighbours of each bound too."""
    near = [np.nextafter(float(bound), toward) for bound in bands for toward in (-np.inf, np.inf)]
    tried = [*numbers, *map(float, bands), *near, np.nan, np.inf, -np.inf]
    found = Recode(of="x", bands=tuple(bands)).banded(np.array(tried))
    for number, place in zip(tried, found.tolist(), strict=True):
        holding = [i for i in range(len(bands) - 1) if bands[i] <= number < bands[i + 1]]
        if number == bands[-1]:
            holding = [len(bands) - 2]
        assert ([place] if place >= 0 else []) == holding


@given(st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=4), min_size=1, max_size=5), st.data())
def test_a_category_is_in_the_group_that_lists_it(groups: list[list[int]], data: st.DataObject) -> None:
    seen: set[int] = set()
    apart = [[each for each in dict.fromkeys(group) if each not in seen and not seen.add(each)] for group in groups]  # type: ignore[func-returns-value]
    named = {f"g{place}": tuple(group) for place, group in enumerate(apart) if group}
    recode = Recode(groups=named)
    listed = list(recode.stored_categories or ())
    codes = np.array(data.draw(st.lists(st.integers(-1, len(listed) - 1), max_size=9)), np.int64)
    expected = [-1 if code < 0 else [listed[code] in group for group in named.values()].index(True) for code in codes]
    assert recode.grouped(codes).tolist() == expected


def test_stored_names_come_once_in_the_order_of_their_first_use() -> None:
    declared = {
        "band": column(recode=AGES),
        "zone": column("nominal", REGIONS),
        "age": column("nominal", None, categories=("a", "b")),
    }
    assert [stored_name(name, each) for name, each in declared.items()] == ["age", "zone", "age"]
    assert stored_names(declared) == ("age", "zone")
