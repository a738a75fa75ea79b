"""Coarser levels of a dimension: which rows there are, what stands in them, and that everything adds up."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.mechanisms.layout import TOTAL, error_of
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.table import MECHANISM, chosen_facts, count_cells, faults, layout, protect
from penstock.mechanisms.table._chosen import settle
from penstock.mechanisms.table._expect import expect
from penstock.mechanisms.table.together import counted_together, taken
from tests.support.nested_tables import (
    ACTIVITIES,
    ALL,
    DECLARED,
    DIMENSION,
    GROUPS,
    LEVELS,
    MEASURED,
    REPLICATED,
    WEIGHTED,
    by_pandas,
    nested,
    rows_of,
    survey,
)

BOUNDS = {"x": [{"cells": {"nace": ["rice", "shops"]}, "domain": [0, 2]}]}
SOME = [["section"], ["zone", "nace"], []]
EVERY: dict[str, dict[str, Any]] = {
    "dp": {"sums": ["x", "y"], "means": ["x"]},
    "dp, some": {"sums": ["x"], "totals": SOME},
    "dp, laplace": {"sums": ["x", "y"], "noise": "laplace", "bounds": BOUNDS, **MEASURED},
    "dp, staircase": {"sums": ["y"], "noise": "staircase", "totals": SOME, **MEASURED},
    "dp, box": {"sums": ["x", "y"], "noise": "box", "bounds": BOUNDS, "adjacency": "add_remove", **MEASURED},
    "dp, exact total": {"exact_total": True, "sums": ["x"]},
    "dp, weights": {"weight": {"column": "w"}, "sums": ["y"], **MEASURED},
    "bdp": {"sums": ["x"], "scale": "per_cell"},
    "idp": {"sums": ["x"]},
    "k_anon": {"sums": ["x", "y"], "means": ["y"]},
}


def test_every_combination_of_levels_is_a_margin_and_all_share_one_column() -> None:
    drawn = layout(nested(), DECLARED)
    assert drawn.levels == tuple(ALL)
    assert drawn.labels("nace") == (*ACTIVITIES, *GROUPS["section"], *GROUPS["division"], TOTAL)
    assert drawn.labels("region") == ("a", "b", "c", *GROUPS["zone"], TOTAL)
    assert drawn.columns[:3] == ("region", "nace", "count")
    spelt = [tuple(drawn.labels(name)[code] for code in codes) for name, codes in drawn.codes().items() if len(codes)]
    expected = [
        tuple(dict(zip(map(DIMENSION.get, level), row, strict=True)).get(name, TOTAL) for name in ("region", "nace"))
        for level in ALL
        for row in rows_of(level)
    ]
    assert list(zip(*spelt, strict=True)) == expected
    assert drawn.rows == len(expected) == (3 + 2 + 1) * (6 + 3 + 2 + 1)


def test_totals_may_name_some_levels() -> None:
    params = nested(totals=[["section"], [], ["nace", "zone"], ["section", "region"]])
    assert layout(params, DECLARED).levels == (
        ("region", "nace"),
        ("region", "section"),
        ("zone", "nace"),
        ("section",),
        (),
    )
    everywhere = nested(totals=[["region", "section"], ["region", "division"]])
    assert TOTAL not in layout(everywhere, DECLARED).labels("nace")


def test_exact_figures_of_every_level_are_those_of_pandas() -> None:
    columns = survey()
    units = np.random.default_rng(2).integers(0, 40, len(columns["x"]))
    params = nested("k_anon", sums=["x", "y"], means=["y"], contributors="firm")
    assert faults(params, DECLARED) == []
    found = protect(columns, DECLARED, params, seeded(1), units).columns
    levels = layout(params, DECLARED).levels
    assert found["count"].tolist() == by_pandas(levels, columns, np.ones(len(units)), "count").tolist()
    assert found["x_sum"].tolist() == by_pandas(levels, columns, columns["x"]).tolist()
    assert found["y_sum"] == pytest.approx(by_pandas(levels, columns, columns["y"]))
    counts = found["count"]
    assert found["y_mean"][counts > 0] == pytest.approx(
        by_pandas(levels, columns, columns["y"], "mean")[counts > 0].astype(float)
    )
    assert found["contributors"].tolist() == by_pandas(levels, columns, units, "nunique").tolist()


def test_weighted_figures_and_sampling_errors_of_every_level_are_those_of_pandas() -> None:
    columns = survey(declared=REPLICATED)
    weight = {"column": "w", "replicates": ["w1"], "scale": "1/4"}
    params = nested("k_anon", sums=["y"], weight=weight)
    assert faults(params, REPLICATED) == []
    found = protect(columns, REPLICATED, params, seeded(1)).columns
    levels = layout(params, REPLICATED).levels
    total, again = (by_pandas(levels, columns, columns["y"] * columns[each]) for each in ("w", "w1"))
    assert found["y_weighted_sum"] == pytest.approx(total)
    assert found["y_weighted_sum_sampling_error"] == pytest.approx(np.abs(again - total) / 2)


@pytest.mark.parametrize("name", EVERY)
@given(seed=st.integers(0, 2**32), size=st.integers(30, 60))
@settings(max_examples=10)
def test_every_level_adds_up_under_every_model(name: str, seed: int, size: int) -> None:
    params = nested(name.partition(",")[0], **EVERY[name])
    declared = WEIGHTED if params.weight is not None else DECLARED
    columns = survey(size, declared=declared)
    assert faults(params, declared) == []
    released, drawn = protect(columns, declared, params, seeded(seed)).columns, layout(params, declared)
    cells = dict(zip(rows_of(drawn.levels[0]), range(drawn.starts[1]), strict=True))
    one = {"region": np.array([c[0] for c in cells], object), "nace": np.array([c[1] for c in cells], object)}
    for figure in drawn.figures:
        if not figure.adds_up:
            continue
        values = released[figure.name]
        expected = by_pandas(drawn.levels, one, values[: len(cells)])
        if figure.whole:
            assert values.tolist() == expected.tolist()
        else:
            assert values == pytest.approx(expected, rel=1e-9, abs=1e-6)
    if params.exact_total:
        assert released["count"][-1] == 2 * size
        assert released[error_of("count")][-1] == 0
        assert (released[error_of("count")][:-1] > 0).all()


def test_groups_have_the_largest_bound_of_their_categories_and_each_level_its_share() -> None:
    params = nested(
        sums=["x"], count=False, bounds=BOUNDS, noise="laplace", totals=[["division"], ["section"]], **MEASURED
    )
    cells, division, section = settle(params, DECLARED)
    assert [entry.epsilon for entry in (cells, division, section)] == [Fraction(1, 3)] * 3
    widths = [[each.half_widths[0] for each in entry.classes] for entry in (division, section)]
    by_group = [[own[place] for place in entry.which] for own, entry in zip(widths, (division, section), strict=True)]
    # Trade has banks and posts beside shops, farms tea beside rice; all sections and divisions reach 9.
    assert by_group == [[9, 9, 9], [9, 9]]
    tight = nested(
        sums=["x"],
        count=False,
        noise="laplace",
        bounds={"x": [{"cells": {"nace": ["rice", "tea"]}, "domain": [0, 2]}]},
        totals=[["division"]],
        **MEASURED,
    )
    _, division = settle(tight, DECLARED)
    assert [division.classes[place].half_widths[0] for place in division.which] == [9, 2, 9]


def test_the_share_of_epsilon_is_divided_among_all_measured_levels() -> None:
    entries = settle(nested(noise="laplace", **MEASURED), DECLARED)
    assert len(entries) == len(ALL)
    assert sum(entry.epsilon for entry in entries) == 1
    assert len({entry.epsilon for entry in entries[1:]}) == 1


def off(errors: np.ndarray, stated: np.ndarray) -> float:
    """The mean square of errors over stated ones."""
    return float(((errors / stated) ** 2).mean())


@pytest.mark.parametrize("chosen", [{}, MEASURED, {"exact_total": True}], ids=["summed", "measured", "exact total"])
def test_stated_errors_are_not_too_small(chosen: dict[str, Any]) -> None:
    """200 tables of records enough that nothing is cut off at 0; each level's mean square is below 1.3 times what is
    stated: 200 draws or more of squares with a relative spread of at most sqrt(5), false alarm below 1e-4 a level."""
    columns = survey(20_000)
    columns["nace"][columns["nace"] == "tea"] = np.resize(
        np.array(ACTIVITIES, object), (columns["nace"] == "tea").sum()
    )
    params = nested(**chosen)
    drawn = layout(params, DECLARED)
    truth = by_pandas(drawn.levels, columns, np.ones(len(columns["x"])), "count")
    tables = [protect(columns, DECLARED, params, seeded(seed)).columns for seed in range(200)]
    errors = np.array([each["count"] - truth for each in tables])
    stated = np.array([each[error_of("count")] for each in tables])
    for level, first, last in zip(drawn.levels, drawn.starts, drawn.starts[1:], strict=False):
        if level or not params.exact_total:
            assert off(errors[:, first:last], stated[:, first:last]) < 1.3
            if params.margins != "measured":
                assert off(errors[:, first:last], stated[:, first:last]) > 0.7


def test_measured_groups_are_stated_by_both_measurements() -> None:
    params = nested(noise="laplace", totals=[["section"]], **MEASURED)
    drawn = layout(params, DECLARED)
    errors = protect(survey(), DECLARED, params, seeded(1)).columns[error_of("count")]
    cells, groups = errors[: drawn.starts[1]], errors[drawn.starts[1] :]
    cell, own = (entry.classes[0].variances[0] for entry in settle(params, DECLARED)[:2])
    assert ((cells**2 >= cell - 1e-9) & (cells**2 < cell + 4)).all()
    for number, error in zip((9, 9), groups, strict=True):
        both = 1 / (1 / own + 1 / (number * cell))
        assert both - 1e-9 <= error**2 < both + 4  # the square of what rounding moved it by


def test_tables_with_levels_are_counted_with_others_in_one_pass() -> None:
    columns, own = survey(), nested("k_anon", sums=["x"])
    tables = {"own": own, "other": nested("k_anon", levels=None, dimensions=["nace"], means=["y"])}
    whole = counted_together(tables, DECLARED)["own"]
    assert "levels" not in whole.model_dump()
    together = taken(count_cells(columns, DECLARED, whole), whole, own)
    alone = count_cells(columns, DECLARED, own)
    assert together.counts.tolist() == alone.counts.tolist()
    assert together.measures["x"].sums.tolist() == alone.measures["x"].sums.tolist()


def test_plans_promises_and_advice_name_the_levels() -> None:
    params = nested()
    told = " ".join(expect(params, DECLARED, None))
    section, division = (layout(params, DECLARED).coarser[name].labels[0] for name in ("section", "division"))
    of_each = f"by section (2, such as {section}) and by division (3, such as {division})"
    first = layout(params, DECLARED).dimensions["nace"][0]
    assert f"nace has totals {of_each}, in the column of its 6 categories, such as {first}; a record" in told
    assert "by region, section" in told
    assert "Added up, standard errors at most" in told
    assert "After least squares" in " ".join(expect(nested(**MEASURED), DECLARED, None))
    promise = MECHANISM.promise(params, DECLARED)
    assert promise.parameters["levels"] == LEVELS
    assert "groups of categories" in promise.public
    treated = MECHANISM.treatments(params, DECLARED)
    assert treated["nace"] == (
        "category of the cell; _T stands for all, and groups of categories are those of section and division"
    )


def test_of_many_levels_a_plan_lists_no_errors() -> None:
    declared = {**DECLARED, **{f"again{place}": DECLARED["nace"] for place in range(2)}}
    levels = {**LEVELS, **{f"again{place}": [f"s{place}", f"d{place}"] for place in range(2)}}
    params = nested(dimensions=["region", "nace", "again0", "again1"], levels=levels)
    assert faults(params, declared) == []
    assert not any("Added up" in each for each in expect(params, declared, None))


def test_settings_without_levels_say_nothing_of_them() -> None:
    params = nested(levels=None)
    assert "levels" not in params.model_dump(mode="json")
    assert "levels" not in MECHANISM.promise(params, DECLARED).parameters
    assert not layout(params, DECLARED).coarser
    assert "coarser" not in str(chosen_facts(params, DECLARED))
