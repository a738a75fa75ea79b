"""Linked tables are counted again: the re-check notices every figure, level and share that is not as promised."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.measures import TableOutput
from penstock.measures.checks import RecheckImpossible
from penstock.measures.recheck import recheck
from penstock.measures.registry import judge
from penstock.mechanisms.layout import Layout
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.table import faults, layout, protect
from tests.mechanisms.table.test_table_linked import DECLARED, MARGINS, linked, records

SETTINGS = {
    "none": MARGINS["none"],
    "summed": {"sums": ["pay", "gain"], "means": ["pay"]},
    "measured": {**MARGINS["measured"], "sums": ["gain"], "noise": "box", "exact_total": True},
}
FIELDS = ("original", "declared", "layout", "released", "guarantee", "chosen", "hidden")


def output(**chosen: Any) -> TableOutput:
    params = linked(**chosen)
    assert faults(params, DECLARED) == []
    columns = records(500)
    drawn = protect(columns, DECLARED, params, seeded(4))
    return TableOutput(
        original=columns,
        declared=DECLARED,
        layout=layout(params, DECLARED),
        released=drawn.columns,
        guarantee=drawn.guarantee,
        chosen=drawn.chosen,
        hidden=drawn.hidden,
    )


def with_changes(found: TableOutput, **changed: Any) -> TableOutput:
    return TableOutput(**{**{name: getattr(found, name) for name in FIELDS}, **changed})


def failed(found: TableOutput) -> set[str]:
    return {check.name for check in recheck(found) if not check.passed}


@pytest.mark.parametrize("name", SETTINGS)
def test_sound_tables_pass_and_are_measured(name: str) -> None:
    found = output(**SETTINGS[name])
    assert failed(found) == set()
    assert judge("cell_error", found).value > 0
    assert judge("noise_chance", found).value > 1e-6


def test_a_cell_that_differs_between_two_tables_is_noticed() -> None:
    """One more in one cell of one table: its margins no longer agree with the other tables'."""
    found = output()
    found.released["count"][0] += 1
    assert failed(found) == {"margins_add_up"}


def test_another_sum_than_the_number_of_records_is_noticed() -> None:
    found = output(exact_total=True, margins="none")
    found.released["count"][0] += 1
    assert failed(found) == {"figures_as_noised"}


def test_a_table_whose_share_of_epsilon_was_forgotten_is_noticed() -> None:
    found = output()
    measured = [{**entry, "epsilon": "1/2"} for entry in found.chosen["measured"]]
    assert "epsilon_spent" in failed(with_changes(found, chosen={**found.chosen, "measured": measured}))


def test_a_table_that_was_not_drawn_is_noticed() -> None:
    found = output()
    measured = list(found.chosen["measured"])[:2]
    assert failed(with_changes(found, chosen={**found.chosen, "measured": measured})) == {"epsilon_spent"}


def test_levels_that_are_not_those_of_the_tables_are_not_understood() -> None:
    found = output()
    tables = {**found.layout.tables, "by_hours": ("sex", "class")}
    changed = Layout(
        found.layout.name, found.layout.dimensions, found.layout.levels, found.layout.figures, True, tables
    )
    parameters = {**found.guarantee.parameters, "tables": {name: list(own) for name, own in tables.items()}}
    guarantee = found.guarantee.model_copy(update={"parameters": parameters})
    with pytest.raises(RecheckImpossible):
        recheck(with_changes(found, layout=changed, guarantee=guarantee))
    with pytest.raises(RecheckImpossible):  # another promise than layout
        recheck(with_changes(found, guarantee=guarantee))


def test_margin_errors_are_those_of_the_margins_alone() -> None:
    found = output(exact_total=True)
    exact = output(exact_total=True)
    true = [np.bincount(found.original["sex"], minlength=2)]
    start = found.layout.starts[found.layout.levels.index(("sex",))]
    exact.released["count"][start : start + 2] = true[0]
    assert judge("margin_error", exact).value < judge("margin_error", found).value
    assert judge("cell_error", exact).value == judge("cell_error", found).value
