"""CSV: the staged rows as text, missing values empty; every column is read as text, so that nothing is guessed."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.mechanisms import spreadsheet
from penstock.tasks.formats.format import EVERY_KIND, Format, Rows

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FORMAT"]


def _write(rows: Rows, stem: Path) -> None:
    from penstock.tasks.files.columns import write_csv

    write_csv(rows.data, stem.with_name(f"{stem.name}.csv"), escape=rows.escape)


def _read(path: Path, columns: Collection[str], escaped: bool) -> pa.Table:
    import pyarrow as pa
    import pyarrow.csv

    from penstock.tasks.files.columns import with_texts

    written = [spreadsheet.escaped(name) for name in columns] if escaped else columns
    table = pyarrow.csv.read_csv(
        path,
        parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(written, pa.string())),
    )
    return with_texts(table, spreadsheet.plain) if escaped else table


FORMAT = Format(
    name="csv",
    media_types={".csv": "text/csv"},
    kinds=EVERY_KIND,
    write=_write,
    read=_read,
    runs_formulas=True,
)
