"""The cells of a table counted and added up again from the records, by code that no mechanism uses.

    cell of a record = (..(c_1 s_2 + c_2) s_3 + ..) s_m + c_m        c_d its category of dimension d, 0..s_d - 1   (1)
    v = floor(x / eta + 1/2)                                         x clamped to the declared domain              (2)
    floor(low_i / eta) <= v <= ceil(high_i / eta)                    v clamped to the public bounds of its cell    (3)
    sum of |v| over the records of a cell < 2^62                                                                   (4)

    q = floor(floor(a / 2^s)^2 / 2^t + 1/2)                          a = |v| of a weighted count or total           (5)

In (5), of sums of squares, A is the largest a by the declared domains, s the least with A / 2^s < 2^30 and t the least
with floor(A / 2^s)^2 / 2^t < 2^20; its step must be the square of that of a, times 2^(2s + t).

eta is the step that is stated with the table, a power of two, so (2) is exact: floor(u + 1/2) is half of
floor(2u) + 1, rounded down. By (4) no sum of a cell overflows. A count is the sum of v = 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.measures.cells.output import TableOutput
from penstock.measures.checks import RecheckImpossible
from penstock.mechanisms.columns import Column
from penstock.mechanisms.layout import Coarser, Layout

__all__ = [
    "COUNT",
    "Cells",
    "Measured",
    "Recounted",
    "add_up",
    "cell_limits",
    "find_cells",
    "folded",
    "is_weighted_in_steps",
    "recounted",
    "squared_measure",
    "unweighted",
]

Integers = NDArray[np.int64]

COUNT = "count"
# Quotients x / eta below this are exact in float64, and so are halves of them.
_LARGEST_STEP = 2**51
_LARGEST_SUM = 2.0**62


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The cell of every record by (1), and the number of records of every cell.

    places: empty where the records were counted part by part and are not here.
    """

    layout: Layout
    records: int
    places: Integers
    counts: Integers


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """One measure in steps of 2^exponent: the v of every record that is here; by cell its bounds (3), sum and extremes.

    A cell without records has extremes 0.
    """

    exponent: int
    values: Integers
    low: Integers
    high: Integers
    sums: Integers
    smallest: Integers
    largest: Integers

    @property
    def bounds(self) -> Integers:
        """B_i = max(|low_i|, |high_i|)."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    @property
    def sizes(self) -> Integers:
        """M_i = max |v|."""
        return np.maximum(np.abs(self.smallest), np.abs(self.largest))


@dataclass(frozen=True, slots=True, eq=False)
class Recounted:
    """A table, and what it should show."""

    output: TableOutput
    cells: Cells
    measured: Mapping[str, Measured]


def recounted(output: TableOutput, measures: tuple[str, ...]) -> Recounted:
    """Return the cells, and each measure added up; the measure `count` is the number of records."""
    cells = find_cells(output)
    return Recounted(output, cells, {name: add_up(output, cells, name) for name in measures})


def find_cells(output: TableOutput) -> Cells:
    """(1)."""
    layout, original = output.layout, output.original
    if output.counted is not None:
        if original or len(output.counted.counts) != layout.cells or output.counted.records < 1:
            raise _impossible("original", "must be here or counted in parts, with at least one record")
        return Cells(layout, output.counted.records, np.zeros(0, np.int64), output.counted.counts)
    records = {len(values) for values in original.values()}
    may_be_none = output.guarantee.adjacency == "add_remove" or "only" in output.guarantee.parameters
    if len(records) != 1 or (records == {0} and not may_be_none):
        raise _impossible("original", "must have at least one record, and as many values in every column")
    number = records.pop()
    places = np.zeros(number, np.int64)
    for name in layout.cube:
        column, categories = output.declared.get(name), layout.dimensions[name]
        if column is None or tuple(map(str, column.categories or ())) != categories or name not in original:
            raise _impossible(
                f"layout.dimensions.{name}", "must be a column of the records with its declared categories"
            )
        codes = column.codes(original[name], name)
        if bool((codes < 0).any()):
            raise _impossible(name, "must have a declared category in every record")
        places *= len(categories)
        places += codes
    cells = layout.cells
    return Cells(layout, number, places, np.bincount(places, minlength=cells).astype(np.int64, copy=False))


def add_up(output: TableOutput, cells: Cells, measure: str) -> Measured:
    """Return one measure of every record, and its sums and extremes by cell; under noise weighted, where it is."""
    squared = squared_measure(output, measure)
    if squared is not None:
        return _squares(output, add_up(output, cells, squared), cells, measure, squared)
    alone = unweighted(output, cells, measure)
    if not is_weighted_in_steps(output):
        return alone
    column = str(output.guarantee.parameters["weight"]["column"])
    declared, stored = output.declared.get(column), output.original.get(column)
    if declared is None or declared.role != "weight" or declared.domain is None or stored is None:
        raise _impossible(column, "must be a column of weights with a declared domain")
    exponent = _exponent(output, COUNT, declared)
    least, most = (
        step(Fraction(bound) / Fraction(2) ** exponent)
        for step, bound in zip((floor, ceil), declared.domain, strict=True)
    )
    weights = _steps(stored, declared, exponent, column)
    if measure == COUNT:
        bounds = np.full_like(alone.low, least), np.full_like(alone.high, most)
    else:
        low, high = alone.low, alone.high
        bounds = np.minimum(low * least, low * most), np.maximum(high * least, high * most)
    both = exponent if measure == COUNT else exponent + alone.exponent
    return _by_cell(both, alone.values * weights, *bounds, cells, measure)


def is_weighted_in_steps(output: TableOutput) -> bool:
    """Return whether counts and totals are of whole weights, to which noise is added."""
    return output.guarantee.model == "dp" and "weight" in output.guarantee.parameters


def squared_measure(output: TableOutput, measure: str) -> str | None:
    """Return the measure of whose records this one adds up the squares; None for any other."""
    squared = measure.removeprefix("squares of ")
    stated = output.guarantee.parameters.get("weight", {}).get("sampling_error", False)
    return squared if stated and squared != measure and is_weighted_in_steps(output) else None


def _squares(output: TableOutput, added: Measured, cells: Cells, measure: str, squared: str) -> Measured:
    """(5)."""
    most, halved, cut = _most(output, squared), 0, 0
    while most // 2**halved >= 2**30:
        halved += 1
    while (most // 2**halved) ** 2 >= 2 ** (20 + cut):
        cut += 1
    exponent = 2 * added.exponent + 2 * halved + cut
    if output.chosen["steps"].get(measure) != str(Fraction(2) ** exponent):
        raise _impossible(f"settled.steps.{measure}", "must be what follows from the declared domains")

    def squares(values: Integers) -> Integers:
        near = np.abs(values) // 2**halved
        found: Integers = (2 * near**2 + 2**cut) // 2 ** (cut + 1)
        return found

    high = np.maximum(squares(added.bounds), 1)
    return _by_cell(exponent, squares(added.values), np.zeros_like(high), high, cells, measure)


def _most(output: TableOutput, measure: str) -> int:
    """Return A of (5), in steps."""
    weight, most = str(output.guarantee.parameters["weight"]["column"]), 1
    for name, of in ((weight, COUNT), *(((measure, measure),) if measure != COUNT else ())):
        column = output.declared[name]
        eta = Fraction(2) ** _exponent(output, of, column)
        low, high = (Fraction(bound) / eta for bound in column.domain or ())
        most *= max(abs(floor(low)), abs(ceil(high)))
    return most


def unweighted(output: TableOutput, cells: Cells, measure: str) -> Measured:
    """Return one measure of every record as if each had the weight 1."""
    if measure == COUNT:
        ones, filled = np.ones_like(cells.places), (cells.counts > 0).astype(np.int64)
        return Measured(0, ones, np.zeros_like(filled), np.ones_like(filled), cells.counts, filled, filled)
    column, stored = output.declared.get(measure), output.original.get(measure)
    if output.counted is not None:
        return _counted(output, measure)
    if column is None or column.domain is None or stored is None or stored.dtype.kind not in "iuf":
        raise _impossible(measure, "must be a numeric column of the records with a declared domain")
    exponent = _exponent(output, measure, column)
    low, high = _bounds(output, measure, column, exponent)
    values = np.clip(_steps(stored, column, exponent, measure), low[cells.places], high[cells.places])
    return _by_cell(exponent, values, low, high, cells, measure)


def _by_cell(exponent: int, values: Integers, low: Integers, high: Integers, cells: Cells, measure: str) -> Measured:
    """Return the sums and extremes of these values by cell."""
    if np.bincount(cells.places, np.abs(values).astype(np.float64)).max(initial=0) >= _LARGEST_SUM:
        raise _impossible(measure, "must add up to less than 2^62 steps in every cell")
    sums, smallest, largest = np.zeros_like(low), high.copy(), low.copy()
    np.add.at(sums, cells.places, values)
    np.minimum.at(smallest, cells.places, values)
    np.maximum.at(largest, cells.places, values)
    empty = cells.counts == 0
    smallest[empty] = largest[empty] = 0
    return Measured(exponent, values, low, high, sums, smallest, largest)


def cell_limits(output: TableOutput, measure: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(3) in the unit of the column."""
    column = output.declared[measure]
    exponent = _exponent(output, measure, column)
    low, high = _bounds(output, measure, column, exponent)
    return np.ldexp(low.astype(np.float64), exponent), np.ldexp(high.astype(np.float64), exponent)


def _counted(output: TableOutput, measure: str) -> Measured:
    """Return one measure that was added up part by part."""
    column = output.declared.get(measure)
    found = None if output.counted is None else output.counted.measures.get(measure)
    if found is None or column is None or column.domain is None:
        raise _impossible(measure, "must be a numeric column of the records with a declared domain")
    exponent = _exponent(output, measure, column)
    low, high = _bounds(output, measure, column, exponent)
    return Measured(exponent, np.zeros(0, np.int64), low, high, found.sums, found.smallest, found.largest)


def folded(layout: Layout, level: tuple[str, ...], by_cell: NDArray[Any], fold: np.ufunc = np.add) -> NDArray[Any]:
    """Fold the cells of the table into the cells of a level; by sums where no other fold is given."""
    cells, kept = layout.cube, {layout.dimension_of(name): name for name in level}
    cube = by_cell.reshape(layout.shape(cells))
    gone = tuple(axis for axis, name in enumerate(cells) if name not in kept)
    left = [name for name in cells if name in kept]
    cube = np.asarray(fold.reduce(cube, axis=gone)) if gone else cube
    for axis, name in enumerate(left):
        if kept[name] in layout.coarser:
            cube = _by_group(np.moveaxis(cube, axis, 0), layout.coarser[kept[name]], fold)
            cube = np.moveaxis(cube, 0, axis)
    found: NDArray[Any] = cube.transpose([left.index(layout.dimension_of(name)) for name in level]).ravel()
    return found


def _by_group(cube: NDArray[Any], coarser: Coarser, fold: np.ufunc) -> NDArray[Any]:
    """Fold the slices of the first axis that are in the same group, one after the other."""
    found: list[NDArray[Any] | None] = [None] * len(coarser.labels)
    for part, group in zip(cube, coarser.groups, strict=True):
        before = found[group]
        found[group] = part if before is None else fold(before, part)
    return np.stack([part for part in found if part is not None])


def _exponent(output: TableOutput, measure: str, column: Column) -> int:
    """Return the binary logarithm of eta; what is stated of a weighted total is a step of it times one of weights."""
    try:
        eta = Fraction(output.chosen["steps"][measure])
        if measure != COUNT and is_weighted_in_steps(output):
            eta /= Fraction(output.chosen["steps"][COUNT])
        exponent = eta.numerator.bit_length() - eta.denominator.bit_length()
        understood = eta == Fraction(2) ** exponent
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        understood = False
    if not understood or max(abs(Fraction(bound)) for bound in column.domain or ()) / eta >= _LARGEST_STEP:
        raise _impossible(f"settled.steps.{measure}", "must be a power of two, not too fine for the declared domain")
    return exponent


def _steps(stored: NDArray[Any], column: Column, exponent: int, name: str) -> Integers:
    """(2). A whole number beyond 2^53 may be rounded here, but then it lies outside the domain on the same side."""
    clamped = np.clip(stored.astype(np.float64), *column.bounds)
    if bool(np.isnan(clamped).any()):
        raise _impossible(name, "must have a value in every record")
    halves = np.floor(np.ldexp(clamped, 1 - exponent)).astype(np.int64)
    return (halves + 1) >> 1


def _bounds(output: TableOutput, measure: str, column: Column, exponent: int) -> tuple[Integers, Integers]:
    """(3); the first entry that a cell fits counts, else the declared domain."""
    layout = output.layout
    dimensions = layout.cube
    eta = Fraction(2) ** exponent
    declared = [Fraction(bound) for bound in column.domain or ()]
    try:
        given = output.guarantee.parameters.get("bounds", {}).get(measure, ())
        entries = [
            (
                [_chosen(layout.dimensions[name], entry["cells"].get(name)) for name in dimensions],
                [Fraction(bound) for bound in entry["domain"]],
            )
            for entry in reversed(given)
        ]
        understood = all(set(entry["cells"]) <= set(dimensions) for entry in given) and all(
            len(domain) == 2 and declared[0] <= domain[0] <= domain[1] <= declared[1] for _, domain in entries
        )
    except (AttributeError, KeyError, TypeError, ValueError):
        understood = False
    if not understood:
        raise _impossible(
            f"guarantee.parameters.bounds.{measure}", "must be bounds inside the declared domain, with their cells"
        )
    shape = layout.shape(dimensions)
    low = np.full(shape, floor(declared[0] / eta), np.int64)
    high = np.full(shape, ceil(declared[1] / eta), np.int64)
    for chosen, domain in entries:
        low[np.ix_(*chosen)] = floor(domain[0] / eta)
        high[np.ix_(*chosen)] = ceil(domain[1] / eta)
    return low.ravel(), high.ravel()


def _chosen(categories: tuple[str, ...], named: Any) -> list[int]:
    """Return the places of these categories; all where none are named."""
    return list(range(len(categories))) if named is None else [categories.index(str(name)) for name in named]


def _impossible(field: str, rule: str) -> RecheckImpossible:
    return RecheckImpossible.at(field, rule=rule, remedy="Report this defect.")
