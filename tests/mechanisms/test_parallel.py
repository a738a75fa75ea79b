"""Columns side by side: the same answers in the same order, and the first error."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.parallel import in_parallel
from penstock.mechanisms.refusal import ValueMissing


@given(st.lists(st.integers()), st.lists(st.integers()))
def test_it_is_map_whatever_the_number_of_arguments(left: list[int], right: list[int]) -> None:
    assert in_parallel(str, left) == list(map(str, left))
    assert in_parallel(max, left, right) == list(map(max, left, right))


def test_the_error_of_the_first_argument_that_fails_is_raised() -> None:
    def refuse(name: str) -> None:
        if name != "age":
            raise ValueMissing.at(name, rule="must have a value in every record", remedy="Complete it.")

    with pytest.raises(ValueMissing, match="income refused"):
        in_parallel(refuse, ["age", "income", "savings"])


def test_no_thread_remains() -> None:
    before = threading.active_count()
    in_parallel(str, range(50))
    assert threading.active_count() == before
