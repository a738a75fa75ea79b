"""The data files of a published bundle, as anybody can read them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import pyarrow as pa
from pydantic import TypeAdapter

from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.refusal import Fault
from penstock.records.bundle.statement import fault
from penstock.tasks.files.columns import GUARANTEE_KEY
from penstock.tasks.files.joined import PROMISES_KEY
from penstock.tasks.formats import READABLE

__all__ = ["form_faults", "read_published"]

_BY_NAME = TypeAdapter(dict[str, Guarantee])


def read_published(
    folder: Path, names: Collection[str], stem: str, columns: Collection[str], *, escape: bool = False
) -> tuple[dict[str, pa.Table], list[Fault]]:
    """Read one table in every format that the bundle lists, by its suffix; what cannot be read is a fault.

    escape: whether texts that a spreadsheet would run were escaped; they are read as they were.
    """
    tables: dict[str, pa.Table] = {}
    faults: list[Fault] = []
    for each in READABLE:
        name = f"{stem}{each.suffix}"
        if name in names and each.read is not None:
            try:
                tables[each.suffix] = each.read(folder / name, columns, escape)
            except (pa.ArrowException, OSError):
                faults.append(fault(name, "must be readable"))
    if not tables and not faults:
        faults.append(fault("bundle", f"must hold {' or '.join(f'{stem}{each.suffix}' for each in READABLE)}"))
    return tables, faults


def form_faults(
    suffix: str, table: pa.Table, guarantee: Guarantee | Mapping[str, Guarantee], columns: Collection[str]
) -> Iterator[str]:
    """Yield the rules that a file breaks whose promise or columns are not those of the manifest. guarantee: of a file
    that several outputs share those of all, by their names."""
    carries = {each.suffix for each in READABLE if each.carries_promise}
    found = _carried(table) if isinstance(guarantee, Guarantee) else _carried_by_name(table)
    if suffix in carries and found != guarantee:
        yield "must carry the guarantee of the manifest"
    if table.column_names != list(columns):
        yield "must have the columns that the manifest lists"


def _carried(table: pa.Table) -> Guarantee | None:
    try:
        return Guarantee.model_validate_json((table.schema.metadata or {}).get(GUARANTEE_KEY, b""))
    except ValueError:
        return None


def _carried_by_name(table: pa.Table) -> dict[str, Guarantee] | None:
    try:
        return _BY_NAME.validate_json((table.schema.metadata or {}).get(PROMISES_KEY, b""))
    except ValueError:
        return None
