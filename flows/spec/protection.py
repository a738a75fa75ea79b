"""Columns and settings without the rest of a spec, checked as a spec checks them: for a mechanism in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self, TypeVar

from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from penstock.flows.spec._entries import settings_of
from penstock.flows.spec._faults import disagreements, every_fault
from penstock.flows.spec._sections import Section
from penstock.flows.spec.spec import KEYS
from penstock.mechanisms.columns import MOST_COLUMNS, Column
from penstock.mechanisms.refusal import SpecRefused
from penstock.mechanisms.registry import AnyParams

__all__ = ["parse_columns", "parse_protection"]

_Part = TypeVar("_Part", bound=Section)


class _Data(Section):
    unit: str
    columns: dict[str, Column] = Field(min_length=1, max_length=MOST_COLUMNS)


class _Declared(Section):
    """Declared columns; named as in a spec, so that faults name the same fields."""

    source: _Data


class _Asked(_Declared):
    """Declared columns and how to protect them."""

    protect: tuple[Annotated[AnyParams, Field(discriminator="mechanism")]]

    @model_validator(mode="after")
    def _agree(self) -> Self:
        faults = disagreements(self.source.unit, self.source.columns, dict(enumerate(self.protect)), None, None)
        if faults:
            raise PydanticCustomError("faults", "sections disagree", {"faults": faults})
        return self


def parse_protection(declared: Mapping[str, Any], params: object, *, unit: str) -> tuple[dict[str, Column], AnyParams]:
    """Return the columns and the settings, or raise a refusal that lists every fault.

    declared, params: as in a spec, or objects of their classes.
    """
    asked = _parsed(_Asked, {"source": {"unit": unit, "columns": _columns(declared)}, "protect": [params]})
    return asked.source.columns, settings_of(asked.protect[0], asked.source.unit)


def parse_columns(declared: Mapping[str, Any]) -> dict[str, Column]:
    """Return the columns, or raise a refusal that lists every fault. declared: as in a spec, or objects of Column."""
    return _parsed(_Declared, {"source": {"unit": "row", "columns": _columns(declared)}}).source.columns


def _columns(declared: object) -> dict[str, Any]:
    if not isinstance(declared, Mapping):
        raise SpecRefused.at(
            "source.columns",
            rule="must hold keys and values",
            got=type(declared).__name__,
            remedy="Declare each column.",
        )
    return dict(declared)


def _parsed(kind: type[_Part], raw: dict[str, Any]) -> _Part:
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        raise SpecRefused(*every_fault(error, raw, KEYS)) from None
