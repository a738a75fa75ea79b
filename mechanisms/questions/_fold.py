"""Rows folded into exact whole numbers, batch after batch: all that an answer needs, and as secret as the rows.

    count                         the number of records that take part, by group
    sum, mean                     with it the sum of their steps on the grid, the smallest and the largest
    median, quantile, extremes    how often each step of the grid occurs, by group
    value                         the value of one individual

Nothing of the data is refused: what is outside the domain is clamped, what is missing does not take part (_asked.py).
What is missing is NaN, or masked among whole numbers: those never become floats and whole again, so that the step of a
record depends on nothing but the type of its column and the record. The fold of rows is the sum of the folds of each.
Up to SMALL rows are folded by NumPy alone, because loading the compiler takes longer than they do. The order of rows
and the sizes of batches make no difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.questions._asked import Asked
from penstock.mechanisms.questions._coded import Coded
from penstock.mechanisms.questions._filters import Filter, Read, apart, filters_of, prepared
from penstock.mechanisms.questions._order import Counted, Ordered, Sorted
from penstock.mechanisms.questions.query import whole_number

__all__ = ["SMALL", "Exact", "Fold", "theirs"]

SMALL = 200_000
# Rows at a time: their conditions stay in the cache while they are used.
_CHUNK = 2**17
# Steps are counted in place up to this many points of the grid in all groups; beyond, they are kept and sorted.
_MOST_POINTS = 2**22
_FAR = 2**62
_MOST = np.uint64(2**63 - 1)

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
_NONE = np.zeros(0, np.bool_)
_ONE_GROUP = Coded(np.zeros(0, np.int32), np.zeros(0, np.int64)), np.ones(1, np.int64)


class Exact:
    """What was folded so far; secret, so it does not show itself in logs.

    rows: all rows, whether they take part or not; coming: about how many will be folded, for the choice of the loops
    alone. table: number, sum, smallest, largest. kept: steps, as keys
    g * width + s, that wait to be counted, or are sorted in the end.
    value: of the one individual, a number or the code of a category; None: absent, or missing.
    """

    __slots__ = ("_hundreds", "_ones", "coming", "kept", "rows", "table", "value")

    def __init__(self, groups: int, coming: int = 0) -> None:
        self.rows, self.coming = 0, coming
        self.table: Ints = np.tile(np.array([0, 0, _FAR, -_FAR], np.int64), (groups, 1))
        self.kept: list[NDArray[Any]] = []
        self.value: float | int | None = None
        # Counts in bytes, which stay in the cache, and what overflowed them; together how often each step occurs.
        self._ones: NDArray[np.uint8] | None = None
        self._hundreds: Ints | None = None

    @property
    def counts(self) -> Ints:
        """Return how many records take part, by group."""
        return self.table[:, 0]

    @property
    def points(self) -> Ints | None:
        """Return how often each step of each group occurs, where that is counted in place."""
        if self._hundreds is not None and self._ones is not None:
            self._hundreds += self._ones
            self._ones.fill(0)
        return self._hundreds

    @points.setter
    def points(self, counted: Ints) -> None:
        self._ones, self._hundreds = np.zeros(len(counted), np.uint8), counted

    @property
    def is_kept(self) -> bool:
        """Return whether steps are kept, not counted in place."""
        return self._hundreds is None

    def counters(self) -> tuple[NDArray[np.uint8], Ints]:
        """Return the two arrays in which steps are counted."""
        if self._ones is None or self._hundreds is None:
            raise ValueError("steps are not counted in place")
        return self._ones, self._hundreds


@dataclass(frozen=True, eq=False)
class Fold:
    """How the rows of one question are folded."""

    asked: Asked
    filters: tuple[Filter, ...]
    what: Literal["count", "totals", "points", "value"]

    @classmethod
    def of(cls, asked: Asked) -> Fold:
        """Return the fold that a question needs."""
        kinds: dict[str, Literal["count", "totals", "points", "value"]] = {
            "count": "count",
            "sum": "totals",
            "mean": "totals",
            "value": "value",
        }
        return cls(asked, filters_of(asked.query.where, asked.declared), kinds.get(asked.query.statistic, "points"))

    def begin(self, coming: int = 0) -> Exact:
        """Return the fold of no rows; coming: about how many there will be."""
        return Exact(len(self.asked.groups), coming)

    def add(self, exact: Exact, columns: Mapping[str, Any], rows: int | None = None) -> Exact:
        """Add a batch of rows, and return the same object; rows: their number, needed without any column.

        Whole numbers may be masked where they are missing. Categories are codes, or `Coded`. The column of units holds
        their names, or for each row whether it is one of the individual's (`theirs`).
        """
        names = self.asked.columns
        lengths = {len(columns[name]) for name in names or columns} | (set() if rows is None else {rows})
        if len(lengths) != 1:
            raise ValueError("every column has one value for each of the rows, whose number is known")
        read = prepared(columns, self.asked.declared, names)
        number = lengths.pop()
        compiled = max(exact.rows + number, exact.coming) > SMALL
        exact.rows += number
        if self.what == "value":
            _find(self.asked, exact, columns, read)
            return exact
        if exact.is_kept and self.what == "points" and compiled and self._size <= _MOST_POINTS:
            self._count_in_place(exact)
        allowed = [(each, each.allowed(read[each.column])) for each in self.filters]
        step = self._compiled(exact) if compiled else self._plainly(exact)
        for part in _chunks(number):
            takes = _takes(read, allowed, part, compiled)
            step(read, part, takes)
        return exact

    def join(self, exact: Exact, other: Exact) -> Exact:
        """Add what was folded elsewhere, and return the same object; of two values of an individual, keep the first."""
        exact.rows += other.rows
        exact.table[:, :2] += other.table[:, :2]
        np.minimum(exact.table[:, 2], other.table[:, 2], out=exact.table[:, 2])
        np.maximum(exact.table[:, 3], other.table[:, 3], out=exact.table[:, 3])
        exact.value = other.value if exact.value is None else exact.value
        exact.kept += other.kept
        counted, of_other = exact.points, other.points
        if of_other is not None:
            exact.points = of_other if counted is None else counted + of_other
        if exact.points is not None:
            self._count_in_place(exact)
        return exact

    def _count_in_place(self, exact: Exact) -> None:
        """Move what was kept to where it is counted."""
        counted = exact.points
        if counted is None:
            exact.points = counted = np.zeros(self._size, np.int64)
        for keys in exact.kept:
            np.add.at(counted, keys, 1)
        exact.kept.clear()

    def ordered(self, exact: Exact) -> Iterator[Ordered]:
        """Yield the steps of each group in turn, in ascending order."""
        width, groups = self._width, range(len(self.asked.groups))
        counted = exact.points
        if counted is not None:
            for group in groups:
                times = counted[group * width : (group + 1) * width]
                steps = np.flatnonzero(times)
                yield Counted(steps, np.cumsum(times[steps]), width)
            return
        keys = np.sort(np.concatenate([np.zeros(0, self._key_type), *exact.kept]))
        # Places are looked up in the type of the keys: otherwise all of them would be converted.
        ends = np.searchsorted(keys, np.array([group * width for group in groups], self._key_type)).tolist()
        for group, start, end in zip(groups, ends, [*ends[1:], len(keys)], strict=True):
            yield Sorted(keys[start:end], group * width, width)

    @property
    def _width(self) -> int:
        return self.asked.numbers.steps + 1

    @property
    def _size(self) -> int:
        return self._width * len(self.asked.groups)

    @property
    def _key_type(self) -> type[np.int32] | type[np.int64]:
        """Return the type of kept keys; narrow ones are sorted in half the time."""
        return np.int32 if self._size < 2**31 else np.int64

    def _groups(self, read: Read, part: slice) -> tuple[Coded, Ints]:
        """Return the groups of rows as places in a table, and the table: the number of groups for what is none."""
        if self.asked.query.by is None:
            return _ONE_GROUP
        coded, groups = read[self.asked.query.by], len(self.asked.groups)
        return coded[part], coded.table(np.arange(groups, dtype=np.int64), groups)

    def _plainly(self, exact: Exact) -> Callable[[Read, slice, Bools | None], None]:
        """Return the loop body by NumPy alone."""

        def step(read: Read, part: slice, takes: Bools | None) -> None:
            number = part.stop - part.start
            takes = np.ones(number, np.bool_) if takes is None else takes
            coded, table = self._groups(read, part)
            groups = coded.looked_up(table) if self.asked.query.by is not None else np.zeros(number, np.int64)
            takes = takes & (groups < len(exact.table))
            if self.what == "count":
                exact.table[:, 0] += np.bincount(groups[takes], minlength=len(exact.table))
                return
            values, there = self._on_grid(read[str(self.asked.query.of)][part])
            is_there = values == values if there is None else there
            if self.asked.everybody:
                values = np.where(is_there, values, values.dtype.type(self.asked.numbers.low))
            else:
                takes &= is_there
            groups, steps = groups[takes], self.asked.numbers.index(values[takes])
            if self.what == "points":
                exact.kept.append((groups * self._width + steps).astype(self._key_type))
                return
            exact.table[:, 0] += np.bincount(groups, minlength=len(exact.table))
            np.add.at(exact.table[:, 1], groups, steps)
            np.minimum.at(exact.table[:, 2], groups, steps)
            np.maximum.at(exact.table[:, 3], groups, steps)

        return step

    def _compiled(self, exact: Exact) -> Callable[[Read, slice, Bools | None], None]:
        """Return the loop body by compiled loops."""
        from penstock.mechanisms.questions._kernels import add_up, keep, place, tally

        def step(read: Read, part: slice, takes: Bools | None) -> None:
            coded, rows = self._groups(read, part)
            if self.what == "count":
                if self.asked.query.by is None:
                    exact.table[0, 0] += part.stop - part.start if takes is None else np.count_nonzero(takes)
                else:
                    counts = np.zeros(len(exact.table), np.int64)
                    tally(counts, _NONE if takes is None else takes, coded.places, rows)
                    exact.table[:, 0] += counts
                return
            values, there = self._on_grid(read[str(self.asked.query.of)][part])
            ends = self._ends(values)
            if there is not None and self.asked.everybody:
                values = np.where(there, values, values.dtype.type(self.asked.numbers.low))
            elif there is not None:
                takes = there if takes is None else takes & there
            given = (values, _NONE if takes is None else takes, coded.places, rows, *ends, self.asked.everybody)
            if self.what == "totals":
                add_up(exact.table, *given)
            elif not exact.is_kept:
                place(*exact.counters(), *given, self._width, len(exact.table))
            else:
                keys = np.empty(len(values), np.int64)
                number = keep(keys, *given, self._width, len(exact.table))
                exact.kept.append(keys[:number].astype(self._key_type))

        return step

    def _on_grid(self, values: NDArray[Any]) -> tuple[NDArray[Any], Bools | None]:
        """Return values as whole numbers where their grid is whole, and which are there; else as floats, with NaN."""
        grid = self.asked.numbers
        numbers, there = apart(values)
        if numbers.dtype.kind in "iu" and grid.whole and grid.exponent == 0:
            # The largest unsigned numbers lie beyond every such grid, and must not come back as negative ones.
            signed = np.minimum(numbers, _MOST) if numbers.dtype.kind == "u" else numbers
            return signed.astype(np.int64, copy=False), there
        numbers = numbers.astype(np.float64, copy=False)
        return (numbers if there is None else np.where(there, numbers, np.nan)), None

    def _ends(self, values: NDArray[Any]) -> tuple[Any, ...]:
        """Return by what values come to steps: low, high, factor, first."""
        grid = self.asked.numbers
        if values.dtype.kind == "i":
            return int(grid.low), int(grid.high), 1, grid.first
        return grid.low, grid.high, float(np.ldexp(1.0, -grid.exponent)), grid.first


def _takes(read: Read, filters: Sequence[tuple[Filter, Bools | None]], part: slice, compiled: bool) -> Bools | None:
    """Return which rows satisfy every condition; None where there is none. With each filter what it allows."""
    takes = None
    for each, allowed in filters:
        values = read[each.column][part]
        if allowed is not None and compiled:
            from penstock.mechanisms.questions._kernels import choose

            is_first = takes is None
            takes = np.empty(len(values), np.bool_) if takes is None else takes
            choose(takes, values.places, allowed, is_first)
            continue
        holds = each.in_band(values) if allowed is None else values.looked_up(allowed)
        takes = holds if takes is None else np.logical_and(takes, holds, out=takes)
    return takes


def _chunks(rows: int) -> Iterator[slice]:
    for start in range(0, rows, _CHUNK):
        yield slice(start, min(start + _CHUNK, rows))


def _find(asked: Asked, exact: Exact, columns: Mapping[str, Any], read: Read) -> None:
    """Take the first value that the individual has."""
    if exact.value is not None:
        return
    values, there = apart(_plain(read[str(asked.query.of)]))
    for row in np.flatnonzero(theirs(asked, _plain(columns[str(asked.terms.whose)]))).tolist():
        value = values[row].item()
        known = value == value if asked.column.numeric else 0 <= value < len(asked.column.categories or ())
        if known and (there is None or there[row]):
            exact.value = value
            return


def _plain(values: Any) -> NDArray[Any]:
    return values.plain() if isinstance(values, Coded) else values


def theirs(asked: Asked, whose: NDArray[Any]) -> Bools:
    """Return which rows are those of the individual; "17" is 17 where numbers are stored. Booleans say it already."""
    whose, there = apart(whose)
    if whose.dtype.kind == "b":
        return whose
    individual = str(asked.query.individual)
    column = asked.declared.get(str(asked.terms.whose))
    names: list[str | int] = [] if whose.dtype.kind in "iuf" else [individual]
    if column is not None and column.categories is not None:  # they arrive as codes
        known = list(map(str, column.categories))
        names = [known.index(individual)] if individual in known else []
    elif whose.dtype.kind in "iufO" and (number := whole_number(individual)) is not None:
        names.append(number)
    found = np.zeros(len(whose), np.bool_)
    for name in names:
        found |= np.asarray(whose == name, np.bool_)
    return found if there is None else found & there
