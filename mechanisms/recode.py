"""How a declared column is made from a stored one, record by record: the same column, bands of numbers, or groups.

    bands   b_0 < b_1 < .. < b_m:   band i holds b_(i-1) <= x < b_i, and the last one b_m too; numbers as the
            nearest ones of double precision                                                                       (1)
    groups  {name: [stored categories]}: each stored category is in exactly one group                             (2)

What comes of a record depends on its own value alone, so whatever holds of all records that the declared columns allow
holds of them as they are stored: two data sets that differ in one stored record differ in one recoded record at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr, field_validator
from pydantic_core import PydanticKnownError

from penstock.mechanisms.refusal import Fault

if TYPE_CHECKING:
    from penstock.mechanisms.columns import Column

__all__ = ["MOST_CATEGORIES", "Recode", "in_bands", "stored_name", "stored_names"]

# A spec lists no more categories of one column.
MOST_CATEGORIES = 2**16
MOST_BANDS = 1_000
# Whole numbers up to here are exact in double precision. Ends stay below it, so that whatever lies beyond is outside.
_FARTHEST = 2**53 - 1

Number = StrictInt | Annotated[StrictFloat, Field(allow_inf_nan=False)]
# An empty name would be published as a missing value is.
Name = Annotated[StrictStr, Field(min_length=1)]
Stored = tuple[StrictStr, ...] | tuple[StrictInt, ...]


class Recode(BaseModel):
    """Where the values of a column come from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    of: StrictStr | None = Field(
        default=None,
        min_length=1,
        description="The column as it is called in the source; the same name where it is not given. Two columns may be "
        "made of one.",
    )
    bands: tuple[Number, ...] | None = Field(
        default=None,
        max_length=MOST_BANDS,
        description="ordinal only: where each band of numbers begins, rising, and where the last one ends, "
        "[0, 18, 65, 120]. A band leaves out its upper end, except for the last one. A number outside them stops the "
        "release.",
    )
    labels: tuple[Name, ...] | None = Field(
        default=None,
        max_length=MOST_BANDS,
        description='One name for each band; without them "0 to under 18", .., "65 to 120".',
    )
    groups: Mapping[Name, Stored] | None = Field(
        default=None,
        description="ordinal or nominal: each group with the stored categories that it holds, {North: [N1, N2], "
        "South: [S]}; for ordinal columns from lowest to highest. Every stored category is in exactly one.",
    )

    @field_validator("groups", mode="before")
    @classmethod
    def _can_be_listed(cls, groups: object) -> object:
        """Refuse too many categories before each is looked at."""
        listed = groups.values() if isinstance(groups, Mapping) else ()
        many = sum(max(1, len(each)) for each in listed if isinstance(each, list | tuple))
        if many > MOST_CATEGORIES:
            raise PydanticKnownError(
                "too_long", {"field_type": "Mapping", "max_length": MOST_CATEGORIES, "actual_length": many}
            )
        return groups

    @property
    def categories(self) -> tuple[str, ...] | None:
        """Return the categories that it makes; None where values stay as they are."""
        if self.bands is not None:
            return self.labels if self.labels is not None else tuple(_labels(self.bands))
        return None if self.groups is None else tuple(self.groups)

    @property
    def stored_categories(self) -> tuple[Any, ...] | None:
        """Return the categories as they are stored; None where numbers are stored, or nothing is grouped."""
        return None if self.groups is None else tuple(each for group in self.groups.values() for each in group)

    @property
    def in_words(self) -> str:
        """Return what was done, as readers of a release see it."""
        what = "bands" if self.bands is not None else "groups" if self.groups is not None else "a copy"
        return what if self.of is None else f"{what} of {self.of}"

    def faults(self, kind: str | None) -> Iterator[Fault]:
        """Yield what is wrong with it for a column of this type."""
        if self.bands is not None and self.groups is not None:
            yield Fault("recode", "must not have both bands and groups", "Keep one of them.")
        elif self.bands is not None:
            yield from self._band_faults(self.bands, kind)
        elif self.groups is not None:
            yield from self._group_faults(self.groups, kind)
        elif self.of is None:
            yield Fault("recode", "must have bands, groups, or the stored column in of", "Give one, or remove it.")
        if self.labels is not None and self.bands is None:
            yield Fault("recode.labels", "must not be given without bands", "Remove them.")

    def _band_faults(self, bands: tuple[float, ...], kind: str | None) -> Iterator[Fault]:
        if kind != "ordinal":
            yield Fault("recode.bands", "must not be given except for type ordinal", "Set type: ordinal.", repr(kind))
        if len(bands) < 3:
            yield Fault("recode.bands", "must have at least three numbers, for two bands", "Add one.", str(len(bands)))
        elif max(map(abs, bands)) > _FARTHEST:
            rule = "must lie between -2^53 and 2^53, where double precision is exact"
            yield Fault("recode.bands", rule, "Use another unit of measurement.")
        elif any(later <= earlier for earlier, later in pairwise(map(float, bands))):
            yield Fault("recode.bands", "must rise", "Sort them.")
        if self.labels is not None and len(self.labels) != len(bands) - 1:
            rule = f"must name each of the {len(bands) - 1} bands"
            yield Fault("recode.labels", rule, "Give one label for each.", str(len(self.labels)))
        elif self.labels is not None and len(set(self.labels)) < len(self.labels):
            yield Fault("recode.labels", "must not name two bands alike", "Rename one of the two.")

    def _group_faults(self, groups: Mapping[str, Stored], kind: str | None) -> Iterator[Fault]:
        if kind not in ("ordinal", "nominal"):
            rule = "must not be given except for types ordinal and nominal"
            yield Fault("recode.groups", rule, "Set type: nominal.", repr(kind))
        stored = [each for group in groups.values() for each in group]
        if not all(groups.values()):
            yield Fault("recode.groups", "must each hold a stored category", "Remove empty ones.")
        elif len({type(each) for each in stored}) > 1:
            rule = "must hold texts only, or whole numbers only"
            yield Fault("recode.groups", rule, "Write them as they are stored.")
        elif len(set(stored)) < len(stored):
            yield Fault("recode.groups", "must not hold a category twice", "Remove the repetition.")

    def banded(self, numbers: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return by (1) the place of each number's band, -1 outside of all and where it is missing."""
        bounds = np.array(self.bands, np.float64)
        places = np.searchsorted(bounds, numbers, side="right") - 1
        places[numbers == bounds[-1]] = len(bounds) - 2
        places[~((numbers >= bounds[0]) & (numbers <= bounds[-1]))] = -1
        return places.astype(np.int64, copy=False)

    def grouped(self, codes: NDArray[Any]) -> NDArray[np.int64]:
        """Return by (2) the place of the group of each stored category, of which these are the codes, -1 for none."""
        sizes = [len(group) for group in (self.groups or {}).values()]
        table: NDArray[np.int64] = np.append(np.repeat(np.arange(len(sizes)), sizes), -1)
        return table.take(codes)  # a code of -1 takes the last entry


def _labels(bands: tuple[float, ...]) -> Iterator[str]:
    last = len(bands) - 2
    for place, (low, high) in enumerate(pairwise(bands)):
        text = f"{low} to {high}" if place == last else f"{low} to under {high}"
        yield f"from {text}" if text.startswith("-") else text  # a spreadsheet would take a sign for a formula


def in_bands(name: str, column: Column) -> str:
    """Return what to do with a column of numbers where categories are needed."""
    recode = f"recode: {{of: {stored_name(name, column)}, bands: [...]}}"
    return f"Declare a column made of it, {{role: ..., type: ordinal, {recode}}}, and name that one."


def stored_name(name: str, column: Column) -> str:
    """Return what a declared column is called in the source."""
    return name if column.recode is None or column.recode.of is None else column.recode.of


def stored_names(declared: Mapping[str, Column]) -> tuple[str, ...]:
    """Return what declared columns are called in the source, each once."""
    return tuple(dict.fromkeys(stored_name(name, column) for name, column in declared.items()))
