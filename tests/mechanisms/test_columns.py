"""What may be declared about a column, and how its categories become codes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from penstock.mechanisms.columns import Column, named
from penstock.mechanisms.refusal import ColumnTypeWrong, Fault, ValueOutsideDomain

AGE = Column(role="quasi_identifier", type="integer", domain=(0, 120))
REGION = Column(role="quasi_identifier", type="nominal", categories=("N", "S", "E"), missing="category")
GRADE = Column(role="quasi_identifier", type="ordinal", categories=(10, 20, 30))

PLACES = {"coast": ["land"], "sea": ["land"], "port": ["coast"], "beach": ["coast"], "land": []}
PLACE = Column.model_validate({"role": "confidential", "type": "nominal", "taxonomy": PLACES})


def faults_of(**settings: Any) -> list[Fault]:
    with pytest.raises(ValidationError) as refused:
        Column(**settings)
    [error] = refused.value.errors()
    assert error["type"] == "faults"
    return list(error["ctx"]["faults"])


@pytest.mark.parametrize(
    ("settings", "field", "rule"),
    [
        ({"role": "quasi_identifier"}, "type", "must be given for role"),
        ({"role": "confidential", "type": "integer"}, "domain", "must be given for type integer"),
        ({"role": "confidential", "type": "integer", "domain": (3, 3)}, "domain", "below the highest"),
        ({"role": "confidential", "type": "continuous", "domain": (0, 1.1e150)}, "domain", "beyond 1e150"),
        ({"role": "confidential", "type": "continuous", "domain": (-(10**400), 0)}, "domain", "beyond 1e150"),
        ({"role": "confidential", "type": "integer", "domain": (0, 10**400)}, "domain", "beyond 1e150"),
        ({"role": "confidential", "type": "continuous", "domain": (0, 9e-151)}, "domain", "1e-150 apart"),
        ({"role": "confidential", "type": "integer", "domain": (0, 1.5)}, "domain", "whole bounds"),
        ({"role": "confidential", "type": "integer", "domain": (0, 2**53 + 2)}, "domain", r"up to 2^53"),
        ({"role": "confidential", "type": "ordinal"}, "categories", "must be given for type ordinal"),
        ({"role": "confidential", "type": "ordinal", "categories": ("a",)}, "categories", "at least two"),
        ({"role": "confidential", "type": "nominal", "categories": ()}, "categories", "at least two"),
        (
            {"role": "confidential", "type": "nominal", "categories": ("a", "a")},
            "categories",
            "must not list a category twice",
        ),
        ({"role": "identifier", "type": "integer"}, "type", "must not be given for role identifier"),
        ({"role": "identifier", "categories": ("a", "b")}, "categories", "must not be given for role identifier"),
        ({"role": "identifier", "missing": "category"}, "missing", "must be refuse"),
        ({"role": "weight", "type": "nominal"}, "type", "must be continuous for a weight, as its group mean is"),
        ({"role": "weight", "type": "integer"}, "type", "must be continuous for a weight, as its group mean is"),
        ({"role": "weight", "domain": (1, 1)}, "domain", "must go from 0 or more to a higher value for a weight"),
        ({"role": "weight", "domain": (-1, 5)}, "domain", "must go from 0 or more to a higher value for a weight"),
        ({"role": "weight", "domain": (0, 1e200)}, "domain", "must not reach beyond 1e150"),
        ({"role": "weight", "outside": "clamp"}, "outside", "must be refuse for a weight without a domain"),
        ({"role": "weight", "taxonomy": PLACES}, "taxonomy", "must not be given for role weight"),
        ({"role": "identifier", "taxonomy": PLACES}, "taxonomy", "must not be given for role identifier"),
        (
            {"role": "confidential", "type": "nominal", "taxonomy": "a.json"},
            "taxonomy",
            "must not be a path where the spec is not a file",
        ),
        ({"role": "confidential", "type": "nominal", "taxonomy": {"a": []}}, "taxonomy", "at least two leaves"),
        (
            {"role": "confidential", "type": "integer", "domain": (0, 1), "taxonomy": PLACES},
            "taxonomy",
            "must not be given for type integer",
        ),
        (
            {"role": "confidential", "type": "ordinal", "categories": ("sea", "port"), "taxonomy": PLACES},
            "taxonomy",
            "must not be given for type ordinal",
        ),
        (
            {"role": "confidential", "type": "nominal", "categories": ("sea", "sky"), "taxonomy": PLACES},
            "categories",
            "must list concepts of the taxonomy only",
        ),
        (
            {"role": "confidential", "type": "nominal", "categories": (1, 2), "taxonomy": PLACES},
            "categories",
            "must list concepts of the taxonomy only",
        ),
    ],
)
def test_an_inconsistent_declaration_is_refused_by_its_field(settings: dict[str, Any], field: str, rule: str) -> None:
    [fault] = faults_of(**settings)
    assert fault.field == field
    assert rule in fault.rule
    assert fault.remedy


def test_every_fault_of_a_column_is_found_at_once() -> None:
    found = faults_of(role="identifier", type="integer", domain=(0, 1), missing="category")
    assert [fault.field for fault in found] == ["domain", "type", "missing"]
    found = faults_of(role="quasi_identifier", type="nominal", domain=(0, 1))
    assert [fault.field for fault in found] == ["domain", "categories"]
    found = faults_of(role="identifier", type="nominal", taxonomy=PLACES)
    assert [fault.field for fault in found] == ["taxonomy", "type"]
    found = faults_of(role="confidential", taxonomy=PLACES)
    assert [fault.field for fault in found] == ["taxonomy", "type"]
    found = faults_of(role="confidential", type="nominal", taxonomy={"a": ["b"], "c": []}, categories=("a", "a"))
    assert [fault.field for fault in found] == ["taxonomy", "categories"]


def test_an_integer_may_reach_as_far_as_a_float_is_exact() -> None:
    assert Column(role="confidential", type="integer", domain=(-(2**53), 2**53)).bounds == (-(2.0**53), 2.0**53)


def test_a_column_cannot_be_changed_and_knows_no_further_settings() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        AGE.role = "confidential"  # type: ignore[misc]
    with pytest.raises(ValidationError, match="extra_forbidden"):
        Column(role="weight", colour="red")  # type: ignore[call-arg]


@pytest.mark.parametrize("bound", [float("nan"), float("inf"), "1", True])
def test_a_bound_is_a_finite_number(bound: object) -> None:
    with pytest.raises(ValidationError):
        Column(role="confidential", type="continuous", domain=(0, bound))  # type: ignore[arg-type]


def test_bounds_are_the_domain_or_the_codes() -> None:
    assert AGE.bounds == (0.0, 120.0)
    assert GRADE.bounds == (0.0, 2.0)
    with pytest.raises(ValueError, match="no bounds"):
        _ = Column(role="weight").bounds


def test_weights_and_numbers_are_numeric_and_categories_are_not() -> None:
    assert [column.numeric for column in (AGE, Column(role="weight"), REGION, GRADE)] == [True, True, False, False]


@given(st.lists(st.sampled_from(["N", "S", "E", None])))
def test_codes_of_category_values_point_back_to_them(values: list[str | None]) -> None:
    codes = REGION.codes(np.array(values, dtype=object), "region")
    assert codes.dtype == np.int64
    assert [None if code < 0 else REGION.categories[code] for code in codes.tolist()] == values  # type: ignore[index]


@given(st.lists(st.integers(-1, 2)), st.sampled_from([np.int8, np.int32, np.int64]))
def test_codes_of_codes_are_themselves(codes: list[int], dtype: type) -> None:
    assert REGION.codes(np.array(codes, dtype=dtype), "region").tolist() == codes


def test_whole_numbers_are_codes_also_where_categories_are_whole_numbers() -> None:
    assert GRADE.codes(np.array([0, 2]), "grade").tolist() == [0, 2]
    assert GRADE.codes(np.array([10, 30], dtype=object), "grade").tolist() == [0, 2]


@pytest.mark.parametrize("values", [np.array(["N", "W"]), np.array(["N", 7], dtype=object)])
def test_a_value_that_is_no_category_is_refused_without_being_quoted(values: np.ndarray[Any, Any]) -> None:
    with pytest.raises(ValueOutsideDomain, match="must hold declared categories only") as refused:
        REGION.codes(values, "region")
    assert refused.value.faults[0].field == "region"
    assert refused.value.faults[0].got == ""
    assert refused.value.__suppress_context__


@pytest.mark.parametrize("codes", [[0, 3], [-2, 0]])
def test_a_code_that_points_nowhere_is_refused(codes: list[int]) -> None:
    with pytest.raises(ValueOutsideDomain, match="point into categories"):
        REGION.codes(np.array(codes), "region")


def test_an_array_that_holds_neither_categories_nor_codes_is_refused() -> None:
    with pytest.raises(ColumnTypeWrong, match="got 'float64'"):
        REGION.codes(np.array([0.0, 1.0]), "region")


def test_the_categories_of_a_taxonomy_are_its_leaves_if_not_listed() -> None:
    assert PLACE.categories == ("port", "beach", "sea")
    assert PLACE.codes(np.array(["sea", "port"]), "place").tolist() == [2, 0]
    listed = PLACE.model_dump() | {"categories": ["coast", "sea"]}
    assert Column.model_validate(listed).categories == ("coast", "sea")


def test_a_column_with_a_taxonomy_survives_the_way_through_json() -> None:
    stored = PLACE.model_dump(mode="json")
    assert stored["taxonomy"] == PLACES
    assert Column.model_validate(stored) == PLACE
    # Canonical JSON sorts keys, and a database may order them as it likes; the listed categories stay as they are.
    by_name = Column.model_validate(json.loads(json.dumps(stored, sort_keys=True)))
    assert by_name == PLACE
    assert by_name.categories == PLACE.categories


def test_equal_columns_have_equal_hashes_and_another_taxonomy_is_another_column() -> None:
    again = Column.model_validate(PLACE.model_dump(mode="json"))
    other = Column.model_validate(PLACE.model_dump() | {"taxonomy": {**PLACES, "port": ["sea", "coast"]}})
    flat = Column.model_validate(PLACE.model_dump(exclude={"taxonomy"}))
    assert {PLACE, again} == {PLACE}
    assert len({PLACE, other, flat, AGE, REGION}) == 5


@pytest.mark.parametrize("parents", [{1: ["land"], "land": []}, {"a": "land"}, {"a": [1]}, ["a"], 3])
def test_a_taxonomy_is_an_object_of_lists_of_text(parents: object) -> None:
    with pytest.raises(ValidationError, match=r"taxonomy"):
        Column.model_validate({"role": "confidential", "type": "nominal", "taxonomy": parents})


def test_columns_are_named_by_role_in_declared_order() -> None:
    declared = {"b": AGE, "w": Column(role="weight"), "a": REGION, "i": Column(role="identifier")}
    assert named(declared, "quasi_identifier") == ("b", "a")
    assert named(declared, "weight", "quasi_identifier") == ("b", "w", "a")
    assert named(declared, "confidential") == ()
