"""What a file of another tool tells about columns. Nothing here comes from the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from penstock.mechanisms.columns import Role
from penstock.mechanisms.refusal import Refusal

__all__ = ["ImportedColumn", "ImportedRoles", "Kind", "Range", "RolesRefused"]

Kind = Literal["number", "nominal", "ordinal"]
Range = tuple[float, float]


class RolesRefused(Refusal):
    """The file with roles cannot be understood, or does not fit the data."""

    code = "roles-refused"
    kind = "spec"
    remedy = "Correct the named line or argument of the file, or the data that it is about."


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedColumn:
    """One column. Empty fields are those that the file says nothing about."""

    role: Role | None = None
    kind: Kind | None = None
    domain: Range | None = None
    codes: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()  # of the codes, in their order, if every code has one of its own
    left_out: bool = False
    label: str = ""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRoles:
    """All columns that the file names.

    whole_file: every named column must be in the data; otherwise the file may describe more than these data.
    """

    origin: str
    columns: Mapping[str, ImportedColumn]
    whole_file: bool
    unit: str | None = None
    remarks: tuple[str, ...] = ()
