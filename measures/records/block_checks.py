"""The checks of differentially private microdata made of blocks of records.

    block_sizes           J = floor(n / k) blocks, all of k records but the last one of k + n mod k, in every column;
                          one partition for all columns where rows are records
    one_value_per_block   every row of a block carries the block's value; where rows mean nothing, a column holds
                          one value for each block, as often as the block has records
    published_values      numbers lie on the public grid inside the declared domain, categories in the released list
    possible_combinations where columns are drawn together: no combination that is declared impossible is released
                          (drawn_together.py)
    epsilon_spent         c (sum over numbers of D_i / scale_i + sum over categories of 2 D_i / scale_i) <= epsilon,
                          c records of each unit, in exact fractions
    identifiers_absent    no identifier, and no undeclared column, is released

k, D_i, scale_i and the grid are those that the mechanism states as public facts, and k must be the promised one where
the promise fixes it. That D_i is large enough is a theorem about the order, not something that an output can show.

All of this holds for every output, whatever the data and whatever was drawn: only a defect can break it, so whether
a release appears still tells nothing about the data. The noise itself is not looked at for that very reason. A check
that some draws fail would let only the others appear, and those no longer have the promised distribution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.measures.checks import Check, RecheckImpossible, identifiers_absent, verdict
from penstock.measures.records.drawn_together import possible_combinations
from penstock.measures.records.output import RecordOutput
from penstock.mechanisms.columns import Column, named

__all__ = ["block_checks"]


@dataclass(frozen=True, slots=True)
class _Stated:
    """The public facts about one column: its blocks, its grid, what it spends and what it may spend."""

    k: int
    blocks: int
    grid: Fraction
    spent: Fraction
    epsilon: Fraction


@dataclass(frozen=True, slots=True)
class _Blocks:
    """An output with the facts that it is checked against; parts are the columns that were cut together."""

    output: RecordOutput
    promised: tuple[str, ...]
    rows_mean_nothing: bool
    epsilon: Fraction
    rows_per_unit: int
    k: int | None
    parts: tuple[tuple[str, ...], ...]
    stated: Mapping[str, _Stated]


def block_checks(output: RecordOutput) -> tuple[Check, ...]:
    """Run every check of dp."""
    blocks = _blocks(output)
    return (
        _block_sizes(blocks),
        _one_value_per_block(blocks),
        _published_values(blocks),
        *possible_combinations(output),
        _epsilon_spent(blocks),
        identifiers_absent(output.declared, output.released),
    )


def _blocks(output: RecordOutput) -> _Blocks:
    parameters = output.guarantee.parameters
    promised = named(output.declared, "quasi_identifier", "confidential")
    try:
        epsilon, k = _exact(parameters["epsilon"]), parameters["k"]
        rows_per_unit = 1 if output.guarantee.unit == "row" else parameters["rows_per_unit"]
        understood = (
            parameters["mode"] in ("records", "marginals")
            and _is_count(rows_per_unit)
            and (k == "auto" or _is_count(k))
            and bool(promised)
        )
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        understood = False
    if not understood:
        raise RecheckImpossible.at(
            "guarantee.parameters",
            rule="must give epsilon, k and mode, for individuals rows_per_unit, about at least one column",
            remedy="Correct the guarantee.",
        )
    stated = _stated(output, promised)
    return _Blocks(
        output=output,
        promised=promised,
        rows_mean_nothing=parameters["mode"] == "marginals",
        epsilon=epsilon,
        rows_per_unit=rows_per_unit,
        k=None if k == "auto" else k,
        parts=tuple(tuple(part["columns"]) for part in output.chosen["parts"]),
        stated=stated,
    )


def _stated(output: RecordOutput, promised: tuple[str, ...]) -> dict[str, _Stated]:
    """Return the facts of every promised column; refuse if one is missing, stated twice or makes no sense."""
    try:
        found = [
            (name, _read(part["k"], part["blocks"], facts, output.declared[name]))
            for part in output.chosen["parts"]
            for name, facts in part["columns"].items()
        ]
        complete = sorted(name for name, _ in found) == sorted(promised) and all(fact for _, fact in found)
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError):
        complete = False
    if not complete:
        raise RecheckImpossible.at(
            "settled",
            rule="must state k, blocks, grid, sensitivity, scale and epsilon of every released column, once",
            remedy="Report this defect.",
        )
    return {name: fact for name, fact in found if fact is not None}


def _read(k: object, blocks: object, facts: Mapping[str, Any], column: Column) -> _Stated | None:
    sensitivity, scale = facts["sensitivity"], _exact(facts["scale"])
    grid, epsilon = _exact(facts["grid"]), _exact(facts["epsilon"])
    if not (isinstance(k, int) and isinstance(blocks, int) and _is_count(k) and _is_count(sensitivity)):
        return None
    if scale <= 0 or grid <= 0:
        return None
    return _Stated(k, blocks, grid, sensitivity * (1 if column.numeric else 2) / scale, epsilon)


def _exact(text: object) -> Fraction:
    if not isinstance(text, str):
        raise TypeError("an exact number is written as text; a float is not the number that was meant")
    return Fraction(text)


def _is_count(number: object) -> bool:
    return type(number) is int and number >= 1


def _block_sizes(blocks: _Blocks) -> Check:
    output = blocks.output
    sizes = ", ".join(map(str, sorted({fact.k for fact in blocks.stated.values()})))
    rule = f"blocks have k = {sizes} records, the last one k + n mod k"
    if output.masked != set(blocks.promised):
        return Check("block_sizes", False, rule, "the masked columns are not those that the promise is about")
    apart = all(len(part) == 1 for part in blocks.parts)
    if (
        not (apart if blocks.rows_mean_nothing else len(blocks.parts) == 1)
        or output.chosen.get("records") != output.records
    ):
        return Check("block_sizes", False, rule, "the public facts are about other records or other parts")
    return verdict(
        "block_sizes",
        rule,
        "every block has its size",
        "a block has another size, or records are divided otherwise than stated",
        (name for part in blocks.parts for name in part if not _divided_as_stated(blocks, name, part[0])),
    )


def _divided_as_stated(blocks: _Blocks, name: str, other: str) -> bool:
    """Return whether a column's blocks have the stated sizes and are those of another column of its part."""
    labels, others, stated = blocks.output.labels(name), blocks.output.labels(other), blocks.stated[name]
    number, rest = divmod(blocks.output.records, stated.k)
    if labels is None or others is None or number == 0 or blocks.k not in (None, stated.k) or stated.blocks != number:
        return False
    sizes = np.full(number, stated.k)
    sizes[-1] += rest
    return np.array_equal(np.bincount(labels), sizes) and np.array_equal(labels, others)


def _one_value_per_block(blocks: _Blocks) -> Check:
    return verdict(
        "one_value_per_block",
        "every column holds one value for each block, as often as the block has records"
        if blocks.rows_mean_nothing
        else "every row of a block carries the block's values",
        "every block has one value",
        "a block has several values, or the column is not released",
        (name for name in blocks.promised if not _one_value(blocks, name)),
    )


def _one_value(blocks: _Blocks, name: str) -> bool:
    output, labels = blocks.output, blocks.output.labels(name)
    if name not in output.released or labels is None:
        return False
    keys = output.keys(output.released, name)
    if blocks.rows_mean_nothing:
        return _sums_of_blocks(np.unique(keys, return_counts=True)[1], blocks.stated[name].k)
    value = np.zeros(output.records + 1, np.int64)
    value[labels] = keys
    return np.array_equal(value[labels], keys)


def _sums_of_blocks(counts: NDArray[np.int64], k: int) -> bool:
    """Return whether these are sums of the sizes k, k, ..., k + n mod k: multiples of k but one, which is larger."""
    odd = counts[counts % k > 0]
    return len(odd) == 0 or (len(odd) == 1 and bool(odd[0] > k))


def _published_values(blocks: _Blocks) -> Check:
    released, declared = blocks.output.released, blocks.output.declared
    return verdict(
        "published_values",
        "numbers lie on the public grid inside the declared domain, categories in the public list",
        "every value does",
        "a value is missing or lies elsewhere",
        (
            name
            for name in blocks.promised
            if name not in released or not _publishable(released[name], declared[name], blocks.stated[name].grid)
        ),
    )


def _publishable(values: NDArray[Any], column: Column, grid: Fraction) -> bool:
    if not column.numeric:
        return values.dtype.kind in "iu" and 0 <= values.min() <= values.max() < len(column.categories or ())
    if values.dtype.kind != ("i" if column.type == "integer" else "f"):
        return False
    exponent = grid.numerator.bit_length() - grid.denominator.bit_length()
    if grid != Fraction(2) ** exponent:
        return False
    low, high = column.bounds
    steps = np.ldexp(values.astype(np.float64), -exponent)  # exact, because the grid is a power of two
    on_grid = (steps == np.floor(steps)) | (values == low) | (values == high)
    return bool((on_grid & (values >= low) & (values <= high)).all())


def _epsilon_spent(blocks: _Blocks) -> Check:
    rule = f"all columns together spend at most epsilon = {blocks.epsilon}"
    over = [name for name, stated in blocks.stated.items() if stated.spent > stated.epsilon]
    total = blocks.rows_per_unit * sum((stated.spent for stated in blocks.stated.values()), Fraction(0))
    if total > blocks.epsilon:
        over = list(blocks.stated)
    return verdict("epsilon_spent", rule, "they do", "more is spent than is stated or promised", over)
