"""Sampling errors counted again: sound ones pass every check, each defect is noticed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.measures import TableOutput
from penstock.measures.cells._noise_size import box_variance, laplace_variance
from penstock.measures.cells.totals import add_up, find_cells
from penstock.measures.checks import RecheckImpossible
from penstock.measures.recheck import recheck
from penstock.mechanisms.layout import error_of
from penstock.mechanisms.table import Params
from penstock.mechanisms.table._chosen import settle
from tests.measures.cells.test_weighted_checks import failed, moved, output
from tests.mechanisms.table.test_sampling_errors import BY_SQUARES, BY_STRATA, SAMPLED, stratified
from tests.mechanisms.table.weighted import CAP, ONE, REPLICATES, WEIGHTED, frame, weighted

LINKED = {"dimensions": None, "tables": {"a": ["area"], "b": ["size"]}}
BOUNDS = {"bounds": {"x": [{"cells": {"area": ["north"]}, "domain": [0, 20]}]}}
NOISY: dict[str, dict[str, Any]] = {
    "best noise": {},
    "laplace": {"noise": "laplace", "adjacency": "add_remove"},
    "staircase": {"noise": "staircase"},
    "bounds of cells": {"noise": "laplace", **BOUNDS},
    "box with bounds of cells": {"noise": "box", **BOUNDS},
    "sums alone": {"count": False, "means": []},
    "measured": {"margins": "measured", "margin_share": "1/2"},
    "linked": LINKED,
}


def by_squares(rows: int = 1500, **chosen: Any) -> TableOutput:
    return output(weighted("dp", **{"weight": BY_SQUARES, "epsilon": "2", **chosen}), ONE, frame(rows, 1))


def by_strata(units: int | None = None) -> TableOutput:
    records, whose = stratified(60, units, 1)
    params = weighted(weight=BY_STRATA, **({} if units is None else {"contributors": "firm"}))
    return output(params, SAMPLED, records, whose)


@pytest.mark.parametrize("name", NOISY)
def test_sound_sampling_errors_under_noise_pass_every_check(name: str) -> None:
    stated = []
    for rows in (50, 1500):  # small cells, whose errors are left out, and large ones
        made = by_squares(rows, **NOISY[name])
        assert failed(made) == set()
        stated += [float((~np.isnan(made.released[f.name])).mean()) for f in made.layout.figures if f.is_error]
    assert min(stated) < 1
    assert max(stated) > 0


@given(st.integers(0, 40), st.none() | st.integers(12, 20), st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
def test_sound_sampling_errors_by_strata_pass_every_check(rows: int, units: int | None, seed: int) -> None:
    records, whose = stratified(rows, units, seed)
    params = weighted(weight=BY_STRATA, **({} if units is None else {"contributors": "firm"}))
    assert failed(output(params, SAMPLED, records, whose)) == set()


@pytest.mark.parametrize("units", [None, 15])
def test_other_sampling_errors_by_strata_are_noticed(units: int | None) -> None:
    made = by_strata(units)
    for name in (figure.name for figure in made.layout.figures if figure.is_error):
        assert failed(moved(name, 0.01)(made)) == {"values_exact"}
        assert failed(moved(name, float("nan"), row=-1)(made)) == {"values_exact"}


def test_errors_as_if_the_sample_had_no_strata_or_no_clusters_are_noticed() -> None:
    made = by_strata(15)
    one = {**made.original, "h": np.full(len(made.original["h"]), "p", object)}
    assert failed(replace(made, original=one)) == {"values_exact"}
    records, whose = stratified(60, 15, 1)
    alone = output(weighted(weight=BY_STRATA), SAMPLED, records)
    parameters = {**alone.guarantee.parameters, "contributors": "firm"}
    of_firms = alone.guarantee.model_copy(update={"parameters": parameters, "unit": "individual"})
    assert "values_exact" in failed(replace(alone, guarantee=of_firms, units=whose))


def others(made: TableOutput, **original: Any) -> TableOutput:
    return replace(made, original={**made.original, **original})


def test_strata_that_no_estimator_covers_cannot_be_checked() -> None:
    made, grouped = by_strata(), by_strata(15)
    strata = made.original["h"]
    for original in ({"h": np.where(np.arange(len(strata)) == 0, "nobody", strata)}, {"h": np.full_like(strata, None)}):
        with pytest.raises(RecheckImpossible):
            recheck(others(made, **original))
    assert grouped.units is not None
    torn = grouped.original["h"].copy()
    torn[np.flatnonzero(grouped.units == 3)[-1]] = "r"
    with pytest.raises(RecheckImpossible):
        recheck(others(grouped, h=torn))
    with pytest.raises(RecheckImpossible):
        recheck(replace(made, declared={**made.declared, "h": ONE["x"]}))


def row_with(made: TableOutput, name: str) -> int:
    return int(np.flatnonzero(~np.isnan(made.released[name]))[0])


@pytest.mark.parametrize("noise", ["laplace", "staircase", "box"])
def test_a_sampling_error_that_is_not_of_its_noisy_sum_is_noticed(noise: str) -> None:
    made = by_squares(noise=noise, epsilon="6")
    for figure in (figure.name for figure in made.layout.figures if figure.is_error):
        row = row_with(made, figure)
        size = made.released[figure][row]
        for by in (0.001 * size, float("nan")):
            assert "figures_as_noised" in failed(moved(figure, by, row)(made))
        none = np.flatnonzero(np.isnan(made.released[figure]))
        if len(none):  # a root of noise where the noise is not smaller than what it is added to
            stated = made.released[figure].copy()
            stated[none[0]] = size
            assert "figures_as_noised" in failed(replace(made, released={**made.released, figure: stated}))


def test_a_combined_error_is_of_both_also_where_margins_were_measured() -> None:
    made = by_squares(margins="measured", margin_share="1/2", epsilon="8")
    name = "weighted_count_combined_error"
    row = row_with(made, name)
    assert "figures_as_noised" in failed(moved(name, 0.01 * made.released[name][row], row)(made))
    assert "figures_as_noised" in failed(moved("weighted_count_sampling_error", float("nan"), row)(made))
    sampling = made.released["weighted_count_sampling_error"].copy()
    sampling[row] = 0
    released = {**made.released, "weighted_count_sampling_error": sampling, name: made.released[name].copy()}
    released[name][row] = made.released[error_of("weighted_count")][row]
    assert "figures_as_noised" in failed(replace(made, released=released))
    lacking = {key: values for key, values in made.released.items() if key != "weighted_count_sampling_error"}
    assert {"columns_as_declared", "figures_as_noised"} <= failed(replace(made, released=lacking))


def test_other_records_behind_a_sum_of_squares_are_noticed_by_its_noise() -> None:
    """Without noise the noisy sum must be the one that is counted again; here it is one of the weights themselves."""
    made = by_squares(noise="laplace", margins="none")
    cells = find_cells(made)
    for measure, of in {"squares of count": "count", "squares of x": "x"}.items():
        again = add_up(made, cells, measure)
        true = made.original["w"].clip(0, CAP) * (made.original["x"] if of == "x" else 1)
        by_cell = np.bincount(cells.places, true.astype(float) ** 2, len(cells.counts))
        assert np.ldexp(again.sums.astype(float), again.exponent) == pytest.approx(by_cell, rel=1e-3)


def with_steps(made: TableOutput, measure: str, steps: Any) -> TableOutput:
    hidden = {**made.hidden}
    hidden[f"steps 0 {measure}"] = np.maximum(1, steps(hidden[f"steps 0 {measure}"]))
    return replace(made, hidden=hidden)


def test_noise_of_the_figure_on_its_squares_is_noticed() -> None:
    """R forgotten: the bound of a sum of squares taken to be that of what is squared."""
    made = by_squares(noise="laplace")
    weights = made.hidden["steps 0 count"]
    broken = with_steps(made, "squares of count", lambda steps: weights)
    assert "scales_suffice" in failed(broken)
    assert "scales_suffice" in failed(with_steps(made, "squares of x", lambda steps: steps - 2))


def with_chosen(made: TableOutput, **chosen: Any) -> TableOutput:
    return replace(made, chosen={**made.chosen, **chosen})


@pytest.mark.parametrize("measure", ["squares of count", "squares of x"])
def test_steps_of_squares_that_do_not_follow_from_the_declarations_cannot_be_checked(measure: str) -> None:
    made = by_squares()
    steps: Mapping[str, str] = made.chosen["steps"]
    for other in ("1", "1/1024", "1/3"):
        with pytest.raises(RecheckImpossible):
            recheck(with_chosen(made, steps={**steps, measure: other}))
    with pytest.raises(RecheckImpossible):
        recheck(with_chosen(made, steps={name: step for name, step in steps.items() if name != measure}))


@pytest.mark.parametrize(
    "weight",
    [
        {"column": "w"},  # errors that nobody promised
        {**BY_SQUARES, "strata": "area"},
        {**BY_SQUARES, "replicates": ["a"], "scale": "1"},
    ],
)
def test_promises_of_sampling_errors_that_do_not_fit_cannot_be_checked(weight: dict[str, Any]) -> None:
    made = by_squares()
    parameters = {**made.guarantee.parameters, "weight": weight}
    with pytest.raises(RecheckImpossible):
        recheck(replace(made, guarantee=made.guarantee.model_copy(update={"parameters": parameters})))


def test_exact_tables_have_one_kind_of_sampling_errors() -> None:
    made = output(weighted(weight=REPLICATES), WEIGHTED, frame(60, 1))
    for more in ({"strata": "area"}, {"sampling_error": True}):
        parameters = {**made.guarantee.parameters, "weight": {**REPLICATES, **more}}
        with pytest.raises(RecheckImpossible):
            recheck(replace(made, guarantee=made.guarantee.model_copy(update={"parameters": parameters})))


@pytest.mark.parametrize("noise", ["laplace", "staircase", "box"])
@pytest.mark.parametrize("epsilon", ["1/10", "1", "5"])
def test_variances_computed_again_are_those_of_the_noise(noise: str, epsilon: str) -> None:
    params: Params = weighted("dp", weight=BY_SQUARES, noise=noise, epsilon=epsilon, adjacency="add_remove")
    for entry in settle(params, ONE):
        (drawn,) = entry.classes
        rate = float(entry.epsilon)
        for place, variance in enumerate(drawn.variances):
            if noise == "laplace":
                found = laplace_variance(drawn.half_widths[place] / rate)
            else:
                core = drawn.inner if noise == "box" else (drawn.inner[0] - 1,)
                found = box_variance(drawn.half_widths, core, rate, place)
            assert found == pytest.approx(variance, rel=1e-6)
