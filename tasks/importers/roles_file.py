"""Which kind of file tells the roles: an R script or JSON for sdcMicro, or a DDI Codebook."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from penstock.records.files.outside_text import OutsideFile
from penstock.tasks.importers._ddi import roles_from_codebook
from penstock.tasks.importers._sdcmicro import roles_from_call, roles_from_json
from penstock.tasks.importers.imported_column import ImportedRoles, RolesRefused

__all__ = ["read_roles"]

# A tree of a code book takes many times the size of its file.
_LARGEST = 8 * 2**20


def read_roles(path: Path) -> ImportedRoles:
    """Return what the file says, read by its suffix. Nothing in it is executed, and nothing outside it is read."""
    suffix = path.suffix.lower()
    parsers = {".r": roles_from_call, ".txt": roles_from_call, ".json": roles_from_json}
    if suffix not in (*parsers, ".xml"):
        rule = "must be an R script (.R, .txt), .json or .xml"
        raise RolesRefused.at("--roles", rule=rule, got=str(path), remedy="Rename or convert it.")
    file = OutsideFile(path, "--roles", RolesRefused, got=repr(str(path)), largest=_LARGEST)
    try:
        if suffix == ".xml":  # it says itself how it is encoded
            return roles_from_codebook(file.content())
        return parsers[suffix](file.text())
    except RolesRefused as refusal:
        imported = (replace(fault, got=fault.got or file.got) for fault in refusal.faults)
        raise RolesRefused(*imported) from None
