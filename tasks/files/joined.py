"""Released files of the same records in the same order, written as one file with the columns of all of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.mechanisms.guarantee import Guarantee

__all__ = ["PROMISES_KEY", "join_releases"]

# In the metadata of a file with several promises, by the names of the outputs.
PROMISES_KEY = b"penstock.guarantees"


def join_releases(path: Path, parts: Sequence[Path], columns: Sequence[str], promises: Mapping[str, Guarantee]) -> None:
    """Write these columns, each of which is in one of the parts, with all promises in the file's metadata; row i of it
    is row i of every part. By row groups, so that no whole file is held."""
    with ExitStack() as opened:
        files = [opened.enter_context(pq.ParquetFile(part)) for part in parts]
        fields = {field.name: field for file in files for field in file.schema_arrow}
        carried = {name: promise.model_dump(mode="json") for name, promise in promises.items()}
        schema = pa.schema([fields[name] for name in columns], {PROMISES_KEY: json.dumps(carried).encode()})
        categorical = [field.name for field in schema if pa.types.is_dictionary(field.type)]
        with pq.ParquetWriter(path, schema, use_dictionary=categorical) as writer:
            for place in range(files[0].num_row_groups):
                rows = [file.read_row_group(place) for file in files]
                found = {name: table.column(name) for table in rows for name in table.column_names}
                writer.write_table(pa.table([found[name] for name in columns], schema=schema))
