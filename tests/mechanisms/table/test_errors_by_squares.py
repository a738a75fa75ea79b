"""Sampling errors under noise, by sums of squares: whole numbers, their noise, and how far real samples stray."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import sqrt
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.table import MECHANISM, Params, chosen_facts, count_cells, faults, protect
from penstock.mechanisms.table._chosen import SQUARES_SHARE, settle
from penstock.mechanisms.table._squares import SURE, Squaring, combined_errors, sampling_errors
from penstock.mechanisms.table._weights import squaring_of, step_of
from tests.mechanisms.table.weighted import ONE, columns, frame, weighted
from tests.support.plain_tables import AREAS

STRATA = ("p", "q", "r", "nobody")
H = Column(role="quasi_identifier", type="nominal", categories=STRATA)
SAMPLED = {**ONE, "h": H}
BY_STRATA = {"column": "w", "strata": "h"}
BY_SQUARES = {"column": "w", "sampling_error": True}


@given(st.integers(1, 2**61), st.data())
def test_a_square_is_a_whole_number_within_its_bound_that_does_not_fall(most: int, data: st.DataObject) -> None:
    squaring = Squaring.of(most)
    sizes = sorted(data.draw(st.lists(st.integers(0, most), min_size=1)))
    found = squaring.squared(np.array([*sizes, -sizes[-1]])).tolist()
    s, t = squaring.before, squaring.after
    assert found[:-1] == [((a >> s) ** 2 + (2**t // 2)) // 2**t for a in sizes]
    assert found[-1] == found[-2]
    assert found[:-1] == sorted(found[:-1])
    assert 0 <= found[0] <= found[-2] <= squaring.bounds(np.array([most]))[0] <= 2**20
    if most < 2**10:
        assert found[:-1] == [a * a for a in sizes]
    for a, q in zip(sizes, found, strict=False):  # within half a step, and what the shift takes from a
        worth = q * float(squaring.step(Fraction(1)))
        assert abs(worth - float(a) ** 2) <= 0.5 * 2.0 ** (2 * s + t) + 2.0 ** (s + 1) * a


@given(st.integers(0, 20), st.integers(0, 2**32))
@settings(max_examples=30)
def test_sums_of_squares_are_whole_numbers_of_the_records_own_weights_and_values(rows: int, seed: int) -> None:
    records = frame(rows, seed, least=1)
    bounds = {"x": [{"cells": {"area": ["north"]}, "domain": [0, 20]}]}
    params = weighted("dp", weight=BY_SQUARES, bounds=bounds)
    found = count_cells(columns(records, ONE), ONE, params).measures
    single = [count_cells(columns(records[row : row + 1], ONE), ONE, params).measures for row in range(len(records))]
    for name in ("count", "x", "y"):
        squaring = squaring_of(params, ONE, name)
        each = [squaring.squared(one[name].sums) for one in single]
        assert [one[f"squares of {name}"].sums.tolist() for one in single] == [q.tolist() for q in each]
        assert found[f"squares of {name}"].sums.tolist() == sum(each).tolist()
        # As a number, the sum of the squares of what the records add.
        true = sum((one[name].sums * float(step_of(params, ONE, name))) ** 2 for one in single)
        step = float(step_of(params, ONE, f"squares of {name}"))
        made = found[f"squares of {name}"].sums * step
        # Each record is rounded by half a step at most.
        assert np.allclose(made, true, rtol=1e-6, atol=len(records) * 0.51 * step)


def test_a_sampling_error_is_left_out_where_it_is_not_clear_of_its_noise() -> None:
    squares, variances = np.array([-5.0, 0.0, 3.99, 4.0, 100.0]), np.full(5, 4.0)
    found = sampling_errors(squares, variances)
    assert np.array_equal(found, [np.nan, np.nan, np.nan, 2, 10], equal_nan=True)
    assert SURE * 2 == 4
    both = combined_errors(np.full(5, 1.5), found)
    assert np.array_equal(both, [np.nan, np.nan, np.nan, 2.5, sqrt(102.25)], equal_nan=True)


@pytest.mark.parametrize("noise", ["laplace", "staircase", "box"])
def test_what_is_published_is_the_root_of_the_noisy_sum_and_both_errors_together(noise: str) -> None:
    records = frame(400, 1)
    params = weighted("dp", weight=BY_SQUARES, epsilon="3", noise=noise, margins="none")
    protected = protect(columns(records, ONE), ONE, params, seeded(1))
    released = protected.columns
    entries = {name: entry for entry in settle(params, ONE) for name in entry.measures}
    for measure, figure in {"count": "weighted_count", "x": "x_weighted_sum", "y": "y_weighted_sum"}.items():
        entry = entries[f"squares of {measure}"]
        variance = entry.classes[0].variances[entry.measures.index(f"squares of {measure}")]
        noisy = protected.hidden[f"noised 0 squares of {measure}"]
        squares = noisy * float(step_of(params, ONE, f"squares of {measure}"))
        expected = np.where(noisy >= 2 * sqrt(variance), np.sqrt(np.abs(squares)), np.nan)
        assert np.allclose(released[f"{figure}_sampling_error"], expected, rtol=1e-12, equal_nan=True)
        both = np.sqrt(released[f"{figure}_standard_error"] ** 2 + expected**2)
        assert np.allclose(released[f"{figure}_combined_error"], both, rtol=1e-12, equal_nan=True)
        assert f"{figure}_sampling_error_standard_error" not in released
    assert "x_weighted_mean_sampling_error" not in released


def spent(params: Params) -> dict[str, Fraction]:
    return {" ".join(entry.measures): entry.epsilon for entry in settle(params, ONE)}


def test_squares_spend_a_tenth_unless_shares_are_given() -> None:
    params = weighted("dp", weight=BY_SQUARES, noise="laplace", margins="none")
    expected = {name: Fraction(3, 10) for name in ("count", "x", "y")}
    expected |= {f"squares of {name}": Fraction(1, 30) for name in ("count", "x", "y")}
    assert spent(params) == expected
    assert sum(expected.values()) == 1
    box = spent(params.model_copy(update={"noise": "box"}))
    assert box == {"count x y": 1 - SQUARES_SHARE, "squares of count squares of x squares of y": SQUARES_SHARE}
    shares = {"count": "1/2", "x": "1/4", "squares of count": "1/8", "squares of x": "1/8"}
    chosen = weighted("dp", weight=BY_SQUARES, noise="laplace", margins="none", sums=["x"], means=[], shares=shares)
    assert faults(chosen, ONE) == []
    assert spent(chosen) == {name: Fraction(share) for name, share in shares.items()}
    only = weighted("dp", weight=BY_SQUARES, noise="laplace", margins="none", sums=["x"], means=["x"], count=False)
    assert spent(only) == {"count": Fraction(9, 20), "x": Fraction(9, 20), "squares of x": Fraction(1, 10)}


def test_the_errors_of_the_figures_grow_by_a_ninth() -> None:
    def errors(**weight: Any) -> dict[str, Any]:
        params = weighted("dp", weight={"column": "w", **weight}, noise="laplace", means=[], margins="none")
        figures: dict[str, Any] = chosen_facts(params, ONE)["figures"]
        return figures

    with_squares, without = errors(sampling_error=True), errors()
    assert set(with_squares) == set(without)  # squares are no figures, whose expected errors a gate may limit
    for name in without:
        ratio = with_squares[name]["standard_error"] / without[name]["standard_error"]
        assert ratio == pytest.approx(10 / 9, rel=1e-6)


TIGHT = {
    **ONE,
    "x": Column(role="confidential", type="integer", domain=(0, 90)),
    "w": Column(role="weight", domain=(0, 30)),
}


def population(seed: int, size: int = 12_000) -> pd.DataFrame:
    """People with chances of being sampled of 1/30 to 1/2, larger ones for larger values."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 91, size)
    w = 2 + 28 * rng.uniform(0, 1, size) * (1 - x / 180)
    return pd.DataFrame({"area": rng.choice(AREAS, size), "size": "small", "x": x, "y": 1.0, "w": w})


@cache
def samples(number: int) -> tuple[pd.DataFrame, list[dict[str, float]]]:
    """A population, and the figures of one row made of Poisson samples of it; the noise is small beside sampling."""
    people, rng = population(1), np.random.default_rng(2)
    chosen: dict[str, Any] = {"dimensions": ["area"], "sums": ["x"], "means": [], "margins": "none"}
    params = weighted("dp", weight=BY_SQUARES, epsilon="8", adjacency="add_remove", **chosen)
    drawn = []
    for turn in range(number):
        sample = people[rng.uniform(0, 1, len(people)) < 1 / people["w"]]
        released = protect(columns(sample, TIGHT), TIGHT, params, seeded(turn)).columns
        drawn.append({name: float(values[0]) for name, values in released.items()})
    return people[people["area"] == "north"], drawn


@pytest.mark.parametrize("figure", ["weighted_count", "x_weighted_sum"])
def test_stated_errors_cover_how_far_poisson_samples_stray(figure: str) -> None:
    """Of 400 samples 95 % of the intervals should hold the truth, and at least 91 % must: a false alarm in 5,000.

    The mean of the stated squares must be within 6 standard errors of sum w x^2, which they estimate: 2e-9.
    """
    people, drawn = samples(400)
    z = people["x"] if figure == "x_weighted_sum" else 1.0 + 0 * people["x"]
    truth, variance = z.sum(), ((people["w"] - 1) * z**2).sum()
    errors = np.array([each[f"{figure}_combined_error"] for each in drawn])
    noise = np.array([each[f"{figure}_standard_error"] for each in drawn])
    figures = np.array([each[figure] for each in drawn])
    assert not np.isnan(errors).any()
    assert (np.abs(figures - truth) <= 1.96 * errors).mean() >= 0.91
    squares = errors**2 - noise**2
    assert abs(squares.mean() - (people["w"] * z**2).sum()) <= 6 * squares.std(ddof=1) / 20
    assert squares.mean() > variance
    # Conservative, not by much where weights are large; how far figures stray agrees within 5 standard errors of it.
    assert abs(figures.std(ddof=1) / sqrt(variance + noise[0] ** 2) - 1) <= 5 / sqrt(2 * 400)
    # The same with the error of noise alone, or with squares of weights that are not squared, must fail.
    assert (np.abs(figures - truth) <= 1.96 * noise).mean() < 0.8
    unsquared = sqrt((people["w"] / people["w"] * z**2).sum() + noise[0] ** 2)
    assert (np.abs(figures - truth) <= 1.96 * unsquared).mean() < 0.8


def test_clustered_samples_stray_further_than_is_stated_as_the_promise_says() -> None:
    people, rng = population(3), np.random.default_rng(4)
    households = np.arange(len(people)) // 6
    taken = [rng.uniform(0, 1, households[-1] + 1) < 1 / 10 for _ in range(400)]
    counts = np.array([10.0 * each[households].sum() for each in taken])
    stated = np.sqrt([100.0 * each[households].sum() for each in taken])
    assert counts.std(ddof=1) > 2 * stated.mean()
    said = MECHANISM.promise(weighted("dp", weight=BY_SQUARES), ONE).not_promised
    assert any("too small where records were sampled together" in each for each in said)
