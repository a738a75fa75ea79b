"""One pass over the records that serves several tables finds just what a pass for each of them finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.refusal import ValueOutsideDomain
from penstock.mechanisms.table import Params, count_cells, together
from penstock.mechanisms.table.cells import Cells, Magnitudes
from penstock.mechanisms.table.together import counted_together, taken

DECLARED = {
    "sex": Column(role="quasi_identifier", type="nominal", categories=("F", "M")),
    "age": Column(role="quasi_identifier", type="ordinal", categories=("young", "middle", "old")),
    "region": Column(role="quasi_identifier", type="nominal", categories=("N", "S", "E", "W")),
    "income": Column(role="confidential", type="integer", domain=(-50, 100), outside="clamp"),
    "hours": Column(role="confidential", type="integer", domain=(0, 80)),
}


def table(*dimensions: str, **more: Any) -> Params:
    return Params(dimensions=dimensions, **{"model": "dp", "epsilon": "1", "adjacency": "replace", **more})


TABLES = {
    "one": table("sex"),
    "two": table("age", "sex", sums=("income",)),
    "three": table("region", "age", means=("hours",)),
    "four": table("region", "sex", sums=("hours", "income"), count=False),
}


@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_each_table_gets_what_its_own_pass_finds(seed: int, records: int) -> None:
    chance = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        name: chance.integers(0, len(column.categories or ()), records, np.int32)
        for name, column in DECLARED.items()
        if column.categories
    }
    columns |= {"income": chance.integers(-90, 140, records), "hours": chance.integers(0, 81, records)}
    whole = counted_together(TABLES, DECLARED)
    assert whole.keys() == TABLES.keys()
    assert len({each.model_dump_json() for each in whole.values()}) == 1
    counted = count_cells(columns, DECLARED, whole["one"])
    for name, params in TABLES.items():
        used = {n: columns[n] for n in (*params.dimensions, *params.sums, *params.means)}
        own = count_cells(used, {n: DECLARED[n] for n in used}, params)
        served = taken(counted, whole[name], params)
        assert served.shape == own.shape
        assert np.array_equal(served.counts, own.counts)
        assert list(served.measures) == list(own.measures)
        for measure, magnitudes in own.measures.items():
            for figure in Magnitudes.__slots__:
                found, wanted = getattr(served.measures[measure], figure), getattr(magnitudes, figure)
                assert np.array_equal(found, wanted), (name, measure, figure)


def test_tables_of_other_models_bounds_adjacencies_or_weights_are_counted_apart() -> None:
    bounds = {"income": [{"cells": {"sex": ["F"]}, "domain": [0, 10]}]}
    tables = {
        **TABLES,
        "bounded": table("sex", sums=("income",), bounds=bounds),
        "weighted": table("sex", weight={"column": "w"}),
        "weighted too": table("age", weight={"column": "w"}),
        "added": table("sex", adjacency="add_remove"),
        "exact": table("sex", model="k_anon", epsilon=None, adjacency=None, k=2),
    }
    assert counted_together(tables, DECLARED).keys() == TABLES.keys()


def test_a_table_alone_counts_for_itself() -> None:
    assert counted_together({"one": TABLES["one"]}, DECLARED) == {}


def test_tables_whose_cells_together_are_too_many_are_divided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "_MOST_TOGETHER", 12)
    whole = counted_together(TABLES, DECLARED)
    sizes = {name: [len(DECLARED[d].categories or ()) for d in each.dimensions] for name, each in whole.items()}
    assert all(np.prod(size) <= 12 for size in sizes.values())
    assert all(set(TABLES[name].dimensions) <= set(each.dimensions) for name, each in whole.items())


@pytest.mark.parametrize("cells", [4, 2**10])
def test_a_sum_beyond_what_noise_can_be_added_to_is_refused(cells: int) -> None:
    """Of many cells the sum itself would leave 64 bits and look small."""
    large = np.full(2 * cells, 2**62 - 1, np.int64)
    zero = np.zeros(2 * cells, np.int64)
    counted = Cells(
        (2, cells), np.ones(2 * cells, np.int64), {"income": Magnitudes(zero, large, zero, zero, zero, zero)}
    )
    whole, params = table("sex", "age", sums=("income",)), table("sex", sums=("income",))
    with pytest.raises(ValueOutsideDomain, match=r"income refused: must add up to less than 2\^62"):
        taken(counted, whole, params)
