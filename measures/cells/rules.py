"""The classic rules of tables as numbers: how few stand behind a figure, and how much of it is one of them.

x_1 >= x_2 >= ... are the sizes |v| of the contributions to a cell, as they enter the table, in whole steps of the
column's grid; X is their sum. Sizes, so that a large loss counts like a large gain and a total that cancels hides
nobody. Every record is its own contributor; where units are counted, all records of a unit in a cell are one, whose v
is their sum: a gain and a loss of the same unit cancel, because what can be learnt of it is its total. Contributions
are unweighted, also where figures are weighted.

Shares are those of the cells. A total has no larger one, because sizes of records add up; but those of units do not:
what others gain and lose in several cells may cancel in a total, and leave one unit alone. So where units are counted
every row of the table is judged.

Quotients are exact and then rounded to the unsafe side (rounding.py): a gate on such a number lets nothing pass that
the rule forbids, and nothing fail that is just on its limit.

Source: Hundepool et al. 2012, "Statistical Disclosure Control", section 4.2. Limits of all four: they advise, they
protect nothing. A cell that they find safe may still be solved from other tables, and what they find is itself
confidential.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from penstock.measures.cells.contributors import different, rows_of_records, together
from penstock.measures.cells.output import TableOutput
from penstock.measures.cells.totals import Cells, find_cells, unweighted
from penstock.measures.measurement import Direction, Measurement, MeasureUndefined
from penstock.mechanisms.numbers.rounding import not_above, not_below

__all__ = [
    "NO_MISSING",
    "contributions",
    "largest_share",
    "p_percent",
    "smallest_frequency",
    "two_largest_share",
]

Integers = NDArray[np.int64]

NO_MISSING = "there are none: no value of a table may be missing"


def smallest_frequency(output: TableOutput) -> Measurement:
    """Return the fewest records, or contributors where units are counted, of a cell that is not empty.

        min over cells i with n_i > 0 of n_i

    The rule of minimum frequency m is a gate `min: m`. Attacker: recognises somebody in a cell and sees who else is
    in it. Limits: an empty cell says something about everybody and is left out; a cell whose records are all alike in
    another respect shows it however many they are.
    """
    cells = find_cells(output)
    counts = different(output, cells)
    if not counts.any():
        raise MeasureUndefined.at(
            "smallest_frequency", rule="needs a cell that is not empty", remedy="Choose other records."
        )
    return Measurement(
        name="smallest_frequency",
        value=float(counts[counts > 0].min()),
        direction="higher_is_safer",
        n=int(cells.counts.sum()),
        columns=tuple(output.layout.dimensions),
        attacker="recognises somebody in a cell",
        missing=NO_MISSING,
    )


def largest_share(output: TableOutput) -> Measurement:
    """Return the largest part that one contributor has in a total.

        max over cells with X > 0 of x_1 / X

    (1, k) dominance is a gate `max: k / 100`. Attacker: anybody, who takes the total for the contribution of the
    largest. Limits: 1 in every cell with one contributor other than 0.
    """
    return _judged(
        output,
        "largest_share",
        "lower_is_safer",
        lambda x: _largest(x.first, x.all),
        "takes a total for its largest part",
    )


def two_largest_share(output: TableOutput) -> Measurement:
    """Return the largest part that two contributors have in a total.

        max over cells with X > 0 of (x_1 + x_2) / X

    (2, k) dominance is a gate `max: k / 100`. Attacker: the second largest contributor, who takes the rest for the
    contribution of the largest. Limits: 1 in every cell with one or two contributors other than 0; p_percent says more
    exactly what this attacker learns.
    """
    return _judged(
        output,
        "two_largest_share",
        "lower_is_safer",
        lambda x: _largest(x.first + x.second, x.all),
        "is the second largest contributor and takes the rest for the largest",
    )


def p_percent(output: TableOutput) -> Measurement:
    """Return how near the second largest contributor gets to the value of the largest, in per cent of it.

        min over cells with x_1 > 0 of 100 (X - x_1 - x_2) / x_1

    The p% rule is a gate `min: p`. Attacker: knows x_2, subtracts it from the total and takes the rest for x_1, which
    is off by X - x_1 - x_2. Limits: 0 in every cell with one or two contributors other than 0.
    """
    return _judged(
        output,
        "p_percent",
        "higher_is_safer",
        lambda x: -100 * _largest(x.first + x.second - x.all, x.first),
        "is the second largest contributor, subtracts their own part and takes the rest for the largest",
    )


class _Sizes:
    """X, x_1 and x_2 of the cells of one column that have anything but zeros."""

    def __init__(self, sizes: Integers, first: Integers, second: Integers) -> None:
        some = sizes > 0
        self.all, self.first, self.second = (each[some] for each in (sizes, first, second))


def contributions(output: TableOutput, cells: Cells, column: str) -> tuple[Integers, Integers, Integers]:
    """Return X, x_1 and x_2 of every cell, or of every row where units are counted; 0 where there is none.

    `add_up` has refused sums that would overflow.

    x_2 is the largest of the records that are left when one that has x_1 is taken out.
    """
    if output.counted is not None:
        counted = output.counted.measures[column]
        return counted.sizes, counted.first, counted.second
    values = unweighted(output, cells, column).values
    if output.units is None:
        return _largest_two(cells.places, values, len(cells.counts))
    by_level = [
        _largest_two(*together(places, output.units, values), number)
        for places, number in rows_of_records(output, cells)
    ]
    sizes, first, second = (np.concatenate(each) for each in zip(*by_level, strict=True))
    return sizes, first, second


def _largest_two(places: Integers, values: Integers, number: int) -> tuple[Integers, Integers, Integers]:
    """Return X, x_1 and x_2 of so many rows; places: the row of each contribution."""
    each = np.abs(values)
    sizes, first, second = (np.zeros(number, np.int64) for _ in range(3))
    np.add.at(sizes, places, each)
    np.maximum.at(first, places, each)
    holder = np.full(number, -1)  # for each row, any one contributor that has x_1
    largest = np.flatnonzero(each == first[places])
    holder[places[largest]] = largest
    each[holder[holder >= 0]] = 0
    np.maximum.at(second, places, each)
    return sizes, first, second


def _largest(numerators: Integers, denominators: Integers) -> Fraction:
    """Return the largest quotient, exactly: only those that are largest up to rounding are compared as fractions."""
    quotients = numerators / denominators
    near = quotients >= quotients.max() - 1e-12 * np.abs(quotients).max()
    best_n, best_d = -1, 0  # less than everything
    for n, d in set(zip(numerators[near].tolist(), denominators[near].tolist(), strict=True)):
        if best_d == 0 or n * best_d > best_n * d:
            best_n, best_d = n, d
    return Fraction(best_n, best_d)


def _judged(
    output: TableOutput, name: str, direction: Direction, rule: Callable[[_Sizes], Fraction], attacker: str
) -> Measurement:
    """Judge each column that is added up by its worst cell, and return the worst of these."""
    summed = dict.fromkeys(
        figure.column for figure in output.layout.figures if figure.kind in ("sum", "mean") and figure.column
    )
    if not summed or output.guarantee.parameters.get("mechanism") != "table":
        raise MeasureUndefined.at(name, rule="needs a table of sums or means", remedy="Gate on smallest_frequency.")
    cells, parts = find_cells(output), {}
    rounded, worst = (not_below, max) if direction == "lower_is_safer" else (not_above, min)
    for column in summed:
        sizes = _Sizes(*contributions(output, cells, column))
        if not len(sizes.all):
            raise MeasureUndefined.at(
                name, rule=f"needs a value other than 0 in {column}", remedy="Remove the gate, or the column."
            )
        parts[column] = rounded(rule(sizes))
    return Measurement(
        name=name,
        value=worst(parts.values()),
        direction=direction,
        n=cells.records,
        columns=tuple(parts),
        by_column=parts,
        attacker=attacker,
        missing=NO_MISSING,
    )
