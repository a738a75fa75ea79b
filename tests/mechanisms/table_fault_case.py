"""A faulty table: its settings, its declared columns, and the fault that must be reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.mechanisms.columns import Column
from penstock.mechanisms.table.settings import Params
from tests.support.plain_tables import DECLARED, table

YES_NO = ("yes", "no")


def column(role: str = "confidential", **described: Any) -> Column:
    return Column.model_validate({"role": role, **described})


MANY = {f"d{place}": column(type="nominal", categories=YES_NO) for place in range(30)}
SMALL = {f"v{place}": column(type="integer", domain=(0, 1)) for place in range(9)}
FURTHER = {
    **DECLARED,
    **MANY,
    **SMALL,
    "id": column("identifier"),
    "answer": column(type="nominal", categories=YES_NO, missing="category"),
    "lacking": column(type="integer", domain=(0, 9), missing="own_group"),
    "count": column(type="integer", domain=(0, 9)),
    "ends": column(type="nominal", categories=("a", "_T")),
    "like": column(type="nominal", categories=("1", "2")),
    "x_sum": column(type="nominal", categories=YES_NO),
    "x_mean_standard_error": column(type="nominal", categories=YES_NO),
    "far": column(type="integer", domain=(0, 2**30)),
}
# Further columns that only one case may have.
COUNTED = {"count": column(type="nominal", categories=YES_NO)}
WEIGHTED = {"w": column("weight")}
# Columns refuse equal categories, and text beside numbers; this one was made without a check.
ALIKE = {"like": FURTHER["like"].model_copy(update={"categories": ("1", 1)})}
THIRDS = {"count": "1/3", "x": "2/3"}


@dataclass(frozen=True)
class Faulty:
    """Settings, and the field, rule and value of their fault; rule and value by a part of their text."""

    params: Params
    declared: Mapping[str, Column]
    field: str
    rule: str
    got: str


def faulty(
    model: str, field: str, rule: str, got: str = "", declared: Mapping[str, Column] | None = None, **chosen: Any
) -> Faulty:
    return Faulty(table(model, **chosen), {**FURTHER, **(declared or {})}, field, rule, got)


def bounds(cells: dict[str, list[Any]], domain: list[Any], name: str = "x") -> dict[str, Any]:
    return {name: [{"cells": cells, "domain": domain}]}
