"""Output formats, one module each. To add one, add its module and its name here; specs, bundles and `penstock verify`
know it then.

    format      what an output format is to the release line, and the released rows that it is given
    parquet     the staged file itself, with the guarantee in its metadata
    csv         the staged rows as text
    sdmx        the observations of a table as SDMX-CSV 2.0 and its structure as SDMX-ML 3.0
    published   the data files of a published bundle, as anybody can read them
"""

from __future__ import annotations

from typing import Literal

from penstock.tasks.formats import csv, parquet, sdmx
from penstock.tasks.formats.format import Format

__all__ = ["FORMATS", "READABLE", "FormatName", "media_type", "sheet_stem"]

FormatName = Literal["parquet", "csv", "sdmx"]
FORMATS: dict[str, Format] = {each.FORMAT.name: each.FORMAT for each in (parquet, csv, sdmx)}

# Those that `penstock verify` reads.
READABLE = tuple(each for each in FORMATS.values() if each.read is not None)


def media_type(name: str) -> str:
    """Return the media type of a data file of a bundle, by its name."""
    each, suffix = _format_of(name)
    return each.media_types[suffix]


def sheet_stem(name: str) -> str | None:
    """Return the name of a data file without its suffix; None where its format describes itself."""
    each, suffix = _format_of(name)
    return None if each.read is None else name.removesuffix(suffix)


def _format_of(name: str) -> tuple[Format, str]:
    """Return the format and the suffix of a data file; of two suffixes that fit, the longer one counts."""
    fitting = [(each, suffix) for each in FORMATS.values() for suffix in each.media_types if name.endswith(suffix)]
    return max(fitting, key=lambda found: len(found[1]))
