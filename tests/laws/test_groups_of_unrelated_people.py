"""Differential privacy of one record is i times as much of i records: every mechanism says so, and it is counted."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import exp, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms import phrases, statistics
from penstock.mechanisms.guarantee import compose, in_words
from tests.laws.every_mechanism import EVERY
from tests.laws.test_statistics_are_private import largest_loss_together
from tests.support.order import examples
from tests.support.statistics_by_definition import DECLARED, EPSILON, boxes_of, params

PRIVATE = [name for name in EVERY if " dp" in f" {name}" or name.startswith("refinement")]


def exponent_of_several(statement):
    """The number that i is multiplied by."""
    (_, told) = statement.split("Whichever i ")
    power = told.split("the factor is at most e^")[1]
    return Fraction(1) if power[0] == "i" else Fraction(power.removeprefix("(i x ").split(")")[0])


@pytest.mark.parametrize("name", EVERY)
@settings(deadline=None, max_examples=examples(10, at_first=3))
@given(data=st.data())
def test_every_promise_of_differential_privacy_says_what_it_is_for_groups_of_people(name, data):
    sample = data.draw(EVERY[name])
    guarantee = sample.mechanism.promise(sample.params, sample.declared)
    if guarantee.model != "dp":
        assert name not in PRIVATE
        assert "Whichever i" not in guarantee.statement
        return
    assert exponent_of_several(guarantee.statement) == Fraction(guarantee.parameters["epsilon"])
    of_individuals = "Whichever i individuals' records are" in guarantee.statement
    assert of_individuals == (guarantee.unit == "individual")
    assert ("used or not" in guarantee.statement) == (guarantee.adjacency == "presence")


def test_what_adds_up_adds_up_for_groups_of_people_too():
    sample = params(["sum"], "add_remove", ())
    one = statistics.promise(sample, DECLARED)
    assert compose([one, one]).statement.endswith(
        "Together: epsilon = 12/5. Whichever i records, of one person or of several, are changed like that, the factor "
        "is at most e^(i x 12/5)."
    )
    (told,) = in_words({"first": one, "second": one})
    assert "the factor is at most e^(i x 12/5). Epsilon adds up" in told


def test_two_records_lose_twice_epsilon_and_no_more():
    boxes = boxes_of(params(["count", "sum", "mean"], "add_remove", (), noise="box"))
    pairs = [((3, 3, 1), (1,)), ((0, 3), ()), ((0, 1), (1, 3)), ((2,), (0, 0, 2))]
    losses = [largest_loss_together(boxes, *pair) for pair in pairs]
    assert max(losses) == pytest.approx(2 * float(EPSILON))


def beyond(factor, first, second):
    """The least delta for which the first probabilities are at most the factor times the second, plus delta."""
    return sum(max(0.0, p - factor * q) for p, q in zip(first, second, strict=True))


def delta_of_several(i, epsilon, delta):
    return delta * (exp(i * epsilon) - 1) / (exp(epsilon) - 1)


def test_the_sentence_has_the_delta_that_is_counted():
    told = phrases.factor_of_several("replace", "row", Fraction(1, 2), Fraction(1, 1000))
    assert told == (
        "Whichever i records, of one person or of several, are changed like that, the factor is at most e^(i x 1/2), "
        "and beyond it are at most 1/1000 x (e^(i x 1/2) - 1) / (e^(1/2) - 1). "
    )


LAWS = st.lists(st.integers(1, 60), min_size=4, max_size=4).map(lambda w: [each / sum(w) for each in w])


@settings(deadline=None, max_examples=examples(200))
@given(st.lists(LAWS, min_size=3, max_size=5), st.sampled_from([0.1, 0.5, 1.0]))
def test_a_chain_of_neighbours_keeps_the_delta_of_several(laws, epsilon):
    pairs = [*pairwise(laws)]
    delta = max(beyond(exp(epsilon), *ends) for a, b in pairs for ends in ((a, b), (b, a)))
    steps = len(laws) - 1
    assert beyond(exp(steps * epsilon), laws[0], laws[-1]) <= delta_of_several(steps, epsilon, delta) + 1e-12


def test_i_times_delta_would_be_too_little():
    """Each step loses (1, 1/100) and no more; both together lose more than (2, 2/100)."""
    least = 0.01
    middle = exp(1) * least + 0.01
    most = exp(1) * middle + 0.01
    first, second, third = ((each, 1 - each) for each in (most, middle, least))
    for ends in ((first, second), (second, first), (second, third), (third, second)):
        assert beyond(exp(1), *ends) <= 0.01 + 1e-12
    lost = beyond(exp(2), first, third)
    assert lost > 2 * 0.01
    assert lost == pytest.approx(delta_of_several(2, 1, 0.01))
    assert log(most / least) > 2
