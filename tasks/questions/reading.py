"""The exact aggregates of a question, from the few columns that it needs, batch by batch.

Columns of categories are read as codes of the declared ones, -1 for anything else. Numbers are read by the type in
which their column is stored, which is public, and by nothing else of the source:

    whole numbers      as int64, or uint64 where they are stored so; what is missing is masked
    floats, decimals   as float64; what is missing or not finite is NaN

so that how one record is read depends on no other: not on whether one beside it is missing, nor on batches, groups of
rows or their number. Nothing that the records hold is refused. Names and types of the columns are checked before
(files/source.py).

Where a unit may have several records, at most so many of each are used, chosen at random for each question anew; a
record that says of nobody whose it is takes no part.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.contributions import bounded
from penstock.mechanisms.parallel import in_parallel
from penstock.mechanisms.questions import Coded, Exact, Method, Terms
from penstock.mechanisms.randomness import Randomness
from penstock.tasks.files.columns import as_doubles, category_codes
from penstock.tasks.files.source_files import unreadable
from penstock.tasks.files.units import unit_numbers
from penstock.tasks.questions._batches import batches

__all__ = ["evaluate"]

# Rows at a time: few enough for their words to stay in the processor's cache, enough for Python not to be felt.
_BATCH = 1 << 18
_AT_ONCE = min(4, os.cpu_count() or 1)


def evaluate(
    dataset: ds.Dataset, method: Method, declared: Mapping[str, Column], terms: Terms, randomness: Randomness
) -> Exact:
    """Return the exact aggregates of a question over all records of a source. Confidential.

    Groups of rows are folded beside each other, each by one thread, and put together: sums do not depend on the order.
    """
    try:
        kept = None if terms.whose is None else _kept_rows(dataset, terms, randomness)
        parts = list(_parts(dataset))
        fold = partial(_folded, dataset, method, declared, kept, sum(rows for _, _, rows in parts))
        shares = [parts[first::_AT_ONCE] for first in range(min(_AT_ONCE, len(parts)))]
        return reduce(method.join, in_parallel(fold, shares), method.begin())
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise unreadable(dataset.filesystem, dataset.files[0], error) from None


def _parts(dataset: ds.Dataset) -> Iterator[tuple[ds.Fragment, int, int]]:
    """Yield the groups of rows of all files, each with the number of rows before it, and its own."""
    start = 0
    for fragment in dataset.get_fragments():
        for part in fragment.split_by_row_group():
            rows = sum(group.num_rows for group in part.row_groups)  # count_rows() tells those of the whole file
            yield part, start, rows
            start += rows


def _folded(
    dataset: ds.Dataset,
    method: Method,
    declared: Mapping[str, Column],
    kept: NDArray[np.bool_] | None,
    coming: int,
    parts: Sequence[tuple[ds.Fragment, int, int]],
) -> Exact:
    exact, codes = method.begin(coming), Codes(method)
    for part, start, _ in parts:
        for batch in batches(dataset, part, method.columns, _BATCH):
            columns = {name: _values(name, batch.column(name), declared[name], codes) for name in method.columns}
            number = batch.num_rows
            if kept is not None:
                used = kept[start : start + number]
                start += number
                columns = {name: values[used] for name, values in columns.items()}
                number = int(np.count_nonzero(used))
            exact = method.add(exact, columns, number)
    return exact


def _kept_rows(dataset: ds.Dataset, terms: Terms, randomness: Randomness) -> NDArray[np.bool_]:
    units = unit_numbers(dataset, str(terms.whose))
    kept = np.zeros(len(units), np.bool_)
    kept[bounded(units, terms.rows_per_unit, randomness)] = True
    return kept & (units >= 0)


class Codes:
    """What rows say in texts, by a table from those of a dictionary, made once for each: no text is written out."""

    def __init__(self, method: Method) -> None:
        self._method = method
        self._known: dict[str, tuple[pa.Array, pa.Array]] = {}

    def of(self, name: str, stored: pa.Array, categories: tuple[Any, ...]) -> NDArray[np.int32] | Coded:
        """Return the code of each value of a column, -1 where it is missing or not declared."""
        if not pa.types.is_dictionary(stored.type):
            return category_codes(pa.chunked_array([stored]), categories)

        def coded(texts: pa.Array) -> NDArray[Any]:
            return category_codes(pa.chunked_array([texts]), categories).astype(np.int64)

        table, places = self._table(name, stored, coded), stored.indices
        if not pa.types.is_int32(places.type):  # as files are read, they always are
            found = pc.take(table, places)
            return (pc.fill_null(found, -1) if found.null_count else found).to_numpy()  # type: ignore[no-any-return]
        return Coded((pc.fill_null(places, -1) if places.null_count else places).to_numpy(), table.to_numpy())

    def theirs(self, name: str, stored: pa.Array) -> NDArray[np.bool_]:
        """Return for each row whether it is one of the individual's."""

        def named(units: pa.Array) -> NDArray[Any]:
            return self._method.theirs(np.asarray(units.to_pylist(), object))

        encoded = stored if pa.types.is_dictionary(stored.type) else stored.dictionary_encode()
        # Arrow's take reads indices as they are; NumPy's would first make wider ones of them.
        found = pc.take(self._table(name, encoded, named), encoded.indices)
        return pc.fill_null(found, False).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]

    def _table(self, name: str, stored: pa.Array, made: Callable[[pa.Array], NDArray[Any]]) -> pa.Array:
        before, table = self._known.get(name, (None, None))
        if table is None or not stored.dictionary.equals(before):
            table = pa.array(made(stored.dictionary))
            self._known[name] = stored.dictionary, table
        return table


def _values(name: str, stored: pa.Array, column: Column, codes: Codes) -> NDArray[Any] | Coded:
    if column.categories is not None:
        return codes.of(name, stored, column.categories)
    if not column.numeric:
        return codes.theirs(name, stored)
    return _whole_numbers(stored) if pa.types.is_integer(stored.type) else _floats(stored)


def _whole_numbers(stored: pa.Array) -> NDArray[Any]:
    if not pa.types.is_uint64(stored.type):
        stored = stored.cast(pa.int64())
    if not stored.null_count:
        return stored.to_numpy()  # type: ignore[no-any-return]
    return np.ma.MaskedArray(pc.fill_null(stored, 0).to_numpy(), stored.is_null().to_numpy(zero_copy_only=False))


def _floats(stored: pa.Array) -> NDArray[np.float64]:
    stored = as_doubles(stored)
    numbers: NDArray[np.float64] = (pc.fill_null(stored, float("nan")) if stored.null_count else stored).to_numpy()
    finite = np.isfinite(numbers)
    return numbers if bool(finite.all()) else np.where(finite, numbers, np.nan)
