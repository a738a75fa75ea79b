"""What a mechanism is to the release line: one object, with its capabilities as data.

No step asks which mechanism it has. A new one is a folder that exports its MECHANISM, and a name in registry.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from numpy.typing import NDArray
from pydantic import BaseModel

from penstock.mechanisms.columns import Column, Columns, Declared
from penstock.mechanisms.combinations import Impossible
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.layout import Layout
from penstock.mechanisms.possible import Possible, Undefined
from penstock.mechanisms.protected import Protected
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.refusal import Fault
from penstock.mechanisms.stated import NothingChosen

__all__ = [
    "ByCell",
    "ByColumn",
    "Kind",
    "Mechanism",
    "ProtectColumn",
    "always",
    "every_column",
    "every_record",
    "excludes_nothing",
    "never",
    "nothing_chosen",
    "nothing_released",
    "of_figures",
    "unbounded",
    "unchanged",
]

# The parts that an output consists of, and so which files hold it, and which checks and measures fit it.
Kind = Literal["records", "cells", "groups"]

# Values, declaration, name, smallest group -> protected values and their groups.
ProtectColumn = Callable[[NDArray[Any], Column, str, int, Randomness], tuple[NDArray[Any], NDArray[Any]]]


def always(params: Any) -> bool:
    return True


def never(params: Any) -> bool:
    return False


def unbounded(name: str, params: Any, declared: Declared, records: int | None) -> None:
    """Return None: the settings bound no measure."""


def unchanged(params: Any, unit: str) -> Any:
    """Return the settings as they are: they do not depend on whose records there are."""
    return params


def excludes_nothing(params: Any) -> Impossible:
    """Return nothing: records may have any combination of declared categories."""
    return ()


def every_record(params: Any) -> None:
    """Return None: all records are published."""


def every_column(params: Any, declared: Declared) -> tuple[str, ...]:
    """Return all columns: the settings choose none among them."""
    return tuple(declared)


def nothing_chosen(params: Any, declared: Declared, records: int) -> dict[str, Any]:
    """Return nothing: the settings leave nothing open."""
    return {}


def nothing_released(params: Any, declared: Declared) -> dict[str, Column]:
    """Return nothing: the output has a layout instead of declared columns."""
    return {}


def of_figures(layout: Callable[[Any, Declared], Layout]) -> Callable[[Any, Declared], tuple[str, ...]]:
    """Return what names the columns that the figures of a layout are made of."""

    def counted(params: Any, declared: Declared) -> tuple[str, ...]:
        return tuple(each.column for each in layout(params, declared).figures if each.column is not None)

    return counted


@dataclass(frozen=True, slots=True, kw_only=True)
class ByColumn:
    """A mechanism that treats one column at a time, so that the records need not be held together.

    needs_all: why these settings need all records together; None where they do not.
    sizes: the smallest group of each column that is treated.
    """

    needs_all: Callable[[Any], str | None]
    sizes: Callable[[Any, Declared], Mapping[str, int]]
    protect_column: ProtectColumn


@dataclass(frozen=True, slots=True, kw_only=True)
class ByCell:
    """A mechanism that needs the cells of its records only, which add up over parts.

    memory: how many bytes the cells of such a table take.
    count: the cells of a part. as_columns, from_columns: cells as they are kept beside a part.
    merged: the cells of two parts together. protect_cells: what is released of the cells of all records.
    needs_all: why these settings need all records together; None where they do not.
    together: for tables of one release by name, the settings of a table whose cells serve several of them, for those
    that have one. taken: the cells of one of them from the cells of that table and its settings.
    """

    memory: Callable[[Any, Declared], int]
    count: Callable[[Columns, Declared, Any], Any]
    as_columns: Callable[[Any], Columns]
    from_columns: Callable[[Columns, Declared, Any], Any]
    merged: Callable[[Any, Any], Any]
    protect_cells: Callable[[Any, Declared, Any, Randomness], Protected]
    needs_all: Callable[[Any], str | None]
    together: Callable[[Mapping[str, Any], Declared], Mapping[str, Any]]
    taken: Callable[[Any, Any, Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """A mechanism's settings and functions; each function takes settings of its own kind only.

    faults: reasons why settings and declared columns do not fit.
    released_columns: the declaration of the output, where it has no layout.
    layout: what the output looks like, where that is known before any record is read.
    masks: the columns that it changes; the others stay as they are.
    chosen: what `protect` will state as chosen for this many records, from public facts alone.
    expect, treatments, advice: sentences for the person who decides, and for those who use the data.
    possible: what a measure can come to; None where the mechanism does not bound it.
    spends: whether a release with these settings spends epsilon.
    takes_units: whether a unit may have several records under these settings (rows_per_unit).
    counts_units: whether these settings count units, so that all records of each are used; `protect` then takes the
    unit of each. of_units: such settings, told by which column.
    stated, chosen_form: the form of its promise's parameters and of what it chose (penstock.mechanisms.stated).
    in_parts: how it treats records that are never held together; None where it cannot.
    excludes: combinations of categories that no record may have under these settings, by public rules.
    prints_number: whether these settings show how many records there are, as a public number, in cells: as it is, or
    by noise that follows from it.
    takes_resolution: whether columns may have a resolution in place of a domain under these settings, because no noise
    and no scale follows the domain.
    shares_file: whether its promise holds of its columns where others stand beside them, record by record.
    sample: how much of its records these settings publish, chosen at random (penstock.mechanisms.sample); None for all.
    counted: the columns whose values are counted with.
    """

    name: str
    params: type[BaseModel]
    kind: Kind
    faults: Callable[[Any, Declared], list[Fault]]
    promise: Callable[[Any, Declared], Guarantee]
    protect: Callable[..., Protected]
    expect: Callable[[Any, Declared, int | None], tuple[str, ...]]
    treatments: Callable[[Any, Declared], dict[str, str]]
    advice: Callable[[Any, Declared], tuple[str, ...]]
    spends: Callable[[Any], bool]
    takes_units: Callable[[Any], bool]
    stated: Any
    possible: Callable[[str, Any, Declared, int | None], Possible | Undefined | None]
    released_columns: Callable[[Any, Declared], dict[str, Column]] = nothing_released
    layout: Callable[[Any, Declared], Layout] | None = None
    masks: Callable[[Any, Declared], tuple[str, ...]] = every_column
    chosen: Callable[[Any, Declared, int], dict[str, Any]] = nothing_chosen
    chosen_form: Any = NothingChosen
    in_parts: ByColumn | ByCell | None = None
    shares_file: bool = False
    sample: Callable[[Any], Fraction | None] = every_record
    counts_units: Callable[[Any], bool] = never
    of_units: Callable[[Any, str], Any] = unchanged
    excludes: Callable[[Any], Impossible] = excludes_nothing
    prints_number: Callable[[Any], bool] = never
    takes_resolution: Callable[[Any], bool] = never
    counted: Callable[[Any, Declared], tuple[str, ...]] = every_column
