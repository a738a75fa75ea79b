"""Figures that are made of the same totals: which are drawn together, how much better that is, what they are then."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.noise.totals import LARGEST_TOTAL
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.statistics import Params, chosen_facts, protect
from penstock.mechanisms.statistics._private import Shared, Spread, Total, planned
from penstock.mechanisms.statistics._together import _times
from tests.support.order import examples

COLUMNS = [f"x{place}" for place in range(12)]
DECLARED = {
    "side": Column(role="quasi_identifier", type="nominal", categories=("a", "b")),
    **{name: Column(role="confidential", type="integer", domain=(-1000, 1000)) for name in COLUMNS},
    "age": Column(role="confidential", type="integer", domain=(0, 120)),
    "wide": Column(role="confidential", type="continuous", domain=(0, 1e6)),
}
COUNT = {"statistic": "count"}


def sums(*names):
    return [{"statistic": "sum", "of": name} for name in names]


def params(figures, **more):
    base = {"model": "dp", "epsilon": "1", "adjacency": "add_remove", "groups": ["side"]}
    return Params.model_validate({**base, "figures": figures, **more})


def sizes(chosen, declared=DECLARED):
    """The variance of every figure in units of what one record can add."""
    return {name: each.relative_variance for name, each in planned(chosen, declared).asked.items()}


@pytest.mark.parametrize(("many", "boxed", "divided"), [(2, 3.97, 8), (3, 6.7, 18), (4, 10.0, 32), (6, 18.7, 72)])
def test_several_totals_have_the_variance_of_a_box_and_not_of_a_divided_epsilon(many, boxed, divided):
    together = sizes(params(sums(*COLUMNS[:many])))
    assert list(together.values()) == pytest.approx([boxed] * many, rel=0.01)
    alone = sizes(params(sums(*COLUMNS[:many]), noise="laplace"))
    assert list(alone.values()) == pytest.approx([divided] * many, rel=0.001)


def test_totals_beyond_six_are_divided_among_boxes():
    drawn = planned(params(sums(*COLUMNS[:9])), DECLARED).together
    assert [len(box.half_widths) for box in drawn.boxes] == [4, 5]
    assert [box.epsilon for box in drawn.boxes] == [Fraction(4, 9), Fraction(5, 9)]
    assert max(sizes(params(sums(*COLUMNS[:9]))).values()) < 2 * 9**2 / 3


def test_figures_of_one_column_share_their_totals():
    kinds = ["sum", "mean", "variance"]
    chosen = params([COUNT, *({"statistic": kind, "of": "age"} for kind in kinds)])
    drawn = planned(chosen, DECLARED).together
    assert [(answer.kind, answer.half_width) for answer in drawn.answers] == [
        ("count", 1),
        ("sum", 60),
        ("squares", 1800),
    ]
    assert drawn.boxes[0].epsilon == 1


def test_a_count_halves_the_variance_of_a_sum_of_values_from_0():
    """Box noise of two totals has 3.97 squared half-widths; a sum of S with half-width B / 2 and of B / 2 counts."""
    found = sizes(params([COUNT, *sums("age")]))
    assert found["count"] == pytest.approx(3.97, rel=0.04)
    assert found["age_sum"] == pytest.approx(3.97 / 2, rel=0.04)


def test_a_count_that_nobody_asked_for_is_drawn_where_it_makes_sums_better():
    def kinds(*names):
        return [answer.kind for answer in planned(params(sums(*names)), declared).together.answers]

    declared = {**DECLARED, "old": DECLARED["age"], "young": DECLARED["age"], "rich": DECLARED["age"]}
    assert kinds("age", "old", "young", "rich") == ["count", "sum", "sum", "sum", "sum"]
    assert kinds("x0", "x1") == ["sum", "sum"]


@pytest.mark.parametrize("groups", [2**14, 2**16])
def test_what_would_take_minutes_is_drawn_in_smaller_boxes_or_one_by_one(groups):
    """At this epsilon an attempt to draw six totals succeeds once in nine thousand times."""
    many = {**DECLARED, "side": Column(role="quasi_identifier", type="ordinal", categories=tuple(range(groups)))}
    dear, cheap = (params(sums(*COLUMNS[:6]), epsilon=epsilon) for epsilon in ("4", "1"))
    assert planned(dear, DECLARED).together.attempts > 5_000
    drawn = planned(dear, many).together
    assert drawn is None or drawn.attempts * groups <= 10**8
    assert planned(cheap, many).together is not None


def test_one_figure_is_drawn_alone_with_the_smallest_noise_for_one():
    (total,) = planned(params(sums("age")), DECLARED).asked.values()
    assert isinstance(total, Total)
    assert total.noise.kind == "staircase"
    assert total.relative_variance == pytest.approx(1.918, rel=0.001)
    (spread,) = planned(params([{"statistic": "mean", "of": "age"}]), DECLARED).asked.values()
    assert isinstance(spread, Spread)


def test_figures_with_shares_of_their_own_are_drawn_alone_unless_a_box_is_asked_for():
    shares = {"count": "1/10", "age_sum": "2/5", "age_median": "1/2"}
    figures = [COUNT, *sums("age"), {"statistic": "median", "of": "age"}]
    assert planned(params(figures, shares=shares), DECLARED).together is None
    drawn = planned(params(figures, shares=shares, noise="box"), DECLARED)
    assert drawn.together.boxes[0].epsilon == Fraction(1, 2)
    assert [type(each) for each in drawn.asked.values()][:2] == [Shared, Shared]
    assert drawn.alone["age_median"].epsilon == Fraction(1, 2)


@pytest.mark.parametrize(("adjacency", "groups", "spent"), [("replace", ["side"], "1/2"), ("add_remove", [], "1")])
def test_a_box_spends_what_a_touched_group_has(adjacency, groups, spent):
    chosen = params([COUNT, *sums("age")], adjacency=adjacency, groups=groups)
    assert [box["epsilon"] for box in chosen_facts(chosen, DECLARED, 3)["together"]] == [spent]
    three = params([COUNT, *sums("age")], adjacency=adjacency, groups=groups, rows_per_unit=3)
    assert [Fraction(box["epsilon"]) for box in chosen_facts(three, DECLARED, 3)["together"]] == [Fraction(spent) / 3]


def test_a_public_number_of_records_is_not_drawn():
    chosen = params([*sums("age"), {"statistic": "variance", "of": "age"}], adjacency="replace", groups=[])
    drawn = planned(chosen, DECLARED).together
    assert [(answer.kind, answer.half_width) for answer in drawn.answers] == [("sum", 120), ("squares", 3600)]
    columns = {**survey(50), "age": np.full(50, 30)}
    found = protect(columns, DECLARED, chosen.model_copy(update={"epsilon": Fraction(10**6)}), seeded(1)).columns
    assert found["age_sum"][0] == pytest.approx(1500, abs=60)


def survey(rows, seed=1):
    chance = np.random.default_rng(seed)
    return {
        "side": chance.integers(0, 2, rows),
        **{name: chance.integers(-1000, 1001, rows) for name in COLUMNS},
        "age": chance.integers(0, 121, rows),
        "wide": chance.random(rows) * 1e6,
    }


def test_a_mean_is_the_quotient_of_its_sum_and_count():
    chosen = params([COUNT, *sums("age"), {"statistic": "mean", "of": "age"}])
    found = protect(survey(2000), DECLARED, chosen, seeded(4)).columns
    assert found["age_mean"] == pytest.approx(found["age_sum"] / found["count"])


@settings(max_examples=examples(30), deadline=None)
@given(
    st.lists(st.sampled_from(["sum", "mean", "variance"]), min_size=1, max_size=3, unique=True),
    st.sets(st.sampled_from([*COLUMNS[:3], "age", "wide"]), min_size=1, max_size=4),
    st.sampled_from([("replace", ()), ("replace", ("side",)), ("add_remove", ()), ("add_remove", ("side",))]),
    st.integers(0, 2**32),
)
def test_what_is_drawn_together_is_what_is_drawn_alone_but_for_the_noise(kinds, names, setting, seed):
    """At an epsilon that leaves the core of the noise only: 256 parts of the half-width, of one record of 400."""
    adjacency, groups = setting
    figures = [{"statistic": kind, "of": name} for name in sorted(names) for kind in kinds]
    more = {"adjacency": adjacency, "groups": groups, "epsilon": "1000000000"}
    columns = survey(400, seed)
    found = {
        noise: protect(columns, DECLARED, params(figures, noise=noise, **more), seeded(seed)).columns
        for noise in ("box", "laplace")
    }
    for figure in params(figures, **more).figures:
        low, high = DECLARED[figure.of].bounds
        reach = (high - low) ** 2 if figure.statistic == "variance" else max(abs(low), abs(high)) * 2
        far = 4 * reach if figure.statistic == "sum" else reach * 4 / 100
        assert found["box"][figure.name] == pytest.approx(found["laplace"][figure.name], abs=far)


def test_a_noisy_count_of_any_size_does_not_overflow_in_a_sum():
    counts = np.array([2**62 - 1, -(2**62 - 1), 2**32 - 1, 0])
    for coefficient in (2**30, -(2**30), 1, 0):
        found = _times(coefficient, counts)
        assert [abs(int(each)) <= LARGEST_TOTAL for each in found] == [True] * 4
        assert found[2] == coefficient * (2**32 - 1)
        assert np.sign(found[0]) == np.sign(coefficient)
