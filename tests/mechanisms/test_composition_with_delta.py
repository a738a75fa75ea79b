"""Delta adds up beside epsilon: case by case, and against the worst pair of distributions there is, also adaptively."""

from __future__ import annotations

import dataclasses
import itertools
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.composition import Charge, NotCountable, composed_delta
from penstock.mechanisms.guarantee import compose
from tests.mechanisms.charges import MODEL_OF, charge, total
from tests.mechanisms.test_guarantee import promised


def with_delta(delta: str, *given: Any, **named: Any) -> Charge:
    return dataclasses.replace(charge(*given, **named), delta=Fraction(delta))


def delta_of(charges: list[Charge], adjacency: str, unit: str = "row") -> Fraction:
    return composed_delta(charges, model=MODEL_OF[adjacency], adjacency=adjacency, unit=unit)


def test_deltas_add_up_and_charges_without_one_add_nothing() -> None:
    charges = [with_delta("1/10", 1), with_delta("1/5", 2), charge(4)]
    assert (total(charges), delta_of(charges, "replace")) == (7, Fraction(3, 10))


def test_the_largest_part_counts_beside_what_was_drawn_from_all_records() -> None:
    charges = [
        with_delta("1/8", 1, "presence", "north"),
        with_delta("1/4", 1, "presence", "south"),
        with_delta("1/2", 1, "presence"),
    ]
    assert delta_of(charges, "presence") == Fraction(3, 4)
    as_individuals = [dataclasses.replace(each, unit="individual") for each in charges]
    assert delta_of(as_individuals, "presence", "individual") == Fraction(7, 8)


def test_a_relaxed_account_counts_the_delta_of_differential_privacy() -> None:
    assert delta_of([with_delta("1/10", 1), charge(1, "from_D")], "from_D") == Fraction(1, 10)


def test_delta_is_refused_where_a_promise_counts_more_than_once() -> None:
    with pytest.raises(NotCountable) as refused:
        delta_of([with_delta("1/10", 1, "add_remove")], "replace")
    assert [fault.field for fault in refused.value.faults] == ["charge.delta"]
    assert delta_of([with_delta("1/10", 1, "add_remove")], "add_remove") == Fraction(1, 10)


@pytest.mark.parametrize("delta", [Fraction(-1, 3), Fraction(1), 0.5, "1/2", float("nan")])
def test_a_delta_that_is_no_probability_is_refused(delta: Any) -> None:
    with pytest.raises(NotCountable) as refused:
        Charge(model="dp", epsilon=Fraction(1), adjacency="replace", unit="row", delta=delta)
    assert [fault.field for fault in refused.value.faults] == ["charge.delta"]


def test_relaxations_have_no_delta() -> None:
    with pytest.raises(NotCountable) as refused:
        with_delta("1/10", 1, "from_D")
    assert [fault.field for fault in refused.value.faults] == ["charge.delta"]


def test_promises_of_several_outputs_state_both_sums() -> None:
    one, other = (
        promised(adjacency="replace", parameters={"epsilon": "1", "delta": delta}) for delta in ("1/10", "1/5")
    )
    found = compose([one, other])
    assert (found.parameters["epsilon"], found.parameters["delta"]) == ("2", "3/10")
    assert "delta" not in compose([one.model_copy(update={"parameters": {"epsilon": "1"}})] * 2).parameters


# Every (epsilon, delta) release is a function of this one draw, so nothing loses more (Kairouz, Oh & Viswanath 2015,
# Theorem 3.3): with probability delta it says which of the two data sets it is. epsilon in units of ln 2.
Pair = tuple[list[Fraction], list[Fraction]]


def worst(power: int, delta: Fraction) -> Pair:
    likely, unlikely = Fraction(2**power, 1 + 2**power), Fraction(1, 1 + 2**power)
    here = [delta, Fraction(0), (1 - delta) * likely, (1 - delta) * unlikely]
    return here, [here[1], here[0], here[3], here[2]]


powers = st.integers(1, 3)
deltas = st.fractions(0, Fraction(1, 4), max_denominator=16)
releases = st.tuples(powers, deltas)


def exceeds(one: list[Fraction], other: list[Fraction], power: int) -> Fraction:
    return sum((max(Fraction(0), p - 2**power * q) for p, q in zip(one, other, strict=True)), Fraction(0))


@given(releases, st.lists(releases, min_size=4, max_size=4))
def test_no_adaptive_pair_of_releases_loses_more_than_the_largest_sums(
    first: tuple[int, Fraction], after: list[tuple[int, Fraction]]
) -> None:
    """The second release is another one after each output of the first."""
    power, delta = (first[i] + max(each[i] for each in after) for i in (0, 1))
    here, there = worst(*first)
    seconds = [worst(*each) for each in after]
    joint = [
        [side[y] * second[place][z] for y, second in enumerate(seconds) for z in range(4)]
        for place, side in enumerate((here, there))
    ]
    assert [sum(side) for side in joint] == [1, 1]
    assert exceeds(joint[0], joint[1], int(power)) <= delta


def test_the_comparison_notices_one_delta_that_is_left_out() -> None:
    pairs = [worst(1, Fraction(1, 10)), worst(1, Fraction(1, 10))]
    joint = [[math.prod(values) for values in itertools.product(*(pair[place] for pair in pairs))] for place in (0, 1)]
    assert exceeds(joint[0], joint[1], 2) > Fraction(1, 10)
