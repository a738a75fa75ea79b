"""Exact numbers as floats: a gate on the float decides as a gate on the exact number would."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.numbers.rounding import not_above, not_below

limits = st.decimals(min_value=Decimal("-1e6"), max_value=Decimal("1e6"), places=8)
nudges = st.sampled_from([Fraction(0), Fraction(1, 10**30), -Fraction(1, 10**30), Fraction(1, 3**40), Fraction(1, 7)])


@given(limits, nudges)
def test_a_limit_decides_about_the_float_as_about_the_exact_number(limit, nudge):
    exact = Fraction(limit) + nudge
    assert (not_below(exact) <= float(limit)) == (exact <= Fraction(limit))
    assert (not_above(exact) >= float(limit)) == (exact >= Fraction(limit))


@given(st.fractions(max_denominator=2**62))
def test_rounding_is_to_the_float_beside(exact):
    for rounded in (not_below(exact), not_above(exact)):
        assert rounded == pytest.approx(float(exact), rel=3e-16)
    assert Fraction(repr(not_above(exact))) <= exact <= Fraction(repr(not_below(exact)))


def test_numbers_that_people_write_come_back_as_they_are():
    for text in ("0.3", "0.85", "0.1", "2", "1e-07"):
        assert not_below(Fraction(text)) == not_above(Fraction(text)) == float(text)
    assert not_above(Fraction(1, 3)) < not_below(Fraction(1, 3))
