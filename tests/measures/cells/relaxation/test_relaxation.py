"""What is found of released tables: gains, records without deniability, and what the size of the noise tells."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from penstock.measures.cells.output import TableOutput
from penstock.measures.cells.parts import count_part
from penstock.measures.cells.relaxation import relaxation
from penstock.measures.cells.relaxation._told import bootstrap_told
from penstock.mechanisms import statistics, table
from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.statistics.smooth import smooth_sensitivity_of_maximum, smooth_sensitivity_of_median

SMOOTH = {"median": smooth_sensitivity_of_median, "maximum": smooth_sensitivity_of_maximum}
DECLARED = {
    "region": Column(role="quasi_identifier", type="nominal", categories=("N", "S", "E")),
    "income": Column(role="confidential", type="integer", domain=(0, 64), outside="clamp"),
    "wealth": Column(role="confidential", type="integer", resolution=1),
}
# In N 1, 2, 3; in S 4, 4, 10, 12; in E one record.
COLUMNS = {
    "region": np.array(list("NNNSSSSE"), object),
    "income": np.array([1, 2, 3, 4, 4, 10, 12, 40]),
    "wealth": np.array([5, 0, -900, 7, 7, 7, 7, 1]),
}
KINDS = ("sum", "mean", "variance", "median", "minimum", "maximum", "second_maximum")
BDP = {"model": "bdp", "epsilon": "1", "acknowledges": ["bdp"]}
IDP = {"model": "idp", "epsilon": "1", "acknowledges": ["idp"]}
ONE = {**BDP, "adjacency": "bootstrap_replace"}


def output_of(mechanism, params, rows=slice(None)):
    columns = {name: values[rows] for name, values in COLUMNS.items()}
    made = mechanism.protect(columns, DECLARED, params, seeded(1))
    return TableOutput(
        original=columns,
        declared=DECLARED,
        layout=mechanism.layout(params, DECLARED),
        released=made.columns,
        guarantee=made.guarantee,
        chosen=made.chosen,
        hidden=made.hidden,
    )


def found_in(mechanism, params, rows=slice(None)):
    return relaxation(output_of(mechanism, params, rows), SMOOTH)


def of_statistics(kinds, rows=slice(None), column="income", **settings):
    asked = [{"statistic": kind, **({} if kind == "count" else {"of": column})} for kind in kinds]
    return found_in(statistics, statistics.Params(figures=asked, **settings), rows)


def of_table(rows=slice(None), sums=("income",), dimensions=("region",), **settings):
    return found_in(table, table.Params(sums=sums, dimensions=dimensions, **settings), rows)


def cell(found, **name):
    return next(row for figure in found.figures for row in figure.worst if row.cell == name)


def test_nothing_is_found_of_differential_privacy():
    assert of_statistics(["sum"], model="dp", epsilon="1", adjacency="add_remove") is None
    assert of_table(model="dp", epsilon="1", adjacency="replace", noise="laplace") is None


def test_a_scale_tells_that_the_values_of_1_2_3_are_two_apart():
    found = of_statistics(["maximum"], slice(0, 3), **ONE)
    (row,) = found.figures[0].worst
    assert (row.used, row.declared, row.gain) == (2, 64, 32)
    assert row.tells == "The smallest and the largest value are 2 apart."
    assert found.outside == 2
    assert found.figures[0].gains == (32, 32)


@pytest.mark.parametrize(
    ("adjacency", "groups"),
    [
        ("bootstrap_replace", []),
        ("bootstrap_add_remove", []),
        ("bootstrap_replace", ["region"]),
        ("bootstrap_add_remove", ["region"]),
    ],
)
def test_under_bdp_no_figure_has_more_noise_than_differential_privacy_would_need(adjacency, groups):
    is_count_public = (adjacency, groups) == ("bootstrap_replace", [])
    kinds = KINDS if is_count_public else (*KINDS, "count")
    found = of_statistics(kinds, **BDP, adjacency=adjacency, groups=groups)
    assert [figure.name for figure in found.figures if figure.gains[0] < 1 - 1e-6] == []
    assert found.outside == (4 if groups else 2)
    for figure in found.figures:
        counts = figure.name == "count"
        assert figure.outside == (0 if counts else found.outside)
        assert figure.tells.startswith("Nothing") == counts
        assert all(row.half_width <= row.declared_half_width for row in figure.worst)


def test_within_cells_each_has_its_own_range():
    settings = {"adjacency": "bootstrap_within_cell", "scale": "public_membership", "empty_cells": "noise"}
    found = of_table(slice(0, 7), count=False, **settings, **BDP)
    assert cell(found, region="N").tells == "The smallest and the largest value are 2 apart."
    assert (cell(found, region="S").used, cell(found, region="S").gain) == (8, 8)
    assert cell(found, region="E").tells == "Nothing: it has no records, and noise as the widest of the others."


def test_one_chosen_group_is_looked_at_alone():
    found = of_statistics(["sum"], **ONE, only={"region": "S"})
    assert (found.records, found.outside) == (4, 1)
    (row,) = found.figures[0].worst
    assert (row.cell, row.records, row.outside) == ({"region": "S"}, 4, 1)
    assert row.tells == "One value is 12, and none is farther from 0."  # the domain begins at 0
    assert row.gain == pytest.approx(64 / 12)


def test_a_total_tells_the_sign_of_its_farthest_value_only_if_the_domain_does():
    chosen = {"comes": True, "empties": True, "replaced": False}
    either = bootstrap_told("sum", 3.0, 12.0, 0.0, lowest=-20.0, **chosen)
    assert either == "One value is 12 or -12, and none is farther from 0."
    assert bootstrap_told("sum", 3.0, 12.0, 27.0, lowest=-10.0, **chosen) == either.replace(" or -12", "")


def test_without_a_domain_differential_privacy_has_no_noise_to_compare_with():
    found = of_statistics(["maximum"], slice(0, 3), column="wealth", **ONE)
    (row,) = found.figures[0].worst
    assert (row.declared, row.gain, row.declared_half_width, found.figures[0].gains) == (None, None, None, None)
    assert row.used == 905


def test_without_a_domain_neither_neighbours_nor_a_smooth_sensitivity_are_said():
    found = of_statistics(["median"], column="wealth", rows=slice(0, 7), **IDP, adjacency="from_D")
    (row,) = found.figures[0].worst
    assert (row.declared, row.smooth, row.neighbours) == (None, None, None)


def test_what_noise_of_a_secret_number_of_records_follows_is_said():
    """A new record moves the mean m by (64 - m) / (n + 1): the noise and n tell m."""
    both = {"statistic": "mean", "of": "income"}, {"statistic": "variance", "of": "income"}
    comes = statistics.Params(**IDP, figures=both, adjacency="from_D_add_remove")
    mean, variance = relaxation(output_of(statistics, comes), SMOOTH).figures
    assert "with that number it may tell the exact mean" in mean.tells
    assert {cell.tells for cell in mean.worst} == {mean.tells}
    assert "from the mean and the variance" in variance.tells
    fixed, _ = relaxation(output_of(statistics, comes.model_copy(update={"adjacency": "from_D"})), SMOOTH).figures
    assert "opposite bounds" in fixed.tells


def test_only_a_median_is_called_the_middle():
    figures = (
        {"statistic": "median", "of": "income"},
        {"statistic": "quantile", "of": "income", "share": "9/10"},
        {"statistic": "second_maximum", "of": "income"},
    )
    params = statistics.Params(**IDP, figures=figures, adjacency="from_D")
    middle, *others = relaxation(output_of(statistics, params), SMOOTH).figures
    assert "in the middle of the order" in middle.tells
    assert all("at the rank of the figure" in each.tells for each in others)


def test_a_maximum_whose_noise_follows_its_bound_is_told_exactly():
    found = of_statistics(["maximum", "median", "sum", "variance", "minimum"], slice(0, 7), **IDP, adjacency="from_D")
    rows = {figure.name: figure.worst[0] for figure in found.figures}
    assert rows["income_maximum"].tells == "The maximum is 12, exactly: its distance from the bound 64."
    assert (rows["income_maximum"].used, rows["income_maximum"].neighbours) == (52, (26, 54))
    assert rows["income_sum"].tells == "The smallest value is 1, if its distance from 64 is the larger one."
    assert rows["income_minimum"].tells == "The minimum is 1, exactly: its distance from the bound 0."
    assert rows["income_variance"].neighbours is None
    # 1 2 3 4 4 10 12: without the 10, and one 4 more, three 4 stand in the middle.
    assert (rows["income_median"].used, rows["income_median"].neighbours[0]) == (1, 0)
    assert found.figures[1].exact_neighbours == 1
    assert rows["income_median"].smooth >= rows["income_median"].used
    assert rows["income_maximum"].smooth >= 52
    assert rows["income_sum"].smooth is None
    assert found.outside is None


def test_a_median_of_an_even_number_lies_between_two_values():
    found = of_statistics(["median"], slice(3, 7), **IDP, adjacency="from_D")
    (row,) = found.figures[0].worst
    assert row.used == 4
    assert row.tells.startswith("Near the figure two values, with one more between them, are 8 apart")


def test_of_secret_sizes_and_several_records_no_neighbours_are_said():
    more = of_statistics(["mean", "median", "sum", "count"], slice(0, 7), **IDP, adjacency="from_D_add_remove")
    several = of_statistics(["mean", "median"], slice(0, 7), **IDP, adjacency="from_D", group_epsilons=["1", "2", "2"])
    for found in (more, several):
        assert all(row.neighbours is None for figure in found.figures for row in figure.worst)
    assert [figure.tells.startswith("Nothing") for figure in more.figures] == [False, False, True, True]


@pytest.mark.parametrize(("scale", "used"), [("one", 52), ("per_cell", 24)])
def test_a_table_says_what_its_scale_tells(scale, used):
    found = of_table(scale=scale, empty_cells="zero", adjacency="bootstrap_replace", **BDP)
    count, total = found.figures
    south = next(row for row in total.worst if row.cell == {"region": "S"})
    assert (south.used, south.declared) == (used, 128)
    assert "52" in south.tells if scale == "one" else south.tells == "The value farthest from 0 is 12 from it."
    # Alone in E; the extremes of N, the largest of S.
    assert (count.outside, total.outside, found.outside) == (1, 4, 4)
    assert count.gains == (1, 1)
    assert "Cells without records are shown as such." in count.tells


def test_an_individual_table_has_the_noise_of_its_farthest_value():
    found = of_table(adjacency="from_D", **IDP)
    assert found.outside is None
    assert found.figures[1].worst[0].used == 104
    tells = {row.tells for row in found.figures[1].worst}
    assert tells == {"A value, taken from 0, and the largest bound of another cell add up to 104."}
    alone = of_table(slice(0, 7), dimensions=(), adjacency="from_D", count=False, **IDP).figures[0].worst[0]
    assert alone.tells == "Some value lies 63 from the opposite bound of its cell."
    assert found.figures[1].gains[0] == pytest.approx(128 / 104)


@pytest.mark.parametrize("model", ["bdp", "idp"])
def test_records_that_were_never_held_together_are_not_looked_at_one_by_one(model):
    settings = {**BDP, "adjacency": "bootstrap_replace", "scale": "per_cell", "empty_cells": "noise"}
    params = table.Params(
        sums=["income"], dimensions=["region"], **(settings if model == "bdp" else {**IDP, "adjacency": "from_D"})
    )
    output = output_of(table, params)
    in_parts = relaxation(replace(output, original={}, counted=count_part(output)), SMOOTH)
    at_once = relaxation(output, SMOOTH)
    assert (in_parts.outside, at_once.outside) == (None, 4 if model == "bdp" else None)
    for part, whole in zip(in_parts.figures, at_once.figures, strict=True):
        assert (part.gains, part.together, part.tells) == (whole.gains, whole.together, whole.tells)
        assert {row.tells for row in part.worst} == {row.tells for row in whole.worst}


@pytest.mark.parametrize(
    ("settings", "declared"),
    [
        ({**BDP, "adjacency": "bootstrap_replace", "scale": "one", "empty_cells": "noise"}, 64),
        ({**BDP, "adjacency": "bootstrap_add_remove", "scale": "one", "empty_cells": "noise"}, 64),
        ({**IDP, "adjacency": "from_D"}, 64),
    ],
)
def test_a_table_of_the_whole_file_has_one_cell(settings, declared):
    found = of_table(dimensions=(), count=False, **settings)
    (row,) = found.figures[0].worst
    assert (row.cell, row.records, row.declared) == ({}, 8, declared)
    assert row.used <= declared


def test_what_is_found_can_be_kept_as_json_and_the_worst_come_first():
    found = of_table(scale="per_cell", empty_cells="noise", adjacency="bootstrap_add_remove", **BDP)
    assert json.loads(json.dumps(found.as_dict()))["records"] == 8
    total = found.figures[1]
    assert [row.cell["region"] for row in total.worst] == ["N", "S", "E"]
    assert [row.outside for row in total.worst] == [2, 1, 1]
