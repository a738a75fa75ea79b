"""Released statistics follow the laws of which the privacy loss was counted (test_statistics_are_private.py)."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.statistics import protect
from tests.mechanisms.noise_chance import assert_law, laplace_law
from tests.support.statistics_by_definition import (
    DECLARED,
    HIGH,
    LOW,
    MIDDLE,
    STEPS,
    box_shell,
    boxes_of,
    facts_of,
    measured,
    params,
    score,
    totals_together,
)

TRIALS = 6_000
MANY = {
    "trial": Column(role="quasi_identifier", type="ordinal", categories=tuple(f"t{i}" for i in range(TRIALS))),
    "x": DECLARED["x"],
}
VALUES = (-1, 0, 2, 2)


def drawn(chosen):
    """The same records in every group, so one release holds many draws."""
    columns = {"trial": np.repeat(np.arange(TRIALS), len(VALUES)), "x": np.tile(VALUES, TRIALS)}
    return protect(columns, MANY, chosen, seeded(7)).columns


def outcomes(kind, adjacency, noise="laplace"):
    needed = {} if kind in ("median", "quantile", "minimum", "maximum", "second_maximum") else {"noise": noise}
    chosen = params([kind], adjacency, ("trial",), **needed)
    return drawn(chosen)[chosen.figures[0].name], facts_of(chosen, MANY)[0]


@pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
@pytest.mark.parametrize("kind", ["count", "sum"])
def test_totals_follow_the_law_that_was_counted(kind, adjacency):
    """False alarm 1e-9 a case; the seed is fixed."""
    found, facts = outcomes(kind, adjacency)
    (exact,) = measured(kind, [value - LOW for value in VALUES], False)
    assert facts["noise"] == "laplace"
    scale = facts["half_widths"][0] / float(Fraction(facts["epsilon"]))
    assert_law(found, {exact + noise: share for noise, share in laplace_law(scale).items()})


@pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
def test_sums_with_staircase_noise_follow_the_law_that_was_counted(adjacency):
    """False alarm 1e-9 a case; the seed is fixed."""
    found, facts = outcomes("sum", adjacency, "staircase")
    (exact,) = measured("sum", [value - LOW for value in VALUES], False)
    weights, whole = box_law(facts["half_widths"], (facts["step"] - 1,), float(Fraction(facts["epsilon"])), 60)
    assert_law(found, {exact + shift: weight / whole for (shift,), weight in weights.items()})


@pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
@pytest.mark.parametrize("kind", ["median", "quantile", "minimum", "maximum", "second_maximum"])
def test_ranks_follow_the_law_that_was_counted(kind, adjacency):
    """False alarm 1e-9 a case; the seed is fixed."""
    found, facts = outcomes(kind, adjacency)
    scale = 2 * facts["score_sensitivity"] / float(Fraction(facts["epsilon"]))
    steps = [value - LOW for value in VALUES]
    weights = [exp(-float(score(kind, y, steps)) / scale) for y in range(STEPS + 1)]
    assert_law(found, {float(y + LOW): weight / sum(weights) for y, weight in enumerate(weights)})


def test_the_test_of_the_law_notices_the_law_of_the_other_adjacency():
    found, _ = outcomes("count", "replace")
    scale = 1 / float(Fraction(outcomes("count", "add_remove")[1]["epsilon"]))
    with pytest.raises(AssertionError):
        assert_law(found, {len(VALUES) + noise: share for noise, share in laplace_law(scale).items()})


def box_law(widths, core, epsilon, reach):
    places = list(product(*(range(-reach * d - z, reach * d + z + 1) for d, z in zip(widths, core, strict=True))))
    weights = {place: exp(-epsilon * box_shell(place, widths, core)) for place in places}
    return weights, sum(weights.values())


@pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
def test_means_follow_the_law_that_was_counted(adjacency):
    """Every noisy pair of count and sum makes one mean; false alarm 1e-9 a case, and the seed is fixed."""
    found, facts = outcomes("mean", adjacency)
    count, total = measured("mean", [value - LOW for value in VALUES], False)
    weights, whole = box_law(tuple(facts["half_widths"]), tuple(facts["core"]), float(Fraction(facts["epsilon"])), 60)
    law = {}
    for (more, shift), weight in weights.items():
        mean = LOW + MIDDLE + (total + shift) / max(count + more, 1)
        mean = round(min(max(mean, LOW), HIGH), 9)
        law[mean] = law.get(mean, 0) + weight / whole
    assert_law(found.round(9), law)


PAIR = ["count", "sum"]


def law_together(chosen):
    """The law of (count, sum) by definition, from the box that is stated: the sum is that of x - o, and o a count."""
    (box,) = boxes_of(chosen, MANY)
    answers = box["answers"]
    weights, whole = box_law(
        [answer["half_width"] for answer in answers],
        [answer["core"] for answer in answers],
        float(Fraction(box["epsilon"])),
        40,
    )
    count, total = totals_together(box, [value - LOW for value in VALUES])
    each = LOW + answers[1]["less"][0]
    law = {}
    for (more, shift), weight in weights.items():
        place = count + more, total + shift + each * (count + more)
        law[place] = law.get(place, 0) + weight / whole
    return law


def as_one(pairs):
    return {1000 * count + total: share for (count, total), share in pairs.items()}


@pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
def test_count_and_sum_follow_their_joint_law(adjacency):
    """False alarm 1e-9 a case; the seed is fixed."""
    chosen = params(PAIR, adjacency, ("trial",), noise="box")
    table = drawn(chosen)
    assert_law(1000 * table["count"] + table["x_sum"], as_one(law_together(chosen)))


def test_the_test_of_the_joint_law_notices_totals_that_were_drawn_one_by_one():
    table = drawn(params(PAIR, "replace", ("trial",), noise="laplace"))
    law = as_one(law_together(params(PAIR, "replace", ("trial",), noise="box")))
    with pytest.raises(AssertionError):
        assert_law(1000 * table["count"] + table["x_sum"], law)


@pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
def test_errors_that_are_stated_together_are_those_that_happen(adjacency):
    """Six standard errors of a variance of 6,000 draws, of which the kurtosis is below 6: false alarm below 1e-8."""
    table = drawn(params([*PAIR, "mean"], adjacency, ("trial",), noise="box"))
    for name in ("count", "x_sum"):
        (stated,) = set(table[f"{name}_standard_error"])
        assert np.var(table[name]) == pytest.approx(stated**2, rel=6 * (5 / TRIALS) ** 0.5)
