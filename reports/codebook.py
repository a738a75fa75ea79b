"""A release for data archives: the codebook of its files as DDI Codebook 2.5.

Every column of every file is a variable: its declared range or categories, what was done to it, and what a missing
value means. The promise is in the study description: as a processing step, with what it does not promise as a
disclaimer. No statistic of a variable is given; whoever wants one computes it from the file.

Source: DDI Codebook 2.5 (ddi:codebook:2_5), field level documentation.
"""

from __future__ import annotations

from itertools import count
from typing import Any
from urllib.parse import quote

from penstock.reports.described import Described, Facts, Sheet
from penstock.reports.xml_page import rendered

__all__ = ["codebook"]

_NATURES = {"integer": "interval", "continuous": "interval", "ordinal": "ordinal", "nominal": "nominal"}
# Columns that the source does not have: group numbers are names.
_MADE = {"link": "nominal", "dimension": "nominal"}


def codebook(release: Described) -> str:
    """Return the text of codebook.xml."""
    files, variables = (f"F{number}" for number in count(1)), (f"V{number}" for number in count(1))
    sheets = []
    for sheet in release.sheets:
        described = [{"id": next(files), **_file(release, file)} for file in sheet.files]
        sheets.append(
            {
                "files": described,
                "ids": " ".join(file["id"] for file in described),
                "key": sheet.key,
                "rows": release.rows if _is_main(sheet) and len(release.output.sheets) < 2 else None,
                "variables": [{"id": next(variables), **_variable(column)} for column in sheet.columns],
            }
        )
    others = [_file(release, file) for file in release.other_files]
    return rendered("codebook.xml", release=release, sheets=sheets, others=others)


def _is_main(sheet: Sheet) -> bool:
    return sheet.key is None


def _file(release: Described, file: Facts) -> dict[str, Any]:
    return {**file, "uri": f"{release.bundle}{quote(file['name'])}"}


def _variable(column: Facts) -> dict[str, Any]:
    numeric = column["categories"] is None
    return {
        "name": column["name"],
        "role": column["role"],
        "treatment": column["treatment"],
        "domain": column["domain"],
        "units": "INT" if column["type"] == "integer" else "REAL",
        "categories": [str(category) for category in column["categories"] or ()],
        "intrvl": "contin" if column["type"] == "continuous" else "discrete",
        "nature": _MADE.get(column["role"], _NATURES[column["type"]]),
        "format": "numeric" if numeric else "character",
        "missing": column.get("missing", "refuse") != "refuse",
    }
