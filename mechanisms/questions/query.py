"""What may be asked, as data: never code, never a text that somebody else interprets.

    statistic   of one numeric column (a count is of records)
    where       conditions that all must hold: some of the declared categories, or a band of numbers
    by          one answer for each declared category of a column
    individual  whose value is asked: a question about one named person

Terms are what the description of the data set says in public: what neighbours differ in, and whose rows are one unit.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr

from penstock.mechanisms.numbers.exact import ExactNumber, SignedNumber

__all__ = ["Adjacency", "Condition", "Kind", "Query", "Relaxation", "Terms", "canonical", "whole_number"]

Kind = Literal["count", "sum", "mean", "median", "quantile", "minimum", "maximum", "value"]
Adjacency = Literal["replace", "add_remove", "presence"]
Relaxation = Literal["idp", "bdp"]


def whole_number(individual: str) -> int | None:
    """Return the number that names an individual where numbers are stored; None if it is none."""
    return int(individual) if re.fullmatch(r"-?[0-9]{1,18}", individual) else None


class Condition(BaseModel):
    """Which records count: by the categories or the numbers of one column. A missing value satisfies nothing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    column: StrictStr = Field(description="A declared column that is neither identifier nor weight.")
    is_in: tuple[StrictStr, ...] | None = Field(
        default=None, description="Categories: those of the declared ones that count."
    )
    at_least: SignedNumber | None = Field(
        default=None, description="Numbers: the lower end of a band, which belongs to it; open where not given."
    )
    below: SignedNumber | None = Field(
        default=None, description="Numbers: the upper end of a band, which does not belong to it; open where not given."
    )


class Query(BaseModel):
    """One question."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    statistic: Kind = Field(
        description="count: the number of records. The others are about a column. quantile: the value below which the "
        "given share of the records lies. value: that of one named individual."
    )
    of: StrictStr | None = Field(default=None, description="The column; not for count.")
    share: ExactNumber | None = Field(
        default=None, description='quantile only: the share of the records below it, exact: "9/10" or "0.9".'
    )
    where: tuple[Condition, ...] = Field(
        default=(), description="Conditions that all must hold; none: all records count."
    )
    by: StrictStr | None = Field(
        default=None, description="A column of categories: one answer for each of the declared ones, empty or not."
    )
    individual: StrictStr | StrictInt | None = Field(
        default=None, description="value only: whose value is asked, by the value of the unit column."
    )


@dataclass(frozen=True, slots=True)
class Terms:
    """What is public about a data set of which questions may be asked.

    adjacency: what neighbours differ in. whose: the column that says whose record a row is; None: each row by itself.
    rows_per_unit: the most rows of one unit that are ever folded; whoever reads the data sees to it.
    relaxations: the relaxed models that the owner accepts.
    records: the number of records, where it is public and known; needed for counts by refinement alone.
    """

    adjacency: Adjacency
    whose: str | None = None
    rows_per_unit: int = 1
    relaxations: tuple[Relaxation, ...] = ()
    records: int | None = None


def canonical(query: Query) -> Query:
    """Return the same question in one form: whoever names conditions in another order, or twice, asks the same."""
    written = {
        condition.model_dump_json(): condition
        for condition in (
            each if each.is_in is None else each.model_copy(update={"is_in": tuple(sorted(set(each.is_in)))})
            for each in query.where
        )
    }
    return query.model_copy(update={"where": tuple(written[text] for text in sorted(written))})
