"""Closing balances: exact while that is short, and never too small."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.records import Home, open_records
from penstock.records.ledger._balances import Balance, added, balance_of, history_of, text_of_history
from tests.records.question_cases import PERSONAL, QUESTION, asked, stands, verified, with_analysts
from tests.support.order import examples

FINE = st.integers(1, 2**64).flatmap(lambda low: st.integers(1, low).map(lambda top: Fraction(top, low)))
PRIMES = (
    2**61 - 1,
    2**31 - 1,
    2**19 - 1,
    2**17 - 1,
    2**13 - 1,
    10**9 + 7,
    10**9 + 9,
    998244353,
    10**18 + 9,
    10**18 + 3,
)


@given(st.lists(FINE, max_size=30))
@settings(max_examples=examples(200), deadline=None)
def test_a_sum_stays_short_and_is_never_too_small(epsilons: list[Fraction]) -> None:
    total, exact = Fraction(0), Fraction(0)
    for count, epsilon in enumerate(epsilons, start=1):
        total, exact = added(total, epsilon), exact + epsilon
        assert 0 <= total - exact <= Fraction(count, 2**128)
        assert total.denominator.bit_length() <= 256


@given(st.lists(st.sampled_from([Fraction(1, 3), Fraction(1, 4), Fraction(2, 7), Fraction(104, 4099)]), max_size=50))
def test_fractions_that_people_use_add_up_exactly(epsilons: list[Fraction]) -> None:
    balance = Balance()
    for epsilon in epsilons:
        balance = balance.with_question(epsilon)
    assert (balance.sum, balance.questions) == (sum(epsilons), len(epsilons))
    assert balance_of(balance.text) == balance


def test_a_text_is_a_balance_or_a_history() -> None:
    personal = Balance(Fraction(1, 3), 2, "ab")
    assert (balance_of(personal.text), history_of(personal.text)) == (personal, None)
    assert (balance_of(text_of_history("cd")), history_of(text_of_history("cd"))) == (None, "cd")
    assert (balance_of(None), history_of(None)) == (None, None)


def test_a_sum_that_was_rounded_up_is_recounted_alike(home: Home) -> None:
    records = with_analysts(open_records("sqlite://", home), "ann")
    for number, prime in enumerate(PRIMES):
        asked(records, f"k{number}", of=QUESTION, epsilon=Fraction(1, prime))
        asked(records, f"p{number}", of=PERSONAL, individual="i1", epsilon=Fraction(1, prime))
    exact = sum(Fraction(1, prime) for prime in PRIMES)
    for dataset in ("income", "people"):
        found = stands(records, dataset)
        assert 0 < found.spent - exact < Fraction(1, 2**100)
        assert found.spent == found.spent_by_analyst
    verified(records)
