"""What a mechanism returns: protected columns together with their promise.

The source's row order is secret, because a place in it can identify a person: a release shuffles the rows.
Swapped columns are aligned with the source rows, so that risk and utility can be measured; where the promise
itself needs the shuffle, the mechanism has done it, and `origin` says where each row came from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.columns import Column
from penstock.mechanisms.guarantee import Guarantee

__all__ = ["Linked", "Protected"]


@dataclass(frozen=True, slots=True)
class Linked:
    """A second table, published beside the records that it belongs to.

    key: the column that both tables have. columns: categories as codes; declared: what they are.
    """

    key: str
    columns: dict[str, NDArray[Any]]
    declared: Mapping[str, Column]


@dataclass(frozen=True, slots=True)
class Protected:
    """Protected columns and their guarantee.

    masked: the columns that the mechanism changed, in declared order.
    groups: secret; for each masked column the group label of every source row.
    origin: secret; the source row of each row, where rows are not aligned with the source.
    chosen: public; what the mechanism chose from public facts (number of records, declared columns, settings).
    hidden: secret; what else the re-check needs. For a table its noisy figures before they were made to fit each
    other, and their scales; for buckets the one that each source row is in.
    made: published; columns of the output that could not be declared before the data were seen.
    linked: published; tables beside the records, by name.
    """

    columns: dict[str, NDArray[Any]]
    guarantee: Guarantee
    masked: tuple[str, ...] = ()
    groups: Mapping[str, NDArray[np.integer[Any]]] = field(default_factory=dict)
    origin: NDArray[np.int64] | None = None
    chosen: Mapping[str, Any] = field(default_factory=dict)
    hidden: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    made: Mapping[str, Column] = field(default_factory=dict)
    linked: Mapping[str, Linked] = field(default_factory=dict)
