"""A released table for other platforms: its observations as SDMX-CSV 2.0, its structure as SDMX-ML 3.0.

    one line = one row of the table and one of its figures                                                        (1)

CSV 2.0 was made for the information model of SDMX 3.0, so the structure is of that version too. ACTION is R: an
observation is replaced as a whole. Under I or A an empty attribute would leave the old one in place, and a
standard error of an earlier release could stay beside a value of this one.

Status codes, with the names of the official lists SDMX:CL_OBS_STATUS (2.x) and SDMX:CL_CONF_STATUS (1.x): no code says
"perturbed", so a figure that carries noise is E, estimated value; one without noise is A; a mean that has no value, NaN
in the standard's own spelling, is O. The status is that of a figure and never of a cell: which cells carry noise may
be secret.

Identifiers. SDMX allows few characters, so every name gets an identifier and stays beside it as the name. Within one
list they are distinct, even to readers that do not distinguish a from A. They depend only on the declared names and
their order, and names added at the end leave the earlier identifiers unchanged. All begin with a letter and none
is a word like TRUE or NA, so no reader takes a code for a number, a date, a formula or a missing value.

Source: SDMX-CSV 2.0 field guide; SDMX 3.0, sections 3A and 6.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.layout import TOTAL, Figure, Layout, error_of
from penstock.reports.table_sheet import described, must_fit
from penstock.reports.xml_page import rendered

__all__ = ["AGENCY", "identifiers", "sdmx_csv", "sdmx_structure"]

AGENCY = "PENSTOCK"

_VERSION = re.compile(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){1,2}", re.ASCII)
_LONGEST = 50  # registries keep identifiers in short columns
_BLOCK = 1 << 15  # rows at a time

# The columns to which the format gives a meaning, and ours.
_COMPONENTS = ("FIGURE", "OBS_VALUE", "OBS_STATUS", "CONF_STATUS", "STD_ERR")
_TIME = "TIME_PERIOD"
_TAKEN = ("STRUCTURE", "STRUCTURE_ID", "STRUCTURE_NAME", "ACTION", "SERIES_KEY", "OBS_KEY", "DATAFLOW", _TIME)
_MISREAD = frozenset(("TRUE", "FALSE", "NA", "NAN", "NULL", "NONE", "INF", "INFINITY"))
# The same words as in the official code lists of ages and sizes.
_SIGNS = (("<=", "LE"), (">=", "GE"), ("≤", "LE"), ("≥", "GE"), ("<", "LT"), (">", "GT"), ("+", "PLUS"), ("%", "PCT"))


@dataclass(frozen=True, slots=True)
class _Named:
    """Anything with an identifier. parts: the codes of a list, the concepts of a scheme. parent: the code above."""

    id: str
    name: str
    description: str = ""
    version: str = "1.0"
    parts: tuple[_Named, ...] = ()
    parent: str = ""


_OBS_STATUS = _Named(
    "CL_OBS_STATUS",
    "Observation status",
    "The codes of the list SDMX:CL_OBS_STATUS that are used here",
    parts=(
        _Named("A", "Normal value", "The figure carries no noise."),
        _Named("E", "Estimated value", "The figure carries random noise that protects those whom it is about."),
        _Named("O", "Missing value", "The figure is not defined here, as the mean of no records."),
    ),
)
_CONF_STATUS = _Named(
    "CL_CONF_STATUS",
    "Confidentiality status",
    "The code of the list SDMX:CL_CONF_STATUS that is used here",
    parts=(_Named("F", "Free (free for publication)"),),
)
_CONCEPTS = (
    _Named("FIGURE", "Figure"),
    _Named("OBS_VALUE", "Observation value"),
    _Named("OBS_STATUS", "Observation status"),
    _Named("CONF_STATUS", "Confidentiality status"),
    _Named(
        "STD_ERR",
        "Standard error",
        "Of the protecting noise alone, without sampling error. 0 for an exact figure among noisy ones, empty where no "
        "noise was added or its size is secret.",
    ),
)


def identifiers(names: Sequence[str], taken: Collection[str] = ()) -> tuple[str, ...]:
    """Return a distinct SDMX identifier for each name, none of them among those taken."""
    used = set(taken)
    chosen = []
    for place, name in enumerate(names, start=1):
        stem = _letters_and_digits(name) or str(place)
        if stem in _MISREAD:
            stem = f"C_{stem}"
        if not stem[0].isalpha():
            stem = f"C{stem}"
        identifier, repetition = stem, 1
        while identifier in used:
            repetition += 1
            identifier = f"{stem}_{repetition}"
        used.add(identifier)
        chosen.append(identifier)
    return tuple(chosen)


def sdmx_csv(
    layout: Layout,
    columns: Mapping[str, NDArray[Any]],
    *,
    version: str,
    exact: Collection[str] = (),
    period: str | None = None,
) -> Iterator[str]:
    """Return the lines (1) as pieces of text, rows in the order of the table and figures in turn.

    columns: those of the layout, dimensions as codes. exact: the names of figures that carry no noise. period: what all
    of it is about, for its TIME_PERIOD; without one there is no such column.
    """
    _must_be_version(version)
    must_fit(layout, columns)
    return _lines(layout, columns, version, frozenset(exact), period)


def sdmx_structure(layout: Layout, *, version: str, prepared: datetime, timed: bool = False) -> str:
    """Return the structure message: agency, code lists, concepts, data structure and dataflow of the table.

    timed: whether observations say which period they are about.
    """
    _must_be_version(version)
    table = _Named(_table(layout), layout.name)
    own = _dimensions(layout)
    lists = {
        identifier: _Named(
            f"CL_{table.id}__{identifier}",
            name,
            version=version,
            parts=tuple(
                _Named(code, "Total" if code == TOTAL else label, parent=parent)
                for code, label, parent in zip(
                    _codes(layout, name), layout.labels(name), _parents(layout, name), strict=True
                )
            ),
        )
        for name, identifier in own.items()
    }
    lists["FIGURE"] = _Named(
        f"CL_{table.id}__FIGURE",
        "Figure",
        version=version,
        parts=tuple(
            _Named(code, figure.name, described(figure))
            for code, figure in zip(_figures(layout.figures), layout.figures, strict=True)
        ),
    )
    concepts = tuple(_Named(identifier, name) for name, identifier in own.items())
    concepts += (_Named(_TIME, "Time period"),) if timed else ()
    return rendered(
        "structure.xml",
        agency=AGENCY,
        version=version,
        prepared=prepared.isoformat(timespec="seconds"),
        table=table,
        lists=(*lists.values(), _statuses(layout), _CONF_STATUS),
        concepts=_Named(f"CS_{table.id}", layout.name, version=version, parts=(*concepts, *_CONCEPTS)),
        dimensions=list(lists.items()),
        timed=timed,
        statuses=(("OBS_STATUS", _OBS_STATUS), ("CONF_STATUS", _CONF_STATUS)),
    )


def _statuses(layout: Layout) -> _Named:
    """Return the codes of observation status; what is missing may be an error that was left out."""
    if not any(figure.statistic.endswith("_combined_error") for figure in layout.figures):
        return _OBS_STATUS
    *others, missing = _OBS_STATUS.parts
    told = missing.description.removesuffix(".") + ", or it is an error that is not clear of its own noise."
    return replace(_OBS_STATUS, parts=(*others, replace(missing, description=told)))


def _must_be_version(version: str) -> None:
    if not _VERSION.fullmatch(version):
        raise ValueError(f"a version is two or three whole numbers with points between, not {version!r}")


def _letters_and_digits(name: str) -> str:
    """Return as much of a name as an identifier can carry: A to Z, 0 to 9, inner - and _; at worst nothing."""
    name = re.sub(r"^\s*[-−](?=\d)", "MINUS ", name)
    for sign, word in _SIGNS:
        name = name.replace(sign, f" {word} ")
    plain = unicodedata.normalize("NFKD", name.upper()).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[^A-Z0-9-]+", "_", plain).strip("_-")[:_LONGEST].rstrip("_-")


def _table(layout: Layout) -> str:
    return identifiers([layout.name])[0]


def _dimensions(layout: Layout) -> dict[str, str]:
    names = tuple(layout.dimensions)
    return dict(zip(names, identifiers(names, (*_COMPONENTS, *_TAKEN)), strict=True))


def _codes(layout: Layout, dimension: str) -> tuple[str, ...]:
    """Return the identifiers of a dimension's labels; no category gets that of a total, as all begin with a letter."""
    labels, totals = layout.labels(dimension), (TOTAL,) * _has_total(layout, dimension)
    return identifiers(labels[: len(labels) - len(totals)]) + totals


def _parents(layout: Layout, dimension: str) -> list[str]:
    """Return for each label of a dimension the code of the group one level up, where there is one.

    The total is nobody's parent: the schema of SDMX-ML 3.0 lets no identifier of a parent begin with _.
    """
    codes = _codes(layout, dimension)
    parents = [""] * len(codes)
    first = layout.first_labels
    own = [(first[name], each.groups) for name, each in layout.coarser.items() if each.dimension == dimension]
    before = list(range(len(layout.dimensions[dimension])))  # of each category what stands for it one level down
    for begin, groups in reversed(own):
        above = [begin + group for group in groups]
        for place, over in zip(before, above, strict=True):
            parents[place] = codes[over]
        before = above
    return parents


def _has_total(layout: Layout, dimension: str) -> bool:
    return any(dimension not in map(layout.dimension_of, level) for level in layout.levels)


def _figures(figures: Sequence[Figure]) -> tuple[str, ...]:
    return identifiers([figure.name for figure in figures])


def _lines(
    layout: Layout, columns: Mapping[str, NDArray[Any]], version: str, exact: frozenset[str], period: str | None
) -> Iterator[str]:
    components = _COMPONENTS if period is None else (_COMPONENTS[0], _TIME, *_COMPONENTS[1:])
    yield ",".join(("STRUCTURE", "STRUCTURE_ID", "ACTION", *_dimensions(layout).values(), *components)) + "\r\n"
    fixed = f"dataflow,{AGENCY}:{_table(layout)}({version}),R"
    codes = {name: np.array(_codes(layout, name), object) for name in layout.dimensions}
    figures = list(zip(_figures(layout.figures), layout.figures, strict=True))
    for start in range(0, layout.rows, _BLOCK):
        block = slice(start, min(start + _BLOCK, layout.rows))
        keys = map(
            ",".join,
            zip(repeat(fixed, block.stop - start), *(codes[name][columns[name][block]] for name in codes), strict=True),
        )
        tails = [
            _tails(
                identifier if period is None else f"{identifier},{period}",
                columns,
                figure.name,
                block,
                layout.has_error(figure),
                figure.name in exact,
            )
            for identifier, figure in figures
        ]
        yield "".join(key + tail for key, *ends in zip(keys, *tails, strict=True) for tail in ends)


def _tails(
    identifier: str, columns: Mapping[str, NDArray[Any]], name: str, block: slice, errors: bool, exact: bool
) -> list[str]:
    """Return the text after the dimensions, for one figure of every row. identifier: of the figure, and its period."""
    values = _decimals(columns[name][block])
    deviations = _decimals(columns[error_of(name)][block]) if errors else repeat("", len(values))
    # A figure whose standard error is 0 is exact among noisy ones: the number of records, where that is public.
    return [
        f",{identifier},{value},{'O' if value == 'NaN' else 'A' if exact or error == '0' else 'E'},F,"
        f"{'' if error == 'NaN' else error}\r\n"
        for value, error in zip(values, deviations, strict=True)
    ]


def _decimals(values: NDArray[Any]) -> list[str]:
    """Return the shortest decimal that is read as the same float64; whole numbers without a point."""
    if values.dtype.kind in "iu":
        return list(map(str, values.tolist()))
    return ["NaN" if value != value else repr(value).removesuffix(".0") for value in values.tolist()]
