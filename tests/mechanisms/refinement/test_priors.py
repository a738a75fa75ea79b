"""Each kind of prior gives the weights that it says, and one that does not fit its column is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from scipy import stats

from penstock.mechanisms.columns import Column
from penstock.mechanisms.refinement.priors import (
    MOST_STEPS,
    AnyPrior,
    Masses,
    digest_of,
    grid_for,
    weights,
)
from penstock.mechanisms.refinement.refine import MOST_WEIGHT
from penstock.mechanisms.refusal import SettingRefused
from tests.support.order import examples

READER = TypeAdapter(AnyPrior)
AGE = Column(role="confidential", type="integer", domain=(-5, 5))
WIDE = Column(role="confidential", type="integer", domain=(0, 10**9))
INCOME = Column(role="confidential", type="continuous", domain=(0, 1))
ODD = Column(role="confidential", type="continuous", domain=(0.1, 0.9))
RANK = Column(role="confidential", type="ordinal", categories=("low", "middle", "high"))
CODE = Column(role="confidential", type="nominal", categories=(10, 20, 30))


def prior(**settings):
    return READER.validate_python(settings)


def masses(**given):
    return prior(kind="masses", masses=given)


def shares(chosen, column):
    """Return the weights as floats that add up to 1."""
    found = weights(chosen, column, "x")
    assert found.dtype == np.int64
    assert found.min() >= 0
    assert 0 < int(found.sum()) <= MOST_WEIGHT
    return found / found.sum()


def test_masses_of_categories_are_exact_and_what_is_not_named_is_impossible():
    assert weights(masses(high="1/3", low="2/3"), RANK, "x").tolist() == [2, 0, 1]
    assert weights(prior(kind="masses", masses={"20": "0.25", "30": "3/4"}), CODE, "x").tolist() == [0, 1, 3]


def test_masses_of_one_category_are_all_its_own():
    assert weights(masses(middle="1"), RANK, "x").tolist() == [0, 1, 0]


def test_masses_of_numbers_lie_on_the_nearest_point_of_the_grid():
    given = prior(kind="masses", masses={"-5": "1/8", "0": "1/8", "0.0": "1/4", "5": "1/2"})
    assert weights(given, AGE, "x").tolist() == [1, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4]
    halves = weights(prior(kind="masses", masses={"1/2": "1/2", "1": "1/2"}), INCOME, "x")
    assert np.flatnonzero(halves).tolist() == [MOST_STEPS // 2, MOST_STEPS]


@settings(max_examples=examples(200))
@given(st.lists(st.integers(0, 2**38), min_size=3, max_size=3).filter(any))
def test_exact_masses_are_kept_to_the_last_digit(numbers):
    total = sum(numbers)
    given = {name: Fraction(number, total) for name, number in zip(RANK.categories or (), numbers, strict=True)}
    found = weights(Masses(kind="masses", masses=given), RANK, "x").tolist()
    assert [Fraction(weight, sum(found)) for weight in found] == list(given.values())


@pytest.mark.parametrize(("column", "points"), [(RANK, 3), (CODE, 3), (AGE, 11), (INCOME, MOST_STEPS + 1)])
def test_uniform_gives_every_value_the_same(column, points):
    assert weights(prior(kind="uniform"), column, "x").tolist() == [1] * points


@pytest.mark.parametrize("column", [WIDE, INCOME, ODD])
def test_no_grid_has_more_points_than_can_be_answered(column):
    grid = grid_for(column, "x")
    assert MOST_STEPS // 2 < grid.steps <= MOST_STEPS + 2
    assert len(weights(prior(kind="uniform"), column, "x")) == grid.steps + 1


def test_a_histogram_spreads_each_mass_evenly_over_its_band():
    found = shares(prior(kind="histogram", bounds=[-5, 0, 3, 5], masses=["1/2", "0", "1/2"]), AGE)
    assert found == pytest.approx([0.1] * 5 + [0] * 3 + [1 / 6] * 3)  # a band has its lower bound, the last one both


def test_what_lies_outside_every_band_is_impossible():
    found = shares(prior(kind="histogram", bounds=[-1, 2], masses=["1"]), AGE)
    assert found == pytest.approx([0] * 4 + [0.25] * 4 + [0] * 3)


def test_a_band_beyond_the_domain_keeps_its_mass_inside_it():
    found = shares(prior(kind="histogram", bounds=[-100, 0, 100], masses=["1/4", "3/4"]), AGE)
    assert found == pytest.approx([0.05] * 5 + [0.125] * 6)


def test_a_histogram_of_continuous_values_has_the_mass_of_each_band():
    found = shares(prior(kind="histogram", bounds=[0.1, 0.5, 0.9], masses=["1/4", "3/4"]), ODD)
    points = grid_for(ODD, "x").values(np.arange(len(found)))
    assert found[points < 0.5].sum() == pytest.approx(0.25, abs=1e-6)
    assert found[points >= 0.5].sum() == pytest.approx(0.75, abs=1e-6)


def test_a_distribution_has_the_probability_of_every_step_within_the_bounds():
    found = shares(prior(kind="distribution", name="norm", parameters={"loc": 1, "scale": 2}), AGE)
    edges = stats.norm(1, 2).cdf(np.arange(-5.5, 6))
    assert found == pytest.approx(np.diff(edges) / (edges[-1] - edges[0]), abs=1e-9)


def test_a_distribution_of_whole_numbers_has_the_probability_of_each():
    found = shares(prior(kind="distribution", name="poisson", parameters={"mu": 2.5}), AGE)
    chances = stats.poisson(2.5).pmf(np.arange(-5, 6))
    assert found == pytest.approx(chances / chances.sum(), abs=1e-9)
    assert (found[:5] == 0).all()


@pytest.mark.parametrize("end", [0, -1])
def test_a_value_that_is_hardly_possible_stays_possible_at_either_end(end):
    """Ten from the middle at a scale of 0.7: a probability of 1e-46, which a float near 1 does not show."""
    parameters = {"loc": 5 if end == 0 else -5, "scale": 0.7}
    found = weights(prior(kind="distribution", name="norm", parameters=parameters), AGE, "x")
    assert found[end] == 1
    assert found[-1 - end] > 2**38
    assert (found > 0).all()


def coprime(number):
    """Masses whose common denominator has more digits than Python writes, and would take minutes to add up."""
    found = {}
    for place in range(number):
        each = 10**25 + 2 * place + 1
        found |= {f"{place}": Fraction(1, each), f"{place}b": Fraction(each - 1, each)}
    return found


REFUSED = {
    "too little": (masses(low="1/2", high="1/3"), RANK, ".masses", "must add up to 1"),
    "too much": (masses(low="1/2", high="2/3"), RANK, ".masses", "must add up to 1"),
    "too fine": (masses(low=f"1/{2**40 + 1}", high=f"{2**40}/{2**40 + 1}"), RANK, ".masses", "common denominator"),
    "far too fine": (Masses(kind="masses", masses=coprime(2000)), RANK, ".masses", "common denominator"),
    "less than nothing": (
        Masses(kind="masses", masses={"low": Fraction(2), "high": Fraction(-1)}),
        RANK,
        ".masses",
        "must each be at least 0",
    ),
    "unknown category": (masses(low="1/2", hgih="1/2"), RANK, ".masses", "must name declared categories"),
    "words for numbers": (masses(few="1"), AGE, ".masses", "must name numbers"),
    "a number that never ends": (masses(**{"1e999999999": "1"}), AGE, ".masses", "must name numbers"),
    "no number": (masses(nan="1"), AGE, ".masses", "must name numbers"),
    "divided by 0": (masses(**{"1/0": "1"}), AGE, ".masses", "must name numbers"),
    "below the domain": (masses(**{"-6": "1"}), AGE, ".masses", "must name numbers of the declared domain"),
    "above the domain": (masses(**{"5.5": "1"}), AGE, ".masses", "must name numbers of the declared domain"),
    "histogram of categories": (
        prior(kind="histogram", bounds=[0, 1], masses=["1"]),
        RANK,
        "",
        "must be masses or uniform for categories",
    ),
    "distribution of categories": (
        prior(kind="distribution", name="norm"),
        CODE,
        "",
        "must be masses or uniform for categories",
    ),
    "a band without a mass": (
        prior(kind="histogram", bounds=[-5, 0, 5], masses=["1"]),
        AGE,
        ".masses",
        "must be one fewer than bounds",
    ),
    "bands that fall": (
        prior(kind="histogram", bounds=[-5, 5, 0], masses=["1/2", "1/2"]),
        AGE,
        ".bounds",
        "must rise",
    ),
    "an empty band": (
        prior(kind="histogram", bounds=[-5, 0, 0, 5], masses=["1/2", "0", "1/2"]),
        AGE,
        ".bounds",
        "must rise",
    ),
    "bands of too much": (
        prior(kind="histogram", bounds=[-5, 0, 5], masses=["1", "1"]),
        AGE,
        ".masses",
        "must add up to 1",
    ),
    "bands that are too fine": (
        prior(kind="histogram", bounds=[-5, 0, 5], masses=[f"1/{2**40 + 1}", f"{2**40}/{2**40 + 1}"]),
        AGE,
        ".masses",
        "common denominator",
    ),
    "bands of less than nothing": (
        prior(kind="histogram", bounds=[-5, 0, 5], masses=[Fraction(2), Fraction(-1)]),
        AGE,
        ".masses",
        "must each be at least 0",
    ),
    "a band between two points": (
        prior(kind="histogram", bounds=[-5, 0.2, 0.8, 5], masses=["1/4", "1/2", "1/4"]),
        AGE,
        ".bounds",
        "must leave points of the domain",
    ),
    "a band outside": (
        prior(kind="histogram", bounds=[-5, 5, 6, 7], masses=["1/2", "1/4", "1/4"]),
        AGE,
        ".bounds",
        "must leave points of the domain",
    ),
    "a parameter of another": (
        prior(kind="distribution", name="norm", parameters={"mu": 1}),
        AGE,
        ".parameters",
        "must be those of norm",
    ),
    "a parameter missing": (prior(kind="distribution", name="beta"), AGE, ".parameters", "must be those of beta"),
    "a scale below 0": (
        prior(kind="distribution", name="norm", parameters={"scale": -1}),
        AGE,
        ".parameters",
        "must be possible for norm",
    ),
    "nothing inside": (
        prior(kind="distribution", name="uniform", parameters={"loc": 50}),
        AGE,
        "",
        "must leave something possible",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_prior_that_does_not_fit_is_refused(case):
    given, column, field, rule = REFUSED[case]
    with pytest.raises(SettingRefused) as refusal:
        weights(given, column, "x")
    [fault] = refusal.value.faults
    assert refusal.value.code == "setting-refused"
    assert fault.field == f"priors.x{field}"
    assert rule in fault.rule
    assert len(str(refusal.value)) < 500


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "guess"},
        {"kind": "masses", "masses": {}},
        {"kind": "masses", "masses": {"low": "-1", "high": "2"}},
        {"kind": "masses", "masses": {"low": 0.5, "high": 0.5}},
        {"kind": "masses", "masses": {str(place): "1" for place in range(4097)}},
        {"kind": "uniform", "from": "data"},
        {"kind": "histogram", "bounds": [0], "masses": []},
        {"kind": "histogram", "bounds": [0, float("inf")], "masses": ["1"]},
        {"kind": "distribution", "name": "norm", "parameters": {"loc": float("nan")}},
        {"kind": "distribution", "name": "rv_histogram"},
        {"kind": "distribution", "name": "gaussian_kde"},
    ],
)
def test_what_is_no_prior_cannot_even_be_said(given):
    with pytest.raises(ValidationError):
        READER.validate_python(given)


def test_the_digest_tells_priors_apart_and_is_the_same_for_equal_ones():
    one = weights(prior(kind="masses", masses={"low": "1/2", "high": "1/2"}), RANK, "x")
    same = weights(prior(kind="masses", masses={"high": "0.5", "low": "0.5"}), RANK, "x")
    other = weights(prior(kind="masses", masses={"low": "1/2", "middle": "1/2"}), RANK, "x")
    assert digest_of(one) == digest_of(same) == digest_of(one.astype(np.int32))
    assert digest_of(one) != digest_of(other)
    assert len(digest_of(one)) == 64
