"""Tables on the confidential side of one run, and the released Parquet and CSV files.

Steps exchange references, never rows: a working table is a folder with one .npy file per column,
which the next step maps into memory without copying.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from mechanisms.columns import Column
from mechanisms.guarantee import Guarantee

__all__ = ["load_columns", "read_release", "save_columns", "write_csv", "write_release"]

GUARANTEE_KEY = b"penstock.guarantee"


def save_columns(folder: Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write a working table. Column names go into an index, so that none can name a path."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for place, values in enumerate(columns.values()):
        np.save(folder / f"{place}.npy", values, allow_pickle=False)
    (folder / "index.json").write_text(json.dumps(list(columns)), encoding="utf-8")


def load_columns(folder: Path) -> dict[str, NDArray[Any]]:
    """A working table, mapped so that no change can reach the file."""
    names = json.loads((folder / "index.json").read_text(encoding="utf-8"))
    return {name: np.asarray(np.load(folder / f"{place}.npy", mmap_mode="c")) for place, name in enumerate(names)}


def write_release(
    path: Path, columns: Mapping[str, NDArray[Any]], declared: Mapping[str, Column], guarantee: Guarantee
) -> None:
    """The released table as Parquet, its guarantee in the file's metadata; flushed to disk."""
    arrays = {name: _to_arrow(values, declared[name]) for name, values in columns.items()}
    table = pa.table(arrays).replace_schema_metadata({GUARANTEE_KEY: guarantee.model_dump_json().encode()})
    categorical = [name for name in columns if not declared[name].numeric]
    # Dictionaries only help categories; on numbers they cost a third of the writing time.
    pq.write_table(table, path, use_dictionary=categorical)
    with open(path, "rb") as stream:
        os.fsync(stream.fileno())


def read_release(path: Path, declared: Mapping[str, Column]) -> dict[str, NDArray[Any]]:
    """The columns of a released file as arrays, categories as codes."""
    table = pq.read_table(path)
    columns = {}
    for name in table.column_names:
        columns[name] = _from_arrow(table.column(name), declared[name])
        table = table.drop_columns(name)
    return columns


def write_csv(release: Path, path: Path) -> None:
    """The released Parquet file again as CSV; missing values are empty."""
    with pq.ParquetFile(release) as source, open(path, "wb") as sink:
        writer = None
        for batch in source.iter_batches():
            plain = pa.table(
                {
                    name: column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
                    for name, column in zip(batch.schema.names, batch.columns, strict=True)
                }
            )
            writer = writer or pyarrow.csv.CSVWriter(sink, plain.schema)
            writer.write_table(plain)
        if writer is not None:
            writer.close()
        sink.flush()
        os.fsync(sink.fileno())


def _to_arrow(values: NDArray[Any], column: Column) -> pa.Array:
    if not column.numeric:
        categories = column.categories or ()
        codes = pa.array(values.astype(np.int32, copy=False), mask=values < 0 if (values < 0).any() else None)
        dictionary = pa.array(categories, pa.int64() if isinstance(categories[0], int) else pa.string())
        encoded = pa.DictionaryArray.from_arrays(codes, dictionary)
        return encoded.cast(pa.int64()) if pa.types.is_int64(dictionary.type) else encoded
    if values.dtype.kind == "f":
        missing = np.isnan(values)
        mask = missing if missing.any() else None
        if column.type == "integer":
            return pa.array(np.where(missing, 0, values).astype(np.int64), mask=mask)
        return pa.array(values, mask=mask)
    return pa.array(values)


def _from_arrow(stored: pa.ChunkedArray, column: Column) -> NDArray[Any]:
    if not column.numeric:
        if pa.types.is_dictionary(stored.type):
            stored = stored.cast(stored.type.value_type)
        codes = pa.compute.index_in(stored, value_set=pa.array(column.categories, stored.type))
        return pa.compute.fill_null(codes, -1).to_numpy().astype(np.int32, copy=False)  # type: ignore[no-any-return]
    if stored.null_count:
        return pa.compute.fill_null(stored.cast(pa.float64()), float("nan")).to_numpy()  # type: ignore[no-any-return]
    return stored.to_numpy()  # type: ignore[no-any-return]
