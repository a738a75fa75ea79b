"""The exact aggregates of a question, from the few columns that it needs, batch by batch.

Columns of categories are read as codes of the declared ones, -1 for anything else; numbers as they are stored, and what
is missing or not finite as NaN. Nothing that the records hold is refused. Names and types of the columns are public,
and are checked before (files/source.py).

Where a unit may have several records, at most so many of each are used, chosen at random for each question anew; a
record that says of nobody whose it is takes no part.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
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
from penstock.mechanisms.questions import Exact, Method, Terms
from penstock.mechanisms.randomness import Randomness
from penstock.tasks.files.columns import category_codes
from penstock.tasks.files.source_files import unreadable

__all__ = ["evaluate"]

# Rows at a time: few enough for their words to stay in the processor's cache, enough for Python not to be felt.
_BATCH = 1 << 17
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
        fold = partial(_folded, dataset.schema, method, declared, kept)
        shares = [parts[first::_AT_ONCE] for first in range(min(_AT_ONCE, len(parts)))]
        return reduce(method.join, in_parallel(fold, shares), method.begin())
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise unreadable(dataset.filesystem, dataset.files[0], error) from None


def _parts(dataset: ds.Dataset) -> Iterator[tuple[ds.Fragment, int]]:
    """Yield the groups of rows of all files, each with the number of rows before it."""
    start = 0
    for fragment in dataset.get_fragments():
        for part in fragment.split_by_row_group():
            yield part, start
            start += sum(group.num_rows for group in part.row_groups)  # count_rows() tells those of the whole file


def _folded(
    schema: pa.Schema,
    method: Method,
    declared: Mapping[str, Column],
    kept: NDArray[np.bool_] | None,
    parts: Sequence[tuple[ds.Fragment, int]],
) -> Exact:
    exact, codes = method.begin(), Codes()
    for part, start in parts:
        batches = part.to_batches(
            schema=schema, columns=list(method.columns), batch_size=_BATCH, use_threads=False, cache_metadata=False
        )
        for batch in batches:
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
    units = _unit_codes(dataset.to_table(columns=[terms.whose]).column(0))
    kept = np.zeros(len(units), np.bool_)
    kept[bounded(units, terms.rows_per_unit, randomness)] = True
    return kept & (units >= 0)


def _unit_codes(stored: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return a number for each unit, -1 where none is given. A stored dictionary may hold a value twice."""
    if pa.types.is_dictionary(stored.type):
        stored = stored.cast(stored.type.value_type)
    chunks = stored.dictionary_encode().unify_dictionaries().chunks
    codes = [pc.fill_null(chunk.indices, -1).to_numpy(zero_copy_only=False) for chunk in chunks]
    return np.concatenate(codes).astype(np.int64) if codes else np.empty(0, np.int64)


class Codes:
    """Codes of categories, by a table from the texts of a dictionary to the declared ones, made once for each."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[pa.Array, pa.Array]] = {}

    def of(self, name: str, stored: pa.Array, categories: tuple[Any, ...]) -> NDArray[np.int64]:
        """Return the code of each value of a column, -1 where it is missing or not declared."""
        if not pa.types.is_dictionary(stored.type):
            return category_codes(pa.chunked_array([stored]), categories).astype(np.int64)
        before, table = self._known.get(name, (None, None))
        if table is None or not stored.dictionary.equals(before):
            codes = category_codes(pa.chunked_array([stored.dictionary]), categories)
            table = pa.array(codes.astype(np.int64))
            self._known[name] = stored.dictionary, table
        # Arrow's take reads indices as they are; NumPy's would first make wider ones of them.
        found = pc.take(table, stored.indices)
        return (pc.fill_null(found, -1) if found.null_count else found).to_numpy()  # type: ignore[no-any-return]


def _values(name: str, stored: pa.Array, column: Column, codes: Codes) -> NDArray[Any]:
    if column.categories is not None:
        return codes.of(name, stored, column.categories)
    if not column.numeric:
        return np.asarray(stored.to_pylist(), object)  # whose record it is
    if pa.types.is_decimal(stored.type):
        stored = stored.cast(pa.float64(), safe=False)
    if pa.types.is_integer(stored.type) and not stored.null_count:
        values = stored.to_numpy()
        # The largest unsigned numbers lie beyond every domain; they must not come back as negative ones.
        if values.dtype.kind == "u":
            values = np.minimum(values, 2**63 - 1)
        whole: NDArray[np.int64] = values.astype(np.int64, copy=False)
        return whole
    if not pa.types.is_float64(stored.type):
        stored = stored.cast(pa.float64(), safe=False)
    numbers: NDArray[np.float64] = (pc.fill_null(stored, float("nan")) if stored.null_count else stored).to_numpy()
    finite = np.isfinite(numbers)
    return numbers if bool(finite.all()) else np.where(finite, numbers, np.nan)
