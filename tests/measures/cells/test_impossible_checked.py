"""Cells that are declared impossible are found again from the promise, and anything in them is noticed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.measures import TableOutput
from penstock.measures.cells.impossible import impossible_cells, impossible_rows
from penstock.measures.checks import RecheckImpossible
from penstock.measures.recheck import recheck
from penstock.mechanisms.layout import Layout, error_of
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.table import layout, protect
from penstock.tasks.files.tables import arrow_cells
from penstock.tasks.outputs._cell_claims import impossible_faults
from tests.support.plain_tables import DECLARED, columns_of, table

IMPOSSIBLE = [{"area": ["north"], "size": ["large"]}]
CHECK = "impossible_cells_are_zero"
MEASURED = {"margins": "measured", "margin_share": "1/2"}
CHOSEN: dict[str, dict[str, Any]] = {
    "summed": {"means": ["x"], "sums": ["x"]},
    "measured": {"means": ["x"], "sums": ["x"], **MEASURED},
    "box": {"means": ["x"], "sums": ["x"], "noise": "box"},
    "exact": {"model": "k_anon", "means": ["x"], "sums": ["x"]},
}
RECORDS = [{"area": "north", "size": "small", "x": 1, "y": 2.5}] * 9 + [{"area": "south", "size": "large", "x": 2}] * 4
ROW = 1  # north, large


def output(name: str) -> TableOutput:
    chosen = dict(CHOSEN[name])
    params = table(chosen.pop("model", "dp"), impossible=IMPOSSIBLE, **chosen)
    columns = columns_of(RECORDS)
    drawn = protect(columns, DECLARED, params, seeded(1))
    return TableOutput(
        original=columns,
        declared={name: column for name, column in DECLARED.items() if column.role != "identifier"},
        layout=layout(params, DECLARED),
        released=dict(drawn.columns),
        guarantee=drawn.guarantee,
        chosen=dict(drawn.chosen),
        hidden=dict(drawn.hidden),
    )


def failed(found: TableOutput) -> set[str]:
    checks = recheck(found)
    assert {check.name for check in checks} == set(found.guarantee.audit)
    return {check.name for check in checks if not check.passed}


@pytest.mark.parametrize("name", CHOSEN)
def test_a_sound_table_passes(name: str) -> None:
    assert failed(output(name)) == set()


@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.parametrize("column", ["count", "x_sum", "x_mean"])
def test_a_figure_that_is_not_zero_is_noticed(name: str, column: str) -> None:
    found = output(name)
    found.released[column][ROW] = 1
    assert CHECK in failed(found)


@pytest.mark.parametrize("name", ["summed", "measured", "box"])
@pytest.mark.parametrize("column", ["count", "x_sum", "x_mean"])
def test_a_standard_error_that_is_not_zero_is_noticed(name: str, column: str) -> None:
    found = output(name)
    found.released[error_of(column)][ROW] = 1
    assert CHECK in failed(found)


@pytest.mark.parametrize("name", ["summed", "measured", "box"])
@pytest.mark.parametrize("part", ["noised", "steps"])
def test_noise_that_was_drawn_there_is_noticed(name: str, part: str) -> None:
    found = output(name)
    found.hidden[f"{part} 0 count"][ROW] = 2
    assert CHECK in failed(found)


@pytest.mark.parametrize("name", ["summed", "measured", "box"])
def test_a_possible_cell_that_was_not_drawn_is_noticed(name: str) -> None:
    found = output(name)
    for measure in ("count", "x"):
        found.hidden[f"steps 0 {measure}"][0] = 0
    assert "scales_suffice" in failed(found)


@pytest.mark.parametrize("name", ["summed", "box"])
def test_classes_that_count_undrawn_cells_are_noticed(name: str) -> None:
    found = output(name)
    found.chosen["measured"][0]["classes"][0]["cells"] += 1
    assert "scales_suffice" in failed(found)


@pytest.mark.parametrize("name", ["summed", "exact"])
def test_a_record_that_cannot_be_is_noticed(name: str) -> None:
    found = output(name)
    found.original["size"][0] = "large"
    assert CHECK in failed(found)


def test_more_zeros_than_were_declared_are_noticed() -> None:
    """What a mechanism leaves without noise must be impossible by the promise, found here by other code."""
    found = output("summed")
    parameters = {**found.guarantee.parameters, "impossible": [{"area": ["south"], "size": ["small"]}]}
    other = replace(found, guarantee=found.guarantee.model_copy(update={"parameters": parameters}))
    assert failed(other) >= {CHECK, "scales_suffice"}


@pytest.mark.parametrize(
    "change",
    [
        [{"area": ["north"]}],
        [{"area": ["north"], "colour": ["red"]}],
        [{"area": ["north"], "size": ["huge"]}],
        [{"area": ["north", "south"], "size": ["small", "large"]}],
    ],
)
def test_a_promise_that_names_no_such_cells_is_not_understood(change: Any) -> None:
    found = output("summed")
    parameters = {**found.guarantee.parameters, "impossible": change}
    with pytest.raises(RecheckImpossible):
        recheck(replace(found, guarantee=found.guarantee.model_copy(update={"parameters": parameters})))


def test_it_is_not_believed_beside_secret_noise() -> None:
    params = table("idp", sums=["x"])
    columns = columns_of(RECORDS)
    drawn = protect(columns, DECLARED, params, seeded(1))
    guarantee = drawn.guarantee.model_copy(
        update={"parameters": {**drawn.guarantee.parameters, "impossible": IMPOSSIBLE}}
    )
    declared = {name: column for name, column in DECLARED.items() if column.role != "identifier"}
    with pytest.raises(RecheckImpossible):
        recheck(
            TableOutput(
                original=columns,
                declared=declared,
                layout=layout(params, DECLARED),
                released=drawn.columns,
                guarantee=guarantee,
                chosen=drawn.chosen,
                hidden=drawn.hidden,
            )
        )


def test_rows_are_impossible_where_all_of_their_cells_are() -> None:
    shown = Layout("t", {"a": ("1", "2"), "b": ("x", "y", "z")}, (("a", "b"), ("a",), ("b",), ()), (), True)
    combinations = [{"a": ["2"], "b": ["x", "y"]}, {"b": ["z"], "a": ["2"]}]
    assert impossible_cells(shown, combinations).tolist() == [False] * 3 + [True] * 3
    assert impossible_rows(shown, combinations).tolist() == [False] * 3 + [True] * 3 + [False, True] + [False] * 4


@pytest.mark.parametrize("name", CHOSEN)
def test_whoever_verifies_sees_a_figure_that_is_not_zero(name: str) -> None:
    found = output(name)
    whole = arrow_cells(found.released, found.layout)
    assert list(impossible_faults(whole, found.layout, IMPOSSIBLE)) == []
    as_text = pa.table({each: whole.column(each).cast(pa.string()).fill_null("") for each in whole.column_names})
    assert list(impossible_faults(as_text, found.layout, IMPOSSIBLE)) == []
    for column in [each for each in found.layout.columns if each not in found.layout.dimensions]:
        values = np.array(found.released[column])
        values[ROW] = 1
        changed = arrow_cells({**found.released, column: values}, found.layout)
        (rule,) = impossible_faults(changed, found.layout, IMPOSSIBLE)
        assert column in rule
