"""What a mechanism returns: protected columns together with their promise.

The source's row order is secret, because a place in it can identify a person: a release shuffles the rows.
Swapped columns are aligned with the source rows, so that risk and utility can be measured; where the promise
itself needs the shuffle, the mechanism has done it, and `origin` tells where each row came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechanisms.guarantee import Guarantee

__all__ = ["Protected"]


@dataclass(frozen=True, slots=True)
class Protected:
    """Protected columns and their guarantee.

    masked: the columns that the mechanism changed, in declared order.
    groups: secret; for each masked column the group label of every source row.
    origin: secret; the source row of each row, where rows are not aligned with the source.
    settled: public; what the mechanism chose from public facts (number of records, declared columns, settings).
    hidden: secret; of a table, its noisy figures before they were made to fit each other, and their scales.
    """

    columns: dict[str, NDArray[Any]]
    guarantee: Guarantee
    masked: tuple[str, ...] = ()
    groups: Mapping[str, NDArray[np.integer[Any]]] = field(default_factory=dict)
    origin: NDArray[np.int64] | None = None
    settled: Mapping[str, Any] = field(default_factory=dict)
    hidden: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
