"""Validation in parts: the expectations of a part are those of the whole, and what fails in any part has failed.

That holds for what the declared columns imply, which is about single values, and for nothing else; a suite of the
user's own is refused by the spec. The number of rows is counted over all parts. A few rows at a time become a data
frame, because Great Expectations takes many times the size of what it looks at.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.records.files import durable
from penstock.tasks.parts._spread import spread
from penstock.tasks.parts.working_copy import Part, StoredColumn, left_for_data, let_go, slices, text_bytes
from penstock.tasks.validation.expectations import Expectation, ExpectationResult
from penstock.tasks.validation.expectations import validate as run_expectations

__all__ = ["ValidateOrder", "frame_of", "validate_part", "validate_parts"]

_ROW_COUNT = "expect_table_row_count_to_be_between"
_RESULTS = "validation.json"
# Twice what a frame and what the library makes of it were measured at: 140 bytes per row, 16 per value, and its texts.
_BYTES_A_ROW, _BYTES_A_VALUE = 280, 32
_MOST_ROWS = 1 << 19


@dataclass(frozen=True, slots=True)
class ValidateOrder:
    """A part, its columns, and what is expected of them."""

    part: Part
    declared: Mapping[str, Column]
    expectations: Sequence[Expectation]
    most: int


def validate_parts(
    parts: Sequence[Part],
    declared: Mapping[str, Column],
    expectations: Sequence[Expectation],
    *,
    memory: int | None,
    address: str | None,
) -> tuple[ExpectationResult, ...]:
    """Return one result for each expectation, in order, over all parts."""
    most = _MOST_ROWS
    if memory is not None:
        a_row = _BYTES_A_ROW + _BYTES_A_VALUE * len(declared) + 2 * text_bytes(declared)
        most = max(1, min(most, left_for_data(memory) // a_row))
    spread(
        "validate a part",
        validate_part,
        [ValidateOrder(part, declared, expectations, most) for part in parts],
        address,
    )
    found = [json.loads((part.folder / _RESULTS).read_text(encoding="utf-8")) for part in parts]
    together = [_together([ExpectationResult(**each) for each in column]) for column in zip(*found, strict=True)]
    return tuple(
        _row_count(result, expectation["kwargs"]["min_value"]) if expectation["type"] == _ROW_COUNT else result
        for result, expectation in zip(together, expectations, strict=True)
    )


def validate_part(order: ValidateOrder) -> None:
    """Run the expectations on one part and leave the results, which are confidential, beside it."""
    part = order.part
    columns = {
        name: StoredColumn([part.folder], name)
        for name, column in order.declared.items()
        if column.role != "identifier"
    }
    found = []
    for rows in slices(part.rows, order.most):
        frame = frame_of({name: column[rows] for name, column in columns.items()}, order.declared)
        found.append(run_expectations(frame, order.expectations))
        del frame
        let_go()
    results = [asdict(_together(each)) for each in zip(*found, strict=True)]
    durable.write_whole(part.folder / _RESULTS, json.dumps(results).encode())


def frame_of(columns: Mapping[str, NDArray[Any]], declared: Mapping[str, Column]) -> pd.DataFrame:
    """Return the columns as a person sees them, and as they count: categories by name, clamped numbers at their
    bound."""
    shown = {}
    for name, values in columns.items():
        categories = declared[name].categories
        if categories is None:
            shown[name] = pd.Series(declared[name].clamped(values))
        else:
            codes = pa.array(np.asarray(values), mask=np.asarray(values) < 0)
            shown[name] = pa.DictionaryArray.from_arrays(codes, pa.array(categories)).dictionary_decode().to_pandas()
    return pd.DataFrame(shown)


def _together(results: Sequence[ExpectationResult]) -> ExpectationResult:
    """Return the result of one expectation over several parts."""
    failed = [result.unexpected for result in results if not result.success]
    known = [count for count in failed if count is not None]
    return replace(
        results[0],
        success=not failed,
        unexpected=sum(known) if known and len(known) == len(failed) else None,
        total=sum(result.total for result in results),
    )


def _row_count(result: ExpectationResult, least: int) -> ExpectationResult:
    """Return the result for all rows; parts are smaller than the whole, so what each of them said is of no use."""
    return replace(result, success=result.total >= least, unexpected=None)
