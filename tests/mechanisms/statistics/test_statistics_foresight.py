"""What a plan foretells of statistics is what happens, and what users are told is what was done."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.statistics import Params, layout, protect
from penstock.mechanisms.statistics._expect import expect
from penstock.mechanisms.statistics._explain import advice, treatments
from penstock.mechanisms.statistics._groups import SortedGroups
from penstock.mechanisms.statistics._private import planned, questions

DECLARED = {
    "region": Column(role="quasi_identifier", type="nominal", categories=("N", "S", "E")),
    "age": Column(role="confidential", type="integer", domain=(0, 100)),
}
COUNT = {"statistic": "count"}


def figures(*kinds):
    return [{"statistic": kind, "of": "age"} for kind in kinds]


def params(**chosen):
    base = {"figures": figures("sum"), "model": "dp", "epsilon": "1", "adjacency": "replace"}
    return Params.model_validate({**base, **chosen})


def idp(**chosen):
    return params(**{"model": "idp", "adjacency": "from_D", "acknowledges": ["idp"], **chosen})


def line(told, name):
    (found,) = (sentence for sentence in told if sentence.startswith(f"{name}: "))
    return found


def test_counts_and_sums_are_foretold_their_errors():
    chosen = params(groups=["region"], figures=[COUNT, *figures("sum")], epsilon="4", noise="laplace")
    told = expect(chosen, DECLARED, None)
    assert told[0] == "3 groups; each is published, empty or not."
    # Discrete Laplace noise of scale 1: standard error sqrt(2 a) / (1 - a), a = 1/e, and P(|N| > 3) < 0.05.
    assert line(told, "count") == "count: standard error 1.36, 95 % interval ± 3 (epsilon 1 in a group)."
    assert line(told, "age_sum").startswith("age_sum: standard error 141, 95 % interval ± 300 ")


def test_figures_that_are_drawn_together_are_foretold_together():
    chosen = params(groups=["region"], figures=[COUNT, *figures("sum", "mean", "median")], epsilon="4")
    told = expect(chosen, DECLARED, None)
    assert line(told, "count, age_sum, age_mean") == (
        "count, age_sum, age_mean: drawn together with box noise (epsilon 3/2 in a group), from 2 totals; their errors "
        "are not independent."
    )
    assert line(told, "count").endswith(" (drawn together).")
    assert "95 % interval ± about" in line(told, "age_sum")  # noise of the count is in it too
    assert line(told, "age_median").endswith("(epsilon 1/2 in a group).")


@pytest.mark.parametrize("low", [0, 100, -20])
@pytest.mark.parametrize("epsilon", ["1/10", "1", "4", "8"])
def test_noise_of_two_totals_lies_within_the_interval_that_is_foretold(epsilon, low):
    """20,000 draws: less than 0.94 by chance 1e-7, because 0.948 lie within at least."""
    declared = {**DECLARED, "age": Column(role="confidential", type="integer", domain=(low, low + 101))}
    chosen = params(groups=["region"], figures=[COUNT, *figures("sum")], epsilon=epsilon)
    drawn = planned(chosen, declared).together
    (box,) = drawn.boxes
    noise = box.draw(20_000, seeded(3)) @ np.array([low + 50, 1])
    foretold = line(expect(chosen, declared, None), "age_sum").split("± about ")[1].split(" ")[0]
    assert np.mean(np.abs(noise) <= float(foretold.replace(",", ""))) >= 0.94


def test_the_error_of_a_mean_depends_on_the_size_of_the_group():
    chosen = params(figures=figures("mean", "variance"))
    without, known = expect(chosen, DECLARED, None), expect(chosen, DECLARED, 10_000)
    assert "in a group of n records (drawn together)" in line(without, "age_mean")
    worst = planned(chosen, DECLARED).asked["age_mean"].worst_error
    assert f"for all records {worst / 10_000:.3g}" in line(known, "age_mean")
    grouped = expect(params(figures=figures("mean"), groups=["region"]), DECLARED, 300)
    assert "in a group of average size" in line(grouped, "age_mean")


@pytest.mark.parametrize(
    ("chosen", "rank"),
    [
        (params(figures=figures("median")), 2 * (log(101) + log(20))),
        (params(figures=figures("median"), adjacency="add_remove"), log(101) + log(20)),
        (
            params(figures=[{"statistic": "quantile", "of": "age", "share": "9/10"}], adjacency="add_remove"),
            2 * 0.9 * (log(101) + log(20)),
        ),
        (params(figures=figures("maximum"), adjacency="add_remove"), 2 * (log(101) + log(20))),
    ],
)
def test_ranks_are_foretold_by_how_many_records_they_miss(chosen, rank):
    told = line(expect(chosen, DECLARED, None), chosen.figures[0].name)
    assert f"with probability 0.95 the answer misses its rank by less than {rank:.3g} records" in told


RUNS = 2_000


@pytest.mark.parametrize("kind", ["median", "maximum"])
def test_ranks_are_missed_by_more_than_foretold_no_more_often_than_foretold(kind):
    """Spread values, so that ranks are told apart: false alarm below 1e-9, because the bound is far from tight."""
    chosen = params(figures=figures(kind), epsilon="1/2")
    question = questions(chosen, DECLARED)[f"age_{kind}"]
    values = np.repeat(np.arange(101), 3)
    groups = SortedGroups(np.tile(values, RUNS), len(values) * np.arange(RUNS + 1))
    found = question.draw(groups, seeded(2)).values
    wanted = len(values) / 2 if kind == "median" else len(values)
    missed = np.maximum(
        np.searchsorted(values, found, "left") - wanted, wanted - np.searchsorted(values, found, "right")
    )
    assert np.mean(missed >= question.rank_error(0.05)) <= 0.05


def test_an_extreme_that_lies_anywhere_is_told_to():
    told = expect(params(figures=figures("maximum", "minimum", "second_maximum")), DECLARED, None)
    assert sum("it may come out anywhere above them" in sentence for sentence in told) == 2
    assert sum("it may come out anywhere below them" in sentence for sentence in told) == 1
    assert not any(
        "anywhere" in sentence for sentence in expect(params(figures=figures("maximum"), epsilon="20"), DECLARED, None)
    )


@pytest.mark.parametrize(("records", "said"), [(30, True), (30_000, False), (None, False)])
def test_a_quantile_of_too_few_records_is_told_to_say_little(records, said):
    told = expect(params(figures=figures("median"), groups=["region"]), DECLARED, records)
    assert any("says little" in sentence for sentence in told) == said


def test_under_idp_only_the_worst_is_foretold():
    told = expect(idp(figures=figures("sum", "median", "mean", "variance")), DECLARED, None)
    assert any("it is secret" in sentence for sentence in told)
    # No answer leaves the domain, which is 100 wide; at a larger epsilon the noise is what bounds the error.
    assert line(told, "age_median") == "age_median: standard error at most 100 (laplace, epsilon 1/4)."
    plenty = expect(idp(figures=figures("median"), epsilon="8"), DECLARED, None)
    assert (
        line(plenty, "age_median")
        == f"age_median: standard error at most {sqrt(2) * 100 / 8:.3g} (laplace, epsilon 8)."
    )
    assert "/ n in a group of n records" in line(told, "age_mean")
    known = expect(idp(figures=figures("variance")), DECLARED, 100)
    assert line(known, "age_variance") == "age_variance: standard error at most 141 (laplace, epsilon 1)."
    assert any("refused if a group has too few records" in sentence for sentence in told)


# Usage


@pytest.mark.parametrize(
    "chosen",
    [
        params(groups=["region"], figures=[COUNT, *figures("sum", "mean", "variance", "median", "minimum", "maximum")]),
        idp(
            figures=[
                *figures("sum", "mean", "variance", "second_maximum"),
                {"statistic": "quantile", "of": "age", "share": "1/4"},
            ]
        ),
    ],
    ids=["dp", "idp"],
)
def test_every_figure_and_group_is_spoken_of(chosen):
    drawn = layout(chosen, DECLARED)
    told = treatments(chosen, DECLARED)
    assert list(told) == [*drawn.dimensions, *(figure.name for figure in drawn.figures)]
    for figure in drawn.figures:
        assert figure.column is None or figure.column in told[figure.name]
        assert ("secret" in told[figure.name]) == (chosen.model == "idp")


def test_every_statistic_of_either_model_is_described():
    kinds = ["sum", "mean", "variance", "median", "minimum", "maximum", "second_maximum"]
    share = {"statistic": "quantile", "of": "age", "share": "1/4"}
    for chosen in (params(figures=[*figures(*kinds), share]), idp(figures=[*figures(*kinds), share])):
        told = treatments(chosen, DECLARED)
        assert len(set(told.values())) == len(told)


def test_advice_says_whether_errors_are_known():
    assert any(
        "Standard errors cover the noise of protection only" in sentence for sentence in advice(params(), DECLARED)
    )
    assert any("no standard error can be given" in sentence for sentence in advice(idp(), DECLARED))


def test_advice_says_what_was_drawn_together():
    chosen = params(groups=["region"], figures=[COUNT, *figures("mean", "median")])
    told = advice(chosen, DECLARED)
    assert any(sentence.startswith("count, age_mean were drawn together: ") for sentence in told)
    assert any("The others were drawn one by one" in sentence for sentence in told)
    alone = advice(params(figures=figures("mean", "median")), DECLARED)
    assert any("Figures were drawn one by one" in sentence for sentence in alone)
    assert not any("together" in sentence for sentence in (*alone, *advice(idp(), DECLARED)))


def test_users_are_warned_of_negative_counts_because_there_are_some():
    chosen = params(groups=["region"], figures=[COUNT], epsilon="1/10")
    columns = {"region": np.zeros(3, np.int64), "age": np.array([1, 2, 3])}
    drawn = [protect(columns, DECLARED, chosen, seeded(seed)).columns["count"] for seed in range(5)]
    assert (np.concatenate(drawn) < 0).any()
    assert any("Negative counts are noise" in sentence for sentence in advice(chosen, DECLARED))
