"""What a release states about itself, as types: the parameters of its promise, and what its mechanism chose.

Each is the format that a mechanism writes and that the re-check reads, declared once. It is published: a key is never
removed or given another meaning. Exact numbers are texts, such as "1/2"; only expected errors are floats, for utility.
Those of statistics are in `stated_statistics`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

__all__ = [
    "BlocksChosen",
    "BlocksParameters",
    "ClosenessChosen",
    "ClosenessParameters",
    "ErrorChosen",
    "Exact",
    "LevelChosen",
    "NothingChosen",
    "RankedParameters",
    "RefinementChosen",
    "RefinementParameters",
    "SwapParameters",
    "TableChosen",
    "TableParameters",
    "Whole",
    "is_stated",
]

Exact = Annotated[str, Field(pattern=r"^-?[0-9]{1,400}(/[1-9][0-9]{0,399})?$")]
Whole = Annotated[int, Field(ge=0)]
Combinations = list[dict[str, list[str | int]]]
_CLOSED = with_config(ConfigDict(extra="forbid", strict=True))


@_CLOSED
class SwapParameters(TypedDict):
    """Probabilistic k-anonymity and k-anonymity of records."""

    method: Literal["mdav_id", "mdav_swap", "ir_swap"]
    k: Whole
    k_by_column: dict[str, Whole]
    scaling: str | dict[str, str]
    ties: str
    groups: NotRequired[Literal["v_mdav"]]
    gain: NotRequired[Exact]
    diversity: NotRequired[Whole]
    sample: NotRequired[Exact]


@_CLOSED
class NothingChosen(TypedDict):
    """The settings leave nothing open."""


@_CLOSED
class BlocksParameters(TypedDict):
    """Differentially private records made of blocks."""

    mechanism: Literal["dp_microaggregation"]
    epsilon: Exact
    mode: Literal["records", "marginals"]
    order: str
    k: Whole | Literal["auto"]
    shares: dict[str, Exact]
    rows_per_unit: NotRequired[Whole]
    impossible: NotRequired[Combinations]


@_CLOSED
class ColumnChosen(TypedDict):
    """One column of a block; categories have no error of noise alone."""

    epsilon: Exact
    sensitivity: Whole
    expected_error: float
    noise_error: float | None
    scale: Exact
    steps: Whole
    grid: str


@_CLOSED
class DrawnTogether(TypedDict):
    """Columns that get one draw for a block. combinations: how many there are to choose from, concepts included.

    Scores times weights, divided by scale, decide; so a column's own scale is scale / its weight. declared: how many
    of the released categories, the first ones, are declared ones; the others are concepts above them.
    """

    columns: list[str]
    weights: dict[str, Whole]
    scale: Exact
    combinations: Whole
    declared: dict[str, Whole]
    impossible: Combinations


@_CLOSED
class PartChosen(TypedDict):
    """Columns that are cut into blocks together."""

    columns: dict[str, ColumnChosen]
    order: str
    sorted_by: list[str]
    k: Whole
    blocks: Whole
    intervals: NotRequired[list[Whole]]
    joint: NotRequired[list[DrawnTogether]]


@_CLOSED
class BlocksChosen(TypedDict):
    """The blocks into which differentially private records were cut."""

    records: Whole
    epsilon: Exact
    parts: list[PartChosen]


@_CLOSED
class ClosenessParameters(TypedDict):
    """Groups whose buckets are spread as in the whole."""

    mechanism: Literal["closeness"]
    method: Literal["buckets"]
    output: Literal["anatomy", "permuted"]
    several: Literal["joint", "each"] | None
    k: Whole
    t: Exact
    epsilon: Exact | None
    buckets: Whole
    scaling: str | dict[str, str]
    ties: str


@_CLOSED
class RankedParameters(TypedDict):
    """Groups of similar confidential values."""

    mechanism: Literal["closeness"]
    method: Literal["ranked"]
    output: Literal["anatomy"]
    k: Whole
    scaling: str | dict[str, str]
    ties: str


@_CLOSED
class AfterKnown(TypedDict):
    """The largest factor of posterior over prior, or its inverse, once 0, 1, .. other members' buckets are known.

    unbounded_from: from how many known members on there is none, because a bucket may be excluded with certainty.
    """

    columns: list[str]
    factors: list[Exact]
    unbounded_from: Whole


@_CLOSED
class ClosenessChosen(TypedDict):
    """The exact bound, and the number of buckets that it leads to. after_known: from the counts, for each partition."""

    t: Exact
    buckets: Whole
    after_known: NotRequired[list[AfterKnown]]


@_CLOSED
class WeightParameters(TypedDict):
    """The columns of sampling weights, and what sampling errors are made of: replicates, strata or squares."""

    column: str
    replicates: NotRequired[list[str]]
    scale: NotRequired[Exact]
    strata: NotRequired[str]
    sampling_error: NotRequired[Literal[True]]


@_CLOSED
class TableParameters(TypedDict):
    """A table of counts, totals and means: its settings that matter for the promise, where they are not empty."""

    mechanism: Literal["table"]
    dimensions: list[str]
    measures: list[str]
    count: bool
    sums: NotRequired[list[str]]
    means: NotRequired[list[str]]
    noise: str
    margins: Literal["none", "summed", "measured"]
    margin_share: NotRequired[Exact]
    totals: NotRequired[list[list[str]]]
    epsilon: NotRequired[Exact]
    shares: NotRequired[dict[str, Exact]]
    bounds: NotRequired[dict[str, list[Any]]]
    scale: NotRequired[str]
    empty_cells: NotRequired[Literal["noise", "zero"]]
    rows_per_unit: NotRequired[Whole]
    k: NotRequired[Whole]
    exact_total: NotRequired[Literal[True]]
    tables: NotRequired[dict[str, list[str]]]
    levels: NotRequired[dict[str, list[str]]]
    contributors: NotRequired[str]
    weight: NotRequired[WeightParameters]
    impossible: NotRequired[Combinations]


@_CLOSED
class ErrorChosen(TypedDict):
    """The error of a figure: in its own unit, and in units of the most that one record can add."""

    standard_error: float
    expected_error: float


@_CLOSED
class NoiseClass(TypedDict):
    """Cells with noise of one size."""

    cells: Whole
    half_widths: list[Whole]
    step: NotRequired[Whole]
    core: NotRequired[list[Whole]]


@_CLOSED
class LevelChosen(TypedDict):
    """Measures that are drawn together in one level of a table; no classes where the size of the noise is secret."""

    level: list[str]
    measures: list[str]
    epsilon: Exact
    classes: NotRequired[list[NoiseClass]]


@_CLOSED
class TableChosen(TypedDict):
    """The part of epsilon that each measure of a table spends, and its noise."""

    table: str
    cells: Whole
    noise: str
    steps: dict[str, str]
    measured: list[LevelChosen]
    epsilon: NotRequired[Exact]
    figures: NotRequired[dict[str, ErrorChosen]]
    exact_total: NotRequired[Literal[True]]


@_CLOSED
class JointParameters(TypedDict):
    """Columns that are answered together, without the combinations that are impossible."""

    columns: list[str]
    epsilon: Exact
    delta: NotRequired[Exact]
    impossible: Combinations


@_CLOSED
class RefinementParameters(TypedDict):
    """Answers drawn from refined priors; priors: the kind of each.

    epsilon_by_column: of the columns that are answered by themselves; joint: of those that are answered together.
    """

    mechanism: Literal["refinement"]
    epsilon: Exact
    epsilon_by_column: dict[str, Exact]
    priors: dict[str, str]
    joint: NotRequired[list[JointParameters]]
    delta: NotRequired[Exact]
    rows_per_unit: NotRequired[Whole]


@_CLOSED
class AnswerChosen(TypedDict):
    """How the values of a column are answered: the lower and the upper factor, and a digest of the prior's weights.

    declared: the prior, and the distances where they were given, as the spec says them, for whoever corrects estimates.
    delta, moved: where there is a delta, the column's part of it, and the largest share of answers that is replaced by
    the truth, or by the possible answer nearest to it.
    """

    epsilon: Exact
    factors: list[Exact]
    delta: NotRequired[Exact]
    moved: NotRequired[Exact]
    points: Whole
    prior: str
    declared: dict[str, Any]
    grid: str | None
    expected_error: float
    weights: NotRequired[list[Whole]]


@_CLOSED
class JointColumnChosen(TypedDict):
    """One of several columns that are answered together: the weights of its own prior, by the order of its categories.

    share: its part of their epsilon, by which its distances count. expected_error: as a share of its own widest.
    """

    share: Exact
    declared: dict[str, Any]
    weights: list[Whole]
    expected_error: float


@_CLOSED
class JointChosen(TypedDict):
    """How columns are answered together: one combination for each record.

    weights: the prior of every combination, in the order of the columns, the last one changing fastest: the product of
    theirs, 0 where it is impossible. prior: the digest of these weights.
    """

    columns: list[str]
    answers: dict[str, JointColumnChosen]
    impossible: Combinations
    epsilon: Exact
    factors: list[Exact]
    delta: NotRequired[Exact]
    moved: NotRequired[Exact]
    points: Whole
    prior: str
    weights: list[Whole]


@_CLOSED
class RefinementChosen(TypedDict):
    """The answers to every value of a file of records; answers: the columns that are answered by themselves."""

    records: Whole
    epsilon: Exact
    delta: NotRequired[Exact]
    answers: dict[str, AnswerChosen]
    joint: NotRequired[list[JointChosen]]


@cache
def _reader(form: Any) -> TypeAdapter[Any]:
    return TypeAdapter(form)


def is_stated(form: Any, facts: Mapping[str, Any]) -> bool:
    """Return whether these facts have the form that was declared for them, and say nothing else."""
    try:
        _reader(form).validate_python(dict(facts))
    except ValidationError:
        return False
    return True
