from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from penstock.mechanisms.numbers.exact import SignedNumber, exact_number


@given(st.fractions(min_value=0, max_value=10**20, max_denominator=10**9))
def test_every_fraction_is_read_as_python_writes_it(number: Fraction) -> None:
    assert exact_number(str(number)) == number


@pytest.mark.parametrize(("text", "number"), [("2", 2), ("0.5", Fraction(1, 2)), ("104/4099", Fraction(104, 4099))])
def test_numbers_are_exact(text: str, number: Fraction) -> None:
    assert exact_number(text) == number


@pytest.mark.parametrize(
    "text",
    ["", "1e3", "1e999999999", "1/0", "1/00", "-1", "+1", ".5", "5.", "1_000", " 1", "1 ", "½", "٣", "nan"],
)
def test_whatever_else_fraction_would_read_is_not_a_number(text: str) -> None:
    assert exact_number(text) is None


SIGNED: TypeAdapter[Fraction] = TypeAdapter(SignedNumber)


@given(st.fractions(min_value=-(10**20), max_value=10**20, max_denominator=10**9))
def test_a_signed_number_may_have_a_minus_before_it(number: Fraction) -> None:
    assert SIGNED.validate_python(str(number)) == number
    assert SIGNED.validate_python(number) == number
    assert SIGNED.validate_json(SIGNED.dump_json(number)) == number
    assert SIGNED.validate_python(int(number)) == int(number)


@pytest.mark.parametrize("value", ["--1", "-", "- 1", "+1", "-1e3", -0.5, True, None, 10**40, -(10**40)])
def test_what_is_no_exact_signed_number_is_refused(value: object) -> None:
    with pytest.raises(ValidationError):
        SIGNED.validate_python(value)


def test_a_number_with_more_digits_than_python_writes_is_refused() -> None:
    with pytest.raises(ValidationError):
        SIGNED.validate_python(-(10**5000))
