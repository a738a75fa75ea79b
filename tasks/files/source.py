"""Reading confidential Parquet: a file, a folder, or a Hive-partitioned folder, here or in an object store.

Only the named columns are read, and no direct identifiers, except for the one that says whose record it is: of that,
only which records belong to the same unit is kept. The result is the arrays that mechanisms work with (see
penstock.mechanisms.columns); everything else is refused, without quoting a value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.recode import Recode, stored_name, stored_names
from penstock.mechanisms.refusal import (
    ColumnDuplicated,
    ColumnMissing,
    ColumnTypeWrong,
    Fault,
    TableEmpty,
    ValueMissing,
    ValueOutsideDomain,
)
from penstock.tasks.files.columns import as_doubles, category_codes, whole_numbers
from penstock.tasks.files.fingerprint import Fingerprint
from penstock.tasks.files.memory_needed import require_room
from penstock.tasks.files.source_files import SourceFiles, SourceUnreadable, partition_of, source_files, unreadable
from penstock.tasks.files.units import unit_codes, unit_numbers

_LISTED = 20  # categories in a refusal

__all__ = [
    "SourceUnreadable",
    "count_rows",
    "fitting_columns",
    "open_source",
    "read_columns",
    "read_source",
]


def open_source(
    path: str, declared: Mapping[str, Column], *, unit: str | None = None, file: str | None = None
) -> ds.Dataset:
    """Return the source as a data set whose schema fits the declared columns; read no row.

    unit: the identifier that says whose record it is, if a unit may have several. file: open only this file of the
    source.
    """
    wanted = _wanted(declared, unit)
    names = stored_names(wanted)
    source = source_files(path, only=file)
    keys = _folder_keys(source)
    by_folder = [name for name in names if name in keys]
    try:
        schemas = dict.fromkeys(pq.read_schema(file, filesystem=source.system) for file in source.names)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise unreadable(source.system, source.root, error) from None
    # Every file is checked: a file that lacks a column would otherwise be filled with missing values.
    for schema in schemas:
        _require_fit(schema, {name: column for name, column in wanted.items() if stored_name(name, column) not in keys})
    stored = [name for name in names if name not in keys]
    ColumnDuplicated.raise_for(
        Fault(f"source.columns.{name}", "must not be both a folder and stored in a file", "Remove one of the two.")
        for name in by_folder
        if any(name in schema.names for schema in schemas)
    )
    # Files are read in the type of the first, and a number in a narrower type is another number.
    ColumnTypeWrong.raise_for(
        Fault(f"source.columns.{name}.type", "must be stored in the same type in every file", "Save the files alike.")
        for name in stored
        if len({_plain_type(schema.field(name).type) for schema in schemas}) > 1
    )
    types = [(key, _folder_type(key, wanted) if key in by_folder else pa.string()) for key in keys]
    made = {stored_name(name, column): column for name, column in wanted.items()}
    try:
        partitioning = ds.partitioning(pa.schema(types), flavor="hive") if keys else None
        return ds.dataset(
            source.names,
            filesystem=source.system,
            format=ds.ParquetFileFormat(
                # A repeated text takes no room in a file; expanded, it would take as much each time.
                dictionary_columns={name for name in names if made[name].categories or name == unit},
                # A flipped bit is another value, not a damaged one, unless the file has checksums of its pages.
                default_fragment_scan_options=ds.ParquetFragmentScanOptions(page_checksum_verification=True),
            ),
            schema=pa.schema(
                [(name, _read_type(next(iter(schemas)).field(name).type)) for name in stored]
                + [field for field in types if field[0] in by_folder]
            ),
            partitioning=partitioning,
            partition_base_dir=source.root if by_folder else None,
        )
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise unreadable(source.system, source.root, error) from None


def _wanted(declared: Mapping[str, Column], unit: str | None) -> dict[str, Column]:
    """Return the columns that are read."""
    return {name: column for name, column in declared.items() if column.role != "identifier" or name == unit}


def _folder_keys(source: SourceFiles) -> list[str]:
    """Return the column names that Hive folders such as region=N give, outermost first."""
    return list(dict.fromkeys(key for file in source.names for key in partition_of(file, source.root)))


def _require_fit(schema: pa.Schema, wanted: Mapping[str, Column]) -> None:
    places = {name: schema.get_all_field_indices(stored_name(name, column)) for name, column in wanted.items()}
    ColumnMissing.raise_for(
        Fault(f"source.columns.{name}", "must exist in every file of the source", "Correct the name or the data.")
        for name, found in places.items()
        if not found
    )
    ColumnDuplicated.raise_for(
        Fault(f"source.columns.{name}", "must exist once in the source", "Remove the second column.")
        for name, found in places.items()
        if len(found) > 1
    )
    ColumnTypeWrong.raise_for(
        fault
        for name, found in places.items()
        for fault in _type_faults(name, schema.field(found[0]).type, wanted[name])
    )


def count_rows(dataset: ds.Dataset) -> int:
    """Return the number of records, from the files' footers."""
    return int(dataset.count_rows())


def read_source(
    dataset: ds.Dataset,
    declared: Mapping[str, Column],
    *,
    unit: str | None = None,
    used: Collection[str] | None = None,
    fingerprint: Fingerprint | None = None,
    narrow: bool = False,
) -> dict[str, NDArray[Any]]:
    """Return the declared columns as arrays, after the missing rules and domain checks; the unit as int64 codes.

    used: return only these; nothing looks at the others but the fingerprint, which takes every column but the unit as
    it is stored. narrow: whole numbers and codes in the narrowest types that hold them, for whoever only writes them.
    """
    wanted = _wanted(declared, unit)
    checked = {name for name in wanted if used is None or name in used or name == unit}
    if fingerprint is None:
        wanted = {name: column for name, column in wanted.items() if name in checked}
    require_room(dataset, wanted, checked)
    units = None if unit is None else unit_numbers(dataset, unit)
    # The table is bound to no name here, so that each of its columns can be freed once it is read.
    return read_columns(
        _held(dataset, stored_names({name: column for name, column in wanted.items() if name != unit})),
        wanted,
        unit=unit,
        units=units,
        checked=checked,
        fingerprint=fingerprint,
        narrow=narrow,
    )


def _held(dataset: ds.Dataset, names: Sequence[str]) -> pa.Table:
    try:
        table = dataset.to_table(columns=list(names))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise unreadable(dataset.filesystem, dataset.files[0], error) from None
    if table.num_rows == 0:
        raise TableEmpty.at("source.path", rule="must have at least one record", remedy="Check the source.")
    return table


def fitting_columns(table: pa.Table, declared: Mapping[str, Column], *, unit: str | None = None) -> pa.Table:
    """Return the declared columns of a table in memory; refuse one that is missing, duplicated or of another type."""
    wanted = _wanted(declared, unit)
    _require_fit(table.schema, wanted)
    if table.num_rows == 0:
        raise TableEmpty.at("table", rule="must have at least one record", remedy="Check the data.")
    names = stored_names(wanted)
    return table.select(list(names)).cast(
        pa.schema([(name, _read_type(table.schema.field(name).type)) for name in names])
    )


def read_columns(
    table: pa.Table,
    wanted: Mapping[str, Column],
    *,
    unit: str | None = None,
    units: NDArray[np.int64] | None = None,
    checked: Collection[str] | None = None,
    fingerprint: Fingerprint | None = None,
    narrow: bool = False,
) -> dict[str, NDArray[Any]]:
    """Return the wanted columns as arrays; refuse by the missing rules and domains. checked: return only these. units:
    numbers of those that the records are of, where the table does not have their names."""
    found: dict[str, _Read] = {}
    if unit is not None and units is not None:
        found[unit] = _of_units(units)
    with ThreadPoolExecutor(1) as beside:
        for place in stored_names({name: column for name, column in wanted.items() if name not in found}):
            stored = table.column(place)
            table = table.drop_columns(place)  # one column in two shapes at a time is all the memory this needs
            adding = [] if fingerprint is None or place == unit else [beside.submit(fingerprint.add, place, stored)]
            for name, column in wanted.items():
                if stored_name(name, column) == place and (checked is None or name in checked):
                    found[name] = _read_column(stored, column, narrow)
            for each in adding:
                each.result()
            del stored
    ordered = {name: found[name] for name in wanted if name in found}
    incomplete, outside = list[Fault](), list[Fault]()
    for name, read in ordered.items():
        column, field = wanted[name], f"source.columns.{name}"
        if read.has_missing and column.missing == "refuse":
            incomplete.append(Fault(field, *_completeness(column)))
        if read.has_outside:
            outside.append(Fault(field, _domain_rule(column), "Correct the declaration or the data."))
    ValueMissing.raise_for(incomplete)
    ValueOutsideDomain.raise_for(outside)
    return {name: read.values for name, read in ordered.items()}


@dataclass(frozen=True, slots=True)
class _Read:
    values: NDArray[Any]
    has_missing: bool
    has_outside: bool


def _read_column(stored: pa.ChunkedArray, column: Column, narrow: bool) -> _Read:
    if column.role == "identifier":
        return _of_units(unit_codes(stored))
    if column.recode is not None and column.recode.bands is not None:
        return _read_bands(stored, column.recode)
    return (_read_numbers if column.numeric else _read_categories)(stored, column, narrow)


def _of_units(codes: NDArray[np.int64]) -> _Read:
    return _Read(codes, bool((codes < 0).any()), False)


def _read_numbers(stored: pa.ChunkedArray, column: Column, narrow: bool) -> _Read:
    """Return values as they are stored, even outside the domain: a mechanism clamps its own copy, measures compare."""
    if pa.types.is_integer(stored.type) and column.type == "integer" and stored.null_count == 0:
        narrow = narrow and pa.types.is_signed_integer(stored.type)
        values = whole_numbers(stored) if narrow else stored.to_numpy()
        low, high = column.bounds
        outside = bool(values.min() < low or values.max() > high) and column.outside == "refuse"
        return _Read(values if narrow else _whole(values), False, outside)
    stored = as_doubles(stored)
    numbers = pc.fill_null(stored, float("nan")).to_numpy() if stored.null_count else stored.to_numpy()
    finite = np.isfinite(numbers)
    has_missing = not bool(finite.all())
    if has_missing:
        numbers = np.where(finite, numbers, np.nan)
    known = numbers[finite] if has_missing else numbers
    if column.role == "weight" and column.domain is None:
        return _Read(numbers, has_missing, bool((known <= 0).any()))
    low, high = column.bounds
    outside = column.outside == "refuse" and bool(known.size and (known.min() < low or known.max() > high))
    if column.type == "integer":
        outside = outside or bool((known != np.floor(known)).any())
        if not has_missing:
            numbers = _whole(numbers)
    return _Read(numbers, has_missing, outside)


def _whole(values: NDArray[Any]) -> NDArray[Any]:
    """Return whole numbers as int64; as float64 where one is beyond its range, and so beyond every domain."""
    fits = values.dtype.kind == "i" or not len(values) or (values.min() >= -(2**63) and values.max() < 2**63)
    return values.astype(np.int64 if fits else np.float64, copy=False)


def _read_bands(stored: pa.ChunkedArray, recode: Recode) -> _Read:
    stored = as_doubles(stored)
    numbers = pc.fill_null(stored, float("nan")).to_numpy() if stored.null_count else stored.to_numpy()
    places, finite = recode.banded(numbers), np.isfinite(numbers)
    return _Read(places, not bool(finite.all()), bool(((places < 0) & finite).any()))


def _read_categories(stored: pa.ChunkedArray, column: Column, narrow: bool) -> _Read:
    groups = None if column.recode is None else column.recode.stored_categories
    codes: NDArray[Any] = category_codes(
        stored, (column.categories or ()) if groups is None else groups, narrow=narrow and groups is None
    )
    if groups is not None and column.recode is not None:
        codes = column.recode.grouped(codes)
    unknown = int((codes < 0).sum()) if len(codes) and codes.min() < 0 else 0
    return _Read(codes, stored.null_count > 0, unknown > stored.null_count)


def _type_faults(name: str, stored: pa.DataType, column: Column) -> list[Fault]:
    value = stored.value_type if pa.types.is_dictionary(stored) else stored
    is_number = pa.types.is_integer(value) or pa.types.is_floating(value) or pa.types.is_decimal(value)
    is_text = pa.types.is_string(value) or pa.types.is_large_string(value) or pa.types.is_string_view(value)
    expected = _stored_categories(column)
    if column.role == "identifier":
        fits = is_text or pa.types.is_integer(value)
        rule = "must be stored as text or whole numbers for an identifier"
    elif expected is None:
        fits = is_number and not pa.types.is_dictionary(stored)
        rule = f"must be stored as numbers for {'bands' if column.categories else 'type ' + (column.type or 'weight')}"
    elif expected and isinstance(expected[0], int):
        fits = pa.types.is_integer(value)
        rule = "must be stored as integers for categories that are whole numbers"
    else:
        fits = is_text
        rule = "must be stored as text for categories that are text"
    if fits:
        return []
    rule += f", not as {stored}"
    return [Fault(f"source.columns.{name}.type", rule, "Correct the declaration or the data.")]


def _completeness(column: Column) -> tuple[str, str]:
    """Return the rule and the remedy for a missing value."""
    if column.role == "identifier":
        return "must tell of every record whose it is", "Complete the data."
    rule = "must have no null, NaN or infinite value under missing: refuse"
    return rule, "Complete the data, or declare another missing rule."


def _domain_rule(column: Column) -> str:
    if column.role == "weight" and column.domain is None:
        return "must be above 0 in every record, as a weight"
    if column.numeric:
        whole = "whole numbers" if column.type == "integer" else "values"
        return f"must hold only {whole} inside the declared domain {list(column.domain or ())}"
    if column.recode is not None and column.recode.bands is not None:
        return f"must hold only numbers inside its bands, {column.recode.bands[0]} to {column.recode.bands[-1]}"
    if column.recode is not None and column.recode.groups is not None:
        return "must hold only categories that are in one of its groups"
    return f"must hold declared categories only: {_listed([str(each) for each in column.categories or ()])}"


def _listed(names: Sequence[str]) -> str:
    """Return names as a list, the first of very many."""
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return f"{', '.join(names[:_LISTED])}{more}"


def _read_type(stored: pa.DataType) -> pa.DataType:
    """Return the type to read: texts as a dictionary, so that each is compared once and not in every row."""
    if pa.types.is_string_view(stored):
        return pa.dictionary(pa.int32(), pa.string())
    return (
        pa.dictionary(pa.int32(), stored) if pa.types.is_string(stored) or pa.types.is_large_string(stored) else stored
    )


def _plain_type(stored: pa.DataType) -> pa.DataType:
    """Return the type of the values: how texts are encoded, and how long they may be, changes none of them."""
    value = stored.value_type if pa.types.is_dictionary(stored) else stored
    return pa.string() if pa.types.is_large_string(value) or pa.types.is_string_view(value) else value


def _folder_type(key: str, wanted: Mapping[str, Column]) -> pa.DataType:
    """Return the declared type for a Hive folder: a folder region=01 holds the text 01, not the number 1."""
    made = {name: column for name, column in wanted.items() if stored_name(name, column) == key}
    expected = {name: _stored_categories(column) for name, column in made.items()}
    texts = [name for name, each in expected.items() if each is not None and not isinstance(next(iter(each), ""), int)]
    if 0 < len(texts) < len(made):
        rule, remedy = "must be read as numbers, as other columns made of this folder are", "Declare whole numbers."
        raise ColumnTypeWrong.at(f"source.columns.{texts[0]}.type", rule=rule, remedy=remedy)
    if texts:
        return pa.string()
    whole = all(expected[name] is not None or column.type == "integer" for name, column in made.items())
    return pa.int64() if whole else pa.float64()


def _stored_categories(column: Column) -> tuple[Any, ...] | None:
    """Return the categories as the source has them; None where it has numbers."""
    if column.numeric or (column.recode is not None and column.recode.bands is not None):
        return None
    groups = None if column.recode is None else column.recode.stored_categories
    return (column.categories or ()) if groups is None else groups
