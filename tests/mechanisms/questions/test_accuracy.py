"""What is expected of an answer, against enumerated distributions; and the least epsilon for a wanted error."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement
from math import exp, sqrt

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.questions import CONFIDENCE, Query, Terms, methods
from penstock.mechanisms.questions.accuracy import (
    LaplaceNoise,
    StaircaseNoise,
    curve_of,
    half_width,
    readable_epsilons,
)
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refinement.priors import Distribution, Masses, Uniform
from penstock.mechanisms.refusal import SettingRefused
from tests.support.order import examples

DECLARED = {
    "id": Column(role="identifier"),
    "x": Column(role="confidential", type="integer", domain=(0, 40)),
    "wide": Column(role="confidential", type="continuous", domain=(0, 100_000)),
    "side": Column(role="quasi_identifier", type="nominal", categories=("a", "b")),
    "three": Column(role="confidential", type="ordinal", categories=("low", "middle", "high")),
}
BAND = ({"column": "x", "below": 30},)
ALL = ("idp", "bdp")


def laplace_chance(j, scale):
    a = exp(-1 / scale)
    return (1 - a) / (1 + a) * a ** abs(j)


def staircase_chance(j, noise):
    b = exp(-noise.epsilon)
    shell = 0 if abs(j) < noise.step else 1 + (abs(j) - noise.step) // noise.sensitivity
    whole = (2 * noise.step - 1) + 2 * noise.sensitivity * b / (1 - b)
    return b**shell / whole


NOISES = [
    (LaplaceNoise(0.3), laplace_chance),
    (LaplaceNoise(7.5), laplace_chance),
    (StaircaseNoise(1, 1, 0.7), staircase_chance),
    (StaircaseNoise(8, 3, 0.9), staircase_chance),
    (StaircaseNoise(8, 8, 2.5), staircase_chance),
]


@pytest.mark.parametrize(("noise", "chance"), NOISES)
def test_tails_variances_and_half_widths_are_those_of_the_discrete_distribution(noise, chance):
    given_noise = noise.scale if isinstance(noise, LaplaceNoise) else noise
    law = {j: chance(j, given_noise) for j in range(-400, 401)}
    assert sum(law.values()) == pytest.approx(1, abs=1e-9)
    assert noise.variance == pytest.approx(sum(p * j**2 for j, p in law.items()), rel=1e-6, abs=1e-9)
    for w in (0, 1, 2, 3, 5, 8, 13, 21):
        outside = sum(p for j, p in law.items() if abs(j) > w)
        assert noise.outside(w) == pytest.approx(outside, rel=1e-6, abs=1e-12)
    for confidence in (Fraction(1, 2), CONFIDENCE, Fraction(999, 1000)):
        w = half_width(noise, confidence)
        assert sum(p for j, p in law.items() if abs(j) <= w) >= confidence - 1e-12
        assert w == 0 or sum(p for j, p in law.items() if abs(j) <= w - 1) < confidence


@pytest.mark.parametrize(("noise", "chance"), NOISES)
def test_a_curve_has_the_probabilities_of_its_bars(noise, chance):
    given_noise = noise.scale if isinstance(noise, LaplaceNoise) else noise
    curve = curve_of(noise, 2.0)
    assert curve.of == "error"
    bar = round((curve.points[1] - curve.points[0]) / 2)
    for point, probability in zip(curve.points, curve.probabilities, strict=True):
        centre = round(point / 2)
        inside = sum(chance(j, given_noise) for j in range(centre - bar // 2, centre + bar // 2 + 1))
        assert probability == pytest.approx(inside, rel=1e-6, abs=1e-12)
    assert 0.995 <= sum(curve.probabilities) <= 1 + 1e-9
    assert len(curve.points) <= 103


def method_of(name, statistic, adjacency="replace", *, of="x", prior=None, where=(), by=None, **terms):
    share = "1/4" if statistic == "quantile" else None
    query = Query(statistic=statistic, of=None if statistic == "count" else of, share=share, where=where, by=by)
    return methods(query, DECLARED, Terms(adjacency, **terms), prior=prior)[name]


def errors_drawn(method, columns, truth, epsilon, times):
    exact = method.add(method.begin(), columns)
    chance = seeded(5)
    return np.array([method.answer(exact, epsilon, chance)[0] - truth for _ in range(times)])


def test_the_standard_error_is_that_of_the_draws():
    """2,000 draws: a standard error that is 10 % off would be noticed, and a right one passes all but never."""
    values = np.repeat(np.arange(41.0), 50)
    for name, statistic, truth in (
        ("laplace", "sum", values.sum()),
        ("staircase", "sum", values.sum()),
        ("laplace", "mean", values.mean()),
    ):
        method = method_of(name, statistic)
        told = method.expected(Fraction(1, 2), len(values))
        errors = errors_drawn(method, {"x": values}, truth, Fraction(1, 2), 2000)
        assert sqrt(np.mean(errors**2)) == pytest.approx(told.standard_error, rel=0.15)
        assert np.mean(np.abs(errors) <= told.half_width) > 0.92
        assert not told.is_upper_bound


def test_the_half_width_of_a_mean_of_a_secret_number_is_kept_for_every_mean():
    for value in (0.0, 20.0, 40.0):
        method = method_of("laplace", "mean", "add_remove")
        width = method.half_width(Fraction(1), 60, CONFIDENCE)
        errors = errors_drawn(method, {"x": np.full(60, value)}, value, Fraction(1), 600)
        assert np.mean(np.abs(errors) <= width) >= 0.95
    assert method.half_width(Fraction(1), 2, CONFIDENCE) == 40  # so few records may vanish in the noise
    assert method.half_width(Fraction(1), None, CONFIDENCE) is None
    assert method.standard_error(Fraction(1), 0) is None


def test_relaxed_methods_tell_an_upper_bound_and_nothing_more():
    for name in ("individual", "bootstrap"):
        for statistic in ("sum", "mean", "median", "quantile", "maximum"):
            for more in ({}, {"where": BAND}, {"by": "side"}):
                method = method_of(name, statistic, relaxations=ALL, **more)
                told = method.expected(Fraction(1), 1000)
                assert told.is_upper_bound
                assert told.curve is None
                worst = method_of("laplace", statistic, **more) if statistic in ("sum", "mean") else None
                if statistic != "sum":
                    assert told.half_width <= 40
                elif worst is not None:
                    assert told.half_width == worst.expected(Fraction(1), 1000).half_width


@pytest.mark.parametrize("statistic", ["sum", "mean", "median", "maximum"])
@pytest.mark.parametrize("more", [{}, {"where": BAND}, {"by": "side"}], ids=["everybody", "some", "groups"])
def test_the_worst_case_is_as_large_as_any_size_of_noise(statistic, more):
    """Over data sets of 4 records at the ends and in the middle."""
    individual = method_of("individual", statistic, relaxations=ALL, **more)
    bootstrap = method_of("bootstrap", statistic, relaxations=ALL, **more)
    largest = 0
    for values in combinations_with_replacement((0.0, 20, 29, 40), 4):
        columns = {"x": np.array(values), "side": np.array([0, 0, 0, 1])}
        for method in (individual, bootstrap):
            steps = int(method.figures(method.add(method.begin(), columns)).steps.max())
            if statistic == "mean" and method is bootstrap:
                continue  # it counts sums
            assert steps <= max(2 if statistic == "median" else 1, method.worst_steps(4))
            largest = max(largest, steps / method.worst_steps(4))
    assert largest > 0.4


# Knowledge refinement, averaged over its prior.

PRIORS = {
    "uniform": Uniform(kind="uniform"),
    "norm": Distribution(kind="distribution", name="norm", parameters={"loc": 10, "scale": 5}),
    "masses": Masses(kind="masses", masses={"3": "1/2", "4": "1/4", "30": "1/4"}),
}


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(6)])
def test_the_chance_of_a_near_answer_is_that_of_the_refined_masses(prior, epsilon):
    method = method_of("refinement", "median", prior=PRIORS[prior])
    refined, weights = method.refined(epsilon), method.axis.weights
    laws = [refined.masses(truth) for truth in range(41)]
    for distance in (0, 1, 5, 40):
        by_hand = sum(
            Fraction(int(weights[x]), int(weights.sum())) * sum(laws[x][max(0, x - distance) : x + distance + 1])
            for x in range(41)
        )
        assert method.within(epsilon, distance) == pytest.approx(float(by_hand), abs=1e-9)
    told = method.expected(epsilon, None)
    assert told.is_typical
    assert sum(told.answers.probabilities) == pytest.approx(1)
    assert told.answers.of == "answer"
    width = int(told.half_width)
    assert method.within(epsilon, width) >= 0.95 - 1e-9
    assert width == 0 or method.within(epsilon, width - 1) < 0.95


def test_the_value_of_a_category_is_right_with_the_chance_that_is_told():
    query = Query(statistic="value", of="three", individual="p")
    prior = Masses(kind="masses", masses={"low": "1/2", "middle": "1/4", "high": "1/4"})
    method = methods(query, DECLARED, Terms("presence", whose="id"), prior=prior)["refinement"]
    refined = method.refined(Fraction(1))
    right = sum(float(refined.masses(x)[x]) * chance for x, chance in enumerate((0.5, 0.25, 0.25)))
    assert method.within(Fraction(1), 0) == pytest.approx(right)
    told = method.expected(Fraction(1))
    assert told.standard_error is None
    assert told.answers.points == (0.0, 1.0, 2.0)
    assert sum(told.answers.probabilities) == pytest.approx(1)
    assert f"{right:.3g}" in told.sentences[0]
    assert method.least_epsilon(0, Fraction(9, 10)) == Fraction(184, 100)


def test_the_value_of_an_unordered_category_uses_its_distances():
    query = Query(statistic="value", of="side", individual="p")
    method = methods(query, DECLARED, Terms("presence", whose="id"))["refinement"]
    refined = method.refined(Fraction(1))
    assert method.within(Fraction(1), 0) == pytest.approx(float(refined.masses(0)[0]))


# The exponential mechanism.


def test_rank_errors_are_kept_and_typical_errors_are_those_of_typical_data():
    method = method_of("exponential", "median", of="wide", prior=PRIORS["uniform"])
    values = (np.arange(1000) + 0.5) * 100  # spread as the uniform prior says
    told = method.expected(Fraction(1, 2), 1000)
    exact = method.add(method.begin(), {"wide": values})
    chance = seeded(3)
    found = np.array([method.answer(exact, Fraction(1, 2), chance)[0] for _ in range(400)])
    missed = np.maximum(np.searchsorted(values, found) - 500, 500 - np.searchsorted(values, found, side="right"))
    assert np.mean(missed < told.rank_error) >= 0.95
    errors = found - 50_000
    assert np.mean(np.abs(errors) <= told.half_width) > 0.9
    assert sqrt(np.mean(errors**2)) == pytest.approx(told.standard_error, rel=0.3)
    assert told.is_typical
    assert sum(told.curve.probabilities) > 0.98
    assert method.expected(Fraction(1, 2)).half_width is None
    assert method.least_epsilon(1000, CONFIDENCE, None) is None


@pytest.mark.parametrize("statistic", ["median", "quantile", "minimum", "maximum"])
@pytest.mark.parametrize("prior", PRIORS)
def test_typical_errors_exist_for_every_prior_where_everybody_takes_part_and_never_for_extremes(statistic, prior):
    for where in ((), BAND, ({"column": "x", "at_least": 35},)):
        told = method_of("exponential", statistic, prior=PRIORS[prior], where=where).expected(Fraction(1), 200)
        if where or statistic in ("minimum", "maximum"):
            assert (told.standard_error, told.half_width, told.curve, told.is_typical) == (None, None, None, False)
        else:
            assert 0 <= told.half_width <= 40
            assert told.standard_error <= 40
        assert told.rank_error > 0


# The other way round.


def settings_of_least():
    return [
        method_of("laplace", "sum"),
        method_of("laplace", "count", "add_remove", by="side"),
        method_of("staircase", "sum"),
        method_of("staircase", "count", "add_remove", whose="id", rows_per_unit=7),
        method_of("laplace", "mean"),
        method_of("exponential", "median", of="wide", prior=PRIORS["uniform"]),
        method_of("individual", "median", relaxations=ALL),
        method_of("bootstrap", "mean", relaxations=ALL),
        method_of("refinement", "median", prior=PRIORS["norm"]),
        method_of("refinement", "count", where=BAND, records=500),
    ]


CONFIDENCES = st.sampled_from([Fraction(1, 2), Fraction(9, 10), CONFIDENCE, Fraction(99, 100), Fraction(9999, 10000)])


@pytest.mark.law
@settings(max_examples=examples(120, at_first=12))
@given(
    place=st.integers(0, len(settings_of_least()) - 1),
    within=st.fractions(0, 500, max_denominator=8),
    more=st.fractions(0, 50, max_denominator=8),
    confidence=CONFIDENCES,
    other=CONFIDENCES,
)
def test_the_least_epsilon_is_enough_and_none_below_it_is(place, within, more, confidence, other):
    method = settings_of_least()[place]
    records = 500
    found = method.least_epsilon(within, confidence, records)
    assume(found is not None)
    assert method.expected(found, records, confidence).half_width <= within
    listed = readable_epsilons()
    before = listed[listed.index(found) - 1] if listed.index(found) else None
    if before is not None and before >= method.least_epsilon_possible:
        assert method.expected(before, records, confidence).half_width > within
    easier = method.least_epsilon(within + more, min(confidence, other), records)
    assert easier is not None
    assert easier <= found


def test_an_error_that_no_epsilon_reaches_has_none():
    assert method_of("laplace", "sum").least_epsilon(0, CONFIDENCE) is None
    assert method_of("laplace", "mean").least_epsilon(1, CONFIDENCE) is None  # without a number of records
    assert method_of("laplace", "mean", "add_remove").least_epsilon(1, CONFIDENCE, 500) is None  # it is secret


def test_every_epsilon_that_is_named_is_readable():
    listed = readable_epsilons()
    assert list(listed) == sorted(set(listed))
    assert all(len(str(int(each * 10**8)).rstrip("0")) <= 3 for each in listed)
    assert (listed[0], listed[-1]) == (Fraction(1, 10**6), 64)


@pytest.mark.parametrize("confidence", [Fraction(0), Fraction(1), Fraction(-1), Fraction(3, 2)])
def test_a_confidence_lies_between_0_and_1(confidence):
    method = method_of("laplace", "sum")
    for act in (lambda: method.expected(Fraction(1), None, confidence), lambda: method.least_epsilon(1, confidence)):
        with pytest.raises(SettingRefused) as refused:
            act()
        assert [(refused.value.code, fault.field) for fault in refused.value.faults] == [
            ("setting-refused", "confidence")
        ]


def test_a_wanted_error_is_not_negative():
    with pytest.raises(SettingRefused) as refused:
        method_of("laplace", "sum").least_epsilon(Fraction(-1))
    assert [(refused.value.code, fault.field) for fault in refused.value.faults] == [("setting-refused", "within")]


def test_a_scale_has_its_epsilon_under_laplace_noise_alone():
    """Protocol 1': epsilon = sensitivity / scale, in the unit of the answer."""
    assert method_of("laplace", "sum").epsilon_of_scale(Fraction(80)) == Fraction(1, 2)
    assert method_of("laplace", "count", "add_remove").epsilon_of_scale(Fraction(4)) == Fraction(1, 4)
    assert method_of("laplace", "count", by="side").epsilon_of_scale(Fraction(4)) == Fraction(1, 2)
    assert method_of("laplace", "mean", records=100).epsilon_of_scale(Fraction(2)) == Fraction(1, 5)
    wide = method_of("laplace", "sum", of="wide")
    assert wide.epsilon_of_scale(Fraction(200_000)) == wide.asked.numbers.steps * wide.asked.numbers.eta / 200_000
    for other in (
        method_of("laplace", "mean"),
        method_of("laplace", "mean", "add_remove", records=100),
        method_of("staircase", "sum"),
        method_of("exponential", "median"),
        method_of("refinement", "mean"),
    ):
        assert other.epsilon_of_scale(Fraction(1)) is None
    assert method_of("laplace", "sum").epsilon_of_scale(Fraction(0)) is None
    assert method_of("laplace", "mean", records=100).epsilon_of_scale(Fraction(-1)) is None


def test_a_large_epsilon_has_a_staircase_that_can_be_drawn():
    method = method_of("staircase", "sum", of="wide")
    exact = method.add(method.begin(), {"wide": np.array([5.0])})
    for epsilon, error in ((Fraction(12), 1500), (Fraction(64), 40)):
        assert method.expected(epsilon).standard_error < error
        assert all(abs(method.answer(exact, epsilon, seeded(seed))[0] - 5) < 4 * error for seed in range(5))


def test_the_error_told_with_a_mean_is_that_of_its_own_group():
    """Small and large groups of values at a bound, where the bound on the error is reached; 2,000 draws of each, so the
    observed error is within 10 % of its expectation by six of its standard errors."""
    method = methods(Query(statistic="mean", of="wide", by="side"), DECLARED, Terms("add_remove"))["laplace"]
    sides = np.repeat([0, 1], [400, 20_000])
    exact = method.add(method.begin(), {"side": sides, "wide": np.full(len(sides), 100_000.0)})
    chance, drawn = seeded(1), []
    for _ in range(2000):
        drawn.append(method.drawn(exact, Fraction(1), chance))
    # Answers are clamped to the domain, so of errors around a bound only half are seen.
    for group in (0, 1):
        seen = sqrt(np.mean([(each.values[group] - 100_000) ** 2 for each in drawn]))
        told = sqrt(np.mean([each.errors[group] ** 2 for each in drawn]))
        assert seen < told < 2 * seen
    assert drawn[0].errors[0] > 20 * drawn[0].errors[1]


def test_no_error_is_told_with_an_answer_where_it_is_known_before():
    for query, terms in (({"statistic": "count"}, "add_remove"), ({"statistic": "mean", "of": "x"}, "replace")):
        method = methods(Query(**query), DECLARED, Terms(terms))["laplace"]
        exact = method.add(method.begin(), {"x": np.arange(5)} if "of" in query else {}, rows=5)
        assert method.drawn(exact, Fraction(1), seeded(1)).errors is None
