"""What the manifest of grouped records claims and its files can show: sizes of groups, and how close each is to all.

Of N records, group i has k_i, bucket j has n_j, and both share c_ij. With t >= 1 and k as promised,

    k_i >= k,   sum_j c_ij = k_i                                                                     (1)
    k_i n_j / t <= c_ij N <= t k_i n_j     for every group and every bucket                          (2)
    t <= sum_(l<=m) epsilon^l / l!         for some m, where epsilon is promised: then t <= e^epsilon   (3)
    F(r) = max of min(c_ij, k_i - r) N / ((k_i - r) n_j) and (k_i - r) n_j / ((c_ij - r) N),  r < min c_ij   (4)

(4) is stated for the first numbers r of known members, in manifests from when it began to be. All in whole numbers and
fractions. Where the values themselves are published by group, only (1) is promised.
Source: Soria-Comas 2013 (thesis), chapter 7; (3) is a lower bound of e^epsilon because every term is positive.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.refusal import Fault
from penstock.records.bundle.statement import fault
from penstock.tasks.formats import READABLE
from penstock.tasks.formats.published import form_faults, read_published
from penstock.tasks.outputs._claims import Beside, Claims, ColumnClaim, Seen

__all__ = ["GroupClaims", "GroupsClaim", "LinkedClaim"]

_FRACTION = re.compile(r"[0-9]{1,70}(/[1-9][0-9]{0,69})?")
_NAME = r"^[a-z][a-z0-9_]{0,49}$"
_COUNT = "records"
# What is stated of known members ends here.
_MOST_KNOWN = 20
_MODELS = {"buckets": "t_close", "ranked": "prob_k"}
_UNSEEN = {
    "buckets": "That values lie in their buckets, and by what groups were formed, cannot be seen in the data.",
    "ranked": "That groups were formed by the values alone, ties broken at random, cannot be seen in the data.",
}


class LinkedClaim(BaseModel):
    """A table beside the records, as the manifest states it."""

    name: Annotated[str, Field(pattern=_NAME)]
    key: str
    columns: list[ColumnClaim]

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]


class GroupsClaim(BaseModel):
    """The promise about groups: the parameters of the guarantee."""

    model_config = ConfigDict(strict=True)

    method: Literal["buckets", "ranked"]
    output: Literal["anatomy", "permuted"]
    k: Annotated[int, Field(ge=2)]
    t: str | None = None
    epsilon: str | None = None

    @property
    def factor(self) -> Fraction | None:
        """Return t, which is promised of buckets only."""
        return None if self.t is None else _fraction(self.t)

    @property
    def is_sound(self) -> bool:
        """Return whether t is there where it must be, and not above e^epsilon (3)."""
        if self.method == "ranked":
            return self.t is None and self.epsilon is None
        factor = self.factor
        epsilon = None if self.epsilon is None else _fraction(self.epsilon)
        if factor is None or factor < 1 or (self.epsilon is not None and epsilon is None):
            return False
        return epsilon is None or _is_below_exponential(factor, epsilon)


class _AfterClaim(BaseModel):
    """What is stated for someone who knows members of a group: (4) for 0, 1, .. of them, as far as it has a bound."""

    model_config = ConfigDict(strict=True)

    columns: list[str]
    factors: Annotated[list[str], Field(max_length=_MOST_KNOWN)]
    unbounded_from: Annotated[int, Field(ge=1)]


class _SettledClaim(BaseModel):
    parts: Annotated[list[Any], Field(max_length=0)] = []
    after_known: list[_AfterClaim] | None = None


class GroupClaims(Claims):
    """The claims of groups: their tables beside the records, and neither a layout nor blocks."""

    settled: _SettledClaim = _SettledClaim()
    layout: None = None
    linked: list[LinkedClaim] = Field(default_factory=list)

    @property
    def promised(self) -> GroupsClaim:
        return GroupsClaim.model_validate(self.guarantee.parameters)

    @property
    def is_sound(self) -> bool:
        stated = self.settled.after_known
        if ("after_known" in self.guarantee.audit) != (stated is not None):
            return False
        of_tables = [table.names[1:-1] for table in self.linked]
        if self.linked and stated is not None and [each.columns for each in stated] != of_tables:
            return False
        return _fits(self.promised, self.guarantee.model, self.linked, self.roles)

    @property
    def stems(self) -> tuple[str, ...]:
        return (*super().stems, *(f"{self.within}tables/{table.name}" for table in self.linked))

    def broken(self, table: pa.Table) -> Iterator[str]:
        """Yield nothing: what groups promise is counted with the tables beside them."""
        yield from ()

    def beside(self, folder: Path, names: Collection[str], tables: Mapping[str, pa.Table]) -> Beside:
        readable = {suffix: table for suffix, table in tables.items() if table.column_names == list(self.roles)}
        stated = self.settled.after_known if self.linked else None
        beside = [(table, None if stated is None else stated[place]) for place, table in enumerate(self.linked)]
        return _tables_beside(folder, names, readable, beside, self.guarantee, self.promised, escape=self.escape)

    @property
    def counted(self) -> str:
        if not self.linked:
            return super().counted
        return (
            f"Every file of records has {self.records:,} of them; it and the tables beside it have the listed "
            "columns and the stated promise."
        )

    def seen(self, beside: Beside) -> Iterator[Seen]:
        return _seen_of_groups(self.promised, beside.ratio) if self.linked else super().seen(beside)


def _fits(promised: GroupsClaim, model: str, linked: Sequence[LinkedClaim], roles: Mapping[str, str]) -> bool:
    """Return whether the promise can hold, the tables beside the records are those that it needs, and nothing
    confidential is then among the records."""
    if not promised.is_sound or _MODELS[promised.method] != model:
        return False
    if promised.output == "permuted":
        return not linked and promised.method == "buckets"
    links = [name for name, role in roles.items() if role == "link"]
    own = {"buckets": [_COUNT], "ranked": []}[promised.method]
    return (
        bool(linked)
        and links == [table.key for table in linked]
        and len({table.name for table in linked}) == len(linked)
        and "confidential" not in roles.values()
        and all(_tells(table, own) and not set(table.names[1:]) & set(roles) for table in linked)
    )


def _tells(table: LinkedClaim, own: list[str]) -> bool:
    """Return whether a table has its key first, then the values that it gives, then its own columns."""
    names = table.names
    told = names[1 : len(names) - len(own)]
    return names[:1] == [table.key] and bool(told) and names[1 + len(told) :] == own and len(set(names)) == len(names)


def _tables_beside(
    folder: Path,
    names: Collection[str],
    records: Mapping[str, pa.Table],
    linked: Sequence[tuple[LinkedClaim, _AfterClaim | None]],
    guarantee: Guarantee,
    promised: GroupsClaim,
    *,
    escape: bool = False,
) -> Beside:
    """Read every table beside the records and count (1), (2) and (4) in every format.

    records: by suffix, those that have the listed columns. linked, promised: as `_fits` found them; each table with
    what is stated of it, where something is.
    """
    faults: list[Fault] = []
    ratios: list[Fraction] = []
    in_formats = {each.name for each in READABLE if f"data{each.suffix}" in names}
    for claim, stated in linked:
        stem = f"tables/{claim.name}"
        tables, unreadable = read_published(folder, names, stem, claim.names, escape=escape)
        faults += unreadable
        if {each.name for each in READABLE if f"{stem}{each.suffix}" in names} != in_formats:
            faults.append(fault(stem, "must exist in the same formats as the records"))
        for suffix, table in tables.items():
            broken = list(form_faults(suffix, table, guarantee, claim.names))
            if table.column_names == claim.names and suffix in records:
                ratio, found = _compared(records[suffix], table, claim, promised, stated)
                ratios += [] if ratio is None else [ratio]
                broken += found
            faults += [fault(f"{stem}{suffix}", rule) for rule in broken]
    return Beside(tuple(faults), max(ratios, default=None))


def _seen_of_groups(promised: GroupsClaim, ratio: Fraction | None) -> Iterator[Seen]:
    """Yield what was checked of groups, and what cannot be, for a bundle without fault."""
    sizes = f"Every group has at least {promised.k:,} records"
    if ratio is None:
        yield "groups", True, f"{sizes}, and the table beside them as many values for it."
    else:
        told = f"{sizes}, and its shares of buckets differ from the whole by a factor of at most {_short(ratio)}"
        yield "closeness", True, f"{told}; promised is {_short(promised.factor or ratio)}."
    yield "grouping", False, _UNSEEN[promised.method]


def _short(number: Fraction) -> str:
    """Return a short fraction as it is, a long one as a decimal number that is not below it."""
    if number.denominator < 1000:
        return str(number)
    units = -(-number.numerator * 10_000 // number.denominator)
    return f"{units // 10_000}.{units % 10_000:04d}"


def _compared(
    data: pa.Table, table: pa.Table, claim: LinkedClaim, promised: GroupsClaim, stated: _AfterClaim | None = None
) -> tuple[Fraction | None, list[str]]:
    """Return the largest of (2), if it could be counted, and what contradicts the promise; in CSV everything is
    text."""
    numbers, listed = _whole(data.column(claim.key)), _whole(table.column(claim.key))
    counts = np.ones(table.num_rows, np.int64) if promised.method == "ranked" else _whole(table.column(_COUNT))
    if numbers is None or listed is None or counts is None:
        return None, ["must have whole numbers as groups and numbers of records"]
    groups, sizes = np.unique(numbers, return_counts=True)
    known, places = np.unique(listed, return_inverse=True)
    if not np.array_equal(groups, known):
        return None, ["must have the groups of the records"]
    # A count above that of all records is wrong by itself, and sums of smaller ones do not overflow.
    if (counts < 1).any() or (counts > len(numbers)).any() or not np.array_equal(_sums(places, counts), sizes):
        return None, ["must have groups of the same sizes as the records"]
    faults = [f"must not have a group of fewer than {promised.k:,} records"] if (sizes < promised.k).any() else []
    factor = promised.factor
    if factor is None:
        return None, faults
    buckets = _places([table.column(name) for name in claim.names[1:-1]])
    if buckets is None:
        return None, [*faults, "must have a bucket in every row"]
    totals = _sums(buckets, counts)
    pairs = places * len(totals) + buckets
    if len(np.unique(pairs)) < len(pairs):
        return None, [*faults, "must not have a bucket of a group twice"]
    if len(pairs) < len(sizes) * len(totals):
        return None, [*faults, "must have every bucket in every group"]
    cells = _different_cells(sizes[places], totals[buckets], counts)
    ratio = max(_factor(cell, len(numbers), 0) for cell in cells)
    if ratio > factor:
        faults.append(
            f"must have groups whose shares of buckets differ from the whole by a factor of at most {_short(factor)}"
        )
    if stated is not None and not _is_right(stated, cells, len(numbers)):
        faults.append("must have groups of which the stated factors for known members (`after_known`) are true")
    return ratio, faults


_Cell = tuple[int, int, int]


def _different_cells(sizes: NDArray[np.int64], totals: NDArray[np.int64], counts: NDArray[np.int64]) -> list[_Cell]:
    """Return k_i, n_j and c_ij of all cells, equal ones once."""
    names = ["size", "total", "count"]
    alike = pa.table([sizes, totals, counts], names=names).group_by(names).aggregate([])
    return [(cell["size"], cell["total"], cell["count"]) for cell in alike.to_pylist()]


def _factor(cell: _Cell, records: int, known: int) -> Fraction:
    """Return (4) of one cell; with nobody known, that is the larger of c_ij N / (k_i n_j) and its inverse."""
    size, total, count = cell
    left = size - known
    return max(Fraction(min(count, left) * records, left * total), Fraction(left * total, (count - known) * records))


def _is_right(stated: _AfterClaim, cells: Sequence[_Cell], records: int) -> bool:
    """Return whether the stated factors are (4), one for each number of known members as far as there is a bound."""
    fewest = min(count for _, _, count in cells)
    factors = [max(_factor(cell, records, known) for cell in cells) for known in range(min(fewest, _MOST_KNOWN))]
    return stated.unbounded_from == fewest and stated.factors == [str(factor) for factor in factors]


def _sums(places: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    totals = np.zeros(int(places.max(initial=-1)) + 1, np.int64)
    np.add.at(totals, places, counts)
    return totals


def _places(columns: Sequence[pa.ChunkedArray]) -> NDArray[np.int64] | None:
    """Return each row's place among the combinations of these columns; None if a value is missing or not text."""
    places: NDArray[np.int64] = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        try:
            text = column.cast(pa.string()).combine_chunks()
        except pa.ArrowException:
            return None
        if text.null_count:
            return None
        codes = pc.dictionary_encode(text).indices.to_numpy().astype(np.int64)
        places = np.unique(places * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
    return places


def _whole(column: pa.ChunkedArray) -> NDArray[Any] | None:
    """Return the whole numbers, or None where a value is missing or no such number."""
    try:
        numbers = column.cast(pa.int64())
    except pa.ArrowException:
        return None
    return None if numbers.null_count else numbers.to_numpy()


def _fraction(text: str) -> Fraction | None:
    """Return an exact number as a guarantee states it, "2" or "3/2"; None for other text."""
    return Fraction(text) if _FRACTION.fullmatch(text) else None


def _is_below_exponential(factor: Fraction, epsilon: Fraction) -> bool:
    """Return whether (3) holds. From m >= 2 epsilon on each term is at most half of the one before: what is left is at
    most the last one."""
    term = total = Fraction(1)
    place = 0
    while total < factor:
        place += 1
        term *= epsilon / place
        total += term
        if place >= 2 * epsilon and total + term < factor:
            return False
    return True
