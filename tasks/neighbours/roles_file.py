"""Which kind of file tells the roles: an R script or JSON for sdcMicro, or a DDI Codebook."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tasks.neighbours.ddi import roles_from_codebook
from tasks.neighbours.sdcmicro import roles_from_call, roles_from_json
from tasks.neighbours.told import RolesRefused, ToldRoles

__all__ = ["read_roles"]


def read_roles(path: Path) -> ToldRoles:
    """What the file tells, by its suffix. Nothing in it is executed, and nothing outside it is read."""
    suffix = path.suffix.lower()
    parsers = {".r": roles_from_call, ".txt": roles_from_call, ".json": roles_from_json}
    if suffix not in (*parsers, ".xml"):
        rule = "must be an R script (.R, .txt), .json or .xml"
        raise RolesRefused.at("--roles", rule=rule, got=str(path), remedy="Rename or convert it.")
    try:
        content = path.read_bytes()
        text = "" if suffix == ".xml" else content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        rule = f"must be a readable text file ({type(error).__name__})"
        raise RolesRefused.at("--roles", rule=rule, got=str(path), remedy="Check the path; save it as UTF-8.") from None
    try:
        return roles_from_codebook(content) if suffix == ".xml" else parsers[suffix](text)
    except RolesRefused as refusal:
        told = (replace(fault, got=fault.got or repr(str(path))) for fault in refusal.faults)
        raise RolesRefused(*told) from None
