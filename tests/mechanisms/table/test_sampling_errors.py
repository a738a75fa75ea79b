"""Sampling errors of weighted tables: by strata in exact ones, by noisy sums of squares under differential privacy."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import isnan, sqrt
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refusal import TooFewRecords, ValueOutsideDomain
from penstock.mechanisms.table import MECHANISM, Params, chosen_facts, count_cells, faults, layout, protect
from penstock.mechanisms.table._chosen import SQUARES_SHARE, settle
from penstock.mechanisms.table._expect import expect
from penstock.mechanisms.table._explain import advice, treatments
from penstock.mechanisms.table._squares import SURE, Squaring, combined_errors, sampling_errors
from penstock.mechanisms.table._weights import squaring_of, step_of
from tests.mechanisms.table.weighted import CAP, ONE, REPLICATES, WEIGHTED, columns, frame, inside, rows_of, weighted
from tests.support.plain_tables import AREAS, MODELS

STRATA = ("p", "q", "r", "nobody")
H = Column(role="quasi_identifier", type="nominal", categories=STRATA)
SAMPLED = {**ONE, "h": H}
BY_STRATA = {"column": "w", "strata": "h"}
BY_SQUARES = {"column": "w", "sampling_error": True}


def stratified(rows: int, units: int | None, seed: int) -> tuple[pd.DataFrame, np.ndarray | None]:
    """Records of three strata, each with two units or more; all records of a unit in its own."""
    records, rng = frame(rows, seed), np.random.default_rng(seed)
    if units is None:
        return records.assign(h=[*"ppqqrr", *rng.choice(list("pqr"), len(records) - 6)]), None
    whose = np.array([*range(12), *rng.integers(0, units, len(records) - 12)])
    of_unit = np.array([*"ppqqrr", *rng.choice(list("pqr"), max(units, 12) - 6)])
    return records.assign(h=of_unit[whose]), whose


def by_hand(records: pd.DataFrame, whose: np.ndarray | None, cell: dict[str, str]) -> dict[str, float]:
    """The estimator as it is written, unit by unit, those without a record in the row included."""
    rows = records.assign(unit=range(len(records)) if whose is None else whose, w=records["w"].clip(0, CAP))
    there = inside(rows, cell)
    whole = there["w"].sum()
    parts = {"weighted_count": there["w"]}
    for name in ("x", "y"):
        mean = (there["w"] * there[name]).sum() / whole
        parts[f"{name}_weighted_sum"] = there["w"] * there[name]
        parts[f"{name}_weighted_mean"] = there["w"] * (there[name] - mean) / whole
    found = {}
    for figure, z in parts.items():
        variance = 0.0
        for stratum in "pqr":
            units = sorted(set(rows.loc[rows["h"] == stratum, "unit"]))
            sums = [sum(z[there["unit"] == unit]) for unit in units]
            mean = sum(sums) / len(sums)
            variance += len(sums) / (len(sums) - 1) * sum((each - mean) ** 2 for each in sums)
        found[figure] = sqrt(variance)
    return found


@given(st.integers(0, 40), st.none() | st.integers(12, 20), st.integers(0, 2**32), st.sampled_from(["none", "summed"]))
@settings(max_examples=25, deadline=None)
def test_errors_by_strata_are_those_of_the_estimator_as_it_is_written(
    rows: int, units: int | None, seed: int, margins: str
) -> None:
    records, whose = stratified(rows, units, seed)
    params = weighted(weight=BY_STRATA, margins=margins, **({} if units is None else {"contributors": "firm"}))
    given_units = {} if whose is None else {"units": whose}
    released = protect(columns(records, SAMPLED), SAMPLED, params, seeded(1), **given_units).columns
    for row, cell in enumerate(rows_of(layout(params, SAMPLED).levels)):
        for name, error in by_hand(records, whose, cell).items():
            assert released[f"{name}_sampling_error"][row] == pytest.approx(error, rel=1e-7, abs=1e-7)


def test_the_errors_of_a_published_sample_of_farms_by_region() -> None:
    """Lohr 2010, "Sampling: Design and Analysis", 2nd ed., example 3.2: acres of farms, sampled in four regions.

    Printed are the numbers of counties, of those in the sample, their means and variances, the total 909,736,034 and
    its standard error 50,417,248, which has the factor 1 - n/N of sampling without replacement in it; ours has not.
    """
    regions = {
        "NC": (1054, 103, 300_504.16, 29_618_183_543),
        "NE": (220, 21, 97_629.81, 7_647_472_708),
        "S": (1382, 135, 211_315.04, 53_587_487_856),
        "W": (422, 41, 662_295.51, 396_185_950_266),
    }
    records = []
    for region, (counties, n, mean, variance) in regions.items():
        spread = np.linspace(-1, 1, n)  # any values with this mean and this variance
        for value in mean + spread * sqrt(variance / spread.var(ddof=1)):
            records.append({"region": region, "acres": value, "w": counties / n})
    declared = {
        "region": Column(role="quasi_identifier", type="nominal", categories=tuple(regions)),
        "acres": Column(role="confidential", type="continuous", domain=(-2_000_000, 2_000_000)),
        "w": Column(role="weight", domain=(0, 20)),
    }
    params = Params.model_validate(
        {
            "model": "k_anon",
            "k": 2,
            "dimensions": ["region"],
            "sums": ["acres"],
            "weight": {"column": "w", "strata": "region"},
        }
    )
    sample = columns(pd.DataFrame(records), declared)
    released = protect(sample, declared, params, seeded(1)).columns
    assert released["acres_weighted_sum"][-1] == pytest.approx(909_736_034, abs=20_000)
    errors = released["acres_weighted_sum_sampling_error"]
    without = [1 - n / counties for counties, n, _, _ in regions.values()]
    assert sqrt(np.array(without) @ errors[:4] ** 2) == pytest.approx(50_417_248, abs=2)
    assert errors[4] == pytest.approx(sqrt((errors[:4] ** 2).sum()))
    # The number of farms is known: it has no error in a whole stratum, nor in all of them.
    assert released["weighted_count_sampling_error"].tolist() == pytest.approx([0] * 5, abs=1e-9)


def test_a_mean_of_nobody_has_no_error_by_strata_and_a_count_of_nobody_none_to_speak_of() -> None:
    records, _ = stratified(30, None, 1)
    records = records[records["area"] == "north"]
    params = weighted(weight=BY_STRATA)
    released = protect(columns(records, SAMPLED), SAMPLED, params, seeded(1)).columns
    row = rows_of(layout(params, SAMPLED).levels).index({"area": "south"})
    assert released["weighted_count_sampling_error"][row] == 0
    assert isnan(released["x_weighted_mean_sampling_error"][row])


def test_a_stratum_in_which_one_was_sampled_is_refused() -> None:
    records, _ = stratified(30, None, 1)
    one = records.assign(h=["r", *"pq" * ((len(records) - 1) // 2 + 1)][: len(records)])
    with pytest.raises(TooFewRecords) as refused:
        protect(columns(one, SAMPLED), SAMPLED, weighted(weight=BY_STRATA), seeded(1))
    assert refused.value.faults[0].field == "weight.strata"
    assert "two sampled units or more" in refused.value.faults[0].rule
    firms = np.arange(len(records)) % 7
    records = records.assign(h=np.where(firms == 0, "r", "p"))  # of many records, but of one firm
    counted = weighted(weight=BY_STRATA, contributors="firm")
    with pytest.raises(TooFewRecords):
        protect(columns(records, SAMPLED), SAMPLED, counted, seeded(1), units=firms)


def test_a_unit_in_two_strata_is_refused() -> None:
    records, whose = stratified(30, 12, 1)
    assert whose is not None
    records.loc[records.index[whose == 3][-1], "h"] = "r"
    assert set(records.loc[whose == 3, "h"]) == {"q", "r"}
    params = weighted(weight=BY_STRATA, contributors="firm")
    with pytest.raises(ValueOutsideDomain) as refused:
        protect(columns(records, SAMPLED), SAMPLED, params, seeded(1), units=whose)
    (fault,) = refused.value.faults
    assert (fault.field, fault.got) == ("h", "")
    assert "the same in all records of a unit" in fault.rule


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


FAULTY: dict[str, tuple[str, dict[str, Any], dict[str, Column], str, str]] = {
    "strata under noise": ("dp", {"weight": BY_STRATA}, SAMPLED, "weight.strata", "each of them would spend epsilon"),
    "strata and replicates": (
        "k_anon",
        {"weight": {**REPLICATES, "strata": "h"}},
        {**WEIGHTED, "h": H},
        "weight.strata",
        "must not be given with replicates",
    ),
    "strata that are not declared": (
        "k_anon",
        {"weight": {"column": "w", "strata": "g"}},
        SAMPLED,
        "weight.strata",
        "must be a declared column of categories",
    ),
    "strata of numbers": (
        "k_anon",
        {"weight": {"column": "w", "strata": "x"}},
        SAMPLED,
        "weight.strata",
        "must be a declared column of categories",
    ),
    "strata that identify": (
        "k_anon",
        {"weight": BY_STRATA},
        {**ONE, "h": Column(role="identifier")},
        "weight.strata",
        "not an identifier or weight",
    ),
    "records of no stratum": (
        "k_anon",
        {"weight": BY_STRATA},
        {**ONE, "h": H.model_copy(update={"missing": "category"})},
        "columns.h.missing",
        "every record was sampled in some stratum",
    ),
    "squares without noise": (
        "k_anon",
        {"weight": BY_SQUARES},
        ONE,
        "weight.sampling_error",
        "must not be given under k_anon",
    ),
    "squares of means": (
        "dp",
        {"weight": BY_SQUARES, "count": False, "sums": [], "means": ["x"]},
        ONE,
        "weight.sampling_error",
        "where only means are published",
    ),
    "squares of records of units": (
        "dp",
        {"weight": BY_SQUARES, "rows_per_unit": 2},
        ONE,
        "weight.sampling_error",
        "they were sampled together",
    ),
    "a column that is called like squares": (
        "dp",
        {"weight": BY_SQUARES, "means": ["squares of x"]},
        {**ONE, "squares of x": ONE["x"]},
        "sums",
        "the name that stands for the squares of another",
    ),
    "shares without those of squares": (
        "dp",
        {"weight": BY_SQUARES, "shares": {"count": "1/2", "x": "1/2"}},
        ONE,
        "shares",
        "must be one for each of count, x, squares of count, squares of x",
    ),
}


@pytest.mark.parametrize("name", FAULTY)
def test_a_table_that_cannot_have_these_sampling_errors_is_refused(name: str) -> None:
    model, chosen, declared, field, rule = FAULTY[name]
    asked = {"dimensions": ["area", "size"], "sums": ["x"], **MODELS[model], **chosen}
    found = faults(Params.model_validate(asked), declared)
    assert [fault.field for fault in found] == [field]
    assert rule in found[0].rule


def test_one_record_of_each_unit_may_have_sampling_errors() -> None:
    assert faults(weighted("dp", weight=BY_SQUARES, rows_per_unit=1), ONE) == []


def test_what_is_said_of_errors_by_strata() -> None:
    params = weighted(weight=BY_STRATA)
    assert layout(params, SAMPLED).weights == ("w", "h")
    assert treatments(params, SAMPLED)["weighted_count_sampling_error"].endswith("from sampling, by the strata h")
    assert any("as if it had been drawn with replacement" in each for each in advice(params, SAMPLED))
    assert any("from the strata of h, as if records had been drawn" in each for each in expect(params, SAMPLED, None))
    counted = params.model_copy(update={"contributors": "firm"})
    assert any("as if the firm of all records had been drawn" in each for each in expect(counted, SAMPLED, None))
    said = MECHANISM.promise(params, SAMPLED)
    assert said.parameters["weight"] == BY_STRATA
    assert any("sampling errors, each of which is one more exact figure" in each for each in said.not_promised)


def test_what_is_said_of_errors_by_squares() -> None:
    params = weighted("dp", weight=BY_SQUARES, noise="laplace", adjacency="add_remove", sums=["x"], means=[])
    told = expect(params, ONE, None)
    assert any("spend 1/10 of epsilon" in each and "about 1.11 times" in each for each in told)
    # Laplace noise of scale R / (1/20) on each square: 2 sqrt(2) 20 = 56.6 largest squares.
    (of_count,) = [each for each in told if each.startswith("Sampling error of weighted count by area, size")]
    assert "from 57 records of the largest weight on, or 228 of half of it" in of_count
    assert not any(each.startswith("weighted squares") for each in told)
    measured = weighted("dp", weight=BY_SQUARES, margins="measured", margin_share="1/2")
    (after,) = [each for each in expect(measured, ONE, None) if each.startswith("After least squares")]
    assert "squares of" not in after
    advised = advice(params, ONE)
    assert any("not to be relied on in small cells" in each for each in advised)
    assert not any("no sampling error is stated" in each for each in advised)
    assert advised[0].endswith("the sampling error stands beside it.")
    described = treatments(params, ONE)
    assert described["weighted_count_combined_error"].endswith("from noise and sampling together")
    assert "each record sampled by itself" in described["x_weighted_sum_sampling_error"]
    said = MECHANISM.promise(params, ONE)
    assert said.parameters["weight"] == BY_SQUARES
    assert not any("published errors cover sampling" in each for each in said.not_promised)
    assert any("that errors of means cover sampling" in each for each in said.not_promised)
    assert not {"strata", "sampling_error"} & set(weighted().model_dump()["weight"])
