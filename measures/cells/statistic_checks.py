"""The checks of released statistics, from their records and declarations; nothing of the mechanism's own code is used.

    columns_as_declared   the columns of the layout and no other, whole numbers where they are such by nature
    rows_as_declared      one row for each declared group, the last column of groups fastest
    epsilon_spent         t c sum of epsilon_f <= epsilon: t groups touched, c records of each unit, exact, where totals
                          that are drawn together count once; and under dp noise for as much as one record can move
                          a figure or total (_statistic_facts.py, _together_facts.py)
    within_bounds         means, medians, quantiles and extremes lie in the declared domain, variances between 0 and
                          (b - a)^2 / 4; standard errors are not negative
    scale_covers_data     idp: noise for as much as one record of the actual data moves the figure, recomputed; where i
                          records are protected together, for as much as i of them move it times epsilon / epsilon_i
                          (_several_moves.py); where records come and go, for one more and one less
                          (_secret_size_moves.py); bdp: for as much as one record of any data set made of them does
                          (_bootstrap_scales.py)

All of this holds for every output, whatever the data and whatever was drawn: only a defect can break it, so whether a
release appears still tells nothing about the data. The noise itself is not looked at for that very reason.

Local sensitivities, x_(1) <= .. <= x_(n) on the grid, x_(0) = 0, x_(n+1) = R, one record replaced:

    rank k      max(x_(k+1) - x_(k), x_(k) - x_(k-1))
    median      n odd: rank (n + 1) / 2;  n even, m = n / 2: max(x_(m+2) - x_(m), x_(m+1) - x_(m-1)) / 2
    sum, mean   max(R - x_(1), x_(n)), of the sum
    variance    (n - 1) / n^2 max_i max(F_i - (x_i - m_i)^2, (x_i - m_i)^2),   F_i = max(m_i^2, (R - m_i)^2),
                m_i the mean of the others

Verdicts name figures and columns, never groups, values or counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import ceil, floor, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.measures.cells._bootstrap_scales import uncovered_figures
from penstock.measures.cells._secret_size_moves import moves_of_one_more_or_less
from penstock.measures.cells._several_moves import moves_of_several
from penstock.measures.cells._statistic_facts import Promised, Stated, read_promised
from penstock.measures.cells._together_facts import Box
from penstock.measures.cells.output import TableOutput
from penstock.measures.checks import Check, RecheckImpossible, verdict
from penstock.mechanisms.layout import error_of

__all__ = ["statistic_checks"]


def statistic_checks(output: TableOutput) -> tuple[Check, ...]:
    """Run every check of the model of the statistics."""
    promised = read_promised(output)
    checks = (
        _columns_as_declared(output),
        _rows_as_declared(output),
        _epsilon_spent(promised, output),
        _within_bounds(output),
    )
    return checks if promised.model == "dp" else (*checks, _scale_covers_data(output, promised))


def _columns_as_declared(output: TableOutput) -> Check:
    layout, released = output.layout, output.released
    whole = {*layout.dimensions, *(figure.name for figure in layout.figures if figure.whole)}

    def broken() -> Iterator[str]:
        yield from (name for name in released if name not in layout.columns)
        for name in layout.columns:
            kind = "i" if name in whole else "f"
            if name not in released or released[name].ndim != 1 or released[name].dtype.kind != kind:
                yield name

    return verdict(
        "columns_as_declared",
        "the table has the declared columns, each of its type, and no other",
        "it has",
        "a column is missing, of another type or not declared",
        broken(),
    )


def _rows_as_declared(output: TableOutput) -> Check:
    layout, released = output.layout, output.released
    shape = tuple(len(categories) for categories in layout.dimensions.values())
    wanted = np.array(list(product(*map(range, shape))), np.int64).reshape(prod(shape), len(shape))

    def broken() -> Iterator[str]:
        for place, name in enumerate(layout.dimensions):
            if name not in released or not np.array_equal(released[name], wanted[:, place]):
                yield name
        yield from (name for name in layout.columns if name in released and len(released[name]) != len(wanted))

    return verdict(
        "rows_as_declared",
        "one row for each declared group, in the order of the declared categories",
        "there is",
        "rows are missing, doubled or in another order",
        dict.fromkeys(broken()),
    )


def _adds_up(several: tuple[Fraction, ...], epsilon: Fraction, groups: bool) -> bool:
    """Return whether 1, 2, ... records keep what is stated of them, also if they lie in several groups."""
    kept = [Fraction(0)]
    for stated in several:
        # The records change together in one group, or fewer of them in some and the rest in others.
        apart = [kept[i] + kept[-i] for i in range(1, len(kept))] if groups else [kept[-1]]
        if any(more > stated for more in apart):
            return False
        kept.append(stated)
    return several[0] == epsilon


def _epsilon_spent(promised: Promised, output: TableOutput) -> Check:
    over = [
        stated.figure.name
        for stated in promised.figures
        if stated.epsilon <= 0 or any(move < least for move, least in zip(stated.moves, stated.needed, strict=True))
    ]
    over += [stated.figure.name for stated in promised.figures if stated.shared and _moves_too_far(promised.boxes)]
    each = promised.touched * promised.rows_per_unit
    alone = sum((stated.epsilon for stated in promised.figures if not stated.shared), Fraction(0))
    spent = each * (alone + sum((box.epsilon for box in promised.boxes), Fraction(0)))
    if spent > promised.epsilon or not _adds_up(promised.several, promised.epsilon, bool(output.layout.dimensions)):
        over = [stated.figure.name for stated in promised.figures]
    return verdict(
        "epsilon_spent",
        f"all figures together spend at most epsilon = {promised.epsilon}",
        "they do",
        "more is spent than is stated or promised",
        over,
    )


def _moves_too_far(boxes: Sequence[Box]) -> bool:
    """Return whether one record moves a total that is drawn with others by more than their noise is for."""
    answers = [answer for box in boxes for answer in box.answers]
    return any(box.epsilon <= 0 for box in boxes) or any(answer.half_width < answer.needed for answer in answers)


def _within_bounds(output: TableOutput) -> Check:
    def broken() -> Iterator[str]:
        for figure in output.layout.figures:
            values, errors = output.released.get(figure.name), output.released.get(error_of(figure.name))
            low, high = -np.inf, np.inf
            if figure.column is not None and figure.statistic != "sum":
                low, high = output.declared[figure.column].bounds
                if figure.statistic == "variance":
                    low, high = 0.0, (high - low) ** 2 / 4
            if values is None or not bool(((values >= low) & (values <= high) & np.isfinite(values)).all()):
                yield figure.name
            # NaN where none is known.
            if output.layout.errors and (errors is None or bool((errors < 0).any()) or bool(np.isinf(errors).any())):
                yield error_of(figure.name)

    return verdict(
        "within_bounds",
        "every figure lies in the interval that the declared domain leaves to it",
        "every one does",
        "a figure is missing or lies elsewhere",
        broken(),
    )


def _scale_covers_data(output: TableOutput, promised: Promised) -> Check:
    return verdict(
        "scale_covers_data",
        "noise in every group for as much as one record of the actual data moves the figure",
        "there is",
        "the noise of a figure is too small",
        (uncovered_figures if promised.model == "bdp" else _uncovered)(output, promised),
    )


def _uncovered(output: TableOutput, promised: Promised) -> Iterator[str]:
    labels = _labels(output)
    return (stated.figure.name for stated in promised.figures if not _covered(stated, promised, labels, output))


def _labels(output: TableOutput) -> NDArray[np.int64]:
    """Return the number of every record's group, the last column varying fastest."""
    records = len(next(iter(output.original.values())))
    number: NDArray[np.int64] = np.zeros(records, np.int64)
    for name, categories in output.layout.dimensions.items():
        number = number * len(categories) + output.declared[name].codes(output.original[name], name)
    return number


def _covered(stated: Stated, promised: Promised, labels: NDArray[np.int64], output: TableOutput) -> bool:
    scales = _hidden(output, f"steps {stated.figure.name}")
    kind = stated.figure.statistic
    in_parts = kind == "variance" or (kind == "mean" and promised.size_secret)
    units = _hidden(output, f"lattice {stated.figure.name}") if in_parts else [0] * len(scales)
    values, first, last = _values(stated, output)
    order = np.lexsort((values, labels))
    ends = np.searchsorted(labels[order], np.arange(output.layout.rows + 1))
    for group, (step, unit) in enumerate(zip(scales, units, strict=True)):
        inside = (values[order[ends[group] : ends[group + 1]]] - first).tolist()
        if step < 1 or step < _needed(stated, promised, inside, (first, last), Fraction(2) ** unit):
            return False
    return True


def _values(stated: Stated, output: TableOutput) -> tuple[NDArray[np.int64], int, int]:
    """Return what a figure is made of, in steps, and the bounds: for a count 1 where a record is counted, else 0."""
    if stated.figure.column is None:
        if stated.counted is None:
            return np.ones(len(next(iter(output.original.values()))), np.int64), 0, 1
        name, category = stated.counted
        codes, place = (
            output.declared[name].codes(output.original[name], name),
            (output.declared[name].categories or ()).index(category),
        )
        return (codes == place).astype(np.int64), 0, 1
    name = str(stated.figure.column)
    domain = output.declared[name].domain or (0, 0)
    values = _on_grid(output.original[name], stated.eta, *(float(bound) for bound in domain))
    return values, floor(Fraction(domain[0]) / stated.eta), ceil(Fraction(domain[1]) / stated.eta)


def _needed(
    stated: Stated, promised: Promised, x: list[int], bounds: tuple[int, int], unit: Fraction
) -> Fraction | int:
    """Return the least scale, times epsilon, of one group in whole units: for one record, or for any number that is
    protected. A figure in units moves by the next whole number of them, before the list of epsilons makes it less."""
    kind, several, (first, last) = stated.figure.statistic, promised.several, bounds
    if promised.size_secret:
        if kind in ("count", "sum"):
            return Fraction(1 if kind == "count" else max(abs(first), abs(last)))
        return ceil(moves_of_one_more_or_less(kind, stated.share, x, last - first) / unit)
    moves = [_moves(stated, x, last - first)]
    moves += [moves_of_several(kind, stated.share, x, last - first, i) for i in range(2, len(several) + 1)]
    return max(ceil(move / unit) * several[0] / spent for move, spent in zip(moves, several, strict=True))


def _hidden(output: TableOutput, name: str) -> list[int]:
    found = output.hidden.get(name)
    if found is None or found.dtype.kind != "i" or found.shape != (output.layout.rows,):
        raise RecheckImpossible.at(
            f"hidden.{name}", rule="must hold one whole number per group", remedy="Report this defect."
        )
    whole: list[int] = found.tolist()
    return whole


def _on_grid(values: NDArray[Any], eta: Fraction, low: float, high: float) -> NDArray[np.int64]:
    """floor(x / eta + 1/2) of values clamped to the domain; exact, because eta is a power of two."""
    scaled = np.clip(values.astype(np.float64), low, high) / float(eta)
    below = np.floor(scaled)
    return (below + (scaled - below >= 0.5)).astype(np.int64)


def _moves(stated: Stated, x: list[int], steps: int) -> Fraction:
    """Return how far one record moves the figure: in steps, half steps for a median, squared steps for a variance."""
    n, kind = len(x), stated.figure.statistic
    if n < (1 if kind in ("sum", "mean", "count") else 2):
        raise RecheckImpossible.at(
            "source", rule="must have enough records in every group for its figures", remedy="Report this defect."
        )
    if kind == "count":
        return Fraction(1)
    if kind in ("sum", "mean"):
        return Fraction(max(steps - x[0], x[-1]))
    if kind == "variance":
        return _variance_moves(x, steps)
    padded = [0, *x, steps]
    if kind == "median" and n % 2 == 0:
        m = n // 2
        return Fraction(max(padded[m + 2] - padded[m], padded[m + 1] - padded[m - 1]))
    ranks = {"minimum": 1, "maximum": n, "second_maximum": n - 1, "median": (n + 1) // 2}
    k = ranks.get(kind, ceil(stated.share * n))
    gap = max(padded[k + 1] - padded[k], padded[k] - padded[k - 1])
    return Fraction(2 * gap if kind == "median" else gap)


def _variance_moves(x: list[int], steps: int) -> Fraction:
    n, total = len(x), sum(x)
    largest = 0
    for own in set(x):
        # (n - 1) times the distance of the record and of both bounds from the mean of the others.
        record, lowest, highest = ((n - 1) * y - (total - own) for y in (own, 0, steps))
        largest = max(largest, record**2, lowest**2 - record**2, highest**2 - record**2)
    return Fraction(largest, (n - 1) * n**2)
