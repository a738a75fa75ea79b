"""Priors as data: what anybody may believe about a value before asking, stated without looking at the data.

    weights w_i, whole numbers;   P(i) = w_i / sum of w                                                           (1)

    masses         exact fractions of named values; they must add up to 1, and what is not named is impossible
    uniform        the same for every value of the declared domain or list
    histogram      a mass for each band of numbers, spread evenly over its points of the grid
    distribution   a distribution of scipy.stats, cut off at the declared bounds: see distributions.py

A histogram and a distribution are rounded to weights out of 2^39, at least 1 where a float tells that a value is
possible. The promise holds for every prior, so what rounding does to it costs nothing; the rounded prior is the one
that is used.
"""

from __future__ import annotations

import difflib
import hashlib
import math
from collections.abc import Collection
from fractions import Fraction
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, field_validator
from pydantic_core import PydanticCustomError

from penstock.mechanisms.columns import Column
from penstock.mechanisms.numbers.exact import ExactNumber, exact_number
from penstock.mechanisms.numbers.grid import Grid, grid_of
from penstock.mechanisms.refinement.distributions import BY_INCOMPLETE_BETA, DISTRIBUTIONS, MOST_PARAMETER, chances
from penstock.mechanisms.refinement.refine import MOST_WEIGHT
from penstock.mechanisms.refusal import Fault, SettingRefused

__all__ = [
    "MOST_STEPS",
    "AnyPrior",
    "Distribution",
    "Histogram",
    "Masses",
    "Uniform",
    "digest_of",
    "faults_of",
    "grid_for",
    "weights",
]

# Numbers are answered on a grid of at most this many steps.
MOST_STEPS = 2**16
_ROUNDED = 2**39


class _Prior(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Masses(_Prior):
    """Values and their probabilities."""

    kind: Literal["masses"] = Field(description="The name of this kind of prior; it must be given.")
    masses: dict[str, ExactNumber] = Field(
        min_length=1,
        max_length=4096,
        description="Each possible value with its probability, exact, such as "
        '{yes: "1/100", no: "99/100"}. They add up to 1; a value that is not listed is never an answer.',
    )


class Uniform(_Prior):
    """Every value is as likely as any other."""

    kind: Literal["uniform"] = Field(description="The name of this kind of prior; it must be given.")


class Histogram(_Prior):
    """Bands of numbers and their probabilities."""

    kind: Literal["histogram"] = Field(description="The name of this kind of prior; it must be given.")
    bounds: list[FiniteFloat] = Field(
        min_length=2, max_length=1025, description="Where each band begins, rising, and where the last one ends."
    )
    masses: list[ExactNumber] = Field(
        max_length=1024, description="The probability of each band, exact; they add up to 1."
    )


class Distribution(_Prior):
    """A distribution of scipy.stats, cut off at the declared bounds."""

    kind: Literal["distribution"] = Field(description="The name of this kind of prior; it must be given.")
    name: Literal[DISTRIBUTIONS] = Field(  # type: ignore[valid-type]
        description="Its name in scipy.stats. For any other, give a histogram."
    )
    parameters: dict[str, FiniteFloat] = Field(
        default={},
        max_length=6,
        description="Its parameters, by the names that scipy.stats gives them. Those of "
        f"{', '.join(sorted(BY_INCOMPLETE_BETA))} are at most {MOST_PARAMETER:,}, but for loc and scale.",
    )

    @field_validator("name", mode="before")
    @classmethod
    def _can_be_evaluated(cls, name: object) -> object:
        if isinstance(name, str) and name not in DISTRIBUTIONS:
            near = difflib.get_close_matches(name, DISTRIBUTIONS, 1)
            fault = Fault(
                "",
                "must be a distribution of scipy.stats whose distribution function has a closed form or is a special "
                "function",
                f"{f'Did you mean {near[0]}? ' if near else ''}For any other, give a histogram, with a mass for each "
                "band; docs/spec.md lists what can be named.",
                repr(name[:80]),
            )
            raise PydanticCustomError("faults", "must be a distribution that docs/spec.md lists", {"faults": [fault]})
        return name


AnyPrior = Annotated[Masses | Uniform | Histogram | Distribution, Field(discriminator="kind")]


def grid_for(column: Column, name: str) -> Grid:
    """Return the grid on which a numeric column is answered."""
    return grid_of(column, name, finest=MOST_STEPS)


def weights(prior: AnyPrior, column: Column, name: str) -> NDArray[np.int64]:
    """Return (1) on the points of a declared column; refuse a prior that does not fit it."""
    field = f"priors.{name}"
    if isinstance(prior, Masses):
        return _exact_masses(prior, column, name, field)
    if isinstance(prior, Uniform):
        return np.ones(grid_for(column, name).steps + 1 if column.numeric else len(column.categories or ()), np.int64)
    if not column.numeric:
        raise _refused(field, "must be masses or uniform for categories", "List each category with its mass.", prior)
    grid = grid_for(column, name)
    if isinstance(prior, Histogram):
        points = grid.values(np.arange(grid.steps + 1)).astype(np.float64)
        return _rounded(_bands(prior, points, field), field)
    given = tuple(sorted(prior.parameters.items()))
    return _rounded(chances(prior.name, given, grid, f"{field}.parameters"), field)


def digest_of(used: NDArray[np.int64]) -> str:
    """Return a digest of weights, by which a stated prior can be compared with the one that was meant."""
    return hashlib.sha256(used.astype("<i8").tobytes()).hexdigest()


def _common_denominator(masses: Collection[Fraction], field: str) -> int:
    """Return by what masses become whole numbers; refuse masses that are not those of a distribution."""
    if any(mass < 0 for mass in masses):
        raise _refused(f"{field}.masses", "must each be at least 0", "Correct them.")
    common = 1
    for mass in masses:
        common = math.lcm(common, mass.denominator)
        if common > MOST_WEIGHT:  # before its digits make adding up take for ever
            raise _refused(f"{field}.masses", "must have a common denominator of at most 2^40", "Round them.")
    if sum(masses) != 1:
        raise _refused(f"{field}.masses", "must add up to 1", "Correct them.", str(sum(masses)))
    return common


def _exact_masses(prior: Masses, column: Column, name: str, field: str) -> NDArray[np.int64]:
    common = _common_denominator(prior.masses.values(), field)
    places = _places(prior, column, name, field)
    size = grid_for(column, name).steps + 1 if column.numeric else len(column.categories or ())
    found = np.zeros(size, np.int64)
    for place, mass in zip(places, prior.masses.values(), strict=True):
        found[place] += int(mass * common)
    return found


def _places(prior: Masses, column: Column, name: str, field: str) -> list[int]:
    if column.numeric:
        numbers = [_number(value) for value in prior.masses]
        if None in numbers:
            raise _refused(f"{field}.masses", "must name numbers for a numeric column", "Correct them.")
        values, (low, high) = np.array(numbers, np.float64), column.bounds
        if ((values < low) | (values > high)).any():
            raise _refused(f"{field}.masses", "must name numbers of the declared domain", "Correct them.")
        return [int(place) for place in grid_for(column, name).index(values)]
    known = {str(category): place for place, category in enumerate(column.categories or ())}
    unknown = [value for value in prior.masses if value not in known]
    if unknown:
        raise _refused(f"{field}.masses", "must name declared categories", "Correct them.", unknown[0])
    return [known[value] for value in prior.masses]


def _number(written: str) -> float | None:
    exact = exact_number(written.removeprefix("-"))
    return None if exact is None else float(-exact if written.startswith("-") else exact)


def _bands(prior: Histogram, points: NDArray[np.float64], field: str) -> NDArray[np.float64]:
    if len(prior.masses) != len(prior.bounds) - 1:
        raise _refused(f"{field}.masses", "must be one fewer than bounds", "Give one mass for each band.")
    if any(later <= earlier for earlier, later in zip(prior.bounds, prior.bounds[1:], strict=False)):
        raise _refused(f"{field}.bounds", "must rise", "Sort them.")
    _common_denominator(prior.masses, field)
    bands = np.searchsorted(prior.bounds, points, side="right") - 1
    bands[points == prior.bounds[-1]] = len(prior.masses) - 1
    is_in = (bands >= 0) & (bands < len(prior.masses))
    numbers = np.bincount(bands[is_in], minlength=len(prior.masses))
    if ((numbers == 0) & np.array([mass > 0 for mass in prior.masses])).any():
        raise _refused(f"{field}.bounds", "must leave points of the domain in every band with a mass", "Correct them.")
    heights = np.array([float(mass) for mass in prior.masses]) / np.maximum(numbers, 1)
    found = np.zeros(len(points))
    found[is_in] = heights[bands[is_in]]
    return found


def _rounded(chances: NDArray[np.float64], field: str) -> NDArray[np.int64]:
    total = float(chances.sum())
    if not total > 0:
        raise _refused(field, "must leave something possible within the declared domain", "Correct it.")
    found = np.rint(chances / total * _ROUNDED).astype(np.int64)
    found[(chances > 0) & (found == 0)] = 1
    return found


def faults_of(prior: AnyPrior, column: Column, name: str) -> tuple[Fault, ...]:
    """Return what is wrong with a prior for a column."""
    try:
        weights(prior, column, name)
    except SettingRefused as refused:
        return tuple(refused.faults)
    return ()


def _refused(field: str, rule: str, remedy: str, got: Any = None) -> SettingRefused:
    if isinstance(got, BaseModel):
        got = getattr(got, "kind", None)
    return SettingRefused.at(field, rule=rule, remedy=remedy, **({} if got is None else {"got": got}))
