"""The rows of one group of a Parquet file, batch by batch, by whichever of pyarrow's two readers is the faster.

The reader of files takes a group of a local file as a whole, which saves a tenth of the time. It knows neither Hive
folders nor the types that the files of a source have in common: unless every column is stored in the very type in which
the source is read, and in object stores, the reader of data sets is used. Which of the two it is follows from the
address, the schema and the number of rows, never from what they hold, and it makes no difference but time: both decode
by the same code, and both check what checksums the pages have.

DuckDB reads whole numbers faster, and is not used. It skips groups of rows by the smallest and largest values in the
footer: where these are wrong, what one record counts for depends on the others. It checks no checksums. And a text that
is not UTF-8 stops it, with the text in its message.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow import fs

__all__ = ["batches"]

# A larger group of rows is read in pieces, so that memory does not grow with it.
_MOST_AT_ONCE = 1 << 21


def batches(dataset: ds.Dataset, part: ds.Fragment, columns: Sequence[str], most: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a fragment that is one group of rows, on this thread alone; most: how many at a time."""
    table = _at_once(dataset, part, columns)
    if table is not None:
        yield from table.to_batches(max_chunksize=most)
        return
    yield from part.to_batches(
        schema=dataset.schema, columns=list(columns), batch_size=most, use_threads=False, cache_metadata=False
    )


def _at_once(dataset: ds.Dataset, part: ds.Fragment, columns: Sequence[str]) -> pa.Table | None:
    """Return the whole group in the types of the source; None where the other reader has to read it."""
    (group,) = part.row_groups
    if not columns or not isinstance(dataset.filesystem, fs.LocalFileSystem) or group.num_rows > _MOST_AT_ONCE:
        return None
    stored = part.physical_schema
    if not all(name in stored.names and stored.field(name).type == dataset.schema.field(name).type for name in columns):
        return None
    with (
        dataset.filesystem.open_input_file(part.path) as source,
        pq.ParquetFile(
            source,
            metadata=part.metadata,
            read_dictionary=list(dataset.format.read_options.dictionary_columns),
            page_checksum_verification=True,
        ) as file,
    ):
        found = file.read_row_group(group.id, columns=list(columns), use_threads=False)
    if sorted(found.column_names) != sorted(columns):  # a name with a dot can also stand for a column inside another
        return None
    found = found.select(list(columns))
    return found if found.schema.types == [dataset.schema.field(name).type for name in columns] else None
