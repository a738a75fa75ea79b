"""Answers: whatever the data are, one draw for each group, and one that can be an answer."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.questions import NAMES, Query, Terms, _fold, faults, methods
from penstock.mechanisms.questions.accuracy import MOST_EPSILON
from penstock.mechanisms.randomness import seeded, system
from penstock.mechanisms.refinement.priors import Masses
from penstock.mechanisms.refusal import SettingRefused
from tests.support.order import examples

DECLARED = {
    "id": Column(role="identifier"),
    "x": Column(role="confidential", type="continuous", domain=(-1.5, 2)),
    "gap": Column(role="confidential", type="continuous", domain=(100, 101), missing="category"),
    "whole": Column(role="confidential", type="integer", domain=(-3, 5), missing="category"),
    "wide": Column(role="confidential", type="integer", domain=(0, 2**50)),
    "side": Column(role="quasi_identifier", type="nominal", categories=("a", "b", "c")),
}
NUMBERS = st.one_of(
    st.just(1.0), st.floats(-4, 4), st.sampled_from([np.nan, np.inf, -np.inf, -0.0, 1e300, -1e308, 5e-324, 100.5, 1e15])
)
RELAXED = ("idp", "bdp")


@st.composite
def cases(draw):
    statistic = draw(st.sampled_from(["count", "sum", "mean", "median", "quantile", "minimum", "maximum", "value"]))
    of = None if statistic == "count" else draw(st.sampled_from(["x", "gap", "whole", "wide"]))
    if statistic == "value":
        of = draw(st.sampled_from([of, "side"]))
        return Query(statistic="value", of=of, individual="p"), Terms("presence", whose="id")
    where = draw(
        st.lists(
            st.sampled_from(
                [
                    {"column": "x", "at_least": "-1/3", "below": 1},
                    {"column": "whole", "below": -2},
                    {"column": "whole", "at_least": "1/4", "below": "3/4"},  # no whole number lies there
                    {"column": "gap", "at_least": "1005/10", "below": "100500000001/1000000000"},
                    {"column": "side", "is_in": ("b",)},
                ]
            ),
            max_size=2,
        )
    )
    share = draw(st.sampled_from(["1/1000000", "1/2", "9/10"])) if statistic == "quantile" else None
    query = Query(statistic=statistic, of=of, share=share, where=where, by=draw(st.sampled_from([None, "side"])))
    adjacency = draw(st.sampled_from(["replace", "add_remove", "presence"]))
    rows_per_unit = draw(st.sampled_from([1, 1, 3]))
    records = draw(st.sampled_from([None, 0, 5, 10**6]))
    whose = "id" if rows_per_unit > 1 else None
    return query, Terms(adjacency, whose, rows_per_unit, RELAXED, records)


@st.composite
def rows(draw):
    n = draw(st.one_of(st.just(0), st.just(1), st.integers(2, 9)))
    columns = {
        name: np.array(draw(st.lists(NUMBERS, min_size=n, max_size=n)), np.float64)
        for name in ("x", "gap", "whole", "wide")
    }
    columns["side"] = np.array(draw(st.lists(st.integers(-2, 4), min_size=n, max_size=n)), np.int64)
    columns["id"] = np.array(draw(st.lists(st.sampled_from(["p", "q", None]), min_size=n, max_size=n)), object)
    return columns


@pytest.mark.law
@settings(max_examples=examples(800, at_first=120))
@given(case=cases(), columns=rows(), seed=st.integers(0, 99), extreme=st.sampled_from(["least", "most", None]))
def test_no_data_make_an_answer_fail(case, columns, seed, extreme):
    query, terms = case
    if faults(query, DECLARED, terms):
        return
    for method in methods(query, DECLARED, terms).values():
        exact = method.add(method.begin(), columns, rows=len(columns["x"]))
        epsilon = {"least": method.least_epsilon_possible, "most": Fraction(MOST_EPSILON), None: Fraction(1, 3)}[
            extreme
        ]
        found = method.answer(exact, epsilon, seeded(seed))
        assert len(found) == len(method.groups)
        for each in found:
            if query.of == "side":
                assert each in ("a", "b", "c")
            else:
                assert isinstance(each, int | float)
                assert np.isfinite(each)
            if query.statistic not in ("count", "sum", "value"):
                low, high = DECLARED[query.of].domain
                assert low <= each <= high


@pytest.mark.parametrize("name", NAMES)
def test_an_epsilon_is_refused_by_its_size_alone_and_before_the_data_are_looked_at(name):
    statistic = {"exponential": "median", "individual": "median"}.get(name, "count")
    query = Query(
        statistic=statistic, of=None if statistic == "count" else "x", where=[{"column": "whole", "below": 3}]
    )
    terms = Terms("replace", relaxations=RELAXED, records=10)
    method = methods(query, DECLARED, terms)[name]
    least = method.least_epsilon_possible
    for epsilon in (Fraction(0), -Fraction(1), least / 2, Fraction(65), 0.5, True, None):
        for act in (
            lambda given: method.answer(None, given, seeded(1)),
            lambda given: method.expected(given, 10),
            method.guarantee,
        ):
            with pytest.raises(SettingRefused) as refused:
                act(epsilon)
            assert refused.value.code == "setting-refused"
            assert [fault.field for fault in refused.value.faults] == ["epsilon"]
    assert method.epsilon_faults(least) == []
    assert method.epsilon_faults(1) == []


def test_the_least_epsilon_grows_with_rows_of_a_unit_and_groups_that_a_change_touches():
    query = Query(statistic="median", of="x", by="side")
    one = methods(query, DECLARED, Terms("add_remove"))["exponential"]
    many = methods(query, DECLARED, Terms("replace", whose="id", rows_per_unit=5))["exponential"]
    assert many.least_epsilon_possible == 10 * one.least_epsilon_possible


def answers(method, columns, epsilon=Fraction(64), seeds=range(30)):
    exact = method.add(method.begin(), columns)
    return [method.answer(exact, epsilon, seeded(seed)) for seed in seeds]


def near_to(found, expected, within):
    return all(abs(value - wanted) <= within for each in found for value, wanted in zip(each, expected, strict=True))


def test_with_hardly_any_noise_answers_are_the_statistics():
    """At the largest epsilon every additive answer of these is within a few steps of the truth."""
    columns = {"whole": np.array([-3.0, 0, 1, 5, 9, np.nan]), "side": np.array([0, 0, 0, 1, 1, 2])}
    for statistic, expected in {
        "count": (3, 2, 1),
        "sum": (-2, 10, 0),
        "mean": (-2 / 3, 5.0, None),
        "median": (0, 5, None),
        "minimum": (-3, 5, None),
        "maximum": (1, 5, None),
    }.items():
        query = Query(statistic=statistic, of=None if statistic == "count" else "whole", by="side")
        terms = Terms("replace", relaxations=RELAXED)
        for name, method in methods(query, DECLARED, terms).items():
            if name in ("refinement", "bootstrap"):
                continue
            found = answers(method, columns)
            full = [each[:2] for each in found] if expected[2] is None else found
            assert near_to(full, [value for value in expected if value is not None], 2), (statistic, name)


def test_a_sum_of_whole_numbers_is_a_whole_number_and_a_sum_of_others_is_not():
    whole = methods(Query(statistic="sum", of="whole"), DECLARED, Terms("add_remove"))["laplace"]
    other = methods(Query(statistic="sum", of="x"), DECLARED, Terms("add_remove"))["laplace"]
    assert isinstance(answers(whole, {"whole": np.ones(3)})[0][0], int)
    assert isinstance(answers(other, {"x": np.ones(3)})[0][0], float)


def test_individual_noise_has_a_floor_so_that_equal_values_are_not_printed_exactly():
    method = methods(Query(statistic="median", of="whole"), DECLARED, Terms("replace", relaxations=RELAXED))[
        "individual"
    ]
    exact = method.add(method.begin(), {"whole": np.full(1000, 2.0)})
    assert method.figures(exact).steps.tolist() == [2]  # half steps
    found = {method.answer(exact, Fraction(1), seeded(seed))[0] for seed in range(60)}
    assert len(found) > 3


def test_a_group_without_records_gets_bootstrap_noise_like_others():
    query = Query(statistic="sum", of="whole", by="side")
    method = methods(query, DECLARED, Terms("replace", relaxations=RELAXED))["bootstrap"]
    exact = method.add(method.begin(), {"whole": np.array([1.0, 5.0]), "side": np.array([0, 1])})
    assert method.figures(exact).steps.tolist() == [2, 10, 10]
    assert method.figures(method.begin()).steps.tolist() == [1, 1, 1]


def test_an_absent_individual_is_answered_from_the_prior_and_a_present_one_from_the_refined_one():
    prior = Masses(kind="masses", masses={"a": "1/10", "b": "9/10"})
    query = Query(statistic="value", of="side", individual="p")
    method = methods(query, DECLARED, Terms("presence", whose="id"), prior=prior)["refinement"]
    columns = {"side": np.array([0]), "id": np.array(["q"], object)}
    absent, present = (
        [each for (each,) in answers(method, columns | {"id": np.array([who], object)}, Fraction(2), range(400))]
        for who in ("q", "p")
    )
    # 400 draws with chances 1/10 and e^2/10: between these limits but for one run in a million.
    assert 10 < absent.count("a") < 80
    assert 240 < present.count("a") < 350
    assert set(absent) == set(present) == {"a", "b"}


def test_a_group_without_records_is_answered_from_the_prior():
    prior = Masses(kind="masses", masses={"-3": "1/2", "5": "1/2"})
    query = Query(statistic="mean", of="whole", by="side")
    method = methods(query, DECLARED, Terms("add_remove"), prior=prior)["refinement"]
    found = answers(method, {"whole": np.array([5.0] * 4), "side": np.array([1] * 4)}, Fraction(8), range(200))
    assert {each[1] for each in found} <= {5, -3}
    assert sum(each[1] == 5 for each in found) > 180
    assert 60 < sum(each[0] == 5 for each in found) < 140


def test_answers_come_from_the_operating_system_too():
    for statistic in ("count", "sum", "mean", "median"):
        query = Query(statistic=statistic, of=None if statistic == "count" else "x", by="side")
        for method in methods(query, DECLARED, Terms("replace", relaxations=RELAXED, records=2)).values():
            exact = method.add(method.begin(), {"x": np.array([0.5, 1]), "side": np.array([0, 1])})
            assert len(method.answer(exact, Fraction(1, 10), system())) == 3


def test_a_million_rows_answer_as_a_few_do():
    """The compiled loops and the counted points lead to the draws that sorted values lead to."""
    chance = np.random.default_rng(0)
    columns = {"x": chance.uniform(-2, 3, 250_000)}
    method = methods(Query(statistic="median", of="x"), DECLARED, Terms("add_remove"))["exponential"]
    counted = method.add(method.begin(), columns)
    small = _fold.SMALL
    try:
        _fold.SMALL = 10**9
        kept = method.add(method.begin(), columns)
    finally:
        _fold.SMALL = small
    assert counted.points is not None
    assert kept.points is None
    for seed in range(5):
        assert method.answer(counted, Fraction(1, 10), seeded(seed)) == method.answer(
            kept, Fraction(1, 10), seeded(seed)
        )
