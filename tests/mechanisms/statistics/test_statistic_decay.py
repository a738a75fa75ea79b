"""e^(-v x) between whole numbers: always inside, and close."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.statistics._decay import Decay


def scaled_exp(x, precision):
    """2^precision e^-x to 150 digits, by another library."""
    with localcontext() as context:
        context.prec = 150
        return (-Decimal(x.numerator) / Decimal(x.denominator)).exp() * 2**precision


@given(
    st.fractions(min_value=Fraction(1, 10**9), max_value=50, max_denominator=10**9).filter(lambda x: x > 0),
    st.integers(0, 10**6),
    st.integers(1, 200),
)
def test_the_bounds_hold_at_every_precision(x, v, precision):
    low, high = Decay(x, precision).at(v)
    assert 0 <= low <= scaled_exp(v * x, precision) <= high


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=50), st.integers(0, 2**20))
def test_the_bounds_are_close(x, v):
    low, high = Decay(x, 192).at(v)
    assert high - low <= 2**64


def test_what_was_asked_before_does_not_change_what_is_asked_now():
    asked, fresh = Decay(Fraction(1, 3), 80), Decay(Fraction(1, 3), 80)
    assert [asked.at(v) for v in (0, 7, 1000, 7, 3)] == [Decay(Fraction(1, 3), 80).at(v) for v in (0, 7, 1000, 7, 3)]
    assert fresh.at(3) == asked.at(3)


@pytest.mark.parametrize(("x", "precision"), [(Fraction(0), 64), (Fraction(-1), 64), (Fraction(1), 0)])
def test_nothing_else_decays(x, precision):
    with pytest.raises(ValueError, match="above 0"):
        Decay(x, precision)
