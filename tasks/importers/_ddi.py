"""What a DDI Codebook (2.1 to 2.6) declares about variables.

Categories and ranges are declared there, so they may become domains. Statistics (sumStat, catStat) come from the data
and are never taken over; they only serve to notice a range that was computed: some tools fill valrng with the smallest
and the largest value that they find.

The reader knows no network and no files: a document type, and with it every entity, is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NoReturn
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from penstock.mechanisms.columns import Role
from penstock.tasks.importers.imported_column import ImportedColumn, ImportedRoles, Kind, Range, RolesRefused

__all__ = ["roles_from_codebook"]

_NAMESPACES = ("", "http://www.icpsr.umich.edu/DDI", "ddi:codebook:2")
_DEEPEST = 100
_NUMBERS = ("interval", "ratio", "percent")


def roles_from_codebook(document: bytes) -> ImportedRoles:
    """Return every variable of the code book by its name."""
    root = _parsed(document)
    variables = list(root.iter("var"))
    if not variables:
        _refuse("must describe variables", "Give the code book that has a dataDscr with var.")
    identifying = _referred(root.iter("recGrp"), "keyvar")
    weights = _referred(variables, "wgt-var")
    columns: dict[str, ImportedColumn] = {}
    for number, variable in enumerate(variables, start=1):
        name = variable.get("name", "").strip()
        if not name:
            _refuse(f"variable {number}: must have a name", "Add the attribute.")
        imported = _imported(variable, identifying, weights)
        if columns.setdefault(name, imported) != imported:
            _refuse(f"variable {number}: must be described as it was before", "Keep the one of these data.")
    return ImportedRoles(origin="DDI Codebook", columns=columns, whole_file=False)


def _parsed(document: bytes) -> Element:
    """Return the tree with local names. A document type stops the parser before any entity could be declared."""
    builder = TreeBuilder()
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    outermost: list[str] = []
    depth: list[str] = []

    def refuse_doctype(*_: object) -> None:
        _refuse(f"line {parser.CurrentLineNumber}: must have no document type", "Remove <!DOCTYPE ...>.")

    def start(tag: str, attributes: dict[str, str]) -> None:
        namespace, _, local = tag.rpartition(" ")
        if not outermost:
            outermost.append(tag)
            if local != "codeBook" or not _is_codebook(namespace):
                _refuse("must be a codeBook of DDI 2", "Export DDI Codebook 2.1 to 2.6.")
        depth.append(local)
        if len(depth) > _DEEPEST:
            _refuse(
                f"line {parser.CurrentLineNumber}: must have at most {_DEEPEST} elements inside each other",
                "Export it again.",
            )
        builder.start(local, attributes)

    def end(_: str) -> None:
        builder.end(depth.pop())

    parser.StartDoctypeDeclHandler = refuse_doctype
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = builder.data
    try:
        parser.Parse(document, True)
    except expat.ExpatError as error:
        _refuse(f"line {error.lineno}: must be well-formed XML", "Correct or export it again.")
    except (LookupError, ValueError):
        _refuse("must have an encoding that XML knows", "Save it as UTF-8.")
    return builder.close()


def _is_codebook(namespace: str) -> bool:
    return namespace in _NAMESPACES[:2] or namespace.startswith(_NAMESPACES[2])


def _referred(elements: Iterable[Element], attribute: str) -> frozenset[str]:
    """Return the identifiers that an attribute refers to."""
    return frozenset(identifier for element in elements for identifier in element.get(attribute, "").split())


def _imported(variable: Element, identifying: frozenset[str], weights: frozenset[str]) -> ImportedColumn:
    identifier = variable.get("ID", "")
    role: Role | None = None
    remarks: list[str] = []
    if identifier and identifier in identifying:
        role = "identifier"
        remarks.append("tells records apart (keyvar)")
    elif variable.get("wgt") == "wgt" or (identifier and identifier in weights):
        role = "weight"
        remarks.append("a weight (wgt)")
    elif variable.find("security") is not None:
        role = "confidential"
        remarks.append("the code book restricts it (security)")
    every = [category for category in variable.findall("catgry") if _text(category, "catValu")]
    valid = {_text(category, "catValu"): category for category in every if category.get("missing") != "Y"}
    if len(valid) < len({_text(category, "catValu") for category in every}) or variable.find("invalrng") is not None:
        remarks.append("codes of missing values are not listed: make them null")
    labels = tuple(_text(category, "labl") for category in valid.values())
    nature = variable.get("nature")
    kind: Kind | None = None
    if variable.get("intrvl") == "contin" or nature in _NUMBERS:
        kind = "number"
    elif valid:
        kind = "ordinal" if nature == "ordinal" else "nominal"
    listed = kind in ("nominal", "ordinal")
    domain, computed = (None, False) if listed else _domain(variable)
    if computed:
        remarks.append("the range of the code book was computed from the data")
    return ImportedColumn(
        role=role,
        kind=kind,
        domain=domain,
        codes=tuple(valid) if listed else (),
        labels=labels if listed and all(labels) and len(set(labels)) == len(labels) else (),
        label=_text(variable, "labl"),
        remarks=tuple(remarks),
    )


def _text(element: Element, tag: str) -> str:
    """Return the text of the first child of that name, on one line."""
    child = element.find(tag)
    return "" if child is None else " ".join("".join(child.itertext()).split())


def _domain(variable: Element) -> tuple[Range | None, bool]:
    """Return the range that holds all valid ranges and values, and whether it was dropped because it was computed."""
    lows: list[float] = []
    highs: list[float] = []
    for part in variable.findall("valrng/range"):
        lows.append(_number(part.get("min", part.get("minExclusive"))))
        highs.append(_number(part.get("max", part.get("maxExclusive"))))
    for part in variable.findall("valrng/item"):
        lows.append(_number(part.get("VALUE")))
        highs.append(_number(part.get("VALUE")))
    if not lows or not all(map(math.isfinite, lows + highs)) or not min(lows) < max(highs):
        return None, False
    found = min(lows), max(highs)
    statistics = {
        _number("".join(part.itertext())) for part in variable.findall("sumStat") if part.get("type") in ("min", "max")
    }
    return (None, True) if statistics & set(found) else (found, False)


def _number(text: str | None) -> float:
    """Return the number in a text; NaN where there is none."""
    try:
        return float(text or "nan")
    except ValueError:
        return math.nan


def _refuse(rule: str, remedy: str) -> NoReturn:
    raise RolesRefused.at("--roles", rule=rule, remedy=remedy) from None
