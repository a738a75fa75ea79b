"""Combinations that cannot occur are found in records as their definition says, and a refusal says nothing of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.combinations import CombinationImpossible, require_possible, where_impossible
from tests.support.order import examples

SIZES = {"a": 2, "b": 3, "c": 2}
DECLARED = {
    name: Column(role="quasi_identifier", type="nominal", categories=tuple(f"{name}{i}" for i in range(size)))
    for name, size in SIZES.items()
}
NAMED = {
    name: st.lists(st.sampled_from(column.categories or ()), min_size=1, unique=True)
    for name, column in DECLARED.items()
}
ANY = st.fixed_dictionaries({}, optional=NAMED).filter(lambda each: len(each) > 1)
CODED = st.fixed_dictionaries({name: st.integers(-1, size - 1) for name, size in SIZES.items()})


def has(record: dict[str, str | None], combination: dict[str, list[str]]) -> bool:
    return all(record[name] in named for name, named in combination.items())


@given(st.lists(ANY, max_size=3), st.lists(CODED, min_size=1, max_size=6))
@settings(max_examples=examples(200))
def test_a_record_is_refused_exactly_if_it_has_a_combination(impossible: Any, coded: list[dict[str, int]]) -> None:
    columns = {name: np.array([each[name] for each in coded], np.int32) for name in SIZES}
    records = [
        {name: None if code < 0 else (DECLARED[name].categories or ())[code] for name, code in each.items()}
        for each in coded
    ]
    if any(has(record, combination) for record in records for combination in impossible):  # type: ignore[arg-type]
        with pytest.raises(CombinationImpossible) as refusal:
            require_possible(columns, DECLARED, {None: impossible, "others": ()})
        assert not any(each in str(refusal.value) for column in DECLARED.values() for each in column.categories or ())
        assert not any(digit in str(refusal.value) for digit in "0123456789")
    else:
        require_possible(columns, DECLARED, {None: impossible, "others": ()})


def test_each_output_whose_combinations_occur_is_named() -> None:
    columns = {name: np.zeros(3, np.int64) for name in SIZES}
    one, other = [{"a": ["a0"], "b": ["b0"]}], [{"a": ["a1"], "b": ["b0"]}]
    with pytest.raises(CombinationImpossible) as refusal:
        require_possible(columns, DECLARED, {"first": one, "second": other, "third": one})
    assert [fault.field for fault in refusal.value.faults] == ["first.impossible", "third.impossible"]


def test_numbers_stand_for_the_categories_that_are_declared_as_numbers() -> None:
    declared = {name: Column(role="quasi_identifier", type="ordinal", categories=(10, 20)) for name in "ab"}
    found = where_impossible(["a", "b"], [{"a": ["20"], "b": ["10"]}], declared)
    assert found.tolist() == [[False, False], [True, False]]


def test_many_columns_take_no_more_room_than_their_cells() -> None:
    """Twenty-two columns of two categories: 4 million cells, which a place for missing ones would make 31 thousand
    million."""
    declared = {
        f"d{place}": Column(role="quasi_identifier", type="nominal", categories=("y", "n")) for place in range(22)
    }
    impossible = [{name: ["y"] for name in declared}]
    records = np.ones(5, np.int32)
    require_possible(dict.fromkeys(declared, records), declared, {None: impossible})
    with pytest.raises(CombinationImpossible):
        require_possible(dict.fromkeys(declared, records - 1), declared, {None: impossible})


def test_records_beyond_the_first_slice_are_looked_at() -> None:
    columns = {name: np.ones(2**16 + 1, np.int64) for name in SIZES}
    for name in SIZES:
        columns[name][-1] = 0
    with pytest.raises(CombinationImpossible):
        require_possible(columns, DECLARED, {None: [{"a": ["a0"], "b": ["b0"]}]})
