"""The entries of `protect`: a mechanism's settings, and what a release says of each of its outputs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import BaseModel, Field, StrictStr, create_model, field_validator

from penstock.flows.spec._sections import verifiable
from penstock.measures.gates import MOST_GATES, Gate
from penstock.mechanisms.columns import MOST_COLUMNS, Column
from penstock.mechanisms.registry import MECHANISMS, AnyParams, mechanism_of
from penstock.tasks.formats import FormatName

__all__ = ["MOST_OUTPUTS", "Protection", "columns_of", "name_of", "own", "settings_of"]

MOST_OUTPUTS = 100


class Own(BaseModel):
    """What an entry says of its output, besides the settings of its mechanism."""

    # All None if not given, so that specs from before there were several outputs keep their digests.
    name: str | None = Field(
        default=None,
        pattern=r"^[a-z][a-z0-9_]{0,49}$",
        description="Name of the output, where a release has several: in the plan, the manifest and refusals, and of "
        "its files, if it consists of records. For a table the name of the table, if not given.",
    )
    columns: tuple[StrictStr, ...] | None = Field(
        default=None,
        min_length=1,
        max_length=MOST_COLUMNS,
        description="Where there are several outputs: the declared columns that this one may use; all, if not given.",
    )
    file: str | None = Field(
        default=None,
        pattern=r"^[a-z][a-z0-9_]{0,49}$",
        description="Name of the file in which the records of this output stand beside those of the others that name "
        "the same one: each row has the columns of all of them, about one record. Only under "
        "probabilistic_k_anonymity. The gates of the release hold for the file, all columns together.",
    )
    gates: tuple[Gate, ...] | None = Field(
        default=None,
        min_length=1,
        max_length=MOST_GATES,
        description="Limits that this output must keep, instead of those of the release.",
    )
    formats: tuple[FormatName, ...] | None = Field(
        default=None, min_length=1, description="Formats of this output, instead of those of the release."
    )
    on_refusal: Literal["refuse", "leave_out"] | None = Field(
        default=None,
        description="Where there are several outputs: whether the whole release is refused if this one is (so if "
        "nothing is said), or the others are published without it. Beside outputs that spend epsilon, one whose gates "
        "look at the data must be left out: whether those appear would tell about the data.",
    )

    @field_validator("formats")
    @classmethod
    def _can_be_verified(cls, formats: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if formats is None else verifiable(formats)


_ENTRIES = {
    name: create_model("Params", __base__=(each.params, Own), __doc__=each.params.__doc__)
    for name, each in MECHANISMS.items()
}

# The settings of any mechanism, told apart by its name.
if TYPE_CHECKING:
    Protection = Annotated[AnyParams, Field(discriminator="mechanism")]
else:
    Protection = Annotated[reduce(or_, _ENTRIES.values()), Field(discriminator="mechanism")]


def own(entry: AnyParams, key: str) -> Any:
    """Return what an entry says of its output; None where it says nothing."""
    return getattr(entry, key, None)


def settings_of(entry: AnyParams, unit: object = "row") -> AnyParams:
    """Return the settings of the mechanism alone, told by which column units are counted, where they are."""
    plain = mechanism_of(entry).params
    values = {name: getattr(entry, name) for name in plain.model_fields}
    given = entry.model_fields_set & plain.model_fields.keys()
    settings = cast(AnyParams, plain.model_construct(given, **values))  # it was checked as part of the entry
    return settings if unit == "row" else cast(AnyParams, mechanism_of(entry).of_units(settings, str(unit)))


def name_of(entry: AnyParams) -> str | None:
    """Return the name of an output; that of its table, if it has no other."""
    name: str | None = own(entry, "name") or getattr(entry, "table", None)
    return name


def columns_of(entry: AnyParams, columns: Mapping[str, Column], *, several: bool) -> dict[str, Column]:
    """Return the declared columns that an output may use; an identifier is never released, and may tell whose record it
    is. several: whether it is one of several outputs: a table then ignores weights by which only others are weighted.
    """
    given = own(entry, "columns")
    wanted = None if given is None else frozenset(given)
    if wanted is None and several and mechanism_of(entry).kind == "cells":
        weights = _weights_of(entry)
        wanted = frozenset(name for name, column in columns.items() if column.role != "weight" or name in weights)
    return {
        name: column
        for name, column in columns.items()
        if wanted is None or name in wanted or column.role == "identifier"
    }


def _weights_of(entry: AnyParams) -> tuple[str, ...]:
    """Return the weights that a table names."""
    weight = getattr(entry, "weight", None)
    return () if weight is None else (weight.column, *(weight.replicates or ()))
