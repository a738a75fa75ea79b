"""Categories of many records, by a table: a record says which entry of the table is its own, and that has the code.

    code of record i  =  codes[places[i]],   none where places[i] is outside the table or its code is below 0        (1)

Files hold texts so. What a condition or a group makes of a category is worked out once for each entry, and the many
records look it up; so one pass over narrow numbers is all that a column of categories costs. A place is compared as an
unsigned number, which takes what is missing, -1, for the largest: one comparison finds everything outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Coded", "codes_of"]

_NARROW = np.iinfo(np.int32)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Coded:
    """(1). places: int32, without gaps in memory; what shows how few records there are of a kind is not shown."""

    places: NDArray[np.int32]
    codes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, rows: Any) -> Coded:
        """Return the categories of some of the records, by a slice or by a mask."""
        return Coded(self.places[rows], self.codes)

    def table(self, made: NDArray[Any], otherwise: Any) -> NDArray[Any]:
        """Return for each entry what is made of its code, and one more for all places outside: `otherwise`."""
        table = np.full(len(self.codes) + 1, otherwise, made.dtype)
        known = (self.codes >= 0) & (self.codes < len(made))
        table[:-1][known] = made[self.codes[known]]
        return table

    def looked_up(self, table: NDArray[Any]) -> NDArray[Any]:
        """Return for each record its entry of a table made by `table`."""
        return table[np.minimum(self.places.view(np.uint32), np.uint32(len(table) - 1))]

    def plain(self) -> NDArray[np.int64]:
        """Return the code of each record, -1 where it has none."""
        most = int(self.codes.max(initial=-1)) + 1
        return self.looked_up(self.table(np.arange(most, dtype=np.int64), -1))


def codes_of(codes: NDArray[Any] | Coded, categories: int) -> Coded:
    """Return codes as they are looked up; what is masked, or no whole number, is no category."""
    if isinstance(codes, Coded):
        return codes
    mask, codes = np.ma.getmask(codes), np.ma.getdata(codes)
    known = (codes >= 0) & (codes < categories)  # NaN is neither
    known = known if mask is np.ma.nomask else known & ~mask
    places = np.where(known, codes, 0).astype(np.int32)
    places[~known] = -1
    return Coded(places, np.arange(categories, dtype=np.int64))
