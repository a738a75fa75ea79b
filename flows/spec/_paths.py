"""The paths of a spec or a data description: relative to its file, with their variables, a taxonomy's content read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from penstock.flows.spec._path_variables import expanded
from penstock.flows.spec._taxonomies import read_taxonomy
from penstock.mechanisms.refusal import Fault, SpecRefused
from penstock.mechanisms.registry import AnyParams, mechanism_of
from penstock.records.files.addresses import is_address

__all__ = ["inside_faults", "part_faults", "path_text", "read_taxonomies", "resolve"]


def path_text(field: str, given: object) -> str:
    """Return a path that was given beside the spec as text. In doubt refuse: another file would be released."""
    text = os.fspath(given) if isinstance(given, str | os.PathLike) else None
    if not isinstance(text, str) or not text:
        raise SpecRefused.at(
            field, rule="must be a path or an address", got=type(given).__name__, remedy="Give a path, or leave it out."
        )
    return text


def inside_faults(source: str, publish: str, field: str) -> list[Fault]:
    """Return a fault where something would be published inside the source: whoever reads it next would take it for
    data."""
    if not f"{publish.rstrip('/')}/".startswith(f"{source.rstrip('/')}/"):
        return []
    rule = "must not be the source or lie inside it: a published file would be read as data"
    return [Fault(field, rule, "Publish to a folder of its own.", repr(publish))]


def part_faults(source: str, params: Mapping[int, AnyParams]) -> Iterator[Fault]:
    """Yield a fault for each table that would publish how many records lie below a folder such as region=North: they
    are a part, whether budget.part says so or not. Links have been followed."""
    if not any("=" in name for name in source.split("/")):
        return
    for place, entry in params.items():
        if not mechanism_of(entry).prints_number(entry):
            continue
        below = "for a source below a folder named KEY=VALUE: it is a part, whose number is secret"
        if getattr(entry, "exact_total", False):
            rule, remedy = f"must not be given {below}", "Remove it, or release the whole data set."
            yield Fault(f"protect.{place}.exact_total", rule, remedy, "True")
        else:
            rule, got = f"must not take the number of records as public {below}", str(getattr(entry, "adjacency", ""))
            yield Fault(f"protect.{place}.adjacency", rule, "Release the whole data set, or under add_remove.", got)


def resolve(text: str, base: Path, field: str, faults: list[Fault], *, local: bool = True) -> str:
    """Return the path or address that a text names, relative to `base`; add what is wrong with it to the faults."""
    path = expanded(text, field, faults)
    if is_address(path) and local:
        faults.append(Fault(field, "must be a local path", "Copy it beside the spec."))
        return text
    if is_address(path):
        return path  # the section checks whether it is a good one
    return os.path.realpath(base / path)  # unlike Path.resolve, it accepts a circle of links


def read_taxonomies(raw: dict[str, Any], base: Path) -> list[Fault]:
    """Replace the path of a taxonomy by its content, so that the digest of the spec covers it; return the faults."""
    faults: list[Fault] = []
    source = raw.get("source")
    columns = source.get("columns") if isinstance(source, dict) else None
    for name, column in columns.items() if isinstance(columns, dict) else ():
        if not isinstance(column, dict) or not isinstance(column.get("taxonomy"), str):
            continue
        found: list[Fault] = []
        path = resolve(column["taxonomy"], base, "taxonomy", found)
        if not found:
            try:
                column["taxonomy"] = read_taxonomy(Path(path))
            except SpecRefused as refusal:
                found += refusal.faults
        faults += [Fault(f"source.columns.{name}.taxonomy", each.rule, each.remedy, each.got) for each in found]
    return faults
