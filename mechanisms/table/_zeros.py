"""Structural zeros: cells of combinations that cannot occur, by public rules. They are exact, and not drawn.

    every record is in a possible cell                                                                           (1)
    figures of an impossible cell, and of a margin row that has no other cells: 0, with standard error 0          (2)

Theorem. Noise that keeps epsilon over all cells keeps it without noise in impossible ones, for all data sets with (1).
Proof. (1) holds for every data set that is compared, so counts and totals of an impossible cell are 0 in each of them.
What is published there is the same constant, whatever the data, and adds nothing to the loss; noises of the other cells
are independent of it and as before. ∎ So (1) is part of what the promise is about, like the declared categories. Where
it does not hold, records are refused before anything is spent (combinations.py, by tasks/ingest.py), and here again.

Which cells are impossible is declared, never read from the data: to find out which cells are empty and leave their
noise away would tell whether a single record is there. Margins are sums over possible cells, with less noise.

Exact tables have the same zeros. Under bdp and idp no published figure says whether noise is in it, and linked tables
and those with an exact grand total are made whole across all cells of a cube: none of them has structural zeros.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from penstock.mechanisms.columns import Declared
from penstock.mechanisms.combinations import (
    MOST_COMBINATIONS,
    Combination,
    CombinationImpossible,
    category_faults,
    found_impossible,
    where_impossible,
)
from penstock.mechanisms.refusal import Fault
from penstock.mechanisms.table._bounds import Limits
from penstock.mechanisms.table._linked import LinkedSettings

if TYPE_CHECKING:
    from penstock.mechanisms.table.settings import Params

__all__ = ["MOST_COVERED", "ZeroSettings", "possible_cells", "require_possible_cells", "within_possible", "zero_faults"]

Integers = NDArray[np.int64]

# Cells are marked one by one, for each combination that covers them: less than a second.
MOST_COVERED = 2**26


class ZeroSettings(LinkedSettings):
    """The part of the settings that says which cells cannot have records."""

    impossible: list[Combination] = Field(
        default=[],
        max_length=MOST_COMBINATIONS,
        exclude_if=lambda given: not given,  # so that specs from before there were any keep their digests
        description="dp and k_anon: combinations that cannot occur, each as two or more dimensions with a category, or "
        "a list of them: {age: 0 to under 18, marital: [Widowed, Divorced]}. From public rules, never from the data. "
        "Their cells are exact zeros without noise; a record with one of them is refused.",
    )


def zero_faults(params: Params, declared: Declared) -> Iterator[Fault]:
    """Yield what is wrong with impossible combinations; dimensions must be without fault."""
    if not params.impossible:
        return
    if params.model not in ("dp", "k_anon"):
        rule = f"must not be given under {params.model}, where no figure says whether noise is in it"
        yield Fault("impossible", rule, "Use model: dp or k_anon, or remove it.", params.model)
    if params.tables:
        rule = "must not be given with tables, which are fitted over all cells that they share"
        yield Fault("impossible", rule, "Remove it, or release the tables by themselves.")
    if params.exact_total:
        rule = "must not be given with exact_total, to which all cells are fitted"
        yield Fault("impossible", rule, "Remove one of the two.")
    faults = [fault for place in range(len(params.impossible)) for fault in _faults_of(place, params, declared)]
    yield from faults
    if faults:
        return
    sizes = {name: len(declared[name].categories or ()) for name in params.dimensions}
    covered = sum(prod(len(each.get(name, range(size))) for name, size in sizes.items()) for each in params.impossible)
    if covered > MOST_COVERED:
        rule = f"must cover at most {MOST_COVERED:,} cells, each counted once for every combination that covers it"
        yield Fault("impossible", rule, "Say it with fewer combinations, or take fewer dimensions.", f"{covered:,}")
    elif not possible_cells(params, declared).any():
        rule = "must leave a cell that is possible: no record could be in the table"
        yield Fault("impossible", rule, "Remove a combination.")


def _faults_of(place: int, params: Params, declared: Declared) -> Iterator[Fault]:
    combination, field = params.impossible[place], f"impossible.{place}"
    if len(combination) < 2:
        rule = "must name at least two dimensions: a category that cannot occur at all is no cell"
        yield Fault(field, rule, "Name another dimension, or leave the category out of the declared ones.")
    for name, categories in combination.items():
        if name not in params.dimensions:
            rule = "must be a dimension of this table"
            yield Fault(f"{field}.{name}", rule, "Remove it, or make it a dimension.")
        else:
            yield from category_faults(f"{field}.{name}", categories, declared[name])


def possible_cells(params: Params, declared: Declared) -> NDArray[np.bool_]:
    """Return which cells may have records, one dimension for each of the table."""
    return ~where_impossible(params.dimensions, params.impossible, declared)


def within_possible(limits: Mapping[str, Limits], params: Params, declared: Declared) -> dict[str, Limits]:
    """Return the same bounds, and in impossible cells none other than 0."""
    if not params.impossible:
        return dict(limits)
    possible = possible_cells(params, declared).ravel()
    return {name: Limits(each.low * possible, each.high * possible) for name, each in limits.items()}


def require_possible_cells(counts: Integers, params: Params, declared: Declared) -> None:
    """Refuse records in impossible cells; a release has refused them before (1)."""
    if params.impossible and bool(counts[~possible_cells(params, declared).ravel()].any()):
        raise CombinationImpossible(found_impossible())
