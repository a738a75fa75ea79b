"""Coarser levels are counted again: figures, groups, levels and shares that are not as promised are noticed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from penstock.measures import TableOutput
from penstock.measures.cells.totals import folded
from penstock.measures.checks import RecheckImpossible
from penstock.measures.recheck import recheck
from penstock.measures.registry import judge
from penstock.mechanisms.layout import Coarser, Layout
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.table import faults, layout, protect
from tests.support.nested_tables import DECLARED, MEASURED, REPLICATED, TAXONOMY, by_pandas, nested, survey

BOUNDS = {"x": [{"cells": {"nace": ["rice", "shops"]}, "domain": [0, 2]}]}
WEIGHT = {"column": "w", "replicates": ["w1"], "scale": "1/4"}
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "summed": ("dp", {"sums": ["x", "y"], "means": ["y"]}),
    "measured": ("dp", {"sums": ["x"], "noise": "box", "bounds": BOUNDS, **MEASURED}),
    "some measured": ("dp", {"sums": ["x"], "totals": [["section"], ["zone", "nace"]], "noise": "laplace", **MEASURED}),
    "exact total": ("dp", {"exact_total": True}),
    "bdp": ("bdp", {"sums": ["x"]}),
    "idp": ("idp", {"sums": ["x"]}),
    "k_anon": ("k_anon", {"sums": ["x"], "means": ["x"], "contributors": "firm"}),
    "weights": ("k_anon", {"sums": ["y"], "weight": WEIGHT}),
}


def output(name: str = "summed") -> TableOutput:
    model, chosen = SETTINGS[name]
    params, declared = nested(model, **chosen), REPLICATED if name == "weights" else DECLARED
    assert faults(params, declared) == []
    columns = survey(declared=declared)
    units = np.arange(len(columns["x"])) // 3 if "contributors" in chosen else None
    if units is not None:  # two contributors or more in every cell
        units[: len(units) // 2] += len(units)
    drawn = protect(columns, declared, params, seeded(4), units)
    return TableOutput(
        original=columns,
        declared=declared,
        layout=layout(params, declared),
        released=drawn.columns,
        guarantee=drawn.guarantee,
        chosen=drawn.chosen,
        hidden=drawn.hidden,
        units=units,
    )


def failed(found: TableOutput) -> set[str]:
    return {check.name for check in recheck(found) if not check.passed}


@pytest.mark.parametrize("name", SETTINGS)
def test_sound_tables_pass_and_are_measured(name: str) -> None:
    found = output(name)
    assert failed(found) == set()
    if name == "k_anon":
        assert judge("margin_error", found).value == 0
    elif name not in ("weights",):
        assert judge("margin_error", found).value > 0
        assert judge("noise_chance", found).value > 1e-6


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("level", [("section",), ("region", "section"), ("zone", "nace")])
def test_a_figure_of_a_coarser_level_that_was_changed_is_noticed(name: str, level: tuple[str, ...]) -> None:
    found = output(name)
    if level not in found.layout.levels:
        return
    figure = next(each.name for each in found.layout.figures if each.adds_up)
    found.released[figure][found.layout.starts[found.layout.levels.index(level)]] += 1
    assert "margins_add_up" in failed(found)


def test_contributors_of_a_group_that_were_added_up_are_noticed() -> None:
    found = output("k_anon")
    start = found.layout.starts[found.layout.levels.index(("section",))]
    cells = found.released["contributors"][: found.layout.starts[1]]
    found.released["contributors"][start : start + 2] = folded(found.layout, ("section",), cells)
    assert failed(found) == {"values_exact"}


def test_a_row_with_the_label_of_another_group_is_noticed() -> None:
    found = output()
    start = found.layout.starts[found.layout.levels.index(("section",))]
    found.released["nace"][start : start + 2] = found.released["nace"][start : start + 2][::-1].copy()
    assert failed(found) == {"rows_as_declared"}


def test_levels_that_spend_too_much_are_noticed() -> None:
    found = output("some measured")
    measured = [{**entry, "epsilon": "1/3"} for entry in found.chosen["measured"]]
    assert "epsilon_spent" in failed(replace(found, chosen={**found.chosen, "measured": measured}))


def test_noise_of_a_group_that_is_too_small_is_noticed() -> None:
    found = output("some measured")
    place = found.layout.levels.index(("section",))
    found.hidden[f"steps {place} x"][0] = 4
    assert "scales_suffice" in failed(found)


def test_the_second_count_folds_as_pandas_does() -> None:
    found = output()
    columns = {"region": np.repeat(list("abc"), 6).astype(object), "nace": np.tile(found.layout.dimensions["nace"], 3)}
    cells = np.random.default_rng(5).integers(-50, 50, 18)
    for level in (*found.layout.levels, ("section", "zone")):
        assert folded(found.layout, level, cells).tolist() == by_pandas([level], columns, cells).tolist()
        assert (
            folded(found.layout, level, cells, np.maximum).tolist()
            == by_pandas([level], columns, cells, "max").tolist()
        )


Change = Callable[[TableOutput], TableOutput]


def with_layout(found: TableOutput, **changed: Any) -> TableOutput:
    return replace(found, layout=replace(found.layout, **changed))


def regrouped(found: TableOutput, **changed: Any) -> TableOutput:
    section = replace(found.layout.coarser["section"], **changed)
    return with_layout(found, coarser={**found.layout.coarser, "section": section})


def promised(found: TableOutput, levels: Any) -> TableOutput:
    parameters = {**found.guarantee.parameters, "levels": levels}
    return replace(found, guarantee=found.guarantee.model_copy(update={"parameters": parameters}))


def redeclared(found: TableOutput, taxonomy: Any) -> TableOutput:
    column = found.declared["nace"].model_copy(update={"taxonomy": taxonomy})
    return replace(found, declared={**found.declared, "nace": column})


NACE = ["section", "division"]
MISUNDERSTOOD: dict[str, Change] = {
    "a category in another group": lambda found: regrouped(found, groups=(0, 1, 0, 1, 1, 1)),
    "labels of other groups": lambda found: regrouped(found, labels=("goods", "services")),
    "a group of nobody": lambda found: regrouped(found, labels=("services", "goods", "none")),
    "a level of another dimension": lambda found: regrouped(found, dimension="region"),
    "a level that is not promised": lambda found: promised(found, {"nace": NACE}),
    "levels in another order": lambda found: promised(found, {"nace": NACE[::-1], "region": ["zone"]}),
    "a level that nobody knows": lambda found: promised(found, {"nace": [*NACE, "class"], "region": ["zone"]}),
    "levels of an unknown dimension": lambda found: promised(found, {"nace": NACE, "region": ["zone"], "x": []}),
    "no taxonomy": lambda found: redeclared(found, None),
    "another taxonomy": lambda found: redeclared(found, {**TAXONOMY, "posts": ("plants",)}),
    "two parents": lambda found: redeclared(found, {**TAXONOMY, "posts": ("plants", "trade")}),
    "a category less deep": lambda found: redeclared(found, {**TAXONOMY, "posts": ("services",)}),
    "two levels of a dimension": lambda found: with_layout(
        found, levels=(*found.layout.levels[:-1], ("division", "section"))
    ),
    "a level of nothing known": lambda found: with_layout(found, levels=(*found.layout.levels[:-1], ("class",))),
    "all categories again": lambda found: with_layout(found, levels=(*found.layout.levels[:-1], ("nace", "region"))),
}


@pytest.mark.parametrize("name", MISUNDERSTOOD)
def test_levels_that_are_not_those_of_the_taxonomy_are_not_understood(name: str) -> None:
    with pytest.raises(RecheckImpossible, match=r"guarantee\.parameters"):
        recheck(MISUNDERSTOOD[name](output()))


def test_a_dimension_may_have_one_level_of_one_group() -> None:
    made = Layout(
        "t", {"a": ("1", "2")}, (("a",), ("top",)), (), False, coarser={"top": Coarser("a", ("all",), (0, 0))}
    )
    assert folded(made, ("top",), np.array([3, 4])).tolist() == [7]
