"""The settings that a gate may give a measure: what an attacker knows, which columns, which distance.

A gate states it beside its limits, and each measure says in `registry` what it takes and whether it fits the columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError, field_validator
from pydantic_core import PydanticCustomError

from penstock.measures.measurement import MeasureUndefined

__all__ = ["NOTHING", "Asked", "asked_of"]

_Names = Annotated[tuple[StrictStr, ...], Field(min_length=1, max_length=2_000)]


class Asked(BaseModel):
    """Settings of a measure; None where nothing is said."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    knows: Annotated[StrictInt, Field(ge=0)] | _Names | None = Field(
        default=None,
        description="informed_linkage, and needed there: how many confidential values of a person the intruder "
        "knows, of whichever columns serve best; or the names of these columns. closeness_after, and needed there: of "
        "how many other members of a group the intruder knows the bucket.",
    )
    finds: _Names | None = Field(
        default=None,
        description="informed_linkage only: the confidential columns that the intruder looks for, all of them "
        "together. If not given, all that are not known.",
    )
    of: Literal["confidential"] | None = Field(
        default=None,
        description="own_value_probability only. confidential: judge the confidential columns among records of equal "
        "released quasi-identifiers too, not only those that were swapped in groups.",
    )
    scaling: Literal["taxonomy"] | None = Field(
        default=None,
        description="record_linkage, sse and emd_closeness only. taxonomy: measure how far categories of a column "
        "with a taxonomy are apart in it. If not given, record_linkage takes the larger result, with it or without.",
    )

    @field_validator("knows", mode="before")
    @classmethod
    def _is_a_number_or_names(cls, given: object) -> object:
        """Refuse what is neither in words that name both."""
        if isinstance(given, bool) or not isinstance(given, int | list | tuple | None) or given in ([], ()):
            raise PydanticCustomError("number_or_names", "must be a number of columns, or a list of their names")
        return given

    @property
    def said(self) -> tuple[str, ...]:
        """Return the names of what is asked."""
        return tuple(name for name in Asked.model_fields if getattr(self, name) is not None)

    @property
    def in_words(self) -> str:
        """Return what is asked, from settings only; empty where nothing is."""
        shown = {name: getattr(self, name) for name in self.said}
        return "; ".join(
            f"{name} {', '.join(value) if isinstance(value, tuple) else value}" for name, value in shown.items()
        )


NOTHING = Asked()


def asked_of(measure: str, settings: Mapping[str, Any]) -> Asked:
    """Return settings that were given by name; refuse what is none or has the wrong type."""
    try:
        return Asked.model_validate(dict(settings))
    except ValidationError as error:
        known = ", ".join(Asked.model_fields)
        raise MeasureUndefined.at(
            f"{measure}.{error.errors()[0]['loc'][0]}",
            rule=f"must be one of the settings of measures ({known}), with a value that it takes",
            remedy="Read help(penstock.measure(...)) and docs/spec.md, gates.",
        ) from None
