"""Refinement by its definition, one point at a time in exact fractions; bounds of e^x that share no code with it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction

from hypothesis import strategies as st

Distance = Callable[[int, int], int]
Distribution = list[Fraction]

UNIT = 2**22


def exponential(x: Fraction) -> tuple[Fraction, Fraction]:
    """A number below e^x and one above it, equal to sixty digits."""
    with localcontext() as context:
        context.prec = 80
        power = (Decimal(x.numerator) / Decimal(x.denominator)).exp()
        error = power.scaleb(-60)
        return Fraction(power - error), Fraction(power + error)


def refined(
    weights: Sequence[int], distance: Distance, true: int, up: Fraction, down: Fraction
) -> tuple[Distribution, Fraction]:
    """The refined distribution, and the factor of its shell: radii are tried one after the other."""
    prior = [Fraction(weight, sum(weights)) for weight in weights]
    points = range(len(prior))
    apart = [distance(true, y) for y in points]
    most_inside = (1 - down) / (up - down) if up > down else Fraction(0)
    for radius in sorted(set(apart)):
        closed = sum(prior[y] for y in points if apart[y] <= radius)
        if closed > most_inside or closed == 1:
            break
    inside = sum((prior[y] for y in points if apart[y] < radius), Fraction(0))
    outside = sum((prior[y] for y in points if apart[y] > radius), Fraction(0))
    between = (1 - up * inside - down * outside) / (1 - inside - outside)
    factor = {-1: up, 0: between, 1: down}
    return [prior[y] * factor[(apart[y] > radius) - (apart[y] < radius)] for y in points], between


def on_line(x: int, y: int) -> int:
    return abs(x - y)


def listed(table: Sequence[Sequence[int]]) -> Distance:
    return lambda x, y: table[x][y]


@st.composite
def priors(draw: st.DrawFn, most: int = 9) -> list[int]:
    """Weights of few points; often small with many zeros and ties, sometimes adding up to almost 2^40."""
    count = draw(st.integers(1, most))
    small, large = st.integers(0, 3), st.integers(0, 2**40 // most)
    weights = draw(st.lists(draw(st.sampled_from([small, large])), min_size=count, max_size=count))
    if not any(weights):
        weights[draw(st.integers(0, count - 1))] = 1
    if draw(st.booleans()):  # nearly everything in one place, so that the sum is 2^40
        weights[draw(st.integers(0, count - 1))] += 2**40 - sum(weights)
    return weights


@st.composite
def tables(draw: st.DrawFn, count: int) -> list[list[int]]:
    """Distances, symmetric or not, with many ties."""
    apart = st.integers(1, draw(st.sampled_from([1, 3, 2**31])))
    return [[0 if x == y else draw(apart) for y in range(count)] for x in range(count)]


def epsilons() -> st.SearchStrategy[Fraction]:
    """From next to nothing to the largest that is allowed."""
    return st.one_of(
        st.sampled_from([Fraction(1, 10**9), Fraction(1, 10**30), Fraction(1), Fraction(64)]),
        st.fractions(Fraction(1, 1000), Fraction(64), max_denominator=1000),
        st.fractions(Fraction(1, 100), Fraction(3), max_denominator=100),
    )


def refined_together(
    weights: Sequence[Sequence[int]],
    distances: Sequence[Distance],
    shares: Sequence[Fraction],
    impossible: Callable[[tuple[int, ...]], bool],
    true: tuple[int, ...],
    up: Fraction,
    down: Fraction,
) -> dict[tuple[int, ...], Fraction]:
    """The refined distribution of combinations: the product of the priors where possible, divided by its sum."""
    combinations = list(itertools.product(*(range(len(each)) for each in weights)))
    products = [
        Fraction(0)
        if impossible(y)
        else math.prod(Fraction(w[code], sum(w)) for w, code in zip(weights, y, strict=True))
        for y in combinations
    ]
    widest = [
        max(apart(x, y) for x in range(len(w)) for y in range(len(w))) or 1
        for apart, w in zip(distances, weights, strict=True)
    ]
    common = math.lcm(*(Fraction(share, wide).denominator for share, wide in zip(shares, widest, strict=True)))

    def apart(_: int, place: int) -> int:
        parts = zip(distances, shares, widest, true, combinations[place], strict=True)
        return int(common * sum(share * distance(x, y) / wide for distance, share, wide, x, y in parts))

    denominator = math.lcm(*(product.denominator for product in products))
    whole = [int(product * denominator) for product in products]
    masses, _ = refined(whole, apart, 0, up, down)
    return dict(zip(combinations, masses, strict=True))
