"""The exact aggregates of a question, from the few columns that it needs, batch by batch.

Columns of categories are read as codes of the declared ones, -1 for anything else; numbers as they are stored, and what
is missing or not finite as NaN. Nothing that the records hold is refused. Names and types of the columns are public,
and are checked before (files/source.py).

Where a unit may have several records, at most so many of each are used, chosen at random for each question anew; a
record that says of nobody whose it is takes no part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.contributions import bounded
from penstock.mechanisms.questions import Exact, Method, Terms
from penstock.mechanisms.randomness import Randomness
from penstock.tasks.files.columns import category_codes
from penstock.tasks.files.source_files import unreadable

__all__ = ["evaluate"]

# Rows at a time: few enough for their words to stay in the processor's cache, enough for Python not to be felt.
_BATCH = 1 << 17


def evaluate(
    dataset: ds.Dataset, method: Method, declared: Mapping[str, Column], terms: Terms, randomness: Randomness
) -> Exact:
    """Return the exact aggregates of a question over all records of a source. Confidential."""
    try:
        kept = None if terms.whose is None else _kept_rows(dataset, terms, randomness)
        exact, start = method.begin(), 0
        for batch in _batches(dataset, method):
            rows = slice(start, start + batch.num_rows)
            start += batch.num_rows
            columns = {name: _values(batch.column(name), declared[name]) for name in method.columns}
            number = batch.num_rows
            if kept is not None:
                columns = {name: values[kept[rows]] for name, values in columns.items()}
                number = int(np.count_nonzero(kept[rows]))
            exact = method.add(exact, columns, number)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise unreadable(dataset.filesystem, dataset.files[0], error) from None
    return exact


def _batches(dataset: ds.Dataset, method: Method) -> Iterator[pa.RecordBatch]:
    # In the order of the files: which rows are kept is said by their place.
    return iter(dataset.to_batches(columns=list(method.columns), batch_size=_BATCH))


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


def _values(stored: pa.Array, column: Column) -> NDArray[Any]:
    if column.categories is not None:
        return category_codes(pa.chunked_array([stored]), column.categories)
    if not column.numeric:
        return np.asarray(stored.to_pylist(), object)  # whose record it is
    if pa.types.is_decimal(stored.type):
        stored = stored.cast(pa.float64(), safe=False)
    if pa.types.is_integer(stored.type) and not stored.null_count:
        values = stored.to_numpy()
        # The largest unsigned numbers lie beyond every domain; they must not come back as negative ones.
        return (np.minimum(values, 2**63 - 1) if values.dtype.kind == "u" else values).astype(np.int64, copy=False)
    if not pa.types.is_float64(stored.type):
        stored = stored.cast(pa.float64(), safe=False)
    numbers: NDArray[np.float64] = (pc.fill_null(stored, float("nan")) if stored.null_count else stored).to_numpy()
    finite = np.isfinite(numbers)
    return numbers if bool(finite.all()) else np.where(finite, numbers, np.nan)
