"""Numbers of an answer: two digits of the error, no powers of ten, and long fractions with a decimal beside them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.numbers.rounded import answer_text, exact_text, figure_text


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (39.11859802, 0.05304, "39.119"),
        (84853.2, 3500.0, "84,900"),
        (9782, 5.6, "9,782"),
        (9782, 560.0, "9,780"),
        (-0.2, 60.0, "0"),
        (1234567, None, "1,234,567"),
        (2.5, 0.0, "2.5"),
        (2.5, math.inf, "2.5"),
        ("yes", 1.0, "yes"),
    ],
)
def test_an_answer_has_two_digits_of_its_error(value: float | str, error: float | None, text: str) -> None:
    assert answer_text(value, error) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(84852.8, "84,900"), (0.05304, "0.053"), (12.0, "12"), (999.9, "1,000"), (0.0, "0"), (2e-9, "2e-09")],
)
def test_an_error_has_three_digits_and_no_power_of_ten(value: float, text: str) -> None:
    assert figure_text(value) == text


@pytest.mark.parametrize(
    ("exact", "text"),
    [
        ("1/4", "1/4"),
        ("119/1000", "119/1000"),
        ("1749107/1250", "1399.29 (1749107/1250)"),
        ("12345678901", "12345678901"),
    ],
)
def test_a_long_fraction_has_a_decimal_beside_it(exact: str, text: str) -> None:
    assert exact_text(exact) == text


@given(st.floats(-1e12, 1e12), st.floats(1e-6, 1e12))
def test_rounding_is_small_beside_the_error(value: float, error: float) -> None:
    shown = float(answer_text(value, error).replace(",", ""))
    assert abs(shown - value) <= error / 10 + abs(value) * 1e-12
