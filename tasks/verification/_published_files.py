"""The data files of a published bundle, as anybody can read them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.refusal import Fault
from penstock.mechanisms.spreadsheet import escaped, plain
from penstock.records.bundle.statement import fault
from penstock.tasks.files.columns import GUARANTEE_KEY, with_texts

__all__ = ["SUFFIXES", "form_faults", "read_published"]

SUFFIXES = (".parquet", ".csv")


def read_published(
    folder: Path, names: Collection[str], stem: str, columns: Collection[str], *, escape: bool = False
) -> tuple[dict[str, pa.Table], list[Fault]]:
    """One table by its suffix, in every format that the bundle lists; what cannot be read is a fault.

    escape: whether texts that a spreadsheet would run were escaped; they are read as they were.
    """

    def read_csv(path: Path) -> pa.Table:
        """Every column as text, so that nothing is guessed."""
        written = [escaped(name) for name in columns] if escape else columns
        table = pyarrow.csv.read_csv(
            path,
            parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            convert_options=pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(written, pa.string())),
        )
        return with_texts(table, plain) if escape else table

    tables: dict[str, pa.Table] = {}
    faults: list[Fault] = []
    for suffix, read in zip(SUFFIXES, (pq.read_table, read_csv), strict=True):
        if f"{stem}{suffix}" in names:
            try:
                tables[suffix] = read(folder / f"{stem}{suffix}")
            except (pa.ArrowException, OSError):
                faults.append(fault(f"{stem}{suffix}", "must be readable"))
    if not tables and not faults:
        faults.append(fault("bundle", f"must hold {stem}.parquet or {stem}.csv"))
    return tables, faults


def form_faults(suffix: str, table: pa.Table, guarantee: Guarantee, columns: Collection[str]) -> Iterator[str]:
    """Where the promise in a file, or its columns, are not those of the manifest."""
    if suffix == ".parquet" and _carried(table) != guarantee:
        yield "must carry the guarantee of the manifest"
    if table.column_names != list(columns):
        yield "must have the columns that the manifest lists"


def _carried(table: pa.Table) -> Guarantee | None:
    try:
        return Guarantee.model_validate_json((table.schema.metadata or {}).get(GUARANTEE_KEY, b""))
    except ValueError:
        return None
