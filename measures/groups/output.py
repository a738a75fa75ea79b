"""What is judged of groups with buckets: the records behind them, what was read back, and the account of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.measures.records.comparison import Chosen, Groups
from penstock.mechanisms.columns import Column, Columns, Declared
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.mechanism import Kind
from penstock.mechanisms.protected import Linked

__all__ = ["BucketOutput"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BucketOutput:
    """One output of groups whose confidential values are hidden behind buckets, or behind the group alone.

    original, source: the columns as the mechanism got them, without identifiers, and what was declared of them.
    released, declared: the file of records in the order of the source rows, categories as codes; what its columns are.
    linked: the tables beside the records, as they were read back.
    groups, buckets: for each confidential column the group of every source row, and the place of its bucket among the
    published labels; no buckets where values are published by group.
    groups, buckets, chosen: the mechanism's own account, to be compared with the rest; see mechanisms.protected.
    """

    kind: ClassVar[Kind] = "groups"
    aligned: ClassVar[bool] = True

    original: Columns
    source: Declared
    released: Columns
    declared: Declared
    linked: Mapping[str, Linked]
    guarantee: Guarantee
    groups: Groups
    buckets: Groups
    chosen: Chosen
    records: int

    def group_of(self, name: str) -> NDArray[np.int64] | None:
        """Return the group of every record, or None where there is nothing that can be counted."""
        return self._numbers(self.groups, name, self.records)

    def bucket_of(self, name: str, published: Column | None) -> NDArray[np.int64] | None:
        """Return the bucket of every record among the published labels, or None where it points elsewhere."""
        return None if published is None else self._numbers(self.buckets, name, len(published.categories or ()))

    def _numbers(self, account: Groups, name: str, count: int) -> NDArray[np.int64] | None:
        numbers = account.get(name)
        if numbers is None or numbers.dtype.kind not in "iu" or numbers.shape != (self.records,) or not len(numbers):
            return None
        if not 0 <= numbers.min() <= numbers.max() < count:
            return None
        return numbers.astype(np.int64, copy=False)
