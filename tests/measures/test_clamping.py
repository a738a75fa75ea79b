"""What clamping took, against loops over the records: whole, in parts, in records and in statistics."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.measures.cells import counted as table_counted
from penstock.measures.cells.output import TableOutput
from penstock.measures.cells.parts import count_part
from penstock.measures.clamping import clamped_columns, clamped_totals
from penstock.mechanisms.columns import Column
from penstock.mechanisms.layout import Figure, Layout
from tests.measures.judged_columns import promise
from tests.measures.table_maker import BOUNDS, CELLS, DECLARED, Made, records

LOOSE = {
    name: column.model_copy(update={"outside": "clamp"}) if column.domain else column
    for name, column in DECLARED.items()
}


def output(bounds=None, declared=LOOSE, original=None):
    made = Made(margins="none", bounds=bounds, original=original)
    return replace(made.output(), declared=declared)


def limits(name, cell, bounds):
    labels = {"region": "abc"[cell[0]], "kind": "ab"[cell[1]]}
    for entry in (bounds or {}).get(name, ()):
        if all(labels[dimension] in chosen for dimension, chosen in entry["cells"].items()):
            return entry["domain"]
    return DECLARED[name].domain


def by_definition(name, original, bounds):
    """Cell by cell: how many values are beyond their bounds, the total as read, and what clamping adds to it."""
    found = []
    for cell in CELLS:
        low, high = limits(name, cell, bounds)
        held = [
            x
            for a, b, x in zip(original["region"], original["kind"], original[name].tolist(), strict=True)
            if (a, b) == cell
        ]
        change = [min(max(x, low), high) - x for x in held]
        found.append((sum(c != 0 for c in change), sum(held), sum(change)))
    return found


@pytest.mark.parametrize("bounds", [None, BOUNDS], ids=["domain", "cells"])
@pytest.mark.parametrize("parts", [1, 3])
def test_shares_and_biases_are_those_of_the_definition(bounds, parts):
    whole = output(bounds)
    if parts > 1:
        rows = np.array_split(np.arange(90), parts)
        pieces = [
            count_part(replace(whole, original={name: values[each] for name, values in whole.original.items()}))
            for each in rows
        ]
        counted = pieces[0]
        for piece in pieces[1:]:
            counted = table_counted.together(counted, piece)
        judged = replace(whole, original={}, counted=counted)
    else:
        judged = whole
    found = {each.column: each for each in clamped_totals(judged)}
    assert set(found) == {"output", "wage"}
    for name, each in found.items():
        expected = by_definition(name, whole.original, bounds)
        assert (each.values, each.clamped) == (90, sum(number for number, _, _ in expected))
        assert each.true == pytest.approx(sum(true for _, true, _ in expected))
        assert each.bias == pytest.approx(sum(bias for _, _, bias in expected))
        told = {("abc".index(c.cell["region"]), "ab".index(c.cell["kind"])): c for c in each.cells}
        assert set(told) == {cell for cell, (_, _, bias) in zip(CELLS, expected, strict=True) if bias != 0}
        assert each.biased == len(told)
        for cell, (_, true, bias) in zip(CELLS, expected, strict=True):
            if bias != 0:
                assert told[cell].true == pytest.approx(true)
                assert told[cell].bias == pytest.approx(bias)
        sizes = [abs(c.bias) for c in each.cells]
        assert sizes == sorted(sizes, reverse=True)


def test_columns_that_cannot_be_clamped_are_left_out():
    inside = {name: np.clip(values, 1, 7) for name, values in records().items() if name in ("output", "wage")}
    original = {**records(), **inside}
    assert clamped_totals(output(declared=DECLARED, original=original)) == []
    [each] = clamped_totals(output(BOUNDS, declared=DECLARED, original=original))
    assert (each.column, each.clamped, each.bias, each.cells) == ("output", 0, 0.0, ())


def test_a_sum_that_is_not_finite_is_told_as_unknown():
    original = records()
    original["wage"] = np.full(90, 1e308)
    found = {each.column: each for each in clamped_totals(output(original=original))}
    assert found["wage"].clamped == 90
    assert (found["wage"].true, found["wage"].bias) == (None, None)
    assert all(cell.bias is None for cell in found["wage"].cells)


def test_statistics_without_groups_have_one_bias_and_medians_only_a_share():
    income = Column(role="confidential", type="continuous", domain=(0, 10), outside="clamp")
    figures = (Figure("income_sum", "sum", "income", False), Figure("age_median", "median", "age", False))
    judged = TableOutput(
        original={"income": np.array([1.0, 30.0, -5.0]), "age": np.array([5.0, 5.0, 11.0])},
        declared={"income": income, "age": income},
        layout=Layout("t", {}, ((),), figures, True),
        released={},
        guarantee=promise("dp", (), mechanism="statistics"),
        chosen={},
        hidden={},
    )
    first, second = clamped_totals(judged)
    assert (first.clamped, first.true, first.bias, first.biased) == (2, 26.0, -15.0, 1)
    assert [(cell.cell, cell.bias) for cell in first.cells] == [({}, -15.0)]
    assert (second.column, second.clamped, second.true, second.cells) == ("age", 1, None, ())


def test_of_records_the_share_of_each_column_that_may_be_clamped():
    original = {"output": np.array([-21, -20, 100, 101]), "wage": np.array([0.0, 0.1, 8.0, 1e300])}
    [each] = clamped_columns(original, {**DECLARED, "output": LOOSE["output"]}, ("output", "wage"))
    assert (each.column, each.values, each.clamped) == ("output", 4, 2)
    assert each.as_dict() == {
        "column": "output",
        "values": 4,
        "clamped": 2,
        "true": None,
        "bias": None,
        "biased": 0,
        "cells": (),
    }
