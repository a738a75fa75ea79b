"""Which statistics may be asked for: names, shares, layouts, and every reason to refuse."""

from __future__ import annotations

from fractions import Fraction

import pytest
from pydantic import ValidationError

from penstock.mechanisms.columns import Column
from penstock.mechanisms.refusal import SettingRefused
from penstock.mechanisms.statistics import Params, Statistic, chosen_facts, faults, layout, promise
from penstock.mechanisms.statistics._settings import epsilons, figure_grid, touched

DECLARED = {
    "person": Column(role="identifier"),
    "region": Column(role="quasi_identifier", type="nominal", categories=("N", "S", "E")),
    "sex": Column(role="quasi_identifier", type="nominal", categories=(1, 2)),
    "ill": Column(role="confidential", type="nominal", categories=("no", "yes")),
    "income": Column(role="confidential", type="continuous", domain=(0, 1e5)),
    "age": Column(role="quasi_identifier", type="integer", domain=(0, 120)),
}
MEDIAN = {"statistic": "median", "of": "income"}
COUNT = {"statistic": "count"}


def params(**settings):
    base = {"figures": [MEDIAN], "model": "dp", "epsilon": "1", "adjacency": "replace"}
    return Params.model_validate({**base, **settings})


def idp(**settings):
    return params(**{"model": "idp", "adjacency": "from_D", "acknowledges": ["idp"], **settings})


def refused(chosen, declared=DECLARED):
    return [str(fault) for fault in faults(chosen, declared)]


@pytest.mark.parametrize(
    ("figure", "name"),
    [
        (MEDIAN, "income_median"),
        ({"statistic": "quantile", "of": "income", "share": "9/10"}, "income_quantile_9_10"),
        ({"statistic": "quantile", "of": "income", "share": "0.25"}, "income_quantile_1_4"),
        ({"statistic": "second_maximum", "of": "age"}, "age_second_maximum"),
        (COUNT, "count"),
    ],
)
def test_a_figure_is_named_after_its_column_and_statistic(figure, name):
    assert Statistic.model_validate(figure).name == name


def test_settings_are_frozen_exact_and_complete():
    with pytest.raises(ValidationError, match="frozen"):
        params().epsilon = 2
    with pytest.raises(ValidationError, match="Extra inputs"):
        params(k=3)
    with pytest.raises(ValidationError, match="exact number"):
        params(epsilon=0.5)
    with pytest.raises(ValidationError, match="greater than 0"):
        params(epsilon="0")
    with pytest.raises(ValidationError, match="at least 1"):
        params(figures=[])
    with pytest.raises(ValidationError, match="table"):
        params(table="No Name")
    for missing in ("model", "epsilon", "adjacency", "figures"):
        with pytest.raises(ValidationError, match="Field required"):
            Params.model_validate({k: v for k, v in params().model_dump(mode="json").items() if k != missing})


def test_every_setting_is_described():
    for model in (Params, Statistic):
        assert all(field.description for field in model.model_fields.values())


def test_a_released_table_has_one_row_for_each_combination_of_categories():
    drawn = layout(params(groups=["region", "sex"], figures=[COUNT, MEDIAN]), DECLARED)
    assert drawn.rows == 6
    assert drawn.levels == (("region", "sex"),)
    assert drawn.dimensions == {"region": ("N", "S", "E"), "sex": ("1", "2")}
    assert drawn.columns == (
        "region",
        "sex",
        "count",
        "count_standard_error",
        "income_median",
        "income_median_standard_error",
    )


def test_without_groups_there_is_one_row_and_under_idp_there_are_no_standard_errors():
    drawn = layout(idp(), DECLARED)
    assert (drawn.rows, drawn.levels, drawn.columns) == (1, ((),), ("income_median",))


def test_only_counts_and_sums_of_whole_steps_are_whole():
    wide = {**DECLARED, "debt": Column(role="confidential", type="integer", domain=(0, 2**40))}
    kinds = [("sum", "age"), ("sum", "income"), ("sum", "debt"), ("mean", "age"), ("median", "age")]
    figures = [COUNT, *({"statistic": kind, "of": of} for kind, of in kinds)]
    drawn = layout(params(figures=figures, adjacency="add_remove"), wide)
    assert [figure.name for figure in drawn.figures if figure.whole] == ["count", "age_sum"]


def test_epsilon_is_divided_by_shares_by_touched_groups_and_by_records_of_a_unit():
    figures = [MEDIAN, {"statistic": "mean", "of": "age"}]
    assert epsilons(params(figures=figures)) == {"income_median": Fraction(1, 2), "age_mean": Fraction(1, 2)}
    shares = {"income_median": "1/4", "age_mean": "3/4"}
    chosen = params(figures=figures, shares=shares, groups=["region"], rows_per_unit=5)
    assert epsilons(chosen) == {"income_median": Fraction(1, 40), "age_mean": Fraction(3, 40)}


@pytest.mark.parametrize(
    ("chosen", "groups"),
    [
        (params(), 1),
        (params(groups=["region"]), 2),
        (params(adjacency="add_remove"), 1),
        (params(adjacency="add_remove", groups=["region"]), 1),
        (idp(), 1),
        (idp(adjacency="from_D_within_cell", groups=["region"]), 1),
    ],
)
def test_a_record_touches_two_groups_exactly_where_it_may_move(chosen, groups):
    assert touched(chosen) == groups
    assert faults(chosen, DECLARED) == []


def test_the_grid_of_a_variance_is_coarse_enough_for_sums_of_squares():
    variance, mean = (Statistic(statistic=kind, of="income") for kind in ("variance", "mean"))
    assert figure_grid(variance, DECLARED).steps <= 2**16
    assert figure_grid(mean, DECLARED).steps > 2**18
    exact = Statistic(statistic="variance", of="age")
    assert figure_grid(exact, DECLARED).eta == 1


# Refusals

BAD = {
    "a group that is not declared": (params(groups=["town"]), r"groups refused: must be a declared column.*'town'"),
    "an identifier": (params(groups=["person"]), r"groups refused: must be a declared column"),
    "numbers as groups": (params(groups=["age"]), "groups refused: must have declared categories"),
    "a group twice": (params(groups=["sex", "sex"]), "groups refused: must not list a column twice"),
    "a confidential group within cells": (
        idp(adjacency="from_D_within_cell", groups=["ill"]),
        "groups refused: must not be confidential under from",
    ),
    "an adjacency of the other model": (params(adjacency="from_D"), "adjacency refused: must be one of replace, add"),
    "dp words under idp": (idp(adjacency="replace"), "adjacency refused: must be one of from"),
    "from_D with groups": (idp(groups=["region"]), "adjacency refused: must not take the size of a group as fixed: a"),
    "within cells without groups": (
        idp(adjacency="from_D_within_cell"),
        "adjacency refused: must not speak of groups",
    ),
    "idp that is not acknowledged": (
        idp(acknowledges=[]),
        r"acknowledges refused: .*bounds nothing of what the size of the noise reveals.*Add \[idp\]",
    ),
    "dp that acknowledges": (params(acknowledges=["idp"]), r"acknowledges refused: must be empty under dp"),
    "units under idp": (
        idp(rows_per_unit=2),
        r"rows_per_unit refused: must not be given under idp, where it is not proven, got 2",
    ),
    "shares of other figures": (params(shares={"income_mean": "1"}), "shares refused: must be one for each of income"),
    "shares beyond 1": (params(shares={"income_median": "3/2"}), r"shares refused: must add up to 1 exactly, got 3/2"),
    "a share of nothing": (
        params(figures=[MEDIAN, {"statistic": "mean", "of": "age"}], shares={"income_median": "0", "age_mean": "1"}),
        "shares refused: must each be above 0",
    ),
    "too small an epsilon": (
        params(epsilon="1/2000000000"),
        "epsilon refused: .*for every figure, after shares",
    ),
    "a quantile of no share": (
        params(figures=[{"statistic": "quantile", "of": "income"}]),
        "figures.0.share refused: must be above 0 and below 1 for a quantile, w",
    ),
    "a quantile of everything": (
        params(figures=[{"statistic": "quantile", "of": "income", "share": "1"}]),
        "figures.0.share refused: must be above 0 and below 1 for a quantile, w",
    ),
    "a quantile too fine": (
        params(figures=[{"statistic": "quantile", "of": "income", "share": "1/1000001"}]),
        "figures.0.share refused: must be above 0 and below 1 for a quantile, w",
    ),
    "a median with a share": (
        params(figures=[{**MEDIAN, "share": "1/2"}]),
        r"figures.0.share refused: must not be given for median, got 1/2",
    ),
    "a statistic of nothing": (
        params(figures=[MEDIAN, {"statistic": "mean"}]),
        "figures.1.of refused: must be a declared numeric column that is not",
    ),
    "a statistic of categories": (
        params(figures=[{"statistic": "maximum", "of": "region"}]),
        "figures.0.of refused: must be a declared numeric column that is not",
    ),
    "a count of a column": (
        params(figures=[{"statistic": "count", "of": "age"}], groups=["region"]),
        "figures.0.of refused: must not be given for a count, which is about",
    ),
    "a count that is public": (
        params(figures=[COUNT]),
        "figures.0.statistic refused: must not be count of all records under replac",
    ),
    "a count under idp": (
        idp(figures=[COUNT, MEDIAN]),
        r"figures.0.statistic refused: must not be count under from_D",
    ),
    "a figure twice": (
        params(figures=[MEDIAN, MEDIAN]),
        "figures refused: must not give two columns of the table the sa",
    ),
}


@pytest.mark.parametrize("reason", BAD)
def test_settings_that_do_not_fit_are_refused_with_a_remedy(reason):
    chosen, message = BAD[reason]
    found = refused(chosen)
    assert len(found) == 1
    with pytest.raises(SettingRefused, match=message):
        promise(chosen, DECLARED)


@pytest.mark.parametrize("ask", [promise, layout, lambda *given: chosen_facts(*given, 10)])
def test_nothing_is_told_about_settings_that_do_not_fit(ask):
    with pytest.raises(SettingRefused):
        ask(params(figures=[COUNT]), DECLARED)


def declared_with(**columns):
    return {**DECLARED, **columns}


def test_columns_that_do_not_fit_are_refused():
    missing = Column(role="confidential", type="continuous", domain=(0, 1), missing="category")
    found = refused(params(figures=[{"statistic": "mean", "of": "x"}]), declared_with(x=missing))
    assert found == [
        "columns.x.missing refused: must be refuse: a missing value can neither be ranked nor added up, got category. "
        "Complete the data first."
    ]
    unknown = Column(role="quasi_identifier", type="nominal", categories=("a", "b"), missing="category")
    assert "columns.g.missing refused" in refused(params(groups=["g"]), declared_with(g=unknown))[0]
    weighted = refused(params(), declared_with(w=Column(role="weight")))
    assert "columns.w.role refused" in weighted[0]
    assert "weighted statistics" in weighted[0]


def test_a_domain_without_a_grid_is_a_fault_and_not_a_crash():
    narrow = Column(role="confidential", type="continuous", domain=(1e15, 1e15 + 1))
    (found,) = refused(params(figures=[{"statistic": "median", "of": "x"}]), declared_with(x=narrow))
    assert found.startswith("columns.x.domain refused: must be wider for numbers of this size")


def test_a_sum_far_from_0_is_refused_and_its_mean_is_not():
    far = Column(role="confidential", type="continuous", domain=(1e6, 1e6 + 1))
    (found,) = refused(params(figures=[{"statistic": "sum", "of": "x"}]), declared_with(x=far))
    assert found.startswith("columns.x.domain refused: must not lie so far from 0")
    assert refused(params(figures=[{"statistic": "mean", "of": "x"}]), declared_with(x=far)) == []


@pytest.mark.parametrize("name", ["income_median", "income_median_standard_error"])
def test_a_group_with_the_name_of_a_figure_is_refused(name):
    clash = Column(role="quasi_identifier", type="nominal", categories=("a", "b"))
    (found,) = refused(params(groups=[name]), declared_with(**{name: clash}))
    assert found.startswith("figures refused: must not give two columns of the table the same name")


def test_too_many_groups_are_refused():
    wide = {f"g{i}": Column(role="quasi_identifier", type="nominal", categories=tuple("abcdefgh")) for i in range(7)}
    (found,) = refused(params(groups=list(wide)), declared_with(**wide))
    assert found.startswith("groups refused: must form at most 2^20 groups, got 2,097,152 groups")


def test_all_faults_are_found_at_once():
    chosen = idp(groups=["town"], acknowledges=[], figures=[COUNT, {"statistic": "mean"}], rows_per_unit=2)
    assert len(refused(chosen)) == 6


# How totals are drawn


@pytest.mark.parametrize("noise", ["laplace", "staircase", "box"])
def test_a_noise_that_nothing_gets_is_refused(noise):
    (found,) = refused(params(noise=noise))
    assert found.startswith("noise refused: must not be given where no figure is added up")
    assert found.endswith(f"got {noise}. Remove it.")
    assert refused(params(noise=noise, figures=[MEDIAN, {"statistic": "sum", "of": "age"}])) == []


@pytest.mark.parametrize("noise", ["staircase", "box"])
def test_noise_that_is_not_proven_under_idp_is_refused(noise):
    (found,) = refused(idp(noise=noise))
    assert found.startswith("noise refused: must not be given under idp, where it is not proven")
    assert refused(idp(noise="laplace")) == []


def test_specs_from_before_noise_could_be_chosen_are_written_as_before():
    assert "noise" not in params().model_dump(mode="json")
    assert params(noise="box").model_dump(mode="json")["noise"] == "box"
