"""One column of a draft: how it is stored, what another tool tells about it, and what is left to decide.

Bounds are never read from the data. Categories are listed from a code book, or else if they are frequent in the data:
a rare value may be a person.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.dataset as ds
import yaml

from penstock.tasks.draft._values import frequent_values, has_missing
from penstock.tasks.importers.imported_column import ImportedColumn

__all__ = ["column_line", "comment", "quoted"]


def column_line(dataset: ds.Dataset, field: pa.Field, imported: ImportedColumn) -> str:
    """Return the line of the column, as it is stored; a comment if it cannot be released."""
    name, stored = quoted(field.name), field.type
    value = stored.value_type if pa.types.is_dictionary(stored) else stored
    whole, broken = pa.types.is_integer(value), pa.types.is_floating(value) or pa.types.is_decimal(value)
    text = pa.types.is_string(value) or pa.types.is_large_string(value) or pa.types.is_string_view(value)
    if imported.left_out:
        return f"    {comment(f'{name}: left out ({_joined(imported.remarks)})')}"
    if not (whole or broken or text):
        return f"    {comment(f'{name}: stored as {stored}, which a release cannot hold; convert it first')}"
    if imported.role in ("identifier", "weight"):
        return _line(
            name,
            f"role: {imported.role}",
            [*imported.remarks, *_misfit(imported.role == "weight" and text, stored)],
            imported,
        )
    if imported.role is None and imported.kind in (None, "number") and not text and _LIKE_A_WEIGHT.search(field.name):
        told = "a sampling weight? Tables under dp need its domain: [0, largest weight], from public knowledge"
        return _line(name, "role: weight", [*imported.remarks, told], imported)
    if imported.role is None and imported.kind in (None, "number") and broken and _LIKE_A_REPLICATE.search(field.name):
        told = "a replicate weight? Exact tables name it in weight.replicates; else remove it"
        return _line(name, "role: weight", [*imported.remarks, told], imported)
    if imported.kind == "number" or (imported.kind is None and not text):
        return _number_line(dataset, field, imported, whole=whole, text=text)
    return _category_line(dataset, field, imported, whole=whole, text=text)


def quoted(value: str | Sequence[str | int | float]) -> str:
    """Return text, or a list, on one line that YAML reads back; texts are in quotes."""
    if not isinstance(value, str) and value and not isinstance(value[0], str):
        return yaml.safe_dump(value, default_flow_style=True, width=float("inf")).strip()
    # Texts in JSON are texts in YAML, but for characters that JSON does not escape; PyYAML would look at each letter.
    written = json.dumps(value, ensure_ascii=False)
    return _NOT_IN_A_LINE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def _number_line(dataset: ds.Dataset, field: pa.Field, imported: ImportedColumn, *, whole: bool, text: bool) -> str:
    role = imported.role or ("quasi_identifier" if whole else "confidential")
    remarks = [*imported.remarks, *_misfit(text, field.type)]
    bounds: list[int] | list[float] = [0, 0]
    if imported.domain is not None:
        bounds = [math.floor(imported.domain[0]), math.ceil(imported.domain[1])] if whole else list(imported.domain)
        remarks += _undecided(imported, f"the range of the code book, {_IF_DECLARED}")
    else:
        remarks += _undecided(imported, "lowest and highest possible value")
    remarks += _gaps(dataset, field.name)
    kind = "integer" if whole else "continuous"
    return _line(quoted(field.name), f"role: {role}, type: {kind}, domain: {quoted(bounds)}", remarks, imported)


def _gaps(dataset: ds.Dataset, name: str) -> list[str]:
    return ["values are missing, so choose a missing rule"] if has_missing(dataset, name) else []


def _undecided(imported: ImportedColumn, what: str) -> list[str]:
    return [what] if imported.role else [f"role, and {what}"]


def _category_line(dataset: ds.Dataset, field: pa.Field, imported: ImportedColumn, *, whole: bool, text: bool) -> str:
    name = quoted(field.name)
    remarks = [*imported.remarks, *_misfit(not (whole or text), field.type)]
    frequent, complete, few = frequent_values(dataset, field.name) if text else ([], False, True)
    listed: list[str] | list[int] = []
    if imported.codes:
        listed = _from_code_book(imported, frequent) if text else _whole_numbers(imported.codes)
        remarks.append(
            f"categories of the code book, {_IF_DECLARED}"
            if listed
            else "codes that are no whole numbers: list categories"
        )
    elif not few and imported.role is None and imported.kind is None:
        return _line(name, "role: identifier", [*remarks, "too many or too long values for a category"], imported)
    elif text and few:
        listed = frequent
        if not complete:
            remarks.append("complete the list from your code book; rare values are not listed")
    else:
        remarks.append("list every category from your code book")
    if imported.codes or not text:
        remarks += _gaps(dataset, field.name)
    if imported.kind == "ordinal":
        remarks.append("from lowest to highest?")
    if imported.role is None and (imported.codes or not remarks or imported.remarks):
        remarks.append("role")
    role = imported.role or "quasi_identifier"
    kind = "ordinal" if imported.kind == "ordinal" else "nominal"
    return _line(name, f"role: {role}, type: {kind}, categories: {quoted(listed)}", remarks, imported)


def _from_code_book(imported: ImportedColumn, frequent: list[str]) -> list[str]:
    """Return the codes, or their labels if the data hold these."""
    by_code, by_label = set(frequent) & set(imported.codes), set(frequent) & set(imported.labels)
    return list(imported.labels if len(by_label) > len(by_code) else imported.codes)


def _whole_numbers(codes: Sequence[str]) -> list[int]:
    """Return codes such as 1, 01 and 1.0 as whole numbers; none where one of them is not."""
    if not all(re.fullmatch(r"[+-]?\d{1,15}(\.0*)?", code) for code in codes):
        return []
    return [int(code.partition(".")[0]) for code in codes]


def _misfit(wrong: bool, stored: pa.DataType) -> list[str]:
    return [f"stored as {stored}, so convert it first"] if wrong else []


def _line(name: str, facts: str, remarks: Sequence[str], imported: ImportedColumn) -> str:
    label = f"{quoted(imported.label[:_LONGEST_LABEL])} " if imported.label else ""
    return f"    {name}: {{{facts}}}  {comment(f'{label}REVIEW: {_joined(remarks)}')}"


def comment(text: str) -> str:
    """Return a comment of one line, whatever the text holds: a type is written with the names of its fields."""
    return f"# {_NOT_IN_A_LINE.sub(' ', text[:_LONGEST_COMMENT])}"


def _joined(remarks: Sequence[str]) -> str:
    return "; ".join(remarks)


_LIKE_A_WEIGHT = re.compile("weight|wgt", re.IGNORECASE)
_LIKE_A_REPLICATE = re.compile(r"^(rw|rwt|rep_?wt?|brr|bsw|bw|jkw?)_?[0-9]+$", re.IGNORECASE)
_LONGEST_LABEL = 80
_LONGEST_COMMENT = 2000
# Ends of lines, as YAML and editors know them, and characters that no text may hold.
_NOT_IN_A_LINE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_IF_DECLARED = "right only if nobody took it from the data"
