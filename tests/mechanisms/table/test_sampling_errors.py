"""Sampling errors of weighted tables: by strata in exact ones, by noisy sums of squares under differential privacy."""

from __future__ import annotations

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
from penstock.mechanisms.table import MECHANISM, Params, faults, layout, protect
from penstock.mechanisms.table._expect import expect
from penstock.mechanisms.table._explain import advice, treatments
from tests.mechanisms.table.weighted import CAP, ONE, REPLICATES, WEIGHTED, columns, frame, inside, rows_of, weighted
from tests.support.plain_tables import MODELS

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
    assert any("as if contributors (firm) had been drawn" in each for each in expect(counted, SAMPLED, None))
    told = [each for k in (2, 3, 4) for each in expect(params.model_copy(update={"k": k}), SAMPLED, None)]
    assert set(params.sums) == set(params.means)
    assert sum("can solve these errors" in each and "Take k of at least 4" in each for each in told) == 2
    alone = params.model_copy(update={"means": (), "k": 3})
    assert not any("can solve" in each for each in expect(alone, SAMPLED, None))
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
