"""What a draft asks of the values of a column, a few rows at a time.

A constant column takes no room in a file, and a repeated text is stored once: so nothing is expanded, and no column is
held in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from penstock.records.files.outside_values import LONGEST_TEXT

__all__ = ["MOST_CATEGORIES", "MOST_CHARACTERS", "RARE_BELOW", "folded", "frequent_values", "has_missing"]

MOST_CATEGORIES = 60
RARE_BELOW = 10
MOST_CHARACTERS = 4_000_000  # of the categories of all columns, which share them equally: a draft is read again
_ROWS = 1 << 16


def folded(path: str, dataset: ds.Dataset, partitioning: str | None) -> ds.Dataset:
    """Return the same files, with texts as numbers of a dictionary, as they are stored."""
    return ds.dataset(
        path,
        format=ds.ParquetFileFormat(dictionary_columns=[field.name for field in dataset.schema if _is_text(field)]),
        partitioning=partitioning,
    )


def has_missing(dataset: ds.Dataset, name: str) -> bool:
    """Return whether any value of the column is missing."""
    return any(piece.null_count > 0 for piece in _pieces(dataset, name))


def frequent_values(dataset: ds.Dataset, name: str) -> tuple[list[str], bool, bool]:
    """Return the frequent values, whether these are all, and whether there are few enough for a category."""
    counts: Counter[str | None] = Counter()
    room = MOST_CHARACTERS // len(dataset.schema)
    for piece in _pieces(dataset, name):
        encoded = piece if pa.types.is_dictionary(piece.type) else piece.dictionary_encode()
        found = pc.value_counts(encoded.indices)
        for place, number in zip(found.field("values").to_pylist(), found.field("counts").to_pylist(), strict=True):
            value = None if place is None else encoded.dictionary[place].as_py()
            room -= 0 if value in counts else len(value or "")
            counts[value] += number
            if len(counts) > MOST_CATEGORIES or len(value or "") > LONGEST_TEXT or room < 0:
                return [], False, False
    frequent = [value for value, number in counts.items() if number >= RARE_BELOW and value is not None]
    return sorted(frequent), len(frequent) == len(counts), True


def _pieces(dataset: ds.Dataset, name: str) -> Iterator[pa.Array]:
    batches = dataset.to_batches(
        columns=[name],
        batch_size=_ROWS,
        batch_readahead=1,
        fragment_readahead=1,
        fragment_scan_options=ds.ParquetFragmentScanOptions(pre_buffer=False),
        use_threads=False,
    )
    return (batch.column(0) for batch in batches)


def _is_text(field: pa.Field) -> bool:
    kind = field.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
