"""docs/reproduction.md: every table that `penstock reproduce` knows with its verdict, and what we corrected.

`python -m penstock.reproduction.reference` writes it, from the project's folder. Verdicts of tables that need a data
set or runs are computed where PENSTOCK_DATA names the folder, and otherwise taken over from the page as it is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from penstock.reproduction.beside_print import printed_tables
from penstock.reproduction.entry import Table
from penstock.reproduction.errata import corrected
from penstock.reproduction.tables import NAMES, TABLES, reproduce_one

__all__ = ["cheap", "reference", "verdicts_on"]

_PAGE = Path("docs/reproduction.md")
_LINE = re.compile(r"^\| `([^`]+)` \|.*\| (.*) \|$", re.MULTILINE)


def cheap(table: Table) -> bool:
    """Return whether a verdict takes no data and no simulation."""
    return table.needs is None and table.runs == 0


def verdicts_on(page: str) -> dict[str, str]:
    """Return the verdicts that stand on the page."""
    return dict(_LINE.findall(page.partition("## What we corrected")[0]))


def reference(verdicts: Mapping[str, str]) -> str:
    """Return the page. verdicts: of each table that was not recomputed now."""
    head = (Path(__file__).parent / "templates" / "reference.md").read_text(encoding="utf-8")
    lines = ["## Tables, figures and examples", ""]
    lines += ["| name | what | data set | runs | verdict |", "|---|---|---|---|---|"]
    for name in NAMES:
        table = TABLES[name]
        printed = printed_tables(table.file)
        printed = printed if table.key is None else printed[table.key]
        needs, runs = (table.needs.name if table.needs else ""), (f"{table.runs:,}" if table.runs else "")
        verdict = reproduce_one(name, None)["table"]["verdict"] if cheap(table) else verdicts.get(name, "not yet run")
        lines.append(f"| `{name}` | {_cell(printed['title'])} | {needs} | {runs} | {_cell(verdict)} |")
    lines += ["", "## What we corrected", "", "Each case is counted through by `penstock reproduce errata`.", ""]
    lines += ["| where | printed | right | a case |", "|---|---|---|---|"]
    for erratum in corrected():
        numbers = "; ".join(f"{name} {value}" for name, value in erratum["numbers"])
        cells = (f"{erratum['source']}, {erratum['place']}", erratum["printed"], erratum["right"])
        lines.append(f"| {' | '.join(map(_cell, cells))} | {_cell(erratum['case'])}: {_cell(numbers)} |")
    return head + "\n" + "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _verdicts() -> dict[str, str]:
    """Return the verdicts of tables that are not cheap: recomputed where the data sets are, else those on the page."""
    found = verdicts_on(_PAGE.read_text(encoding="utf-8")) if _PAGE.exists() else {}
    folder = os.environ.get("PENSTOCK_DATA")
    for name, table in TABLES.items():
        if not cheap(table) and folder and (table.needs is None or table.needs.is_in(Path(folder))):
            found[name] = reproduce_one(name, Path(folder))["table"]["verdict"]
    return found


if __name__ == "__main__":
    _PAGE.write_text(reference(_verdicts()), encoding="utf-8")
