"""What may be asked of a table, and every reason why it cannot be had."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StrictBool, StrictInt, StrictStr

from penstock.mechanisms.clamping import may_be_clamped
from penstock.mechanisms.columns import Declared
from penstock.mechanisms.layout import TOTAL, Layout, error_of
from penstock.mechanisms.numbers.exact import ExactNumber
from penstock.mechanisms.numbers.shares import share_faults
from penstock.mechanisms.recode import in_bands
from penstock.mechanisms.refusal import Fault
from penstock.mechanisms.table import _coarser
from penstock.mechanisms.table._bounds import CellBounds, bound_faults
from penstock.mechanisms.table._coarser import LevelSettings, coarser_levels, margins_of
from penstock.mechanisms.table._exact_total import count_is_public, exact_total_faults, whole_file_faults
from penstock.mechanisms.table._linked import MOST_DIMENSIONS, linked_faults, linked_levels, size_faults
from penstock.mechanisms.table._weights import COUNT, Weight, figures_of, made_with, squares_of, weight_faults
from penstock.mechanisms.table._zeros import ZeroSettings, zero_faults
from penstock.mechanisms.table.cells import MOST_CELLS

__all__ = [
    "COUNT",
    "MOST_MARGINS",
    "MOST_RECONCILED",
    "Params",
    "TableModel",
    "clamped",
    "faults",
    "layout",
    "levels",
    "measures",
]

TableModel = Literal["dp", "bdp", "idp", "k_anon"]
MOST_MARGINS = 2**15
# Variances of measured margins are made of those of every set of dimensions in every margin: seconds of work.
MOST_RECONCILED = 2**20
# Least squares with groups go through all levels thousands of times.
MOST_GROUPED = 2**23

ADJACENCIES: dict[str, tuple[str, ...]] = {
    "dp": ("replace", "add_remove"),
    "bdp": ("bootstrap_replace", "bootstrap_add_remove", "bootstrap_within_cell"),
    "idp": ("from_D",),
}
# What each relaxation leaves open, for the person who must acknowledge it.
WEAKER = {
    "bdp": "bootstrap differential privacy compares only data sets made of the actual records, and its noise follows "
    "their extremes",
    "idp": "individual differential privacy compares only with the actual data set, and its noise follows the data",
}


class Params(ZeroSettings, LevelSettings):
    """What the table counts and adds up, and how it is protected."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mechanism: Literal["table"] = Field(default="table", description="The name of this mechanism.")
    table: str = Field(
        default="table", pattern=r"^[a-z][a-z0-9_]{0,49}$", description="Name of the table and of its files."
    )
    dimensions: tuple[StrictStr, ...] = Field(
        default=(),
        max_length=MOST_DIMENSIONS,
        description="The columns of categories whose combinations are the cells. Empty cells exist too. []: one row, "
        "the figures of the whole file.",
    )
    count: bool = Field(default=True, description="Publish the number of records of every cell.")
    sums: tuple[StrictStr, ...] = Field(default=(), description="Numeric columns whose totals are published.")
    means: tuple[StrictStr, ...] = Field(
        default=(),
        description="Numeric columns whose means are published: protected total over protected count. Both are drawn, "
        "whether they are published or not.",
    )
    model: TableModel = Field(
        description="dp: differential privacy. bdp, idp: bootstrap and individual differential privacy, two "
        "relaxations that must be acknowledged. k_anon: no noise; every cell that is not empty has at "
        "least k records, and gates should look at dominance."
    )
    epsilon: ExactNumber | None = Field(
        default=None, description='Privacy loss of the whole table, exact: "1" or "1/2". Not for k_anon.'
    )
    adjacency: (
        Literal[
            "replace",
            "add_remove",
            "bootstrap_replace",
            "bootstrap_add_remove",
            "bootstrap_within_cell",
            "from_D",
        ]
        | None
    ) = Field(
        default=None,
        description="In what neighbouring data sets differ. dp: replace (the number of records is public) or "
        "add_remove. bdp: bootstrap_replace, bootstrap_add_remove or bootstrap_within_cell (everybody's cell is "
        "public). idp: from_D. Not for k_anon.",
    )
    k: Annotated[StrictInt, Field(ge=2)] | None = Field(
        default=None, description="k_anon only: the fewest records that a cell may have, if it has any."
    )
    noise: Literal["auto", "laplace", "staircase", "box"] = Field(
        default="auto",
        description="laplace, staircase: each measure spends a share of epsilon. box (dp only): all measures of a cell "
        "are drawn together. auto: the one with the smallest error, from public facts.",
    )
    scale: Literal["one", "per_cell", "public_membership"] | None = Field(
        default=None,
        description="bdp only. one: every cell has the noise of the most sensitive one. per_cell: every cell its own. "
        "public_membership: by the spread of each cell, where everybody's cell is public.",
    )
    empty_cells: Literal["noise", "zero"] | None = Field(
        default=None,
        description="bdp only. noise: cells without records look like others. zero: they are printed as exact zeros, "
        "which tells that they are empty.",
    )
    bounds: dict[StrictStr, tuple[CellBounds, ...]] = Field(
        default={},
        description="Tighter public bounds of a summed column in some cells; values beyond are counted as the nearest "
        "bound. The first entry that a cell fits counts, else the domain of the column.",
    )
    shares: dict[StrictStr, ExactNumber] = Field(
        default={},
        description="How epsilon is divided among count and the summed columns; must add up to 1. Equal where not "
        "given. Not for box noise, which need not divide it. With sampling_error also among `squares of count` and "
        "`squares of` each summed column, which have a tenth together where not given.",
    )
    margins: Literal["none", "summed", "measured"] = Field(
        default="summed",
        description="Totals and sub-totals. summed: the sums of the protected cells. measured (dp only): drawn with a "
        "share of epsilon of their own, then all figures are made to add up by weighted least squares.",
    )
    margin_share: ExactNumber | None = Field(
        default=None, description="measured only: the part of epsilon that the margins spend, equally."
    )
    totals: tuple[tuple[StrictStr, ...], ...] | None = Field(
        default=None,
        description="Which margins, each by the dimensions that it keeps; [] is the grand total. All where not given.",
    )
    rows_per_unit: Annotated[StrictInt, Field(ge=1)] | None = Field(
        default=None,
        description="dp only. Where a person or business has several records: the most that are used of each, chosen "
        "at random. Epsilon then protects all of them together.",
    )
    exact_total: StrictBool = Field(
        default=False,
        exclude_if=lambda given: not given,  # so that specs from before there was any keep their digests
        description="dp with adjacency replace only, where the number of all records is public: the grand total of "
        "counts is that number, without noise; it spends nothing, and all other counts are fitted to it.",
    )
    contributors: StrictStr | None = Field(
        default=None,
        exclude_if=lambda given: given is None,
        description="k_anon only, and taken from source.unit: the column that says whose record it is. k and the rules "
        "then count contributors, however many records each has.",
    )
    weight: Weight | None = Field(
        default=None,
        exclude_if=lambda given: given is None,
        description="dp and k_anon: sampling weights. Counts, totals and means are then weighted; k and the rules are "
        "about records as they are.",
    )
    acknowledges: tuple[Literal["bdp", "idp"], ...] = Field(
        default=(), description="The relaxation of differential privacy that is used, by name, if one is."
    )


def measures(params: Params) -> tuple[str, ...]:
    """Return what is counted and added up: the figures are made from these."""
    summed = tuple(dict.fromkeys((*params.sums, *params.means)))
    return (*((COUNT,) if params.count or params.means else ()), *summed, *squares_of(params))


def clamped(params: Params, declared: Declared) -> tuple[str, ...]:
    """Return the columns whose values may count as a bound."""
    return may_be_clamped(declared, (*params.sums, *params.means, *made_with(params)), params.bounds)


def levels(params: Params) -> tuple[tuple[str, ...], ...]:
    """Return the dimensions of the cells, then of each margin in the order of the dimensions, large margins first."""
    return linked_levels(params) if params.tables else (params.dimensions, *margins_of(params))


def layout(params: Params, declared: Declared) -> Layout:
    """Return the rows and columns of the table; settings must be without fault."""
    return Layout(
        name=params.table,
        dimensions={name: tuple(map(str, declared[name].categories or ())) for name in params.dimensions},
        levels=levels(params),
        figures=tuple(figures_of(params, declared)),
        errors=params.model == "dp",
        weights=made_with(params),
        tables=params.tables,
        coarser=coarser_levels(params, declared),
    )


def faults(params: Params, declared: Declared) -> list[Fault]:
    """Return every reason why these settings do not fit each other or these columns, found before any row is read."""
    found = [*_column_faults(params, declared), *_model_faults(params), *_share_faults(params), *_margin_faults(params)]
    found += [*linked_faults(params), *exact_total_faults(params), *whole_file_faults(params)]
    if not found:
        found += [*_coarser.level_faults(params, declared, [*figures_of(params, declared)])]
    if not found:
        found += [*_size_faults(params, declared)]
    if not found:
        found += [*bound_faults(params.bounds, params.dimensions, (*params.sums, *params.means), declared)]
        found += [*_layout_faults(layout(params, declared)), *zero_faults(params, declared)]
    return found


def _column_faults(params: Params, declared: Declared) -> Iterator[Fault]:
    if not (params.count or params.sums or params.means):
        rule = "must be true where there are no sums or means: a table has at least one figure"
        yield Fault("count", rule, "Count records, or name sums or means.", "False")
    for field in ("dimensions", "sums", "means"):
        names = getattr(params, field)
        if len(set(names)) < len(names):
            yield Fault(field, "must not list a column twice", "Remove the repetition.", ", ".join(names))
        for name in names:
            column = declared.get(name)
            if column is None or column.role not in ("quasi_identifier", "confidential"):
                remedy = "Declare it as quasi_identifier or confidential."
                yield Fault(field, "must be a declared column that is not an identifier or weight", remedy, repr(name))
            elif field == "dimensions" and column.categories is None:
                yield Fault(field, "must have categories", in_bands(name, column), repr(name))
            elif field != "dimensions" and not column.numeric:
                yield Fault(field, "must be numbers, to be added up", "Count it as a dimension.", repr(name))
            elif field != "dimensions" and name == COUNT:
                rule = f"must not be {COUNT}, which stands for the number of records"
                yield Fault(field, rule, "Rename the column.", repr(name))
            elif (
                field == "dimensions" and params.adjacency == "bootstrap_within_cell" and column.role == "confidential"
            ):
                rule = "must not be confidential under bootstrap_within_cell, where everybody's cell is public"
                yield Fault(field, rule, "Take quasi-identifiers, or another adjacency.", repr(name))
            elif column.missing != "refuse":
                rule = "must be refuse: a missing value belongs to no cell and adds nothing"
                yield Fault(f"columns.{name}.missing", rule, "Complete the data first.", column.missing)
    yield from weight_faults(params, declared)


def _model_faults(params: Params) -> Iterator[Fault]:
    model = params.model
    exact = model == "k_anon"
    for field, value, wanted in (
        ("epsilon", params.epsilon, not exact),
        ("adjacency", params.adjacency, not exact),
        ("k", params.k, exact),
        ("scale", params.scale, model == "bdp"),
        ("empty_cells", params.empty_cells, model == "bdp"),
    ):
        if wanted and value is None:
            yield Fault(field, f"must be given under {model}", "Add it; `penstock schema` describes it.")
        elif not wanted and value is not None:
            yield Fault(field, f"must not be given under {model}", "Remove it.", str(value))
    if params.epsilon is not None and params.epsilon <= 0:
        yield Fault("epsilon", "must be above 0", "Say how much may be learnt.", str(params.epsilon))
    allowed = ADJACENCIES.get(model, ())
    if params.adjacency is not None and allowed and params.adjacency not in allowed:
        rule = f"must be one of {', '.join(allowed)} under {model}"
        yield Fault("adjacency", rule, "Choose one of these.", params.adjacency)
    if model in WEAKER and params.acknowledges != (model,):
        rule = f"must say that you accept {model}: {WEAKER[model]}"
        yield Fault("acknowledges", rule, f"Add [{model}], or use model: dp.", str(list(params.acknowledges)))
    elif model not in WEAKER and params.acknowledges:
        rule = f"must be empty under {model}, which relaxes nothing"
        yield Fault("acknowledges", rule, "Remove it.", str(list(params.acknowledges)))
    if model == "bdp":
        yield from _bootstrap_faults(params)
    if exact and params.noise != "auto":
        yield Fault("noise", "must not be given for exact figures, which have none", "Remove it.", params.noise)
    if model != "dp":
        if not exact and params.noise not in ("auto", "laplace"):
            yield Fault("noise", f"must not be given under {model}, where it is not proven", "Remove it.", params.noise)
        if params.rows_per_unit is not None:
            rule = f"must not be given under {model}, where it is not proven"
            remedy = "Remove it: all records of a unit are used." if exact else "Prepare one row per unit."
            yield Fault("rows_per_unit", rule, remedy, str(params.rows_per_unit))
    elif params.noise == "box" and params.shares:
        yield Fault("shares", "must not be given for box noise, which draws all measures together", "Remove them.")
    if model == "k_anon" and params.bounds:
        yield Fault("bounds", "must not be given for exact figures, because they limit noise", "Remove them.")


def _bootstrap_faults(params: Params) -> Iterator[Fault]:
    public = params.adjacency == "bootstrap_within_cell"
    if params.scale == "public_membership" and not public:
        rule = "must not be the spread of a cell where a record may change its cell"
        yield Fault("scale", rule, "Use adjacency: bootstrap_within_cell, or another scale.", params.scale)
    elif params.scale == "per_cell" and public:
        rule = "must not be per_cell where no record may change its cell: the spread of a cell is its own scale"
        yield Fault("scale", rule, "Use public_membership.", params.scale)
    if public and not (params.sums or params.means):
        rule = "must name a column: where everybody's cell is public, so are all counts"
        yield Fault("sums", rule, "Name a column to add up, or choose another adjacency.")


def _share_faults(params: Params) -> Iterator[Fault]:
    if params.model == "k_anon" and params.shares:
        yield Fault("shares", "must not be given for exact figures, which spend nothing", "Remove them.")
    else:
        yield from share_faults(params.shares, spenders(params), "figure")


def spenders(params: Params) -> tuple[str, ...]:
    """Return the measures that spend epsilon; counts that are public do not."""
    return tuple(name for name in measures(params) if not (name == COUNT and count_is_public(params)))


def _margin_faults(params: Params) -> Iterator[Fault]:
    if params.margins == "measured":
        if params.model != "dp":
            rule = "must not be measured: weights of least squares would show the size of the noise, which is secret"
            remedy = "Use summed." if params.model != "k_anon" else "Use summed: exact cells add up to exact margins."
            yield Fault("margins", rule, remedy, "measured")
        if params.margin_share is None or not 0 < params.margin_share < 1:
            got = "" if params.margin_share is None else str(params.margin_share)
            yield Fault("margin_share", "must be above 0 and below 1 where margins are measured", 'Try "1/2".', got)
        if params.totals == ():
            yield Fault("totals", "must name at least one where margins are measured", "Name one, or remove totals.")
    elif params.margin_share is not None:
        yield Fault(
            "margin_share", "must not be given where margins are not measured", "Remove it.", str(params.margin_share)
        )
    if params.totals is None:
        return
    if params.margins == "none":
        yield Fault("totals", "must not be given where there are no margins", "Remove it.")
    kept = [frozenset(margin) for margin in params.totals]
    again = next((listed for place, listed in enumerate(params.totals) if kept[place] in kept[:place]), None)
    if again is not None:
        yield Fault("totals", "must not list a margin twice", "Remove the repetition.", ", ".join(again))
    yield from _coarser.kept_faults(params)


def _size_faults(params: Params, declared: Declared) -> Iterator[Fault]:
    """Yield faults of size, found before any margin is listed, of which there may be billions."""
    sizes = {name: len(declared[name].categories or ()) for name in params.dimensions}
    if params.tables:
        yield from size_faults(params, sizes)
        return
    cells = rows = prod(sizes.values())
    sizes |= {name: len(each.labels) for name, each in coarser_levels(params, declared).items()}
    if params.margins != "none" and params.totals is None:
        rows = _coarser.rows_of_all(params, sizes)
    elif params.margins != "none":
        rows += sum(prod(sizes[name] for name in set(margin)) for margin in params.totals or ())
    if cells > MOST_CELLS:
        yield Fault("dimensions", "must form at most 2^24 cells", "Take fewer or coarser ones.", f"{cells:,} cells")
    elif rows > MOST_CELLS:
        rule = "must form at most 2^24 rows, totals and sub-totals included"
        yield Fault("totals", rule, "Name the margins that are needed, or choose margins: none.", f"{rows:,} rows")
    else:
        yield from _margin_size_faults(params, cells)


def _margin_size_faults(params: Params, cells: int) -> Iterator[Fault]:
    """Yield a fault if margins are too many: by themselves, or measured ones times sets of dimensions and measures."""
    if params.margins == "none":
        return
    sets = _coarser.combinations_of(params)
    margins = sets - 1 if params.totals is None else len(params.totals)
    if margins > MOST_MARGINS:
        rule = f"must form at most {MOST_MARGINS:,} margins"
        yield Fault("totals", rule, "Name those that are needed, or choose margins: none.", f"{margins:,} margins")
    elif params.margins == "measured" and sets * (1 + margins) * len(measures(params)) > MOST_RECONCILED:
        rule = (
            f"must be fewer: sets of dimensions x levels x measures is at most {MOST_RECONCILED:,} for measured margins"
        )
        remedy = "Name fewer totals, take fewer dimensions or sums, or choose margins: summed."
        yield Fault("totals", rule, remedy, f"{sets:,} x {1 + margins:,} x {len(measures(params)):,}")
    elif params.levels and params.margins == "measured" and cells * (1 + margins) > MOST_GROUPED:
        rule = f"must be fewer: cells x levels is at most {MOST_GROUPED:,} for measured margins with coarser levels"
        yield Fault("totals", rule, "Name fewer totals, or choose margins: summed.", f"{cells:,} x {1 + margins:,}")


def _layout_faults(drawn: Layout) -> Iterator[Fault]:
    for name, categories in drawn.dimensions.items():
        if TOTAL in categories:
            yield Fault(
                f"columns.{name}.categories",
                f"must not contain {TOTAL}, which stands for a total",
                "Rename the category.",
                TOTAL,
            )
        if len(set(categories)) < len(categories):
            yield Fault(f"columns.{name}.categories", "must differ as text", "Rename one of them.")
    taken = [*drawn.dimensions, *(n for f in drawn.figures for n in (f.name, error_of(f.name)))]
    for name in (name for name, times in Counter(taken).items() if times > 1):
        yield Fault("dimensions", "must not have the name of a figure", "Rename the column.", repr(name))
