"""Where a fault of a spec is, for its reader: outputs by their names, a misspelt column by the one that was meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from penstock.flows.spec._entries import name_of, own
from penstock.mechanisms.columns import Column
from penstock.mechanisms.refusal import Fault
from penstock.mechanisms.registry import AnyParams

__all__ = ["about_columns", "by_name", "misspelt", "of_several"]

_PLACE = re.compile(r"protect\.([0-9]+)(?=\.|$)")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,49}")


def by_name(faults: Iterable[Fault], raw: object) -> list[Fault]:
    """Return the faults, each of an entry in protect with the name of its output: `protect.2 (by_region).dimensions`.

    raw: the spec as it was written. Where it has one output, or one without a name, nothing is added.
    """
    entries = raw.get("protect") if isinstance(raw, Mapping) else None
    if not isinstance(entries, list | tuple) or len(entries) < 2:
        return list(faults)

    def named(found: re.Match[str]) -> str:
        entry = entries[int(found[1])] if int(found[1]) < len(entries) else None
        given = (entry.get("name") or entry.get("table")) if isinstance(entry, Mapping) else None
        # A text that is refused as a name names nothing.
        return f"{found[0]} ({given})" if isinstance(given, str) and _NAME.fullmatch(given) else found[0]

    return [replace(fault, field=_PLACE.sub(named, fault.field, count=1)) for fault in faults]


def about_columns(fault: Fault, entry: AnyParams, columns: Mapping[str, Column], usable: Mapping[str, Column]) -> Fault:
    """Return what is wrong with a column that an entry names and may not use: it is misspelt, or not among its own.

    usable: the declared columns that the entry may use.
    """
    name = fault.got[1:-1]
    if not fault.rule.startswith("must be a declared column") or name in usable:
        return fault
    if name in columns and own(entry, "columns") is not None:
        return replace(fault, rule="must be among the columns of its output", remedy="Add it to them.")
    return misspelt(fault, name, usable)


def misspelt(fault: Fault, name: str, known: Iterable[str]) -> Fault:
    """Return the fault with the known name that is nearest to what was written, if one is near."""
    near = difflib.get_close_matches(name, list(known), 1)
    if not near:
        return fault
    return replace(fault, remedy=f"Did you mean {near[0]}? Otherwise {fault.remedy[0].lower()}{fault.remedy[1:]}")


def of_several(found: Mapping[Fault, Iterable[AnyParams]]) -> Iterable[Fault]:
    """Yield faults of declared columns, each with the outputs because of which it is one."""
    for fault, entries in found.items():
        names = ", ".join(filter(None, map(name_of, entries)))
        if fault.field.endswith(".role"):
            fault = replace(fault, remedy=f"{fault.remedy} Or leave it out of the columns of these outputs.")
        yield replace(fault, rule=f"{fault.rule} (for {names})") if names else fault
