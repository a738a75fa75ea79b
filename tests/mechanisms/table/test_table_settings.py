"""What may be asked of a table: every fault has a case here, and settings without fault promise something."""

from __future__ import annotations

import ast
import inspect
import sys
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from penstock.mechanisms import table as mechanism
from penstock.mechanisms.layout import Figure
from penstock.mechanisms.numbers.grid import grid_of
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refusal import Fault, ScaleZero, SettingRefused, TooFewRecords
from penstock.mechanisms.table import _bounds as bounds
from penstock.mechanisms.table import _coarser as coarser
from penstock.mechanisms.table import _mechanism as internal
from penstock.mechanisms.table import settings
from penstock.mechanisms.table._bounds import limits_of, table_grid
from penstock.mechanisms.table._relaxed import individual_steps
from penstock.mechanisms.table.cells import build_cells
from penstock.mechanisms.table.settings import levels, measures
from tests.mechanisms.table_fault_case import FURTHER, MANY, column
from tests.mechanisms.table_fault_case import bounds as x_bounds
from tests.mechanisms.table_faults import FAULTY as OF_TABLES
from tests.mechanisms.table_level_faults import LEVEL_FAULTS
from tests.support.plain_tables import DECLARED, MODELS, columns_of, records_of, table

FAULTY = {**OF_TABLES, **LEVEL_FAULTS}


@pytest.mark.parametrize("name", FAULTY)
def test_a_fault_is_told_with_field_rule_and_value(name: str) -> None:
    case = FAULTY[name]
    (fault,) = mechanism.faults(case.params, case.declared)
    assert fault.field == case.field
    assert case.rule in fault.rule
    assert case.got in fault.got
    assert bool(case.got) == bool(fault.got)
    assert fault.remedy
    with pytest.raises(SettingRefused) as refusal:
        mechanism.promise(case.params, case.declared)
    assert refusal.value.faults == (fault,)


def test_all_faults_are_told_at_once() -> None:
    params = table(epsilon=None, dimensions=["area", "colour"], sums=["size"], margin_share="1/2")
    assert [fault.field for fault in mechanism.faults(params, DECLARED)] == [
        "dimensions",
        "sums",
        "epsilon",
        "margin_share",
    ]


@pytest.mark.parametrize("module", [settings, bounds, coarser, internal])
def test_every_fault_in_the_source_has_a_case(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    told: set[int] = set()

    def noted(*arguments: Any) -> Fault:
        told.add(sys._getframe(1).f_lineno)
        return Fault(*arguments)

    monkeypatch.setattr(module, "Fault", noted)
    for case in FAULTY.values():
        mechanism.faults(case.params, case.declared)
    written = {
        node.lineno
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Fault"
    }
    assert told == written


GOOD: dict[str, dict[str, Any]] = {
    "dp": {},
    "dp, all there is": {
        "sums": ["x", "y"],
        "means": ["y", "x"],
        "adjacency": "add_remove",
        "shares": {"count": "1/2", "x": "1/4", "y": "1/4"},
        "margins": "measured",
        "margin_share": "1/3",
        "totals": [["size"], []],
        "rows_per_unit": 3,
        "bounds": x_bounds({"area": ["north"], "size": ["small"]}, [0, 1]),
    },
    "dp, box": {"sums": ["x"], "noise": "box", "count": False},
    "dp, large": {"dimensions": [*MANY][:15]},
    "dp, large without sub-totals": {"dimensions": [*MANY][:24], "totals": []},
    "bdp": {"noise": "laplace", "sums": ["x"]},
    "bdp, own scales": {"scale": "per_cell", "sums": ["x"], "empty_cells": "zero"},
    "bdp, public membership": {
        "scale": "public_membership",
        "adjacency": "bootstrap_within_cell",
        "means": ["x"],
        "shares": {"x": "1"},
    },
    "idp": {"sums": ["x"], "bounds": x_bounds({"area": ["north"]}, [0, 1])},
    "k_anon": {"sums": ["x"], "means": ["y"], "totals": [[]]},
}


@pytest.mark.parametrize("name", GOOD)
def test_good_settings_have_no_fault_and_promise_what_they_say(name: str) -> None:
    params = table(name.partition(",")[0], **GOOD[name])
    assert mechanism.faults(params, FURTHER) == []
    promise = mechanism.promise(params, FURTHER)
    assert promise.model == params.model
    assert promise.adjacency == (params.adjacency or "none")
    assert promise.unit == ("individual" if params.rows_per_unit else "row")
    assert promise.parameters.get("epsilon") == (None if params.epsilon is None else str(params.epsilon))
    assert promise.parameters["measures"] == list(measures(params))
    assert mechanism.MECHANISM.released_columns(params, FURTHER) == {}


def test_what_is_not_a_setting_at_all_is_refused_when_it_is_read() -> None:
    for chosen in ({"k": 1}, {"table": "Table"}, {"epsilon": 0.5}, {"rows_per_unit": 0}, {"z": 1}):
        with pytest.raises(ValidationError):
            table("k_anon" if "k" in chosen else "dp", **chosen)


def test_measures_are_what_the_figures_need_each_once() -> None:
    assert measures(table()) == ("count",)
    assert measures(table(sums=["y", "x"], means=["x"])) == ("count", "y", "x")
    assert measures(table(sums=["x"], count=False)) == ("x",)
    assert measures(table(means=["x"], count=False)) == ("count", "x")


DIMENSIONS = ("a", "b", "c", "d")


@given(st.integers(1, 4), st.data())
def test_levels_are_the_cells_and_then_margins_from_large_to_small(size: int, data: st.DataObject) -> None:
    dimensions = DIMENSIONS[:size]
    every = [kept for length in range(size - 1, -1, -1) for kept in combinations(dimensions, length)]
    chosen = data.draw(st.lists(st.sampled_from(every), unique=True))
    mixed = [data.draw(st.permutations(kept)) for kept in chosen]
    assert levels(table(dimensions=dimensions)) == (dimensions, *every)
    assert levels(table(dimensions=dimensions, margins="none")) == (dimensions,)
    assert levels(table(dimensions=dimensions, totals=mixed)) == (dimensions, *(m for m in every if m in chosen))


def test_the_layout_names_every_figure_and_shows_errors_under_dp_alone() -> None:
    chosen = {"sums": ["y", "x"], "means": ["x"], "table": "farms", "totals": [[]]}
    layouts = {model: mechanism.layout(table(model, **chosen), DECLARED) for model in MODELS}
    for model, layout in layouts.items():
        assert layout.name == "farms"
        assert layout.levels == (("area", "size"), ())
        assert layout.dimensions == {"area": ("north", "south"), "size": ("small", "large")}
        assert layout.errors == (model == "dp")
        assert layout.figures == (
            Figure("count", "count", None, True),
            Figure("y_sum", "sum", "y", False),
            Figure("x_sum", "sum", "x", True),
            Figure("x_mean", "mean", "x", False),
        )


def test_a_count_that_only_means_need_is_not_published() -> None:
    layout = mechanism.layout(table(means=["x"], count=False), DECLARED)
    assert [figure.name for figure in layout.figures] == ["x_mean"]


def test_categories_that_are_numbers_are_written_as_text() -> None:
    declared = {"year": column(type="ordinal", categories=(2024, 2025))}
    assert mechanism.layout(table(dimensions=["year"]), declared).dimensions == {"year": ("2024", "2025")}
    limits = limits_of(
        DECLARED["x"],
        "x",
        table(dimensions=["year"], sums=["x"], bounds=x_bounds({"year": [2025]}, [0, 1])).bounds["x"],
        {"year": declared["year"].categories or ()},
    )
    assert (limits.low.tolist(), limits.high.tolist(), limits.largest.tolist()) == ([-1, 0], [2, 1], [2, 1])


WIDE = st.integers(-(2**53), 2**53)


@given(st.sampled_from(["integer", "continuous"]), WIDE, st.integers(1, 2**53), st.integers(0, 60))
def test_totals_of_two_thousand_million_records_fit_into_62_bits(kind: str, low: int, width: int, finer: int) -> None:
    """However far from 0 the domain lies; and a value loses less than a billionth of its width with 0 in it."""
    domain: tuple[Any, Any] = (low, min(low + width, 2**53))
    if domain[0] == domain[1]:
        domain = (domain[0] - 1, domain[1])
    if kind == "continuous":
        domain = (float(domain[0]) / 2**finer, float(domain[1]) / 2**finer)
    grid = table_grid(column(type=kind, domain=domain), "x")
    largest = max(abs(grid.first), abs(grid.first + grid.steps))
    assert largest * 2**31 < 2**62
    width_with_0 = Fraction(max(*domain, 0)) - Fraction(min(*domain, 0))
    assert (grid.eta == 1 and kind == "integer") or grid.eta / 2 < width_with_0 / 10**9
    assert grid.eta == 1 or kind == "continuous" or width_with_0 > 2**30
    assert grid.first * grid.eta <= Fraction(domain[0]) < Fraction(domain[1]) <= (grid.first + grid.steps) * grid.eta
    inside = np.array([domain[0], domain[1], (domain[0] + domain[1]) / 2, -np.inf, np.inf])
    index = grid.index(inside)
    assert ((index >= 0) & (index <= grid.steps)).all()
    if domain[0] <= 0 <= domain[1]:
        assert grid == grid_of(column(type=kind, domain=domain), "x", finest=bounds.TABLE_STEPS)


def test_a_sum_of_whole_numbers_is_whole_unless_its_grid_is_coarser() -> None:
    declared = {**DECLARED, "x": column(type="integer", domain=(2**40, 2**40 + 4))}
    wide, narrow = (mechanism.layout(table(sums=["x"]), each).figures[1] for each in (declared, DECLARED))
    assert (wide.whole, narrow.whole) == (False, True)


def test_an_exact_table_with_a_small_cell_is_refused() -> None:
    records = [*records_of(x=[0, 1, 2])]
    protected = mechanism.protect(columns_of(records), DECLARED, table("k_anon", k=3), seeded(1))
    assert protected.columns["count"].tolist() == [3, 3, 3, 3, 6, 6, 6, 6, 12]
    with pytest.raises(TooFewRecords, match="k refused: must not exceed the number of records in any"):
        mechanism.protect(columns_of(records[1:]), DECLARED, table("k_anon", k=3), seeded(1))
    emptied = [record for record in records if record["area"] == "north"]
    assert mechanism.protect(columns_of(emptied), DECLARED, table("k_anon", k=3), seeded(1)).columns["count"][2] == 0


ALONE = [{"area": "north", "size": "small", "x": 1}, {"area": "south", "size": "small", "x": 2}]


@pytest.mark.parametrize(
    ("chosen", "records", "field"),
    [
        ({"sums": ["x"], "adjacency": "bootstrap_within_cell"}, ALONE, "x"),
        ({"sums": ["x"], "adjacency": "bootstrap_within_cell", "scale": "public_membership"}, ALONE, "x"),
        ({"sums": ["x"], "count": False, "scale": "per_cell"}, [*ALONE, {**ALONE[0], "size": "large", "x": 0}], "x"),
        ({"sums": ["x"], "adjacency": "bootstrap_add_remove"}, [{**ALONE[0], "x": 0}] * 2, "x"),
    ],
)
def test_a_figure_that_no_record_could_change_is_refused_and_not_printed(
    chosen: dict[str, Any], records: list[dict[str, Any]], field: str
) -> None:
    for empty_cells in ("noise", "zero"):
        with pytest.raises(ScaleZero, match=f"^{field} refused: must depend on the records that count"):
            mechanism.protect(columns_of(records), DECLARED, table("bdp", empty_cells=empty_cells, **chosen), seeded(1))


@pytest.mark.parametrize(("adjacency", "steps"), [("bootstrap_replace", 2), ("bootstrap_add_remove", 1)])
def test_counts_have_noise_where_everybody_is_in_one_cell(adjacency: str, steps: int) -> None:
    """The source prints n there, as no data set made of these records has another count."""
    for empty_cells, others in (("noise", steps), ("zero", 0)):
        chosen = table("bdp", empty_cells=empty_cells, adjacency=adjacency)
        drawn = mechanism.protect(columns_of(ALONE[:1] * 3), DECLARED, chosen, seeded(1)).hidden["steps 0 count"]
        assert sorted(drawn.tolist()) == [others] * (len(drawn) - 1) + [steps]


def test_no_bounds_no_individual_noise() -> None:
    """Declared bounds always leave room for a change; this is the last guard behind them."""
    cells = build_cells({"d": np.zeros(1, np.int64)}, (1,), {"x": np.ones(1, np.int64)})
    with pytest.raises(ScaleZero, match="x refused"):
        individual_steps(cells, "x", bounds.Limits(np.ones(1, np.int64), np.ones(1, np.int64)))


def test_protect_refuses_settings_with_a_fault_before_it_looks_at_data() -> None:
    with pytest.raises(SettingRefused, match="epsilon refused: must be given under dp"):
        mechanism.protect({}, DECLARED, table(epsilon=None), seeded(1))
