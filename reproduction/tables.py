"""`penstock reproduce`: which printed tables can be recomputed, and how they compare. Reproduction, no guarantee.

What was printed is in reproduction/printed, what is recomputed in penstock.reproduction.rows, and what counts as
agreement in penstock.reproduction.beside_print. Nothing here is a release: no file is written, and the data sets
are public ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from penstock.mechanisms.refusal import SpecRefused
from penstock.reproduction import rows
from penstock.reproduction.beside_print import Row, printed_tables, verdict

__all__ = ["LABEL", "NAMES", "reproduce_all", "reproduce_one"]

LABEL = "reproduction, no guarantee"

_FARMS, _CENSUS = "ricefarms.parquet", "census_casc.parquet"
_READERS: Mapping[str, Callable[[Path], Any]] = {_FARMS: rows.read_farms, _CENSUS: rows.read_census}


@dataclass(frozen=True, slots=True)
class _Table:
    """The place of a table in reproduction/printed, what recomputes its rows, and the data set that they need."""

    file: str
    key: str | None
    rows: Callable[..., list[Row]]
    needs: str | None = None
    criterion: str = "to the printed digits"


_TABLES: Mapping[str, _Table] = {
    "thesis-4.1": _Table("tables_4_1_to_4_4", "table_4_1", rows.variances),
    "thesis-4.2": _Table("tables_4_1_to_4_4", "table_4_2", rows.widths),
    "thesis-4.3": _Table("tables_4_1_to_4_4", "table_4_3", rows.laplace_regions),
    "thesis-4.4": _Table("tables_4_1_to_4_4", "table_4_4", rows.box_regions),
    "thesis-5.3": _Table("refinement_tables", "table_5_3", rows.two_persons),
    "thesis-5.4": _Table("refinement_tables", "table_5_4", rows.absent_persons),
    "thesis-5.5": _Table("refinement_tables", "table_5_5", rows.spread_around_the_middle),
    "thesis-6.1": _Table("table_6_1", None, rows.error_of_mdav, _CENSUS),
    "thesis-6.2": _Table("table_6_2", None, rows.noise_on_groups, _CENSUS, "within the chance of ten runs"),
    "thesis-6.5": _Table("table_6_5", None, rows.changes_of_statistics, _CENSUS),
    "refinement-2": _Table("refinement_tables", "example_2", rows.answers_of_a_rare_value),
    "refinement-delta": _Table("refinement_tables", "shares_of_delta", rows.shares_of_delta),
    "individual-1": _Table("individual_tables", "table_1", rows.median_intervals),
    "individual-2": _Table("individual_tables", "table_2", rows.count_errors),
    "bootstrap-1": _Table("bootstrap_tables", "table_1", rows.cells_of_farms, _FARMS),
    "bootstrap-2": _Table("bootstrap_tables", "table_2", rows.ranges_of_farms, _FARMS),
    "bootstrap-3": _Table("bootstrap_tables", "table_3", rows.shares_of_farms, _FARMS),
    "bootstrap-4": _Table("bootstrap_tables", "table_4", rows.accuracies_of_farms, _FARMS),
    "bootstrap-scales": _Table("bootstrap_tables", "whole_table", rows.scales_of_farms, _FARMS),
}
NAMES = tuple(_TABLES)


def reproduce_all(folder: Path | None) -> dict[str, Any]:
    """Return every table in one line; those whose data set is not in the folder are listed and not recomputed."""
    _require_folder(folder)
    data = {name: reader(folder / name) for name, reader in _READERS.items() if folder and (folder / name).is_file()}
    tables = [_compared(name, data) for name in NAMES]
    for table in tables:
        del table["rows"]
    return {"label": LABEL, "holds": all(table["holds"] is not False for table in tables), "tables": tables}


def reproduce_one(name: str, folder: Path | None) -> dict[str, Any]:
    """Return one table, with every number."""
    if name not in _TABLES:
        raise SpecRefused.at("NAME", rule=f"must be one of {', '.join(NAMES)}", got=name, remedy="Choose one of them.")
    _require_folder(folder)
    needs = _TABLES[name].needs
    if needs is not None and not (folder and (folder / needs).is_file()):
        raise SpecRefused.at(
            "--data",
            rule=f"must hold the data set {needs} for {name}",
            remedy=f"Pass the folder that holds {needs}, or another NAME.",
        )
    table = _compared(name, {needs: _READERS[needs](folder / needs)} if needs and folder else {})
    return {"label": LABEL, "holds": table["holds"], "table": table}


def _compared(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Compare a table with its print; holds: every number is as it should be, None where the data set is not there."""
    table = _TABLES[name]
    tables = printed_tables(table.file)
    printed = tables if table.key is None else tables[table.key]
    document = {"name": name} | {text: printed.get(text, "") for text in ("title", "what", "remark")}
    document |= {"source": tables["source"], "place": tables["place"], "needs": table.needs}
    if table.needs is not None and table.needs not in data:
        return document | {"verdict": f"{_missing(table.needs)}, pass --data", "holds": None, "rows": []}
    found = table.rows(printed) if table.needs is None else table.rows(printed, data[table.needs])
    return document | {
        "verdict": verdict(found, table.criterion),
        "holds": all(row.holds for row in found),
        "rows": [asdict(row) for row in found],
    }


def _missing(data_set: str) -> str:
    return f"needs the data set {data_set}"


def _require_folder(folder: Path | None) -> None:
    if folder is not None and not folder.is_dir():
        raise SpecRefused.at("--data", rule="must be a folder", got=str(folder), remedy="Correct the path.")
