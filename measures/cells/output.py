"""What is judged of a released table: the records behind it, the file as it was read back, and the account of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.measures.cells.counted import Counted
from penstock.mechanisms.columns import Columns, Declared
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.layout import Layout
from penstock.mechanisms.mechanism import Kind

__all__ = ["TableOutput"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOutput:
    """One released table.

    original: the columns as the mechanism got them. declared: these columns.
    released: read back from the file; dimensions as codes into the labels of the layout.
    chosen, hidden: the mechanism's own account, public and secret; see penstock.mechanisms.protected.
    counted: the records counted again part by part, where they are too many to be held together; then `original` has
    none. units: whose each record is, where contributors are counted.
    """

    kind: ClassVar[Kind] = "cells"
    aligned: ClassVar[bool] = True

    original: Columns
    declared: Declared
    layout: Layout
    released: Columns
    guarantee: Guarantee
    chosen: Mapping[str, Any]
    hidden: Columns
    counted: Counted | None = None
    units: NDArray[np.int64] | None = None
