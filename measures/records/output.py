"""What is re-checked of released records: the columns before and after, the promise, and the account of the work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.measures.records.comparison import Chosen, Groups
from penstock.measures.rows import keys
from penstock.mechanisms.columns import Columns, Declared
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.mechanism import Kind

__all__ = ["RecordOutput"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOutput:
    """Original and released columns in the order of the source rows, and the promise about them.

    masked, groups, chosen: the mechanism's own account, to be compared with the rest; see mechanisms.protected.
    """

    kind: ClassVar[Kind] = "records"

    original: Columns
    released: Columns
    declared: Declared
    guarantee: Guarantee
    masked: frozenset[str]
    groups: Groups
    chosen: Chosen
    records: int

    def keys(self, side: Columns, name: str) -> NDArray[np.int64]:
        return keys(side[name], self.declared[name], name)

    def labels(self, name: str) -> NDArray[np.int64] | None:
        """Return the group labels of a column, or None where there are none that can be counted."""
        labels = self.groups.get(name)
        if labels is None or labels.dtype.kind not in "iu" or labels.shape != (self.records,):
            return None
        if not 0 <= labels.min() <= labels.max() <= self.records:
            return None
        return labels.astype(np.int64, copy=False)
