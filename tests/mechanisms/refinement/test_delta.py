"""With delta, the farthest answers are moved to the truth; exactly as many as delta allows, and never more.

Truths are compared by what epsilon and delta say of every set of answers at once:

    delta(P, Q) = sum over answers of max(0, P(y) - ratio Q(y)),   ratio the largest that epsilon allows          (1)
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refinement import MECHANISM, chosen_facts, promise, protect
from penstock.mechanisms.refinement._mechanism import questions
from penstock.mechanisms.refinement.axes import Axis, Line, Matrix
from penstock.mechanisms.refinement.refine import (
    MOST_WEIGHT,
    UNIT,
    Factors,
    Refined,
    by_presence,
    by_value,
    moved_by_presence,
    moved_by_value,
)
from tests.laws.chance import FALSE_ALARM
from tests.mechanisms.noise_chance import assert_law
from tests.mechanisms.refinement import by_definition
from tests.mechanisms.refinement.axes_drawn_from import CASES, TRIALS, of
from tests.mechanisms.refinement.by_definition import Distribution, epsilons, listed, on_line, priors, tables
from tests.mechanisms.refinement.test_refinement import only, params, sample
from tests.support.order import examples

law = settings(max_examples=examples(1000, at_first=60))
shares = st.one_of(st.sampled_from([Fraction(1, 10**30), Fraction(1, 10**6)]), st.fractions(0, 1, max_denominator=60))
BOTH = [(by_value, moved_by_value), (by_presence, moved_by_presence)]
both = pytest.mark.parametrize(("factors", "moved"), BOTH, ids=["value", "presence"])


def moved_by_definition(
    weights: list[int], distance: by_definition.Distance, true: int, factors: Factors, share: Fraction
) -> Distribution:
    """Whole circles of answers are moved, the farthest first, until one is moved in part; what lies inside r* stays."""
    up, down = Fraction(factors.up, UNIT), Fraction(factors.down, UNIT)
    masses, _ = by_definition.refined(weights, distance, true, up, down)
    places = range(len(weights))
    possible = [place for place in places if weights[place]]
    nearest = min(possible, key=lambda place: (distance(true, place), place))
    finer = max(power for power in range(41) if sum(weights) * 2**power <= MOST_WEIGHT)
    smallest = Fraction(1, UNIT * sum(weights) * 2**finer)
    drawn, left = list(masses), share // smallest * smallest
    circles = sorted({distance(true, place) for place in possible}, reverse=True)
    most_inside = (1 - down) / (up - down) if up > down else Fraction(0)
    for radius in circles:
        inside = sum(Fraction(weights[place], sum(weights)) for place in places if distance(true, place) <= radius)
        nearer = sum(Fraction(weights[place], sum(weights)) for place in places if distance(true, place) < radius)
        on_it = [place for place in places if distance(true, place) == radius]
        mass = sum(drawn[place] for place in on_it)
        taken = min(left, mass)
        for place in on_it:
            masses[place] -= drawn[place] * taken / mass
        masses[nearest] += taken
        left -= taken
        is_shell = inside > min(most_inside, 1 - Fraction(1, sum(weights))) >= nearer
        if is_shell or left == 0:
            break
    return masses


def assert_as_defined(
    weights: list[int], axis: Axis, distance: by_definition.Distance, factors: Factors, share: Fraction
) -> None:
    refined = Refined(axis, factors, share)
    for true in range(len(weights)):
        found = refined.masses(true)
        assert found == moved_by_definition(weights, distance, true, factors, share)
        assert sum(found) == 1
        assert min(found) >= 0
        assert all(mass == 0 for mass, weight in zip(found, weights, strict=True) if weight == 0)


@law
@given(priors(), epsilons(), shares, st.sampled_from([by_value, by_presence]))
def test_masses_on_a_line_equal_the_definition(weights, epsilon, share, factors):
    assert_as_defined(weights, Line(of(weights)), on_line, factors(epsilon), share)


@law
@given(st.data(), priors(most=6), epsilons(), shares, st.sampled_from([by_value, by_presence]))
def test_masses_by_given_distances_equal_the_definition(data, weights, epsilon, share, factors):
    table = data.draw(tables(len(weights)))
    assert_as_defined(weights, Matrix(of(weights), of(table)), listed(table), factors(epsilon), share)


def beyond(one: Distribution, other: Distribution, ratio: Fraction) -> Fraction:
    """(1)."""
    return sum((max(Fraction(0), p - ratio * q) for p, q in zip(one, other, strict=True)), Fraction(0))


def lost_by_value(refined: Refined) -> Fraction:
    """The largest delta of two truths. The ratio is that of the factors, which is at most e^epsilon."""
    masses = [refined.masses(true) for true in range(len(refined.axis.weights))]
    ratio = Fraction(refined.factors.up, refined.factors.down)
    return max(beyond(one, other, ratio) for one, other in itertools.product(masses, repeat=2))


def lost_by_presence(refined: Refined) -> Fraction:
    """The largest delta of a truth and a draw of the prior, both ways."""
    weights = refined.axis.weights.tolist()
    prior = [Fraction(weight, sum(weights)) for weight in weights]
    up, down = Fraction(refined.factors.up, UNIT), Fraction(refined.factors.down, UNIT)
    masses = [refined.masses(true) for true in range(len(weights))]
    return max(max(beyond(each, prior, up), beyond(prior, each, 1 / down)) for each in masses)


@law
@given(st.data(), priors(most=6), epsilons(), shares)
def test_no_two_truths_lose_more_than_delta(data, weights, epsilon, delta):
    table = data.draw(tables(len(weights)))
    factors = by_value(epsilon)
    for axis in (Line(of(weights)), Matrix(of(weights), of(table))):
        assert lost_by_value(Refined(axis, factors, moved_by_value(delta, factors))) <= delta


@law
@given(st.data(), priors(most=6), epsilons(), shares)
def test_no_truth_loses_more_than_delta_beside_the_prior(data, weights, epsilon, delta):
    table = data.draw(tables(len(weights)))
    factors = by_presence(epsilon)
    for axis in (Line(of(weights)), Matrix(of(weights), of(table))):
        assert lost_by_presence(Refined(axis, factors, moved_by_presence(delta, factors))) <= delta


def test_what_is_allowed_is_used_to_the_last_number_and_the_shares_in_print_are_too_much():
    """Thesis, section 5.2: delta / 2 for a statistic and delta for a person, at (ln 2, 0.2), on a fine even prior."""
    delta, epsilon = Fraction(1, 5), Fraction(6931471805599453, 10**16)
    axis = Line(np.ones(1001, np.int64))
    of_values, of_presence = by_value(epsilon), by_presence(epsilon)
    ours = lost_of_ends(Refined(axis, of_values, moved_by_value(delta, of_values)))
    assert delta - Fraction(1, 10**6) < ours <= delta
    assert lost_of_ends(Refined(axis, of_values, delta / 2)) > Fraction(29, 100)
    middle = Refined(axis, of_presence, moved_by_presence(delta, of_presence))
    assert delta - Fraction(1, 10**6) < of_the_middle(middle) <= delta
    assert of_the_middle(Refined(axis, of_presence, delta)) > Fraction(39, 100)


def lost_of_ends(refined: Refined) -> Fraction:
    one, other = refined.masses(10), refined.masses(990)
    ratio = Fraction(refined.factors.up, refined.factors.down)
    return max(beyond(one, other, ratio), beyond(other, one, ratio))


def of_the_middle(refined: Refined) -> Fraction:
    truth, prior = refined.masses(500), [Fraction(1, 1001)] * 1001
    return max(
        beyond(truth, prior, Fraction(refined.factors.up, UNIT)),
        beyond(prior, truth, 1 / Fraction(refined.factors.down, UNIT)),
    )


with_axis = pytest.mark.parametrize("case", CASES)


def assert_drawn_by_masses(axis: Axis, factors: Factors, drawn: Fraction, expected: Fraction) -> None:
    """For every truth, by chi-square; a right sampler is refused once in 1e9 / 8 seeds."""
    assert FALSE_ALARM == 1e-9
    truths = np.tile(np.arange(8), TRIALS)
    answers = Refined(axis, factors, drawn).draw(truths, seeded(7))
    for true in range(8):
        masses = {place: float(mass) for place, mass in enumerate(Refined(axis, factors, expected).masses(true))}
        own = answers[truths == true]
        if max(masses.values()) == 1:
            assert len(set(own.tolist())) == 1
            continue
        assert_law(own, masses)
        assert not np.isin(own, np.flatnonzero(axis.weights == 0)).any()


@with_axis
@both
@pytest.mark.parametrize("delta", [Fraction(1, 10), Fraction(9, 10)])
def test_answers_are_drawn_by_the_moved_masses(case, factors, moved, delta):
    one = factors(Fraction(1))
    share = moved(delta, one)
    assert_drawn_by_masses(CASES[case], one, share, share)


@with_axis
def test_the_test_of_draws_notices_that_more_is_moved(case):
    factors = by_value(Fraction(1, 10))
    with pytest.raises(AssertionError):
        assert_drawn_by_masses(CASES[case], factors, Fraction(1, 5), Fraction(1, 10))


@both
@pytest.mark.parametrize("case", ["line with zeros", "ties"])
def test_floats_of_expected_errors_follow_the_masses(case, factors, moved):
    axis, every = CASES[case], np.arange(8)
    one = factors(Fraction(1))
    refined = Refined(axis, one, moved(Fraction(1, 3), one))
    masses = np.array([[float(mass) for mass in refined.masses(true)] for true in range(8)])
    assert refined.chances(every) == pytest.approx(masses, abs=1e-12)
    apart = np.array([axis.regions(every, refined.threshold).steps_beyond(true)[0] for true in range(8)])
    assert refined.mean_square(every) == pytest.approx((masses * apart**2).sum(axis=1))
    assert (refined.mean_square(every) <= Refined(axis, one).mean_square(every) + 1e-12).all()


@both
def test_what_is_stated_as_moved_is_what_is_drawn_by_also_where_weights_are_few(factors, moved):
    """A certain share for two even categories: as much leaves the other one as is stated."""
    for epsilon, delta in ((Fraction(3), Fraction(1, 10**6)), (Fraction(6), Fraction(1, 10**9))):
        one = factors(epsilon)
        axis = Matrix(of([1, 1]), of([[0, 1], [1, 0]]))
        wanted = moved(delta, one)
        refined = Refined(axis, one, wanted)
        assert wanted - Fraction(1, 2**61) < refined.moved <= wanted
        assert Refined(axis, one).masses(0)[1] - refined.masses(0)[1] == refined.moved > 0


@both
@pytest.mark.parametrize("epsilon", [Fraction(1, 10**9), Fraction(1), Fraction(64)])
@pytest.mark.parametrize("weights", [[1, 1], [1, 0, 2**39, 1], [2**40 - 1, 1], [1]])
def test_nothing_overflows_whatever_the_factors_and_the_weights_are(factors, moved, epsilon, weights):
    one = factors(epsilon)
    for delta in (Fraction(1, 10**30), Fraction(1, 2), 1 - Fraction(1, 10**29)):
        refined = Refined(Line(of(weights)), one, moved(delta, one))
        drawn = refined.draw(np.repeat(np.arange(len(weights)), 200), seeded(1))
        assert set(drawn.tolist()) <= set(np.flatnonzero(weights).tolist())
        assert_as_defined(weights, Line(of(weights)), on_line, one, refined.may_be_moved)


def test_without_delta_nothing_else_is_drawn_than_before():
    factors = by_value(Fraction(1))
    truths = np.tile(np.arange(8), 100)
    for axis in CASES.values():
        plain, none = Refined(axis, factors), Refined(axis, factors, Fraction(1, 10**40))
        assert (plain.draw(truths, seeded(3)) == none.draw(truths, seeded(3))).all()


def test_delta_is_divided_as_epsilon_is_and_every_sentence_of_the_promise_knows_it():
    names = ["age", "cause"]
    given = {"delta": "1/1000", "acknowledges": ["delta"]}
    chosen = params(names, shares={"age": "1/4", "cause": "3/4"}, rows_per_unit=2, **given)
    assert [each.delta for each in questions(chosen, only(*names)).values()] == [Fraction(1, 8000), Fraction(3, 8000)]
    promised = promise(chosen, only(*names))
    assert promised.parameters["delta"] == "1/1000"
    assert promised.statement.startswith("(1, 1/1000)-differential privacy: ")
    assert "at most e^1 and beyond that by at most 1/1000." in promised.statement
    assert "delta_spent" in promised.audit
    assert "delta = 1/1000" in promised.not_promised[0]
    assert promised.in_short == "dp, epsilon = 1, delta = 1/1000, adjacency replace"
    of_presence = promise(params(names, adjacency="presence", **given), only(*names)).statement
    assert "at most e^2 and beyond that by at most (1 + e^1) times as much." in of_presence
    [told] = [sentence for sentence in MECHANISM.expect(chosen, only(*names), 30_000) if sentence.startswith("Delta")]
    moved = sum(each.refined.moved for each in questions(chosen, only(*names)).values())
    assert told.endswith(f"replaced by the truth, {float(30_000 * moved):.3g} among all 30,000.")
    without = promise(params(names), only(*names))
    assert "delta" not in without.parameters
    assert "delta" not in without.model_dump_json()


@pytest.mark.parametrize("adjacency", ["replace", "presence"])
def test_answers_with_delta_lie_nearer_to_the_truth(adjacency):
    """Nearly everything may be moved here; the expected error that is stated is what comes out."""
    errors = {}
    for delta in ({}, {"delta": "99/100", "acknowledges": ["delta"]}):
        chosen, columns = params(["age"], adjacency=adjacency, epsilon="1/10", **delta), {"age": sample(20_000)["age"]}
        found = protect(columns, only("age"), chosen, seeded(1)).columns["age"]
        facts = chosen_facts(chosen, only("age"), 20_000)["answers"]["age"]
        errors[bool(delta)] = np.sqrt(np.mean((found - columns["age"]) ** 2.0)) / 120
        assert errors[bool(delta)] == pytest.approx(facts["expected_error"], rel=0.03)
    assert errors[True] < 0.6 * errors[False]
