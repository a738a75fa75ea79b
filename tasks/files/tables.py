"""Released tables as files: one row a cell, as their layout says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.layout import Layout
from penstock.tasks.files.columns import GUARANTEE_KEY, category_codes

__all__ = ["arrow_cells", "read_table", "table_schema", "write_table"]


def table_schema(layout: Layout) -> pa.Schema:
    """Return the schema: dimensions as dictionaries of text, whole figures as int64, other figures and errors as
    float64."""
    whole = {figure.name for figure in layout.figures if figure.whole}

    def kind(name: str) -> pa.DataType:
        if name in layout.dimensions:
            return pa.dictionary(pa.int32(), pa.string())
        return pa.int64() if name in whole else pa.float64()

    return pa.schema([pa.field(name, kind(name)) for name in layout.columns])


def write_table(path: Path, columns: Mapping[str, NDArray[Any]], layout: Layout, guarantee: Guarantee) -> None:
    """Write the table as Parquet, with its guarantee in the file's metadata; a figure that does not exist is null."""
    table = arrow_cells(columns, layout).replace_schema_metadata({GUARANTEE_KEY: guarantee.model_dump_json().encode()})
    pq.write_table(table, path, use_dictionary=list(layout.dimensions))


def arrow_cells(columns: Mapping[str, NDArray[Any]], layout: Layout) -> pa.Table:
    """Return a table of cells in the types that its file has."""
    schema, arrays = table_schema(layout), []
    for name in layout.columns:
        values = columns[name]
        if name in layout.dimensions:
            arrays.append(pa.DictionaryArray.from_arrays(pa.array(values), pa.array(layout.labels(name), pa.string())))
        else:
            missing = np.isnan(values) if values.dtype.kind == "f" else None
            arrays.append(pa.array(values, schema.field(name).type, mask=missing))
    return pa.table(arrays, schema=schema)


def read_table(path: Path, layout: Layout) -> dict[str, NDArray[Any]]:
    """Return the columns of a released table, dimensions as places among their labels, NaN where a figure is null."""
    table = pq.read_table(path)
    columns: dict[str, NDArray[Any]] = {}
    for name in table.column_names:
        stored = table.column(name)
        if name in layout.dimensions:
            columns[name] = category_codes(stored, layout.labels(name))
        else:
            columns[name] = stored.to_numpy()
    return columns
