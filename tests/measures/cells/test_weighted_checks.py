"""Weighted tables and those of contributors, counted again: sound ones pass every check, each defect is noticed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.measures import TableOutput, judge
from penstock.measures.checks import RecheckImpossible
from penstock.measures.clamping import clamped_totals
from penstock.measures.recheck import recheck
from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.table import Params, layout, protect
from tests.mechanisms.table.weighted import (
    CAP,
    EVERYTHING,
    ONE,
    REPLICATES,
    WEIGHTED,
    columns,
    frame,
    inside,
    rows_of,
    weighted,
)
from tests.support.plain_tables import table

OFFERED: dict[str, tuple[Params, dict[str, Column]]] = {
    "exact": (weighted(weight=REPLICATES), WEIGHTED),
    "exact without margins": (weighted(margins="none"), ONE),
    "dp": (weighted("dp", bounds={"x": [{"cells": {"area": ["north"]}, "domain": [0, 20]}]}), ONE),
    "dp laplace": (weighted("dp", noise="laplace", adjacency="add_remove"), ONE),
    "dp without counts": (weighted("dp", count=False, means=[]), ONE),
    "dp measured": (weighted("dp", margins="measured", margin_share="1/2"), ONE),
}


def output(
    params: Params, declared: dict[str, Column], records: pd.DataFrame, units: np.ndarray | None = None
) -> TableOutput:
    original = columns(records, declared)
    protected = protect(original, declared, params, seeded(1), **({} if units is None else {"units": units}))
    return TableOutput(
        original=original,
        declared=declared,
        layout=layout(params, declared),
        released=protected.columns,
        guarantee=protected.guarantee,
        chosen=protected.chosen,
        hidden=protected.hidden,
        units=units,
    )


def failed(made: TableOutput) -> set[str]:
    return {check.name for check in recheck(made) if not check.passed}


@pytest.mark.parametrize("name", OFFERED)
def test_a_sound_weighted_table_passes_every_check(name: str) -> None:
    params, declared = OFFERED[name]
    assert failed(output(params, declared, frame(60, 1))) == set()


def moved(name: str, by: float, row: int = 0) -> Callable[[TableOutput], TableOutput]:
    def change(made: TableOutput) -> TableOutput:
        values = made.released[name].copy()
        values[row] += by
        return replace(made, released={**made.released, name: values})

    return change


@pytest.mark.parametrize(
    "name",
    [figure.name for figure in layout(*OFFERED["exact"]).figures if figure.name != "records"],
)
def test_another_weighted_figure_or_sampling_error_is_noticed(name: str) -> None:
    params, declared = OFFERED["exact"]
    made = output(params, declared, frame(60, 1))
    assert "values_exact" in failed(moved(name, 0.01)(made))
    if name.endswith("_sampling_error"):
        assert "values_exact" in failed(moved(name, float("nan"))(made))


def test_a_weighted_margin_that_is_no_sum_is_noticed() -> None:
    params, declared = OFFERED["exact"]
    made = output(params, declared, frame(60, 1))
    for name in ("records", "weighted_count", "x_weighted_sum"):
        broken = moved(name, 1, row=made.layout.starts[1])(made)
        assert "margins_add_up" in failed(broken)


def with_steps(made: TableOutput, factor: float) -> TableOutput:
    """Noise for records without weights: steps of a part of the largest weight."""
    hidden = {
        name: np.maximum(1, (values * factor).astype(np.int64)) if name.startswith("steps") else values
        for name, values in made.hidden.items()
    }
    return replace(made, hidden=hidden)


def test_noise_for_a_smaller_weight_than_the_cap_is_noticed() -> None:
    params, declared = OFFERED["dp laplace"]
    made = output(params, declared, frame(60, 1))
    assert "scales_suffice" in failed(with_steps(made, 1 / CAP))
    wider = {**declared, "w": Column(role="weight", domain=(0, 2 * CAP), outside="clamp")}
    assert "scales_suffice" in failed(replace(made, declared=wider))


def test_figures_that_are_not_their_noisy_totals_are_noticed() -> None:
    params, declared = OFFERED["dp laplace"]
    made = output(params, declared, frame(60, 1))
    for name in ("weighted_count", "x_weighted_sum"):
        assert "figures_as_noised" in failed(moved(name, 1)(made))
    lowest = int(np.nanargmin(made.released["y_weighted_mean"]))
    assert "figures_as_noised" in failed(moved("y_weighted_mean", 0.5, lowest)(made))


def test_without_a_declared_largest_weight_nothing_can_be_checked() -> None:
    params, declared = OFFERED["dp laplace"]
    made = output(params, declared, frame(60, 1))
    with pytest.raises(RecheckImpossible):
        recheck(replace(made, declared={**declared, "w": Column(role="weight")}))
    exact = output(weighted(), ONE, frame(60, 1))
    with pytest.raises(RecheckImpossible):
        recheck(replace(exact, original={name: values for name, values in exact.original.items() if name != "w"}))


FIRMS = {**{name: ONE[name] for name in ("area", "size", "x")}}


def firms(rows: int, number: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    records = frame(rows, seed)
    whose = np.random.default_rng(seed).integers(0, number, len(records))
    whose[:12] = np.arange(12) % 3
    return records, whose


@given(st.integers(0, 50), st.integers(3, 8), st.integers(0, 2**32))
@settings(max_examples=30)
def test_the_rules_are_about_contributors_and_their_totals_in_every_row(rows: int, number: int, seed: int) -> None:
    records, whose = firms(rows, number, seed)
    made = output(table("k_anon", k=3, contributors="firm", sums=["x"]), FIRMS, records, whose)
    assert failed(made) == set()
    records = records.assign(firm=whose)
    fewest, dominance, two, p_percent = [], [], [], []
    for cell in rows_of(made.layout.levels):
        those = inside(records, cell)
        sizes = sorted(those.groupby("firm")["x"].sum().abs(), reverse=True)
        fewest.append(those["firm"].nunique())
        if not any(sizes):
            continue
        dominance.append(sizes[0] / sum(sizes))
        two.append(sum(sizes[:2]) / sum(sizes))
        p_percent.append(100 * (sum(sizes) - sum(sizes[:2])) / sizes[0])
    assert judge("smallest_frequency", made).value == min(fewest)
    assert judge("largest_share", made).value == pytest.approx(max(dominance))
    assert judge("two_largest_share", made).value == pytest.approx(max(two))
    assert judge("p_percent", made).value == pytest.approx(min(p_percent), abs=1e-9)


def test_losses_and_gains_of_one_contributor_cancel_in_a_cell() -> None:
    """By records the largest has 80 of 239; by contributors, of 1, 40 and 40, it has 40 of 81."""
    records = pd.DataFrame({"area": "north", "size": "small", "x": [80, -10, -10, -10, -10, -10, -10, -10, -9, 40, 40]})
    whose = np.array([0] * 9 + [1, 2])
    made = output(table("k_anon", k=3, contributors="firm", sums=["x"]), FIRMS, records, whose)
    assert judge("largest_share", made).value == pytest.approx(40 / 81)
    alone = output(table("k_anon", k=3, sums=["x"]), FIRMS, records)
    assert judge("largest_share", alone).value == pytest.approx(80 / 239)


def test_a_total_in_which_all_others_cancel_is_that_of_one_contributor() -> None:
    """In each cell the largest of three has 20 of 60; in total two of them cancel, and 20 is what the third one has."""
    records = pd.DataFrame({"area": ["north"] * 3 + ["south"] * 3, "size": "small", "x": [20, 20, 20, 20, -20, -20]})
    whose = np.array([0, 1, 2, 0, 1, 2])
    params = table("k_anon", k=3, dimensions=["area"], contributors="firm", sums=["x"])
    wide = {**FIRMS, "x": Column(role="confidential", type="integer", domain=(-50, 90))}
    made = output(params, wide, records, whose)
    assert judge("largest_share", made).value == 1
    assert judge("p_percent", made).value == 0
    alone = output(
        table("k_anon", k=3, dimensions=["area"], contributors="firm", sums=["x"], margins="none"), wide, records, whose
    )
    assert judge("largest_share", alone).value == pytest.approx(1 / 3)


def test_the_rules_are_about_unweighted_contributions() -> None:
    records = frame(40, 1)
    unweighted = output(table("k_anon", sums=["x"]), FIRMS, records)
    for params in (weighted(sums=["x"], means=[]), weighted("dp", sums=["x"], means=[])):
        made = output(params, {**FIRMS, "w": ONE["w"]}, records)
        for name in ("largest_share", "two_largest_share", "p_percent", "smallest_frequency"):
            assert judge(name, made).value == judge(name, unweighted).value


def test_other_contributors_and_cells_of_too_few_are_noticed() -> None:
    records, whose = firms(40, 6, 1)
    made = output(table("k_anon", k=3, contributors="firm", sums=["x"]), FIRMS, records, whose)
    assert failed(moved("contributors", 1)(made)) == {"values_exact"}
    assert failed(moved("contributors", 1, row=-1)(made)) == {"values_exact"}
    merged = whose.copy()
    merged[records["area"].to_numpy() == "north"] %= 2
    assert {"cell_sizes", "values_exact"} <= failed(replace(made, units=merged))
    with pytest.raises(RecheckImpossible):
        recheck(replace(made, units=None))


def test_weights_that_noise_is_not_proven_for_cannot_be_checked() -> None:
    made = output(table("bdp", **EVERYTHING), {name: ONE[name] for name in ("area", "size", "x", "y")}, frame(40, 1))
    parameters = {**made.guarantee.parameters, "weight": {"column": "w"}}
    with pytest.raises(RecheckImpossible):
        recheck(replace(made, guarantee=made.guarantee.model_copy(update={"parameters": parameters})))


def test_errors_compare_weighted_figures_with_those_of_the_records_as_they_were_read() -> None:
    records = frame(60, 1)
    made = output(weighted(margins="none"), ONE, records)
    found = judge("cell_error", made)
    cells = rows_of([("area", "size")])
    true = np.array([(inside(records, cell)["w"]).sum() for cell in cells])
    clamped = np.array([(inside(records, cell)["w"].clip(0, CAP)).sum() for cell in cells])
    assert (found.by_column or {})["weighted_count"] == pytest.approx(np.abs(clamped - true).mean() / true.mean())
    assert set(found.by_column or {}) == {figure.name for figure in made.layout.figures}
    assert found.weights == "w, in the figures"
    assert judge("largest_share", made).weights == "not used"  # rules are about unweighted contributions
    noisy = judge("cell_error", output(weighted("dp"), ONE, records))
    assert (noisy.by_column or {})["weighted_count"] > (found.by_column or {})["weighted_count"]


def test_the_confidential_report_says_how_many_weights_were_clamped() -> None:
    records = frame(60, 1)
    (found,) = clamped_totals(output(weighted(), ONE, records))
    beyond: Any = (records["w"] > CAP).sum()
    assert (found.column, found.values, found.clamped) == ("w", len(records), beyond)
    assert beyond > 0
