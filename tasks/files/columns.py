"""Tables on the confidential side of one run, and the released Parquet and CSV files.

Steps exchange references, never rows: a working table is a folder with one file of bare numbers per column,
which the next step reads without decoding.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.parallel import in_parallel
from penstock.mechanisms.spreadsheet import escaped

__all__ = [
    "arrow_columns",
    "as_doubles",
    "category_codes",
    "load_columns",
    "read_release",
    "save_columns",
    "whole_numbers",
    "with_texts",
    "write_csv",
    "write_first_rows",
    "write_release",
    "write_rows",
]

GUARANTEE_KEY = b"penstock.guarantee"
ROW_GROUP = 1 << 16
_KINDS: tuple[type[np.signedinteger[Any]], ...] = (np.int8, np.int16, np.int32, np.int64)


def save_columns(
    folder: Path, columns: Mapping[str, NDArray[Any]], *, kinds: Mapping[str, np.dtype[Any]] | None = None
) -> None:
    """Write a working table. Column names go into an index, so that none can name a path.

    kinds: the types in which whole numbers are read again. They lie there in as few bytes as the largest of them needs,
    which is most of the time that writing and reading a large table takes.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    if any(values.dtype.hasobject for values in columns.values()):
        raise ValueError("a working table holds numbers only")

    def save(place: int, name: str) -> list[Any]:
        values = columns[name]
        is_narrow = kinds is not None and values.dtype.kind == "i"
        kind = np.promote_types(values.dtype, kinds[name]) if kinds is not None and is_narrow else values.dtype
        stored = _narrowed(values) if is_narrow else values
        stored.tofile(folder / f"{place}.column")
        return [name, kind.str, len(values), *([] if stored.dtype == kind else [stored.dtype.str])]

    index = in_parallel(save, range(len(columns)), columns)
    (folder / "index.json").write_text(json.dumps(index), encoding="utf-8")


def _narrowed(values: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers in the narrowest type that holds all of them; others as they are."""
    if not len(values):
        return values
    return values.astype(_narrowest(int(values.min()), int(values.max())), copy=False)


def _narrowest(low: int, high: int) -> type[np.signedinteger[Any]]:
    return next(kind for kind in _KINDS if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)


def load_columns(
    folder: Path,
    rows: NDArray[np.int64] | None = None,
    only: Collection[str] | None = None,
    *,
    as_stored: bool = False,
) -> dict[str, NDArray[Any]]:
    """Return a working table, or some rows or only some columns of it. It is read, not mapped: page faults cost
    several times the copy.

    as_stored: in the types in which it lies there, for whoever calculates with none of them.

    NumPy's own files begin with a header that is parsed as Python, and up to Python 3.11.7 two threads that parse
    at the same time may both fail.
    """
    index = json.loads((folder / "index.json").read_text(encoding="utf-8"))

    def load(place: int) -> NDArray[Any]:
        _, kind, length, *narrow = index[place]
        values: NDArray[Any] = np.fromfile(folder / f"{place}.column", dtype=np.dtype(*narrow or (kind,)))
        if len(values) != length:
            raise ValueError("a column of a working table is not as it was written")
        found = values if rows is None else values[rows]
        return found if as_stored else found.astype(kind, copy=False)

    places = [place for place, (name, *_) in enumerate(index) if only is None or name in only]
    return dict(zip([index[place][0] for place in places], in_parallel(load, places), strict=True))


def write_release(
    path: Path,
    columns: Mapping[str, NDArray[Any]],
    declared: Mapping[str, Column],
    guarantee: Guarantee,
    origin: NDArray[np.int64],
) -> None:
    """Write the released table as Parquet, row i from source row origin[i], with its guarantee in the file's metadata.

    It is written and shuffled by groups of rows, so that no second copy of the table is held.
    """

    def shuffled(name: str, rows: slice) -> NDArray[Any]:
        return np.take(columns[name], origin[rows])

    write_rows(path, {name: declared[name] for name in columns}, guarantee, len(origin), shuffled)


def write_rows(
    path: Path,
    declared: Mapping[str, Column],
    guarantee: Guarantee,
    records: int,
    values_of: Callable[[str, slice], NDArray[Any]],
) -> None:
    """Write the released table as Parquet; `values_of` gives some rows of a column, which are asked for in order."""
    fields = [pa.field(name, _arrow_type(column)) for name, column in declared.items()]
    schema = pa.schema(fields, {GUARANTEE_KEY: guarantee.model_dump_json().encode()})
    categorical = [name for name, column in declared.items() if column.categories is not None]

    def gather(start: int) -> pa.Table:
        rows = slice(start, min(start + ROW_GROUP, records))
        arrays = [_to_arrow(values_of(name, rows), column) for name, column in declared.items()]
        return pa.table(arrays, schema=schema)

    # Dictionaries only help categories; on numbers they cost a third of the writing time.
    with pq.ParquetWriter(path, schema, use_dictionary=categorical) as writer, ThreadPoolExecutor(1) as ahead:
        for table in _ahead_of_use(ahead, gather, range(0, records, ROW_GROUP)):
            writer.write_table(table, row_group_size=ROW_GROUP)


def write_first_rows(
    path: Path, released: Path, declared: Mapping[str, Column], guarantee: Guarantee, records: int
) -> None:
    """Write the first rows of a released table as if there were no others: nothing of these stays in the file."""
    categorical = [name for name, column in declared.items() if column.categories is not None]
    with pq.ParquetFile(released, read_dictionary=categorical) as file:

        def values_of(name: str, rows: slice) -> NDArray[Any]:
            stored = file.read_row_group(rows.start // ROW_GROUP, columns=[name]).column(name)
            return _from_arrow(stored, declared[name])[: rows.stop - rows.start]

        write_rows(path, declared, guarantee, records, values_of)


def arrow_columns(columns: Mapping[str, NDArray[Any]], declared: Mapping[str, Column]) -> pa.Table:
    """Return columns as a table of the types that a released file has; `declared` may hold others too."""
    schema = pa.schema([pa.field(name, _arrow_type(declared[name])) for name in columns])
    return pa.table([_to_arrow(values, declared[name]) for name, values in columns.items()], schema=schema)


def read_release(
    path: Path, declared: Mapping[str, Column], origin: NDArray[np.int64], only: str | None = None
) -> dict[str, NDArray[Any]]:
    """Return the columns of a released file, or one of them, in the order of the source rows, categories as codes."""
    columns: dict[str, NDArray[Any]] = {}
    categorical = [name for name, column in declared.items() if column.categories is not None]
    with pq.ParquetFile(path, read_dictionary=categorical) as file, ThreadPoolExecutor(1) as ahead:
        start = 0
        read = partial(file.read_row_group, columns=None if only is None else [only])
        for table in _ahead_of_use(ahead, read, range(file.num_row_groups)):
            rows = origin[start : start + table.num_rows]
            start += table.num_rows
            for name in table.column_names:
                values = _from_arrow(table.column(name), declared[name])
                if name not in columns:
                    columns[name] = np.empty(len(origin), values.dtype)
                elif values.dtype.kind == "f" and columns[name].dtype.kind == "i":  # the first missing integer
                    columns[name] = columns[name].astype(np.float64)
                columns[name][rows] = values
    if start != len(origin):
        raise ValueError("the released file must have one row for each source row")
    return columns


def _ahead_of_use(
    thread: ThreadPoolExecutor, make: Callable[[int], pa.Table], places: Iterable[int]
) -> Iterator[pa.Table]:
    """Yield `map(make, places)`, making the next one on the thread while the present one is used."""
    coming = None
    for place in places:
        ready, coming = coming, thread.submit(make, place)
        if ready is not None:
            yield ready.result()
    if coming is not None:
        yield coming.result()


def write_csv(release: Path, path: Path, *, escape: bool = False) -> None:
    """Write the released Parquet file again as CSV; missing values are empty.

    By row groups: pyarrow's own iterator reads the whole file ahead. escape: escape texts that a spreadsheet would run.
    """
    with pq.ParquetFile(release) as source, open(path, "wb") as sink:
        fields = [
            field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
            for field in source.schema_arrow
        ]
        plain = pa.schema(fields)
        written = pa.schema([field.with_name(escaped(field.name)) for field in fields]) if escape else plain
        with pyarrow.csv.CSVWriter(sink, written) as writer:
            for place in range(source.num_row_groups):
                rows = source.read_row_group(place).cast(plain)
                writer.write_table(with_texts(rows, escaped).cast(written) if escape else rows)
        sink.flush()
        os.fsync(sink.fileno())


def with_texts(table: pa.Table, change: Callable[[str], str]) -> pa.Table:
    """Return the table with its texts changed, those of its column names too; each different text is changed once."""
    changed = []
    for column in table.columns:
        if pa.types.is_string(column.type):
            encoded = column.combine_chunks().dictionary_encode()
            texts = pa.array([change(text) for text in encoded.dictionary.to_pylist()], pa.string())
            column = pa.DictionaryArray.from_arrays(encoded.indices, texts).dictionary_decode()
        changed.append(column)
    return pa.table(changed, names=[change(name) for name in table.column_names])


def _arrow_type(column: Column) -> pa.DataType:
    if column.categories is not None:
        return pa.int64() if isinstance(column.categories[0], int) else pa.dictionary(pa.int32(), pa.string())
    return pa.int64() if column.type == "integer" else pa.float64()


def _to_arrow(values: NDArray[Any], column: Column) -> pa.Array:
    if column.categories is not None:
        codes = pa.array(values.astype(np.int32, copy=False), mask=values < 0)
        encoded = pa.DictionaryArray.from_arrays(codes, pa.array(column.categories))
        return encoded.cast(_arrow_type(column))
    if values.dtype.kind == "f":
        missing = np.isnan(values)
        if column.type == "integer":
            return pa.array(np.where(missing, 0, values).astype(np.int64), mask=missing)
        return pa.array(values, mask=missing if missing.any() else None)
    return pa.array(values).cast(_arrow_type(column))


def _from_arrow(stored: pa.ChunkedArray, column: Column) -> NDArray[Any]:
    if column.categories is not None:
        return category_codes(stored, column.categories)
    if stored.null_count:
        return pc.fill_null(stored.cast(pa.float64()), float("nan")).to_numpy()  # type: ignore[no-any-return]
    return stored.to_numpy()  # type: ignore[no-any-return]


def as_doubles(stored: Any) -> Any:
    """Return numbers, a whole column or a part of one, as the nearest ones of double precision.

    Whole numbers beyond 2^53 stay beyond it. Decimals go by way of their text: pyarrow's own way is off by one place.
    """
    if pa.types.is_decimal(stored.type):
        stored = stored.cast(pa.string())
    return stored if pa.types.is_float64(stored.type) else stored.cast(pa.float64(), safe=False)


def _places(stored: pa.Array, categories: tuple[Any, ...]) -> pa.Array:
    """Return the place of each value among the categories, null for none; one that the type cannot hold is none."""
    if not pa.types.is_integer(stored.type):
        return pc.index_in(stored, value_set=pa.array(categories, stored.type))
    held = np.iinfo(stored.type.to_pandas_dtype())
    fitting = [place for place, each in enumerate(categories) if held.min <= each <= held.max]
    found = pc.index_in(stored, value_set=pa.array([categories[place] for place in fitting], stored.type))
    return pc.take(pa.array(fitting, pa.int32()), found)


def category_codes(
    stored: pa.ChunkedArray, categories: tuple[Any, ...], *, narrow: bool = False
) -> NDArray[np.signedinteger[Any]]:
    """Return codes into `categories`, -1 where a value is missing or not among them; as int32, or in the narrowest type
    that holds all of them."""
    kind = next(k for k in (_KINDS if narrow else (np.int32,)) if len(categories) <= np.iinfo(k).max)
    codes = []
    for chunk in stored.chunks:
        if pa.types.is_dictionary(chunk.type):
            # Only the few texts are compared; the many rows look up the result for theirs, unless it is their own code.
            places = _places(chunk.dictionary, categories)
            own = places.equals(pa.array(range(len(places)), places.type))
            chunk_codes = chunk.indices if own else pc.take(places, chunk.indices)
        else:
            chunk_codes = _places(chunk, categories)
        chunk_codes = pc.fill_null(chunk_codes.cast(pa.int32()), -1) if chunk_codes.null_count else chunk_codes
        codes.append(chunk_codes.to_numpy())
    return np.concatenate(codes, dtype=kind, casting="unsafe") if codes else np.empty(0, kind)


def whole_numbers(stored: pa.ChunkedArray) -> NDArray[np.signedinteger[Any]]:
    """Return signed whole numbers, none of them missing, in the narrowest type that holds all of them."""
    chunks = [chunk.to_numpy() for chunk in stored.chunks if len(chunk)]
    if not chunks:
        return np.empty(0, np.int8)
    kind = _narrowest(min(int(each.min()) for each in chunks), max(int(each.max()) for each in chunks))
    return np.concatenate(chunks, dtype=kind, casting="unsafe")
