"""Statistics of groups: how far they move under differential privacy, beside the steps that were used.

One record of the domain, R steps wide with values of at most B steps, moves at most

                      replaced, n public      one more or less     groups that may be empty
    count             1                       1                    1
    sum               R                       B                    B; max(R, B) where a record of one group is replaced
    mean              R / n                   R / 2                ceil(R / 2), of the sum less the middle          (1)
    variance          (n - 1) R^2 / n^2       R^2 / 4              ceil(R / 2)^2, of the squares less the middle
    median            R; R / 2, n even        R / 2                R / 2; R where a record of one group is replaced
    order statistics  R                       R                    R

The second column is about any number of records from 1 on, or from 2 for a second maximum. In the third the same noise
is compared that the bootstrap model draws, and half of epsilon for each group where a replaced record may touch two.

Smooth sensitivities are those for noise with tails like 1 / |z|^3, beta = epsilon / 4, where n is public and a domain
is declared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from penstock.measures.cells._statistic_facts import Promised, Stated, read_promised
from penstock.measures.cells.output import TableOutput
from penstock.measures.cells.relaxation import _told as told
from penstock.measures.cells.relaxation._cells import Detail, Numbers, figure_found, named
from penstock.measures.cells.relaxation._neighbours import moves_of_neighbours
from penstock.measures.cells.relaxation._outside import outside
from penstock.measures.cells.relaxation.found import Relaxation

__all__ = ["Compared", "Smooth", "moves_in_domain", "statistics_found"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Places = NDArray[np.bool_]
# Takes sorted values in steps, their bounds and beta.
Smooth = Mapping[str, Callable[[Integers, int, int, float], float]]


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """Who is compared: comes, whether records enter or leave; empties, whether all may; alone, one group is chosen."""

    comes: bool
    empties: bool
    alone_replaced: bool


def statistics_found(output: TableOutput, smooth: Smooth) -> Relaxation:
    """Return what is found of every figure of statistics."""
    promised = read_promised(output)
    how, labels = _compared(output, promised), _labels(output)
    inside = labels >= 0
    counts = np.bincount(labels[inside], minlength=output.layout.rows).astype(np.int64)
    is_outside, figures = np.zeros(len(labels), np.bool_), []
    nobody, ends = np.zeros(len(labels), np.bool_), np.append(0, np.cumsum(counts))

    @cache
    def sorted_on(column: str | None, eta: Fraction) -> tuple[Integers, int, int, Places]:
        """Return values sorted within groups, their bounds, and who is outside; figures of one column share them."""
        values, first, last = _on_grid(column, eta, output)
        order = np.lexsort((values, labels))
        far = outside(values, labels, order) if promised.model == "bdp" and column is not None else nobody
        return values[order[inside[order]]], first, last, far

    for stated in promised.figures:
        ordered, first, last, own = sorted_on(stated.figure.column, stated.eta)
        far = None
        if promised.model == "bdp":
            is_outside |= own
            far = np.bincount(labels[own], minlength=output.layout.rows).astype(np.int64)
        numbers = _numbers(output, stated, promised, how, counts, far, first, last)
        figures.append(
            figure_found(
                numbers,
                named(output.layout, output.layout.levels[0]),
                _details(stated, promised, how, numbers, ordered, ends, first, last, smooth),
            )
        )
    return Relaxation(
        model=promised.model,
        records=int(inside.sum()),
        outside=int(is_outside.sum()) if promised.model == "bdp" else None,
        figures=tuple(figures),
    )


def _compared(output: TableOutput, promised: Promised) -> Compared:
    adjacency, grouped = output.guarantee.adjacency, bool(output.layout.dimensions)
    if promised.model == "idp":
        return Compared(comes=promised.size_secret, empties=False, alone_replaced=False)
    empties = grouped and adjacency != "bootstrap_within_cell"
    one = "only" in output.guarantee.parameters
    return Compared(
        comes=empties or adjacency == "bootstrap_add_remove",
        empties=empties,
        alone_replaced=one and adjacency == "bootstrap_replace",
    )


def _labels(output: TableOutput) -> Integers:
    """Return the group of every record, the last column varying fastest; below 0 for none."""
    only = output.guarantee.parameters.get("only", {})
    label: Integers = np.zeros(len(next(iter(output.original.values()))), np.int64)
    for name, categories in output.layout.dimensions.items():
        codes = output.declared[name].codes(output.original[name], name)
        if name in only:
            label[codes != list(output.declared[name].categories or ()).index(only[name])] = -1
        else:
            label = label * len(categories) + codes
    return label


def _on_grid(name: str | None, eta: Fraction, output: TableOutput) -> tuple[Integers, int, int]:
    """Return values in steps of the stated grid, floor(x / eta + 1/2), and both bounds; of a count 0, 0 and 1."""
    if name is None:
        return np.zeros(len(next(iter(output.original.values()))), np.int64), 0, 1
    low, high = output.declared[name].bounds
    halves = np.floor(np.clip(output.original[name].astype(np.float64), low, high) / float(eta) * 2)
    return (halves.astype(np.int64) + 1) >> 1, floor(Fraction(low) / eta), ceil(Fraction(high) / eta)


def moves_in_domain(kind: str, n: int, width: int, largest: int, how: Compared) -> Fraction:
    """Return (1) in steps of the grid, squared ones of a variance."""
    whole, half = Fraction(width), Fraction(-(-width // 2))
    if kind == "count":
        return Fraction(1)
    if kind == "sum":
        return Fraction(max(width, largest) if how.alone_replaced else largest if how.comes else width)
    if kind in ("mean", "variance"):
        power = 2 if kind == "variance" else 1
        if how.empties:
            return half**power
        if how.comes:
            return whole**power / (4 if kind == "variance" else 2)
        return whole / n if kind == "mean" else (n - 1) * whole**2 / n**2
    if kind == "median" and not how.alone_replaced and (how.comes or n % 2 == 0):
        return whole / 2
    return whole


def _numbers(
    output: TableOutput,
    stated: Stated,
    promised: Promised,
    how: Compared,
    counts: Integers,
    far: Integers | None,
    first: int,
    last: int,
) -> Numbers:
    kind, name, column = stated.figure.statistic, stated.figure.name, stated.figure.column
    squared = 2 if kind == "variance" else 1
    eta, per_total = float(stated.eta) ** squared, 1
    if promised.model == "bdp":
        per_total = {"mean": 2, "variance": 3}.get(kind, 1) if how.empties else 1
        drawn = output.hidden[f"steps {per_total - 1} {name}"]
        unit = np.full(len(drawn), eta / stated.parts)
    else:
        drawn = output.hidden[f"steps {name}"]
        if f"lattice {name}" in output.hidden:
            unit = np.ldexp(eta, output.hidden[f"lattice {name}"])
        else:
            parts = {"median": np.full(len(drawn), 2), "mean": np.maximum(counts, 1)}
            unit = eta / parts.get(kind, np.ones(len(drawn), np.int64))
    declared = None
    if column is None or output.declared[column].resolution is None:
        largest = max(abs(first), abs(last))
        sizes, which = np.unique(counts, return_inverse=True)
        moves = [float(moves_in_domain(kind, max(n, 1), last - first, largest, how)) for n in sizes.tolist()]
        declared = np.array(moves)[which.ravel()] * eta / unit
    words = "number of records" if column is None else f"{kind.replace('_', ' ')} of {column}"
    if stated.counted is not None:
        words = f"number of records with {stated.counted[0]} {stated.counted[1]}"
    if per_total > 1:
        words += f": {'squares' if kind == 'variance' else 'sum'} of the distances from the middle of the domain"
    says = (
        told.says_of_bootstrap(kind, comes=how.comes, empties=how.empties)
        if promised.model == "bdp"
        else told.says_of_individual(kind, size_secret=promised.size_secret)
    )
    return Numbers(
        name=name,
        what=words,
        tells=says,
        epsilon=stated.epsilon / per_total,
        counts=counts,
        drawn=drawn,
        unit=unit,
        declared=declared,
        outside=far,
    )


def _details(
    stated: Stated,
    promised: Promised,
    how: Compared,
    numbers: Numbers,
    ordered: Integers,
    ends: Integers,
    first: int,
    last: int,
    smooth: Smooth,
) -> Callable[[int], Detail]:
    """Return what looks a group up. ordered: the values in steps, sorted within groups, which end at `ends`."""
    kind, eta = stated.figure.statistic, float(stated.eta)

    def detail(group: int) -> Detail:
        x = ordered[ends[group] : ends[group + 1]]
        if stated.figure.column is None or not len(x):
            return Detail(
                "Nothing." if len(x) else "Nothing: it has no records, and noise as the widest of the others."
            )
        near = known = None
        bounded = numbers.declared is not None
        if bounded and not how.comes and kind in smooth:
            known = smooth[kind](x, first, last, float(stated.epsilon) / 4) * eta
        if promised.model == "bdp":
            middle = (first + (last - first) // 2) * eta
            says = told.bootstrap_told(
                kind,
                float(x[0]) * eta,
                float(x[-1]) * eta,
                middle,
                lowest=first * eta,
                comes=how.comes,
                empties=how.empties,
                replaced=how.alone_replaced,
            )
            return Detail(says, known)
        if bounded and not how.comes and len(promised.several) == 1:
            moved = moves_of_neighbours(kind, stated.share, (x - first).tolist(), last - first)
            parts = len(x) if kind == "mean" else 1
            near = None if moved is None else (float(moved[0]) * eta / parts, float(moved[1]) * eta / parts)
        ends_of_order = [float(x[place]) * eta for place in (0, min(1, len(x) - 1), max(-2, -len(x)), -1)]
        used = int(numbers.drawn[group]) * float(numbers.unit[group])
        between = kind == "median" and len(x) % 2 == 0
        says = told.individual_told(kind, tuple(ends_of_order), first * eta, last * eta, used, between=between)
        if how.comes or len(promised.several) > 1:
            says = told.says_of_individual(kind, size_secret=promised.size_secret)
        return Detail(says, known, near)

    return detail
