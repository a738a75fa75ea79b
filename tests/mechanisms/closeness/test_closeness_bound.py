from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.closeness.bound import LARGEST_T, below_exp, bucket_number

epsilons = st.fractions(min_value=Fraction(1, 10**6), max_value=5, max_denominator=10**6)


@given(epsilons)
def test_t_lies_below_e_to_the_epsilon_and_next_to_it(epsilon: Fraction) -> None:
    with localcontext() as context:
        context.prec = 60
        true = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()
    exact = Fraction(true)
    assert below_exp(epsilon) <= exact * (1 + Fraction(1, 10**50))
    assert exact - below_exp(epsilon) < Fraction(2, 10**12)


def test_whole_numbers_known_from_tables() -> None:
    assert below_exp(Fraction(1)) == Fraction(2_718_281_828_459, 10**12)
    assert below_exp(Fraction(1, 2)) == Fraction(1_648_721_270_700, 10**12)


def test_a_large_epsilon_gives_a_t_that_settings_refuse() -> None:
    assert below_exp(Fraction(10**30)) == below_exp(Fraction(5)) > LARGEST_T


@pytest.mark.parametrize(("t", "b"), [("11/10", 2), ("3/2", 2), ("2", 3), ("5/2", 3), ("99/10", 10), ("10", 11)])
def test_as_many_buckets_as_leave_the_others_at_the_lower_bound(t: str, b: int) -> None:
    assert bucket_number(Fraction(t)) == b
    assert b == 2 or b <= Fraction(t) + 1
