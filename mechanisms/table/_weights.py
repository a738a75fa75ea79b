"""Weighted tables: what a weight may be, the figures that it makes, and values times weights as whole numbers.

    weighted count = sum w,   weighted total = sum w x,   weighted mean = sum w x / sum w                        (1)

Under k_anon (1) are exact figures (_exact.py). Under dp a weight is clamped to its declared domain [low, cap] and put
on a public grid of its own, and so are values, on one coarser than that of unweighted tables:

    w = eta_w u,   0 <= u <= U,   U = ceil(cap / eta_w) about 2^16                                               (2)
    x = eta_x v,   |v| <= B,      about 2^20 steps of the domain                                                  (3)
    a record adds u <= U to the weighted count of its cell, and u v with |u v| <= U B to a weighted total         (4)

Where sampling errors are asked for under dp, a record adds q = f(|u|) or f(|u v|) to the sum of squares of each
published count and total, one more measure of whole numbers (_squares.py).

All of (4) is whole numbers, so noise and its proof are those of any measure of that bound (draws.py): only the bound is
U for counts and U B for totals. Sums of 2^26 records at both bounds stay below 2^62; more is refused, never wrong.
What a weight loses by (2) is less than cap / 2^16, far below the noise, which is at least cap / epsilon.

(4) takes a record and its weight as one: whoever is replaced takes the weight along. Weights that were adjusted by
other records of the sample, as by calibration, change with them; the promise says that this is assumed away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr, model_validator
from pydantic_core import PydanticCustomError

from penstock.mechanisms.columns import Columns, Declared
from penstock.mechanisms.layout import Figure
from penstock.mechanisms.numbers.exact import ExactNumber
from penstock.mechanisms.numbers.grid import Grid
from penstock.mechanisms.refusal import Fault
from penstock.mechanisms.table._bounds import TABLE_STEPS, Limits, table_grid
from penstock.mechanisms.table._squares import Squaring

if TYPE_CHECKING:
    from penstock.mechanisms.table.settings import Params

__all__ = [
    "CONTRIBUTORS",
    "COUNT",
    "Weight",
    "figures_of",
    "in_steps",
    "least_count",
    "made_with",
    "squares_of",
    "squaring_of",
    "step_of",
    "strata_of",
    "value_grid",
    "value_steps",
    "weight_faults",
    "weight_grid",
    "weighted_limits",
    "weighted_values",
    "weights_of",
]

COUNT, CONTRIBUTORS = "count", "contributors"
MOST_REPLICATES = 1_000
_WEIGHT_STEPS = 2**16
_VALUE_STEPS = 2**20
_LONGEST_NAME = 60  # of a column in a remedy
# Figures are sums of these, errors are made of their squares.
_SMALLEST_PRODUCT, _LARGEST_PRODUCT = Fraction(1, 10**150), Fraction(10**150)


class Weight(BaseModel):
    """The sampling weights of a table."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    column: StrictStr = Field(description="The column of role weight. Under dp it needs a domain [0, largest weight].")
    replicates: tuple[StrictStr, ...] | None = Field(
        default=None,
        min_length=1,
        max_length=MOST_REPLICATES,
        exclude_if=lambda given: given is None,
        description="k_anon only: columns of replicate weights, of role weight. Every weighted figure then has its "
        "sampling error beside it.",
    )
    scale: ExactNumber | None = Field(
        default=None,
        exclude_if=lambda given: given is None,
        description='With R replicates: the factor of their squared differences. "1/R" for balanced repeated '
        'replication and the bootstrap, "(R - 1)/R", as a number, for the jackknife that leaves out one unit at a '
        'time, "1" for the paired jackknife.',
    )
    strata: StrictStr | None = Field(
        default=None,
        exclude_if=lambda given: given is None,
        description="k_anon only, instead of replicates: the column of categories that says in which stratum a record "
        "was sampled; it need not be a dimension. Every weighted figure then has its sampling error beside it.",
    )
    sampling_error: StrictBool = Field(
        default=False,
        exclude_if=lambda given: not given,
        description="dp only: beside every weighted count and total stand its sampling error, made of a noisy sum of "
        "squares, and the error of noise and sampling together. The squares spend a tenth of epsilon.",
    )

    @model_validator(mode="before")
    @classmethod
    def _holds_its_column(cls, raw: object) -> object:
        if isinstance(raw, str):
            name = raw if raw.isidentifier() and len(raw) <= _LONGEST_NAME else "COLUMN"
            fault = Fault("", "must hold keys and values", f"Write {{column: {name}}}.", repr(raw[:_LONGEST_NAME]))
            raise PydanticCustomError("faults", "is a text", {"faults": [fault]})
        return raw


def weights_of(params: Params) -> tuple[str, ...]:
    """Return the columns of weights that the table is made with."""
    return () if params.weight is None else (params.weight.column, *(params.weight.replicates or ()))


def strata_of(params: Params) -> tuple[str, ...]:
    """Return the column of strata, if there is one."""
    return () if params.weight is None or params.weight.strata is None else (params.weight.strata,)


def made_with(params: Params) -> tuple[str, ...]:
    """Return the columns of weights and of strata."""
    return (*weights_of(params), *strata_of(params))


def squares_of(params: Params) -> dict[str, str]:
    """Return the measures that are sums of squares, each with the measure whose figures have their sampling error from
    it."""
    if params.weight is None or not params.weight.sampling_error:
        return {}
    return {f"squares of {name}": name for name in (*((COUNT,) if params.count else ()), *params.sums)}


def in_steps(params: Params) -> bool:
    """Return whether weights are whole numbers on a grid: where noise is added to what they make."""
    return params.weight is not None and params.model == "dp"


def figures_of(params: Params, declared: Declared) -> Iterator[Figure]:
    """Yield the figures of every row; under k_anon the number of records stands beside a weighted count."""
    weighted, exact = params.weight is not None, params.model == "k_anon"
    if params.count and not weighted:
        yield Figure(COUNT, "count", None, True)
    elif params.count and exact:
        yield Figure("records", "count", None, True)
    if params.count and params.contributors is not None:
        yield Figure(CONTRIBUTORS, CONTRIBUTORS, None, True)
    if weighted:
        for figure in _weighted(params):
            yield figure
            for error in _errors_of(figure, params):
                yield Figure(f"{figure.name}_{error}", f"{figure.statistic}_{error}", figure.column, False)
        return
    for name in params.sums:
        whole = declared[name].type == "integer" and table_grid(declared[name], name).eta == 1
        yield Figure(f"{name}_sum", "sum", name, whole)
    for name in params.means:
        yield Figure(f"{name}_mean", "mean", name, False)


def _weighted(params: Params) -> Iterator[Figure]:
    if params.count:
        yield Figure("weighted_count", "weighted_count", None, False)
    for name in params.sums:
        yield Figure(f"{name}_weighted_sum", "weighted_sum", name, False)
    for name in params.means:
        yield Figure(f"{name}_weighted_mean", "weighted_mean", name, False)


def _errors_of(figure: Figure, params: Params) -> tuple[str, ...]:
    """Return the errors beside a weighted figure: a mean that has noise has none."""
    if params.weight is not None and (params.weight.replicates or params.weight.strata):
        return ("sampling_error",)
    return ("sampling_error", "combined_error") if squares_of(params) and figure.adds_up else ()


def weight_faults(params: Params, declared: Declared) -> Iterator[Fault]:
    """Yield what is wrong with weights and contributors."""
    weight, used = params.weight, weights_of(params)
    for name, column in declared.items():
        if column.role == "weight" and name not in used:
            rule = "must not be weight, unless the table says that it is weighted by it"
            yield Fault(f"columns.{name}.role", rule, "Name it in weight, or do not declare it.", "weight")
    if params.contributors is not None and params.model != "k_anon":
        rule = "must not be given where noise protects the records of a unit together"
        yield Fault("contributors", rule, "Remove it.", repr(params.contributors))
    if weight is None:
        return
    if params.model in ("bdp", "idp"):
        rule = f"must not be given under {params.model}, where no noise is proven for weighted figures"
        yield Fault("weight", rule, "Use model: dp or k_anon, or remove it.", repr(weight.column))
        return
    for field, names in (("column", (weight.column,)), ("replicates", weight.replicates or ())):
        for name in names:
            if name not in declared or declared[name].role != "weight":
                rule = "must be a declared column with role weight"
                yield Fault(f"weight.{field}", rule, "Declare it as weight.", repr(name))
    if len(set(used)) < len(used):
        yield Fault("weight.replicates", "must not list a column twice, nor the weight itself", "Remove it.")
    yield from _replicate_faults(params, weight)
    yield from _stratum_faults(params, weight, declared)
    yield from _square_faults(params)
    yield from _product_faults(params, weight, declared)
    main = declared.get(weight.column)
    if params.model == "dp" and main is not None and main.role == "weight" and main.domain is None:
        rule = "must be given under dp: noise must hide the largest weight that a record may have"
        yield Fault(f"columns.{weight.column}.domain", rule, "Declare [0, that weight] from public knowledge.")


def _product_faults(params: Params, weight: Weight, declared: Declared) -> Iterator[Fault]:
    """Yield a fault where a value times its weight leaves what floating point can carry."""
    main = declared.get(weight.column)
    if main is None or main.role != "weight" or main.domain is None:
        return
    cap = Fraction(main.domain[1])
    for name in dict.fromkeys((*params.sums, *params.means)):
        column = declared.get(name)
        domain = None if column is None or column.role == "weight" else column.domain
        largest = max((abs(Fraction(bound)) for bound in domain), default=Fraction(0)) if domain else Fraction(0)
        if largest and not _SMALLEST_PRODUCT <= cap * largest <= _LARGEST_PRODUCT:
            rule = f"must be such that it times a value of {name} is from 1e-150 to 1e150 at most"
            yield Fault(f"columns.{weight.column}.domain", rule, "Use other units of measurement.", str(main.domain))


def _replicate_faults(params: Params, weight: Weight) -> Iterator[Fault]:
    if weight.replicates is None:
        if weight.scale is not None:
            yield Fault("weight.scale", "must not be given without replicates", "Remove it.", str(weight.scale))
        return
    if params.model == "dp":
        rule = "must not be given under dp: each of them would spend epsilon"
        yield Fault("weight.replicates", rule, "Remove them; sampling_error: true costs less.")
    elif weight.scale is None:
        rule = "must be given with replicates: it depends on how they were made"
        yield Fault("weight.scale", rule, "Take it from the documentation of the survey; `penstock schema` has more.")
    elif weight.scale <= 0:
        yield Fault("weight.scale", "must be above 0", "Take it from the documentation of the survey.", "0")


def _stratum_faults(params: Params, weight: Weight, declared: Declared) -> Iterator[Fault]:
    if weight.strata is None:
        return
    field, column = "weight.strata", declared.get(weight.strata)
    if params.model == "dp":
        rule = "must not be given under dp: each of them would spend epsilon"
        yield Fault(
            field, rule, "Remove it; sampling_error: true takes all records as one stratum.", repr(weight.strata)
        )
    if weight.replicates is not None:
        rule = "must not be given with replicates, which have the strata in them"
        yield Fault(field, rule, "Remove one of the two.", repr(weight.strata))
    if column is None or column.role not in ("quasi_identifier", "confidential") or column.categories is None:
        rule = "must be a declared column of categories that is not an identifier or weight"
        yield Fault(field, rule, "Declare it with all its categories.", repr(weight.strata))
    elif column.missing != "refuse":
        rule = "must be refuse: every record was sampled in some stratum"
        yield Fault(f"columns.{weight.strata}.missing", rule, "Complete the data first.", column.missing)


def _square_faults(params: Params) -> Iterator[Fault]:
    weight, field = params.weight, "weight.sampling_error"
    if weight is None or not weight.sampling_error:
        return
    if params.model != "dp":
        rule = f"must not be given under {params.model}, where sampling errors are exact"
        yield Fault(field, rule, "Name strata or replicates instead.", "True")
    elif not squares_of(params):
        rule = "must not be given where only means are published, which have no sampling error under noise"
        yield Fault(field, rule, "Remove it, or publish counts or sums.", "True")
    if (params.rows_per_unit or 1) > 1:
        rule = (
            "must not be given where a unit has several records: they were sampled together, and it would be too small"
        )
        yield Fault(field, rule, "Remove it, or prepare one row per unit.", "True")
    for name in dict.fromkeys((*params.sums, *params.means)):
        if name in squares_of(params):
            rule = "must not have the name that stands for the squares of another"
            yield Fault("sums", rule, "Rename the column.", repr(name))


def squaring_of(params: Params, declared: Declared, measure: str) -> Squaring:
    """Return how what records add to a measure is squared: by the largest product that declarations allow."""
    weights, size = weight_grid(params, declared), 1
    if measure != COUNT:
        grid = value_grid(params, declared, measure)
        size = max(abs(grid.first), abs(grid.first + grid.steps))
    return Squaring.of((weights.first + weights.steps) * size)


def value_steps(params: Params) -> int:
    """Return how many steps the values of a column may have: (3) where they are multiplied by weights on a grid."""
    return _VALUE_STEPS if in_steps(params) else TABLE_STEPS


def value_grid(params: Params, declared: Declared, name: str) -> Grid:
    """Return the grid of the values of a column."""
    return table_grid(declared[name], name, value_steps(params))


def weight_grid(params: Params, declared: Declared) -> Grid:
    """Return the grid (2)."""
    (name,) = weights_of(params)
    return table_grid(declared[name], name, _WEIGHT_STEPS)


def step_of(params: Params, declared: Declared, measure: str) -> Fraction:
    """Return what one whole step of a measure is worth in its own unit."""
    if measure in squares_of(params):
        squared = squares_of(params)[measure]
        return squaring_of(params, declared, squared).step(step_of(params, declared, squared))
    eta = Fraction(1) if measure == COUNT else value_grid(params, declared, measure).eta
    return eta * weight_grid(params, declared).eta if in_steps(params) else eta


def least_count(params: Params, declared: Declared) -> int:
    """Return the least count, in steps, over which a mean is published: as much as one record may add."""
    if not in_steps(params):
        return 1
    grid = weight_grid(params, declared)
    return grid.first + grid.steps


def weighted_limits(limits: Mapping[str, Limits], params: Params, declared: Declared) -> dict[str, Limits]:
    """Return the bounds (4) of each measure, made of those of an unweighted record."""
    if not in_steps(params):
        return dict(limits)
    grid = weight_grid(params, declared)
    least, most = grid.first, grid.first + grid.steps
    found = {}
    for name, each in limits.items():
        if name == COUNT:
            found[name] = Limits(np.full_like(each.low, least), np.full_like(each.high, most))
        else:
            low, high = np.minimum(each.low * least, each.low * most), np.maximum(each.high * least, each.high * most)
            found[name] = Limits(low, high)
    for squares, name in squares_of(params).items():
        bounds = squaring_of(params, declared, name).bounds(found[name].largest)
        found[squares] = Limits(np.zeros_like(bounds), bounds)
    return found


def weighted_values(
    values: Mapping[str, NDArray[np.int64]], columns: Columns, params: Params, declared: Declared
) -> dict[str, NDArray[np.int64]]:
    """Return what each record adds to each measure, (4), of its values v."""
    (name,) = weights_of(params)
    grid = weight_grid(params, declared)
    steps = grid.index(columns[name]) + grid.first
    added = {COUNT: steps, **{measure: each * steps for measure, each in values.items()}}
    squares = squares_of(params).items()
    return added | {own: squaring_of(params, declared, name).squared(added[name]) for own, name in squares}
