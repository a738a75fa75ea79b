"""Which order and how many blocks: the smallest expected error, from public facts alone.

The error that is expected if records were spread evenly over the declared domain: evenly spread points are
sorted by the very order that is judged, and each attribute states its error (_attributes.py). So
nothing is known here about how an order works, and no data are read: n, the declared columns and each column's
epsilon decide. Columns are weighed by the error of one block for all records. Real data are not spread evenly,
and skewed columns do better or worse. Columns that are drawn together, because some combinations of them cannot be
(_joint.py), are judged as if they were drawn one by one; only for the choice that is made their errors are those of
the joint draw, for records spread evenly over what is possible.

    k* = (24 m^2 (2 m - 1))^(1/4) sqrt(n / epsilon)                                                       (1)

is where the optimum lies for the snake order on m numbers with equal shares (derivation: docs/mechanisms).
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.dp_microaggregation._attributes import Attribute
from penstock.mechanisms.dp_microaggregation._joint import Joint, Linked
from penstock.mechanisms.dp_microaggregation.orders import (
    Axis,
    Corner,
    CornersInTurn,
    Lexicographic,
    Natural,
    Order,
    OrderName,
    Snake,
)

__all__ = ["MOST_CORNER_ATTRIBUTES", "Choice", "choose_order", "judged"]

# This many points show an expected error to about a hundredth of itself.
_POINTS = 4096
_POINTS_IN_BLOCK = 4
# Above this many attributes there are more corners than any order visits.
MOST_CORNER_ATTRIBUTES = 8
_STEP, _FINE_STEP = 1.6, 1.1
# With one block there is nothing to sort.
_SINGLE = Lexicographic()
_WITHOUT_SETTINGS: dict[OrderName, Order] = {
    order.name: order for order in (Natural(), Lexicographic(), Corner(), CornersInTurn())
}


@dataclass(frozen=True, slots=True)
class Choice:
    """An order with its block size, its proven sensitivities D_i, and the error to expect of each attribute.

    joints: how attributes are drawn that are drawn together.
    """

    order: Order
    k: int
    blocks: int
    sensitivities: tuple[int, ...]
    errors: tuple[float, ...]
    joints: tuple[Joint, ...] = ()

    @property
    def error(self) -> float:
        """Return the root mean square over the attributes."""
        return math.sqrt(sum(error**2 for error in self.errors) / len(self.errors))


def choose_order(
    attributes: Sequence[Attribute],
    epsilons: Sequence[Fraction],
    records: int,
    order: OrderName | Literal["auto"],
    k: int | Literal["auto"],
    linked: Sequence[Linked] = (),
) -> Choice:
    """Return the best choice among those that the settings leave open."""
    found = _best(attributes, epsilons, records, order, k)
    return judged(found.order, attributes, epsilons, records, found.k, linked) if linked else found


def _best(
    attributes: Sequence[Attribute],
    epsilons: Sequence[Fraction],
    records: int,
    order: OrderName | Literal["auto"],
    k: int | Literal["auto"],
) -> Choice:
    axes = [attribute.axis for attribute in attributes]
    # Errors are weighed by those of a single block, so that far categories do not outweigh near numbers.
    alone = judged(_SINGLE, attributes, epsilons, records, records).errors

    def best(sizes: Sequence[int], names: Sequence[OrderName]) -> Choice:
        found: Choice | None = None
        for size, name in itertools.product(sizes, names):
            for candidate in _candidates(name, axes, records // size):
                least = _least_errors(candidate, attributes, epsilons, records, size)
                if found is not None and _weighed(least, alone) >= _weighed(found.errors, alone):
                    continue  # its noise alone is worse, so its blocks need not be looked at
                choice = judged(candidate, attributes, epsilons, records, size)
                if found is None or _weighed(choice.errors, alone) < _weighed(found.errors, alone):
                    found = choice
        if found is None:
            raise ValueError("there is at least one order and one size")
        return found

    names = [order] if order != "auto" else _suitable(len(attributes))
    if k != "auto":
        return best([k], names)
    coarse = best(_sizes(records, 1, _most_blocks(records, sum(epsilons)), _STEP), names)
    fine = _sizes(records, coarse.blocks / _STEP, min(coarse.blocks * _STEP, records), _FINE_STEP)
    return best(fine, [coarse.order.name])


def judged(
    order: Order,
    attributes: Sequence[Attribute],
    epsilons: Sequence[Fraction],
    records: int,
    k: int,
    linked: Sequence[Linked] = (),
) -> Choice:
    """Return what to expect of one order and block size."""
    blocks = records // k
    axes = [attribute.axis for attribute in attributes]
    sensitivities = order.sensitivities(axes, blocks)
    size = min(records, max(_POINTS, _POINTS_IN_BLOCK * 2 ** (blocks - 1).bit_length()))
    levels = _possible(_evenly_spread(tuple(axis.levels for axis in axes), size), linked)
    size = len(levels[0])
    cut = order.cut(levels, axes, max(1, size * k // records))
    errors = [
        attribute.expected_error(values, cut, attribute.scale(sensitivity, epsilon), records / size)
        for attribute, values, sensitivity, epsilon in zip(attributes, levels, sensitivities, epsilons, strict=True)
    ]
    joints = tuple(each.together(attributes, sensitivities, epsilons, records) for each in linked)
    for joint in joints:
        for place, error in zip(joint.linked.places, joint.expected_errors(levels, cut, records / size), strict=True):
            errors[place] = error
    return Choice(order, k, blocks, sensitivities, tuple(errors), joints)


def _possible(levels: list[NDArray[np.int64]], linked: Sequence[Linked]) -> list[NDArray[np.int64]]:
    """Return the points whose combinations are possible; all of them, where these few have none."""
    found = np.ones(len(levels[0]), np.bool_)
    for each in linked:
        found &= each.are_possible(levels)
    return [values[found] for values in levels] if linked and bool(found.any()) else levels


def _least_errors(
    order: Order, attributes: Sequence[Attribute], epsilons: Sequence[Fraction], records: int, k: int
) -> list[float]:
    sensitivities = order.sensitivities([attribute.axis for attribute in attributes], records // k)
    largest = k + records % k  # no block has less noise than the last
    return [
        attribute.least_error(attribute.scale(sensitivity, epsilon), largest)
        for attribute, sensitivity, epsilon in zip(attributes, sensitivities, epsilons, strict=True)
    ]


def _weighed(errors: Sequence[float], alone: Sequence[float]) -> float:
    return sum((error / each) ** 2 for error, each in zip(errors, alone, strict=True))


def _suitable(attributes: int) -> list[OrderName]:
    if attributes == 1:
        return ["natural"]
    corners: list[OrderName] = ["corner", "corners_in_turn"] if attributes <= MOST_CORNER_ATTRIBUTES else []
    return ["snake", "lexicographic", *corners]


def _candidates(name: OrderName, axes: Sequence[Axis], blocks: int) -> Iterator[Order]:
    if name == "snake":
        yield from _snakes(axes, blocks)
    else:
        yield _WITHOUT_SETTINGS[name]


def _snakes(axes: Sequence[Axis], blocks: int) -> Iterator[Snake]:
    """Yield snakes with equally many columns in the first few attributes, about as many as blocks along an edge."""
    tried = set()
    for cut_up in range(len(axes)):
        edge = blocks ** (1 / (cut_up + 1))
        for factor in (0.7, 1.0, 1.4):
            columns = max(1, round(factor * edge))
            each = tuple(min(columns, a.levels) if place < cut_up else 1 for place, a in enumerate(axes[:-1]))
            snake = Snake(each)
            if each not in tried and snake.fits(axes):
                tried.add(each)
                yield snake


def _most_blocks(records: int, epsilon: Fraction | int) -> float:
    """Return more blocks than a few times the optimum of (1) for one attribute, where it is largest."""
    return min(float(records), 8 + 4 * math.sqrt(records * epsilon))


def _sizes(records: int, fewest: float, most: float, step: float) -> list[int]:
    """Return the largest block size for each number of blocks on a geometric scale."""
    counts = {1.0, fewest, most}
    count = max(1.0, fewest)
    while count < most:
        counts.add(count)
        count = max(count * step, count + 1)
    return sorted({records // max(1, int(count)) for count in counts}, reverse=True)


@functools.lru_cache(maxsize=8)
def _evenly_spread(counts: tuple[int, ...], size: int) -> list[NDArray[np.int64]]:
    """Return points x_j = frac(1/2 + j / phi^i), phi^(m+1) = phi + 1: evenly spread, without chance (Roberts 2018)."""
    phi = 2.0
    for _ in range(40):
        phi = (1 + phi) ** (1 / (len(counts) + 1))
    steps = np.arange(1, size + 1)
    return [((0.5 + steps * phi ** -(place + 1)) % 1.0 * each).astype(np.int64) for place, each in enumerate(counts)]
