"""Noise of the cells of a table: kind, variance and intervals, against probabilities that are added up one by one."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from math import exp, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.table.draws import MOST_IN_A_BOX, Kind, Noise, _NoChance, best_kind, noise_of, standard_error
from tests.mechanisms.noise_chance import assert_law, box_shell, laplace_law, staircase_law
from tests.support.order import examples

WIDTHS = st.integers(1, 9)
EPSILONS = st.fractions(Fraction(1, 2), 6, max_denominator=6)
LEVELS = [0.2, 0.5, 0.9, 0.95, 0.999, 1 - 1e-6]


def law_of(noise: Noise, measure: int = 0) -> Mapping[int, float]:
    """The probabilities of one measure, from the definition of the noise."""
    rate = float(noise.epsilon)
    if noise.kind == "laplace":
        return laplace_law(noise.half_widths[0] / rate)
    if noise.kind == "staircase":
        return staircase_law(noise.half_widths[0], noise.inner[0], rate)
    found: dict[int, float] = {}
    for i in range(int(45 / rate) + 2):
        radii = [core + i * width for core, width in zip(noise.inner, noise.half_widths, strict=True)]
        # Each point of box i has (1 - b) b^i, and the points of smaller boxes have that of those too.
        weight = exp(-rate * i) * np.prod([2 * radius + 1.0 for radius in radii]) / (2 * radii[measure] + 1)
        for value in range(-radii[measure], radii[measure] + 1):
            found[value] = found.get(value, 0.0) + weight
    total = sum(found.values())
    return {value: weight / total for value, weight in found.items()}


@st.composite
def noises(draw: st.DrawFn) -> tuple[Noise, int]:
    """Noise of any kind, step and core, and one of its measures."""
    kind: Kind = draw(st.sampled_from(["laplace", "staircase", "box"]))
    widths = tuple(draw(st.lists(WIDTHS, min_size=1, max_size=3 if kind == "box" else 1)))
    inner = tuple(draw(st.integers(0, width - 1)) for width in widths)
    if kind != "box":
        inner = () if kind == "laplace" else (inner[0] + 1,)
    return Noise(kind, widths, inner, draw(EPSILONS)), draw(st.integers(0, len(widths) - 1))


def test_the_law_of_box_noise_here_is_that_of_its_shells() -> None:
    noise = Noise("box", (2, 1), (1, 0), Fraction(3, 2))
    points = {
        point: exp(-1.5 * box_shell(point, noise.half_widths, noise.inner))
        for point in product(range(-60, 61), range(-30, 31))
    }
    total = sum(points.values())
    for measure in (0, 1):
        law = law_of(noise, measure)
        for value in range(-5, 6):
            share = sum(weight for point, weight in points.items() if point[measure] == value) / total
            assert law[value] == pytest.approx(share, rel=1e-9)


@given(noises())
def test_variances_are_those_of_the_probabilities(chosen: tuple[Noise, int]) -> None:
    noise, measure = chosen
    expected = sum(share * value**2 for value, share in law_of(noise, measure).items())
    assert noise.variances[measure] == pytest.approx(expected, rel=1e-7)
    assert len(noise.variances) == len(noise.half_widths)


@given(noises(), st.sampled_from(LEVELS))
def test_the_half_width_is_the_least_that_holds_the_noise(chosen: tuple[Noise, int], level: float) -> None:
    noise, measure = chosen
    law = law_of(noise, measure)
    width = noise.half_width(measure, level)

    def within(w: int) -> float:
        return sum(law.get(value, 0.0) for value in range(-w, w + 1))

    assert within(width) >= level - 1e-9
    assert width == 0 or within(width - 1) < level + 1e-9


@pytest.mark.parametrize(
    "noise",
    [
        Noise("laplace", (3,), (), Fraction(1)),
        Noise("staircase", (3,), (2,), Fraction(1)),
        Noise("box", (1, 3), (0, 1), Fraction(1)),
    ],
)
def test_what_is_drawn_follows_the_law(noise: Noise) -> None:
    """Chi-square with a false alarm of 1e-9; noise of another epsilon is noticed."""
    drawn = noise.draw(40_000, seeded(1))
    assert drawn.shape == (40_000, len(noise.half_widths))
    other = Noise(noise.kind, noise.half_widths, noise.inner, Fraction(9, 10))
    for measure in range(drawn.shape[1]):
        assert_law(drawn[:, measure], law_of(noise, measure))
        with pytest.raises(AssertionError):
            assert_law(drawn[:, measure], law_of(other, measure))


def test_intervals_of_small_epsilons_and_large_bounds_need_no_list_of_boxes() -> None:
    """A box of the same shape a million times as wide has an interval a million times as wide."""
    tiny = Noise("box", (1, 2**30), (0, 2**29), Fraction(1, 10**6))
    assert tiny.half_width(0, 0.95) * 2**30 == pytest.approx(tiny.half_width(1, 0.95), rel=1e-5)
    # At a small epsilon, |Y| / D is nearly I U, I a sum of three exponentials of mean 10^6, U uniform on 0..1.
    radii = np.arange(1, 6 * 10**7, 1000) / 10**6
    weights = radii**2 * np.exp(-radii)
    quotient = tiny.half_width(0, 0.95) / 10**6
    within = (weights * np.minimum(1, quotient / radii)).sum() / weights.sum()
    assert within == pytest.approx(0.95, abs=1e-4)


@given(WIDTHS, EPSILONS)
def test_the_step_of_staircase_noise_is_the_best_one(width: int, epsilon: Fraction) -> None:
    chosen = noise_of("staircase", (width,), epsilon)
    every = [Noise("staircase", (width,), (step,), epsilon).variances[0] for step in range(1, width + 1)]
    assert chosen.variances[0] == pytest.approx(min(every), rel=1e-9)


def size(noise: Noise) -> float:
    return sum(variance / width**2 for variance, width in zip(noise.variances, noise.half_widths, strict=True))


@given(st.lists(st.integers(1, 6), min_size=1, max_size=3), EPSILONS)
@settings(max_examples=examples(30))
def test_the_core_of_box_noise_is_nearly_the_best_one(widths: list[int], epsilon: Fraction) -> None:
    """Within a tenth where half-widths are so small that cores of one proportion are few."""
    chosen = noise_of("box", tuple(widths), epsilon)
    every = [Noise("box", tuple(widths), core, epsilon) for core in product(*(range(width) for width in widths))]
    assert size(chosen) <= 1.1 * min(size(noise) for noise in every if noise.can_be_drawn)


@given(st.integers(1, 3), st.integers(20, 200), EPSILONS)
@settings(max_examples=examples(30))
def test_the_core_of_large_equal_half_widths_is_the_best_one(measures: int, width: int, epsilon: Fraction) -> None:
    chosen = noise_of("box", (width,) * measures, epsilon)
    every = [Noise("box", (width,) * measures, (core,) * measures, epsilon) for core in range(0, width, 3)]
    assert size(chosen) <= 1.005 * min(size(noise) for noise in every if noise.can_be_drawn)


def test_laplace_noise_has_the_scale_of_its_bound() -> None:
    noise = noise_of("laplace", (7,), Fraction(1, 2))
    assert (noise.inner, noise.half_widths, noise.epsilon) == ((), (7,), Fraction(1, 2))
    assert noise.variances[0] == pytest.approx(2 * 14**2, rel=1e-3)


@st.composite
def divided(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[Fraction, ...]]:
    widths = tuple(draw(st.lists(st.integers(1, 50), min_size=1, max_size=4)))
    parts = [draw(st.integers(1, 3)) for _ in widths]
    return widths, tuple(Fraction(part, sum(parts)) for part in parts)


@given(divided(), st.fractions(Fraction(1, 10), 12, max_denominator=10), st.booleans())
def test_the_best_kind_has_the_least_error(
    chosen: tuple[tuple[int, ...], tuple[Fraction, ...]], epsilon: Fraction, together: bool
) -> None:
    widths, shares = chosen
    sizes: dict[Kind, float] = {
        kind: sum(size(noise_of(kind, (width,), share * epsilon)) for width, share in zip(widths, shares, strict=True))
        for kind in ("laplace", "staircase")
    }
    if together and len(widths) > 1:
        sizes["box"] = size(noise_of("box", widths, epsilon))
    found = best_kind(widths, epsilon, shares, together)
    best = min(sizes.values())
    # Laplace noise, the plainest, stays where nothing is better by a hundredth.
    assert sizes[found] == best if best < 0.99 * sizes["laplace"] else found == "laplace"


def test_box_noise_is_chosen_for_several_measures_and_staircase_for_one_at_a_large_epsilon() -> None:
    halves = (Fraction(1, 2),) * 2
    assert best_kind((1, 1000), Fraction(1), halves) == "box"
    assert best_kind((1, 1000), Fraction(1), halves, together=False) == "laplace"
    assert best_kind((1000,), Fraction(4), (Fraction(1),)) == "staircase"
    many = MOST_IN_A_BOX + 1
    assert best_kind((1,) * many, Fraction(1), (Fraction(1, many),) * many) == "laplace"


@pytest.mark.parametrize("width", [1, 4999, 5000, 9999, 2**20, 2**30 + 2])
def test_stairs_can_always_be_drawn(width: int) -> None:
    """At epsilon 60 the best step is so small that nearly every attempt would be rejected; the next best is not."""
    for epsilon in (Fraction(1, 100), Fraction(9), Fraction(10), Fraction(60), Fraction(10**6)):
        noise = noise_of("staircase", (width,), epsilon)
        assert noise.can_be_drawn
        if epsilon == 60 and width > 2**20:
            assert not Noise("staircase", (width,), (1,), epsilon).can_be_drawn
            assert sqrt(noise.variances[0]) < width / 1000
            assert best_kind((width,), epsilon, (Fraction(1),)) == "staircase"


def test_noise_that_cannot_be_drawn_is_not_chosen() -> None:
    assert not noise_of("box", (1, 1), Fraction(1, 2**41)).can_be_drawn
    assert best_kind((1, 1), Fraction(1, 2**41), (Fraction(1, 2),) * 2) == "laplace"


@pytest.mark.parametrize(
    ("noise", "possible"),
    [
        (Noise("laplace", (2**30,), (), Fraction(1, 2**32)), True),
        (Noise("laplace", (2**30,), (), Fraction(1, 2**33)), False),
        (Noise("staircase", (5,), (5,), Fraction(1)), True),
        (Noise("staircase", (5,), (6,), Fraction(1)), False),
        (Noise("staircase", (2**62,), (1,), Fraction(1)), False),
        (Noise("box", (5, 5), (4, 4), Fraction(1)), True),
        (Noise("box", (5, 5), (4, 5), Fraction(1)), False),
        (Noise("box", (1,) * 9, (0,) * 9, Fraction(20)), False),
    ],
)
def test_noise_knows_whether_it_can_be_drawn(noise: Noise, possible: bool) -> None:
    assert noise.can_be_drawn == possible


def test_asking_whether_noise_can_be_drawn_draws_nothing() -> None:
    chance = _NoChance()
    assert chance.streams(2) == [chance, chance]
    with pytest.raises(ValueError, match="nothing is drawn here"):
        Noise("laplace", (1,), (), Fraction(1)).draw(1, chance)


@given(noises(), st.sampled_from([Fraction(40), Fraction(800), Fraction(10**30)]))
def test_variances_are_never_zero_or_less(chosen: tuple[Noise, int], epsilon: Fraction) -> None:
    """They are weights where margins are reconciled."""
    noise = Noise(chosen[0].kind, chosen[0].half_widths, chosen[0].inner, epsilon)
    assert min(noise.variances) > 0
    assert noise.half_width(chosen[1], 0.95) <= max(0, noise.inner[chosen[1]] if noise.kind == "box" else 9)


def test_facts_are_what_a_reader_needs_to_know_the_law() -> None:
    assert noise_of("laplace", (7,), Fraction(1)).facts() == {"half_widths": [7]}
    stairs, box = noise_of("staircase", (7,), Fraction(1)), noise_of("box", (1, 7), Fraction(1))
    assert stairs.facts() == {"half_widths": [7], "step": stairs.inner[0]}
    assert box.facts() == {"half_widths": [1, 7], "core": list(box.inner)}


def test_a_standard_error_is_in_the_unit_of_the_column() -> None:
    assert standard_error(9.0, Fraction(1, 4)) == 0.75
    assert standard_error(2.0, Fraction(8)) == pytest.approx(8 * sqrt(2))
