"""Measures of a table of one group see the records of that group alone."""

from __future__ import annotations

import numpy as np

from penstock.measures.cells.chosen_group import of_chosen_group
from penstock.measures.cells.output import TableOutput
from penstock.measures.clamping import clamped_totals
from penstock.measures.registry import judge
from penstock.mechanisms import statistics
from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded

DECLARED = {
    "region": Column(role="quasi_identifier", type="nominal", categories=("N", "S")),
    "size": Column(role="quasi_identifier", type="ordinal", categories=(1, 2)),
    "income": Column(role="confidential", type="integer", domain=(0, 50), outside="clamp"),
}
COLUMNS = {
    "region": np.array(["N", "N", "S", "S", "S"], object),
    "size": np.array([0, 1, 0, 1, 1]),
    "income": np.array([10, 20, 30, 60, 45]),
}


def output(figures=("count", "sum"), **settings):
    asked = [{"statistic": each, **({} if each == "count" else {"of": "income"})} for each in figures]
    params = statistics.Params(
        figures=asked,
        model="bdp",
        epsilon="1000000",
        adjacency="bootstrap_replace",
        acknowledges=["bdp"],
        **settings,
    )
    made = statistics.protect(COLUMNS, DECLARED, params, seeded(1))
    return TableOutput(
        original=COLUMNS,
        declared=DECLARED,
        layout=statistics.layout(params, DECLARED),
        released=made.columns,
        guarantee=made.guarantee,
        chosen=made.chosen,
        hidden=made.hidden,
    )


def test_other_records_are_left_out_and_every_record_is_in_the_only_cell():
    shown = of_chosen_group(output(only={"size": 2, "region": "S"}))
    assert {name: values.tolist() for name, values in shown.original.items()} == {
        "region": [0, 0],
        "size": [0, 0],
        "income": [60, 45],
    }
    assert shown.declared["size"].categories == (2,)


def test_errors_and_clamped_values_are_those_of_the_group():
    shown = of_chosen_group(output(only={"region": "S", "size": 2}))
    (clamped,) = clamped_totals(shown)
    assert (clamped.values, clamped.clamped, clamped.true, clamped.bias) == (2, 1, 105.0, -10.0)
    assert judge("cell_error", shown).by_column == {"count": 0.0, "income_sum": 10 / 105}


def test_a_group_without_records_is_judged_too():
    shown = of_chosen_group(output(figures=("count",), only={"region": "N", "size": 1}))
    empty = output(figures=("count",), only={"region": "N"})
    nobody = {name: values[2:] for name, values in COLUMNS.items()}
    assert clamped_totals(shown) == clamped_totals(
        of_chosen_group(TableOutput(**{**fields(empty), "original": nobody}))
    )


def fields(made):
    return {name: getattr(made, name) for name in made.__slots__}


def test_a_table_of_all_groups_is_left_as_it_is():
    whole = output(groups=["region"])
    assert of_chosen_group(whole) is whole
