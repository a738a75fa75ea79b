"""Patterns of a suite, matched by RE2: its time is proportional to the text, whatever the pattern and the text are.

Great Expectations would leave them to pandas, which turns to Python's backtracking matcher for a space (\\s, \\S), and
for \\w, \\d and \\b where a text is not ASCII. The meaning is that of Great Expectations: a pattern is searched for
anywhere in the text of a value, and missing values are not asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

__all__ = ["MATCHED_BY_PATTERN", "values_against_patterns"]

MATCHED_BY_PATTERN = frozenset(
    {
        "expect_column_values_to_match_regex",
        "expect_column_values_to_match_regex_list",
        "expect_column_values_to_not_match_regex",
        "expect_column_values_to_not_match_regex_list",
    }
)


def values_against_patterns(column: pd.Series[Any], kind: str, settings: Mapping[str, Any]) -> tuple[int, int]:
    """Count the values that are not as expected, and all that were asked."""
    known = column.dropna()
    texts = _array(known.astype(str))
    places = None
    if not pd.api.types.is_numeric_dtype(known.dtype):  # numbers differ, so looking for equal ones only costs
        encoded = texts.dictionary_encode()
        texts, places = encoded.dictionary, encoded.indices.to_numpy(zero_copy_only=False)
    patterns = settings["regex_list"] if "regex_list" in settings else [settings["regex"]]
    every = settings.get("match_on") == "all"
    found = _matches(texts, patterns, every=every)
    wrong = found if kind.startswith("expect_column_values_to_not_") else ~found
    return int((wrong if places is None else wrong[places]).sum()), len(known)


def _matches(texts: pa.Array, patterns: Sequence[str], *, every: bool) -> NDArray[np.bool_]:
    """Return whether each text holds any, or every one, of the patterns."""
    if not patterns:
        raise ValueError("no pattern")
    found = np.full(len(texts), every)
    for pattern in patterns:
        one = pc.match_substring_regex(texts, pattern).to_numpy(zero_copy_only=False)
        found = found & one if every else found | one
    return found


def _array(texts: pd.Series[Any]) -> pa.Array:
    array = pa.array(texts, pa.large_string())
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
