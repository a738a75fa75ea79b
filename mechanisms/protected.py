"""What a mechanism returns: protected columns together with their promise.

`columns` are aligned with the source rows, so that risk and utility can be measured. The source's
row order is secret, because a place in it can identify a person: a release shuffles the rows.
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
    """

    columns: dict[str, NDArray[Any]]
    guarantee: Guarantee
    masked: tuple[str, ...] = ()
    groups: Mapping[str, NDArray[np.integer[Any]]] = field(default_factory=dict)
