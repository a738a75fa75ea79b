"""Columns that are only written are read in the narrowest types: the values, and the refusals, are the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.refusal import ValueOutsideDomain
from penstock.tasks.files.source import open_source, read_source


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.int64(), pa.uint64(), pa.float64()], ids=str)
@pytest.mark.parametrize("categories", [3, 127, 128, 40_000])
def test_narrow_columns_hold_the_same_values(kind: pa.DataType, categories: int, tmp_path: Path) -> None:
    names = [f"c{place}" for place in range(categories)]
    numbers = [0, 1, 127, 5] if kind == pa.int8() else [0, 300, 70_000, 2**40 if kind != pa.int32() else 2**30]
    columns = {
        "n": Column(role="confidential", type="integer", domain=(0, 2**41)),
        "tight": Column(role="confidential", type="integer", domain=(0, 2**41), outside="clamp"),
        "c": Column(role="quasi_identifier", type="nominal", categories=tuple(names), missing="category"),
    }
    stored = {
        "n": pa.array(numbers, kind),
        "tight": pa.array(numbers, kind),
        "c": [names[-1], names[0], None, names[1]],
    }
    pq.write_table(pa.table(stored), tmp_path / "data.parquet", row_group_size=2)
    path = str(tmp_path / "data.parquet")
    wide = read_source(open_source(path, columns), columns)
    narrow = read_source(open_source(path, columns), columns, narrow=True)
    assert {name: values.tolist() for name, values in narrow.items()} == {n: v.tolist() for n, v in wide.items()}
    assert narrow["c"].itemsize == (1 if categories <= 127 else 2 if categories <= 2**15 - 1 else 4)
    assert wide["c"].dtype == np.int32
    columns["n"] = columns["n"].model_copy(update={"domain": (0, 4)})
    for asked in (False, True):
        with pytest.raises(ValueOutsideDomain) as refused:
            read_source(open_source(path, columns), columns, narrow=asked)
        assert [fault.field for fault in refused.value.faults] == ["source.columns.n"]
