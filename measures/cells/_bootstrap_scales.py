"""How far one record can move a statistic among data sets made of the actual records, computed again from the records.

Of a group with values x_1 <= .. <= x_n on the grid, the middle m of which stands for a group without records:

    moved by a record that stays    sum, order statistics, median, mean     w = x_n - x_1 (mean: / n)
                                    median of an even number, n fixed       w / 2
                                    variance                                w^2 (n - 1) / n^2
    by one that comes or goes       sum                                     max |x|
                                    order statistics                        max(w, max |x - m|), or w if not empty
                                    median                                  max(w / 2, max |x - m|), or w / 2

Where groups may be empty, means and variances are made of N, U and T, which move by 1, max |x - m| and its square; a
record that stays moves U by w, which is at most twice that. Where a replaced record may go from group to group, a
figure has half of its epsilon in each, and a record that stays has all of it, so half of what it moves is enough.

Nothing of the mechanism's own code is used. Groups without records need no noise of any size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from penstock.measures.cells._statistic_facts import Promised, Stated
from penstock.measures.cells.output import TableOutput
from penstock.measures.checks import RecheckImpossible

__all__ = ["uncovered_figures"]


@dataclass(frozen=True, slots=True)
class _Changes:
    """How one change may touch a group: a record of it is exchanged, or one enters or leaves.

    moves: a replaced record may go to another group. empties: a group may lose all its records.
    """

    stays: bool
    comes: bool
    moves: bool
    empties: bool


def uncovered_figures(output: TableOutput, promised: Promised) -> Iterator[str]:
    """Yield the figures of which the noise is too small for the records, in some group."""
    changes, labels = _changes(output), _labels(output)
    for stated in promised.figures:
        groups = _split(_values(stated, output), labels, output.layout.rows)
        steps = _hidden(output, stated, changes)
        if not all(
            _is_covered(stated, drawn, group.tolist(), changes, output)
            for drawn, group in zip(steps, groups, strict=True)
        ):
            yield stated.figure.name


def _changes(output: TableOutput) -> _Changes:
    adjacency, grouped = output.guarantee.adjacency, bool(output.layout.dimensions)
    secret = grouped and adjacency != "bootstrap_within_cell"
    replaced = adjacency != "bootstrap_add_remove"
    alone = "only" in output.guarantee.parameters
    return _Changes(
        stays=replaced, comes=secret or not replaced, moves=replaced and secret and not alone, empties=secret
    )


def _labels(output: TableOutput) -> NDArray[np.int64]:
    """Return the number of every record's group, the last column varying fastest; -1 outside the one that was
    chosen."""
    only = output.guarantee.parameters.get("only", {})
    records = len(next(iter(output.original.values())))
    number: NDArray[np.int64] = np.zeros(records, np.int64)
    for name, categories in output.layout.dimensions.items():
        codes = output.declared[name].codes(output.original[name], name)
        if name in only:
            number[codes != list(output.declared[name].categories or ()).index(only[name])] = -1
        else:
            number = number * len(categories) + codes
    return number


def _split(values: NDArray[np.int64], labels: NDArray[np.int64], groups: int) -> list[NDArray[np.int64]]:
    order = np.argsort(labels, kind="stable")
    ends = np.searchsorted(labels[order], np.arange(groups + 1))
    return [values[order[ends[group] : ends[group + 1]]] for group in range(groups)]


def _values(stated: Stated, output: TableOutput) -> NDArray[np.int64]:
    """Return floor(x / eta + 1/2) of values clamped to the domain; a count needs only how many there are."""
    name = stated.figure.column
    if name is None:
        return np.zeros(len(next(iter(output.original.values()))), np.int64)
    scaled = np.clip(output.original[name].astype(np.float64), *output.declared[name].bounds) / float(stated.eta)
    below = np.floor(scaled)
    return (below + (scaled - below >= 0.5)).astype(np.int64)


def _is_covered(
    stated: Stated, drawn: Sequence[int], values: Sequence[int], changes: _Changes, output: TableOutput
) -> bool:
    """Return whether every total that was drawn for a group has steps for what one change moves it."""
    needed = _needed(stated, values, changes, output) if values else (Fraction(1, stated.parts),) * len(drawn)
    return all(steps >= 1 and steps >= least * stated.parts for steps, least in zip(drawn, needed, strict=True))


def _totals(stated: Stated, changes: _Changes) -> int:
    """Return how many totals a figure is made of."""
    return {"mean": 2, "variance": 3}.get(stated.figure.statistic, 1) if changes.empties else 1


def _needed(stated: Stated, x: Sequence[int], changes: _Changes, output: TableOutput) -> tuple[Fraction, ...]:
    """Return what each total must cover, in steps of the grid or squared ones."""
    kind = stated.figure.statistic
    if stated.figure.column is None:
        return (Fraction(1),)
    n, width = len(x), Fraction(max(x) - min(x))
    away = Fraction(max(abs(value - _middle(stated, output)) for value in (min(x), max(x))))
    if _totals(stated, changes) > 1:
        return (Fraction(1), away, away**2)[: _totals(stated, changes)]
    if kind == "sum":
        comes, stays = Fraction(max(abs(min(x)), abs(max(x)))), width
    elif kind == "mean":
        comes = stays = width / n
    elif kind == "variance":
        comes = stays = width**2 * (n - 1) / n**2
    else:
        # Where the number is fixed and even, both ranks of a median are never at one end.
        halved = kind == "median"
        comes = max(width / 2 if halved else width, away if changes.empties else Fraction(0))
        stays = width / 2 if halved and n % 2 == 0 and not changes.comes else width
    together = stays / 2 if changes.moves else stays
    return (max(comes if changes.comes else Fraction(0), together if changes.stays else Fraction(0)),)


def _middle(stated: Stated, output: TableOutput) -> int:
    low, high = output.declared[str(stated.figure.column)].bounds
    first, last = floor(Fraction(low) / stated.eta), ceil(Fraction(high) / stated.eta)
    return first + (last - first) // 2


def _hidden(output: TableOutput, stated: Stated, changes: _Changes) -> list[tuple[int, ...]]:
    """Return for each group the steps of every total that was drawn for a figure."""
    totals = []
    for place in range(_totals(stated, changes)):
        name = f"steps {place} {stated.figure.name}"
        found = output.hidden.get(name)
        if found is None or found.dtype.kind != "i" or found.shape != (output.layout.rows,):
            raise RecheckImpossible.at(
                f"hidden.{name}", rule="must hold one whole number per group", remedy="Report this defect."
            )
        totals.append(found.tolist())
    return [*zip(*totals, strict=True)]
