"""Whose records are whose: a number for each record, from names of which nothing is kept.

A name that comes again is stored once, in a few bytes; written out, it takes its length each time. So names are read a
group of rows at a time, as places in a dictionary, and of each batch is kept:

    the place of each record's name, in at most as many names as the batch has records                             (1)
    of a name of more than 64 bytes its SHA-256 instead, in 65 bytes, which no short name has                       (2)

So what is held grows with the number of records, which the footers say, and with the largest group of rows, and never
with the length of names or how often they come again. All of it is asked for before any name is read
(memory_needed.py). Encodings that store a name by how it differs from the one before cannot be read as places in a
dictionary, and are refused as unreadable.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from numpy.typing import NDArray

from penstock.tasks.files.memory_needed import require_room_for_names
from penstock.tasks.files.source_files import unreadable

__all__ = ["unit_codes", "unit_numbers"]

_LONGEST = 64  # bytes of a name that is kept as it is; a digest takes 65


def unit_numbers(dataset: ds.Dataset, unit: str) -> NDArray[np.int64]:
    """Return the number of the unit of each record, in the order of their first records; -1: of nobody."""
    require_room_for_names(dataset, unit)
    try:
        chunks = list(_names(dataset, unit))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise unreadable(dataset.filesystem, dataset.files[0], error) from None
    return unit_codes(pa.chunked_array(chunks, chunks[0].type)) if chunks else np.empty(0, np.int64)


def unit_codes(stored: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return numbers of units in the order of their first record, so that nothing of their names is left; -1: none."""
    if not len(stored):
        return np.empty(0, np.int64)
    plain = _numbered(stored) if pa.types.is_dictionary(stored.type) else stored
    chunks = plain.dictionary_encode().unify_dictionaries().chunks
    return np.concatenate([pc.fill_null(chunk.indices, -1).to_numpy() for chunk in chunks]).astype(np.int64)


def _numbered(stored: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a number for each text, without writing the text out in every row.

    A stored dictionary may hold a value twice, and then a unit would have two numbers.
    """
    chunks = stored.unify_dictionaries().chunks
    names = chunks[0].dictionary.dictionary_encode().indices
    return pa.chunked_array([names.take(chunk.indices) for chunk in chunks])


def _names(dataset: ds.Dataset, unit: str) -> Iterator[pa.Array]:
    """Yield the names of the units of all records, batch by batch."""
    for fragment in dataset.get_fragments():
        for part in fragment.split_by_row_group():
            batches = part.to_batches(
                schema=dataset.schema,
                columns=[unit],
                batch_readahead=0,
                fragment_readahead=0,
                use_threads=False,
                cache_metadata=False,
            )
            for batch in batches:
                if batch.num_rows:
                    yield _kept(batch.column(0))


def _kept(stored: pa.Array) -> pa.Array:
    """Return (1) and (2) of a batch."""
    if not pa.types.is_dictionary(stored.type):
        return stored.dictionary_encode() if _is_text(stored.type) else stored  # of a folder; a whole number
    if not _is_text(stored.type.value_type):
        return stored
    places, names = stored.indices, stored.dictionary
    if len(names) > len(stored):
        used, again = np.unique(pc.fill_null(places, 0).to_numpy(), return_inverse=True)
        places = pa.array(again.astype(np.int32), mask=places.is_null().to_numpy(zero_copy_only=False))
        names = names.take(pa.array(used))
    return pa.DictionaryArray.from_arrays(places.cast(pa.int32()), _short(names))


def _short(names: pa.Array) -> pa.Array:
    """Return names with digests in the place of long ones."""
    is_long = pc.fill_null(pc.greater(pc.binary_length(names), _LONGEST), False)
    places = np.flatnonzero(is_long.to_numpy(zero_copy_only=False))
    if not len(places):
        return names
    digests = pa.array(["#" + hashlib.sha256(names[int(place)].as_buffer()).hexdigest() for place in places])
    return pc.replace_with_mask(names, is_long, digests.cast(names.type))


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
