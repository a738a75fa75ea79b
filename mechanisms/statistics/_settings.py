"""Which statistics may be asked of which columns, and every reason why they cannot be had."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr

from penstock.mechanisms.clamping import may_be_clamped
from penstock.mechanisms.columns import Declared
from penstock.mechanisms.layout import Figure, Layout
from penstock.mechanisms.numbers.exact import ExactNumber
from penstock.mechanisms.numbers.grid import Grid, grid_of
from penstock.mechanisms.numbers.shares import share_faults
from penstock.mechanisms.recode import in_bands
from penstock.mechanisms.refusal import Fault, SettingRefused
from penstock.mechanisms.statistics._bootstrap_settings import bootstrap_faults, is_of_everybody, resolution_faults
from penstock.mechanisms.statistics._count_settings import count_faults
from penstock.mechanisms.statistics._quantiles import LARGEST_DENOMINATOR
from penstock.mechanisms.statistics._several import MOST_TOGETHER, list_faults

__all__ = [
    "ADDED_UP",
    "MOST_FIGURES",
    "MOST_RECORDS",
    "Kind",
    "NoiseSetting",
    "Params",
    "Statistic",
    "clamped",
    "column_of",
    "epsilons",
    "faults",
    "figure_grid",
    "formed_by",
    "is_added_up",
    "layout",
    "prints_number",
    "touched",
]

Kind = Literal["count", "sum", "mean", "variance", "median", "quantile", "minimum", "maximum", "second_maximum"]
NoiseSetting = Literal["auto", "laplace", "staircase", "box"]

# Sums over this many records stay below 2^62: values of at most 2^30 steps, squares of at most 2^15.
MOST_RECORDS = 2**32 - 1
_LARGEST_VALUE = 2**30
_STEPS_OF_SQUARES = 2**16 - 2
# Each is drawn by itself; nobody reads a longer list.
MOST_FIGURES = 1000
_MOST_GROUPS = 2**20
# With a smaller epsilon, noise may not fit into 64 bits.
_SMALLEST_EPSILON = Fraction(1, 2**30)
ADDED_UP: tuple[Kind, ...] = ("count", "sum", "mean", "variance")
_ADJACENCIES = {"dp": ("replace", "add_remove"), "idp": ("from_D", "from_D_within_cell", "from_D_add_remove")}


class Statistic(BaseModel):
    """One figure of every group."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    statistic: Kind = Field(
        description="count: the number of records. The others are about a numeric column. variance: of the population, "
        "so divided by n, not n - 1. quantile: the value below which the given share of the records lies."
    )
    of: StrictStr | None = Field(
        default=None, description="The numeric column; for count only with category, the column that has it."
    )
    category: StrictStr | StrictInt | None = Field(
        default=None,
        exclude_if=lambda given: given is None,  # as below
        description="count under idp only: the category of the column whose records are counted. One replaced record "
        "changes such a count by 1.",
    )
    share: ExactNumber | None = Field(
        default=None, description='quantile only: the share of the records below it, exact: "9/10" or "0.9".'
    )

    @property
    def name(self) -> str:
        """Return the name of the figure: income_median, income_quantile_9_10, count, sex_count_f."""
        parts = [] if self.of is None else [self.of]
        parts.append(self.statistic)
        if self.share is not None:
            parts += [str(self.share.numerator), str(self.share.denominator)]
        if self.category is not None:
            parts.append(re.sub(r"[^0-9A-Za-z]+", "_", str(self.category)).strip("_").lower() or "other")
        return "_".join(parts)


class Params(BaseModel):
    """Which statistics of which groups of records are published, and how they are protected."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mechanism: Literal["statistics"] = Field(default="statistics", description="The name of this mechanism.")
    table: str = Field(
        default="statistics", pattern=r"^[a-z][a-z0-9_]{0,49}$", description="Name of the table and of its files."
    )
    groups: tuple[StrictStr, ...] = Field(
        default=(),
        description="The columns of categories whose combinations are the groups. Empty groups exist too. None: all "
        "records are one group.",
    )
    figures: tuple[Statistic, ...] = Field(
        min_length=1, max_length=MOST_FIGURES, description="What is published of every group."
    )
    only: dict[StrictStr, StrictStr | StrictInt] = Field(
        default={},
        max_length=MOST_FIGURES,
        exclude_if=lambda given: not given,  # so that specs from before there was any keep their digests
        description="bdp only: one group instead of all, by its category in each of these columns. Who is in it is not "
        "public. Figures of one group alone need less noise than those of all groups together.",
    )
    model: Literal["dp", "idp", "bdp"] = Field(
        description="dp: differential privacy. idp, bdp: individual and bootstrap differential privacy, two "
        "relaxations that must be acknowledged; their noise follows the data."
    )
    epsilon: ExactNumber = Field(gt=0, description='Privacy loss of all figures together, exact: "1" or "1/2".')
    adjacency: Literal[
        "replace",
        "add_remove",
        "from_D",
        "from_D_within_cell",
        "from_D_add_remove",
        "bootstrap_replace",
        "bootstrap_add_remove",
        "bootstrap_within_cell",
    ] = Field(
        description="In what neighbouring data sets differ. dp: replace (the number of records is public) or "
        "add_remove. idp: from_D where all records are one group; from_D_within_cell with groups, where everybody's "
        "group is public; from_D_add_remove (a record more or less than the actual data; sizes are secret). bdp: "
        "bootstrap_replace, bootstrap_add_remove, or bootstrap_within_cell with groups, where everybody's group is "
        "public."
    )
    shares: dict[StrictStr, ExactNumber] = Field(
        default={},
        max_length=MOST_FIGURES,
        description="How epsilon is divided among the figures, by their names (income_median, income_quantile_9_10, "
        "count); must add up to 1. Equal where not given. Figures that are drawn together spend theirs together.",
    )
    noise: NoiseSetting = Field(
        default="auto",
        exclude_if=lambda given: given == "auto",  # so that specs from before there was a choice keep their digests
        description="dp only, of counts, sums, means and variances; the others are drawn by score. laplace, staircase: "
        "each count and sum by itself with its share of epsilon. box: all of them are drawn together, and spend their "
        "shares together. auto: the one with the smallest error, from public facts; each by itself where shares are "
        "given.",
    )
    group_epsilons: tuple[ExactNumber, ...] = Field(
        default=(),
        exclude_if=lambda given: not given,
        max_length=MOST_TOGETHER,
        description="idp only, group differential privacy: the loss if 1, 2, 3, ... records of the actual data are "
        'replaced together, exact: ["1", "2", "3"]. Begins with epsilon and does not fall; with groups, i + j records '
        "have at least what i and j have together. Noise grows as far as that takes.",
    )
    rows_per_unit: Annotated[StrictInt, Field(ge=1)] | None = Field(
        default=None,
        description="dp only. Where a person or business has several records: the most that are used of each, chosen "
        "at random. Epsilon then protects all of them together.",
    )
    acknowledges: tuple[Literal["idp", "bdp"], ...] = Field(
        default=(), description="The relaxation of differential privacy that is used, by name, if one is."
    )


def figure_grid(figure: Statistic, declared: Declared) -> Grid:
    """Return the public grid of a column's figure: coarser for a variance, so that sums of squares fit into 62 bits."""
    name = str(figure.of)
    return grid_of(declared[name], name, finest=_STEPS_OF_SQUARES if figure.statistic == "variance" else None)


def clamped(params: Params, declared: Declared) -> tuple[str, ...]:
    """Return the columns whose values may count as a bound."""
    return may_be_clamped(declared, (name for name in map(column_of, params.figures) if name is not None))


def prints_number(params: Params) -> bool:
    """Return whether the noise takes the source as all of its data set: under a replacement because the number of all
    records is public, so that standard errors of means tell it, and a record that left the source would take more along
    than the noise hides; else see `is_of_everybody`."""
    replaced = params.adjacency in ("replace", "bootstrap_replace") and not formed_by(params)
    return replaced or (params.model == "bdp" and is_of_everybody(params))


def formed_by(params: Params) -> tuple[str, ...]:
    """Return the columns whose categories form the groups, or the one group that was chosen."""
    return params.groups or tuple(params.only)


def touched(params: Params) -> int:
    """Return how many groups one change can touch: a replaced record may leave one and enter another."""
    return 2 if params.adjacency in ("replace", "bootstrap_replace") and params.groups else 1


def epsilons(params: Params) -> dict[str, Fraction]:
    """Return what each figure spends in every group that a change touches."""
    # Group privacy: what protects one record protects c of them at c times the loss.
    loss = params.epsilon / ((params.rows_per_unit or 1) * touched(params))
    equal = Fraction(1, len(params.figures))
    return {figure.name: loss * params.shares.get(figure.name, equal) for figure in params.figures}


def is_added_up(figure: Statistic) -> bool:
    """Return whether a figure is made of totals, to which noise is added."""
    return figure.statistic in ADDED_UP


def layout(params: Params, declared: Declared) -> Layout:
    """Return the rows and columns of the table; settings must be without fault."""
    return Layout(
        name=params.table,
        dimensions={
            name: (str(params.only[name]),) if name in params.only else tuple(map(str, declared[name].categories or ()))
            for name in formed_by(params)
        },
        levels=(formed_by(params),),
        figures=tuple(
            Figure(figure.name, figure.statistic, column_of(figure), _is_whole(figure, declared))
            for figure in params.figures
        ),
        errors=params.model == "dp",
        counted=tuple(dict.fromkeys(str(each.of) for each in params.figures if each.category is not None)),
    )


def column_of(figure: Statistic) -> str | None:
    """Return the column whose values a figure is made of; None for a count."""
    return None if figure.statistic == "count" else figure.of


def _is_whole(figure: Statistic, declared: Declared) -> bool:
    if figure.statistic != "sum" or figure.of is None:
        return figure.statistic == "count"
    grid = figure_grid(figure, declared)
    return grid.whole and grid.exponent == 0


def faults(params: Params, declared: Declared) -> list[Fault]:
    """Return every reason why these settings do not fit each other or these columns, found before any row is read."""
    found = [
        *_group_faults(params, declared),
        *(bootstrap_faults(params, declared) if params.model == "bdp" else _model_faults(params)),
        *list_faults(
            params.group_epsilons,
            params.epsilon,
            model=params.model,
            adjacency=params.adjacency,
            groups=bool(params.groups),
        ),
        *share_faults(params.shares, [figure.name for figure in params.figures], "figure"),
    ]
    for place, figure in enumerate(params.figures):
        found += _figure_faults(figure, params, declared, f"figures.{place}")
    if 0 < min(epsilons(params).values()) < _SMALLEST_EPSILON:
        rule = "must leave at least 2^-30 for every figure, after shares and groups have divided it"
        found.append(Fault("epsilon", rule, "Raise it, or ask for fewer figures.", str(params.epsilon)))
    for name, column in declared.items():
        if column.role == "weight":
            rule = "must not be weight: it has no declared bounds, so nothing can be promised about weighted statistics"
            remedy = "Declare it confidential and continuous with a domain, or leave it out."
            found.append(Fault(f"columns.{name}.role", rule, remedy, "weight"))
    return found or [*_layout_faults(layout(params, declared))]


def _group_faults(params: Params, declared: Declared) -> Iterator[Fault]:
    if len(set(params.groups)) < len(params.groups):
        yield Fault("groups", "must not list a column twice", "Remove the repetition.", ", ".join(params.groups))
    for name in params.groups:
        column = declared.get(name)
        if column is None or column.role not in ("quasi_identifier", "confidential"):
            remedy = "Declare it as quasi_identifier or confidential."
            yield Fault("groups", "must be a declared column that is not an identifier or weight", remedy, repr(name))
        elif column.categories is None:
            yield Fault("groups", "must have declared categories", in_bands(name, column), repr(name))
        elif column.missing != "refuse":
            rule = "must be refuse: a record without a category belongs to no group"
            yield Fault(f"columns.{name}.missing", rule, "Complete the data first.", column.missing)
        elif params.adjacency.endswith("_within_cell") and column.role == "confidential":
            rule = f"must not be confidential under {params.adjacency}, which takes everybody's group as public"
            yield Fault("groups", rule, "Use model: dp, or declare what outsiders know.", repr(name))


def _model_faults(params: Params) -> Iterator[Fault]:
    if params.only:
        rule = f"must not be given under {params.model}, where figures of one group alone have no smaller noise"
        yield Fault("only", rule, "Name the columns in groups.", ", ".join(params.only))
    allowed = _ADJACENCIES[params.model]
    if params.adjacency not in allowed:
        rule = f"must be one of {', '.join(allowed)} under {params.model}"
        yield Fault("adjacency", rule, "Choose one of these.", params.adjacency)
    elif params.adjacency == "from_D" and params.groups:
        rule = "must not take the size of a group as fixed: a record that moves would change two of them"
        remedy = "Use from_D_within_cell if everybody's group is public, else model: dp."
        yield Fault("adjacency", rule, remedy, params.adjacency)
    elif params.adjacency == "from_D_within_cell" and not params.groups:
        yield Fault("adjacency", "must not speak of groups where all records are one", "Use from_D.", params.adjacency)
    if params.model == "idp" and "idp" not in params.acknowledges:
        rule = (
            "must say that you accept idp: it compares only with the actual data set, and its noise follows the data: "
            "it bounds nothing of what the size of the noise reveals, and two actual worlds may differ without bound"
        )
        yield Fault("acknowledges", rule, "Add [idp], or use model: dp.", str(list(params.acknowledges)))
    elif params.model == "dp" and params.acknowledges:
        rule = "must be empty under dp, which relaxes nothing"
        yield Fault("acknowledges", rule, "Remove it.", str(list(params.acknowledges)))
    yield from _noise_faults(params)
    if params.model == "idp" and params.rows_per_unit is not None:
        rule = "must not be given under idp, where it is not proven"
        yield Fault("rows_per_unit", rule, "Prepare one row per unit.", str(params.rows_per_unit))


def _noise_faults(params: Params) -> Iterator[Fault]:
    if params.model != "dp" and params.noise not in ("auto", "laplace"):
        rule = f"must not be given under {params.model}, where it is not proven"
        yield Fault("noise", rule, "Remove it.", params.noise)
    elif params.model == "dp" and params.noise != "auto" and not any(is_added_up(each) for each in params.figures):
        rule = "must not be given where no figure is added up: medians, quantiles and extremes are drawn by score"
        yield Fault("noise", rule, "Remove it.", params.noise)


def _figure_faults(figure: Statistic, params: Params, declared: Declared, field: str) -> Iterator[Fault]:
    if figure.statistic == "quantile":
        share = figure.share
        if share is None or not 0 < share < 1 or share.denominator > LARGEST_DENOMINATOR:
            rule = "must be above 0 and below 1 for a quantile, with a denominator of at most 1,000,000"
            yield Fault(f"{field}.share", rule, 'Write it as "9/10".', "" if share is None else str(share))
    elif figure.share is not None:
        yield Fault(f"{field}.share", f"must not be given for {figure.statistic}", "Remove it.", str(figure.share))
    if figure.statistic == "count":
        yield from count_faults(figure, params, declared, field)
        return
    if figure.category is not None:
        rule = f"must not be given for {figure.statistic}"
        yield Fault(f"{field}.category", rule, "Remove it, or count.", repr(figure.category))
    column = declared.get(figure.of or "")
    if column is None or column.role not in ("quasi_identifier", "confidential") or not column.numeric:
        rule = f"must be a declared numeric column that is not an identifier or weight, for {figure.statistic}"
        yield Fault(f"{field}.of", rule, "Name one.", "" if figure.of is None else repr(figure.of))
    elif column.missing != "refuse":
        rule = "must be refuse: a missing value can neither be ranked nor added up"
        yield Fault(f"columns.{figure.of}.missing", rule, "Complete the data first.", column.missing)
    else:
        yield from _grid_faults(figure, declared)
        yield from resolution_faults(figure, params, column, field)


def _grid_faults(figure: Statistic, declared: Declared) -> Iterator[Fault]:
    try:
        grid = figure_grid(figure, declared)
    except SettingRefused as refused:
        yield from refused.faults
        return
    if figure.statistic == "sum" and max(abs(grid.first), abs(grid.first + grid.steps)) > _LARGEST_VALUE:
        rule = "must not lie so far from 0 for its width: sums of many values would not fit into 62 bits"
        remedy = "Widen it, or release the difference from a public constant."
        yield Fault(f"columns.{figure.of}.domain", rule, remedy, str(declared[str(figure.of)].domain))


def _layout_faults(drawn: Layout) -> Iterator[Fault]:
    repeated = [name for name, times in Counter(drawn.columns).items() if times > 1]
    if repeated:
        rule = "must not give two columns of the table the same name"
        yield Fault("figures", rule, "Ask for each figure once, or rename the column.", ", ".join(repeated))
    if drawn.rows > _MOST_GROUPS:
        yield Fault(
            "groups", "must form at most 2^20 groups", "Take fewer or coarser columns.", f"{drawn.rows:,} groups"
        )
