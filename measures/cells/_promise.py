"""The promise of a table and the public facts about its noise, read as what they must be, or refused.

Nothing here looks at data: what is read is the guarantee, the layout and what the mechanism states as chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from penstock.measures.cells._coarser_levels import coarser_as_declared
from penstock.measures.cells.impossible import IMPOSSIBLE, impossible_cells
from penstock.measures.cells.output import TableOutput
from penstock.measures.cells.totals import COUNT
from penstock.measures.checks import RecheckImpossible
from penstock.mechanisms.layout import Figure, Layout
from penstock.mechanisms.linked_layout import levels_are_linked
from penstock.mechanisms.models import Model
from penstock.mechanisms.stated import TableChosen, TableParameters, is_stated

__all__ = ["Entry", "NoiseClass", "Promise", "read_promise"]

_ADJACENCIES: dict[Model, tuple[str, ...]] = {
    "dp": ("replace", "add_remove"),
    "bdp": ("bootstrap_replace", "bootstrap_add_remove", "bootstrap_within_cell"),
    "idp": ("from_D",),
    "k_anon": ("none",),
}
_NOISES: dict[Model, tuple[str, ...]] = {
    "dp": ("laplace", "staircase", "box"),
    "bdp": ("laplace",),
    "idp": ("laplace",),
    "k_anon": ("none",),
}
# The adjacencies under which each scale of bdp is proven.
_SCALES: dict[str, tuple[str, ...]] = {
    "one": ("bootstrap_replace", "bootstrap_add_remove", "bootstrap_within_cell"),
    "per_cell": ("bootstrap_replace", "bootstrap_add_remove"),
    "public_membership": ("bootstrap_within_cell",),
}


@dataclass(frozen=True, slots=True)
class NoiseClass:
    """Cells with the same noise: how many, B of each measure, and z of staircase and box noise (empty for laplace)."""

    cells: int
    half_widths: tuple[int, ...]
    core: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """Measures of one level that were drawn together, and what they spend; classes under dp only."""

    level: int
    measures: tuple[str, ...]
    epsilon: Fraction
    classes: tuple[NoiseClass, ...]


@dataclass(frozen=True, slots=True)
class Promise:
    """The promise of a table. Without noise, epsilon is 0 and there are no entries; k is 0 unless it is promised.

    linked: how many tables it consists of that have their levels in common; 0 for one table. is_one_row: whether it has
    no dimensions. has_impossible: whether it declares cells that cannot have records.
    """

    model: Model
    adjacency: str
    measures: tuple[str, ...]
    epsilon: Fraction
    rows_per_unit: int
    k: int
    scale: str
    empty_cells: str
    margins: str
    noise: str
    exact_total: bool
    linked: int
    is_one_row: bool
    has_impossible: bool
    entries: tuple[Entry, ...]

    @property
    def touched(self) -> int:
        """Return how many cells one change touches under dp."""
        return 2 if self.adjacency == "replace" and not self.is_one_row else 1

    @property
    def cell_levels(self) -> range:
        """Return the levels that are cells, of which every measure must be drawn."""
        return range(self.linked or 1)

    @property
    def is_fitted(self) -> bool:
        """Return whether figures were made to add up by least squares, so that none is what was drawn."""
        return self.margins == "measured" or self.linked > 0

    @property
    def counts_are_public(self) -> bool:
        """Return whether counts need no noise: everybody's cell is public, or all there is to count is."""
        of_all = self.adjacency in ("bootstrap_replace", "from_D") or self.exact_total
        return self.adjacency == "bootstrap_within_cell" or (self.is_one_row and of_all)


def read_promise(output: TableOutput) -> Promise:
    """Return the promise of a table; refuse one that cannot be understood, so nothing is checked against a guess."""
    guarantee, layout = output.guarantee, output.layout
    if guarantee.model not in _ADJACENCIES:
        raise RecheckImpossible.at(
            "guarantee.model",
            rule=f"must be one of {', '.join(_ADJACENCIES)} for a table",
            got=guarantee.model,
            remedy="Add checks for this model.",
        )
    exact = guarantee.model == "k_anon"
    parameters = guarantee.parameters
    try:
        promise = Promise(
            model=guarantee.model,
            adjacency=guarantee.adjacency,
            measures=tuple(parameters["measures"]),
            epsilon=Fraction(0) if exact else _exact(parameters["epsilon"]),
            rows_per_unit=1 if guarantee.unit == "row" or exact else _whole(parameters["rows_per_unit"], 1),
            k=_whole(parameters["k"], 2) if exact else 0,
            scale=parameters["scale"] if guarantee.model == "bdp" else "",
            empty_cells=parameters["empty_cells"] if guarantee.model == "bdp" else "noise",
            margins=parameters["margins"],
            noise=output.chosen["noise"],
            exact_total=bool(parameters.get("exact_total", False)),
            linked=len(parameters.get("tables", {})),
            is_one_row=not layout.dimensions,
            has_impossible=IMPOSSIBLE in parameters,
            entries=() if exact else tuple(_entry(entry, output) for entry in output.chosen["measured"]),
        )
        understood = (
            is_stated(TableParameters, parameters)
            and is_stated(TableChosen, output.chosen)
            and tuple(parameters["dimensions"]) == tuple(layout.dimensions)
            and {name: tuple(own) for name, own in parameters.get("tables", {}).items()} == dict(layout.tables)
            and _levels_as_promised(promise, output)
            and coarser_as_declared(output, parameters.get("levels", {}))
            and _settings_fit(promise)
            and bool(output.chosen.get("exact_total", False)) == promise.exact_total
            and parameters["noise"] == promise.noise
            and (guarantee.unit == "individual") == ({"contributors", "rows_per_unit"} & set(parameters) != set())
            and (parameters.get("contributors") is None) == (output.units is None)
            and ("contributors" not in parameters or exact)
            and (not promise.has_impossible or _may_have_impossible(promise, output))
            and _weights_fit(promise, parameters.get("weight", {}))
            and all(_made_from(figure, promise) <= set(promise.measures) for figure in layout.figures)
        )
    except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError):
        understood = False
    if not understood:
        raise RecheckImpossible.at(
            "guarantee.parameters",
            rule="must give measures, dimensions, margins and the settings of the model, with the layout and the "
            "public facts of just such a table",
            remedy="Report this defect.",
        )
    _require_hidden(output, promise)
    return promise


def _may_have_impossible(promise: Promise, output: TableOutput) -> bool:
    """Return whether a proof covers cells without noise in such a table, and some cells are left."""
    alone = promise.model in ("dp", "k_anon") and not promise.linked and not promise.exact_total
    return alone and not bool(impossible_cells(output.layout, output.guarantee.parameters[IMPOSSIBLE]).all())


def _weights_fit(promise: Promise, weight: Mapping[str, Any]) -> bool:
    """Return whether figures of this model may be weighted, and have these sampling errors."""
    exact = {"replicates", "strata"} & set(weight)
    return (
        (not weight or promise.model in ("dp", "k_anon"))
        and (promise.model == "k_anon" or not exact)
        and len(exact) < 2
        and (promise.model == "dp" or "sampling_error" not in weight)
    )


def _made_from(figure: Figure, promise: Promise) -> set[str | None]:
    """Return the measures that a figure needs."""
    if figure.is_error and promise.model != "k_anon":
        return {f"squares of {figure.column or COUNT}", figure.column or COUNT}
    needs: dict[str, set[str | None]] = {"count": {COUNT}, "sum": {figure.column}, "mean": {figure.column, COUNT}}
    needs["contributors"] = {COUNT}
    return needs[figure.kind.removesuffix("_sampling_error")]


def _levels_as_promised(promise: Promise, output: TableOutput) -> bool:
    layout = output.layout
    measured = {entry.level for entry in promise.entries}
    if promise.linked:
        return levels_are_linked(layout, with_margins=promise.margins != "none") and measured <= (
            set(range(len(layout.levels))) if promise.margins == "measured" else {*promise.cell_levels}
        )
    return (
        set(layout.levels[0]) == set(layout.dimensions)
        and (len(layout.levels) == 1 or promise.margins != "none")
        and all(_is_margin(layout, level) for level in layout.levels[1:])
        and measured <= ({0} if promise.margins != "measured" else set(range(len(layout.levels))))
    )


def _is_margin(layout: Layout, level: tuple[str, ...]) -> bool:
    """Return whether a level keeps some dimensions, or coarser levels of them, each once, and not all categories."""
    kept = [layout.dimension_of(name) for name in level]
    return len(set(kept)) == len(kept) and set(kept) <= set(layout.dimensions) != set(level)


def _settings_fit(promise: Promise) -> bool:
    """Return whether a proof covers these settings together."""
    together = [promise.measures, *(entry.measures for entry in promise.entries)]
    return (
        promise.adjacency in _ADJACENCIES[promise.model]
        and promise.margins in ("none", "summed", *(("measured",) if promise.model == "dp" else ()))
        and all(0 < len(set(names)) == len(names) and set(names) <= set(promise.measures) for names in together)
        and promise.noise in _NOISES[promise.model]
        and (promise.model != "bdp" or promise.adjacency in _SCALES[promise.scale])
        and promise.empty_cells in ("noise", "zero")
        and (promise.model == "dp" or promise.rows_per_unit == 1)
        and (not promise.exact_total or _total_is_public(promise))
        and (not promise.linked or (promise.model == "dp" and promise.linked > 1))
    )


def _total_is_public(promise: Promise) -> bool:
    """Return whether neighbours have the same number of records, all of which are counted."""
    public = (promise.model, promise.adjacency, promise.rows_per_unit) == ("dp", "replace", 1)
    return public and COUNT in promise.measures


def _entry(facts: Mapping[str, Any], output: TableOutput) -> Entry:
    measures, noise = tuple(facts["measures"]), output.chosen["noise"]
    classes = facts["classes"] if output.guarantee.model == "dp" else ()
    read = tuple(
        NoiseClass(
            _whole(found["cells"], 1), tuple(_whole(width, 1) for width in found["half_widths"]), _core(found, noise)
        )
        for found in classes
    )
    for found in read:
        inner = found.core or (0,) * len(measures)
        if not all(z < width for z, width, _ in zip(inner, found.half_widths, measures, strict=True)):
            raise ValueError("a core lies inside its half-width")
    return Entry(output.layout.levels.index(tuple(facts["level"])), measures, _exact(facts["epsilon"]), read)


def _core(found: Mapping[str, Any], noise: str) -> tuple[int, ...]:
    """Return the core; staircase noise with step r is box noise of one answer with core r - 1."""
    if noise == "staircase":
        return (_whole(found["step"], 1) - 1,)
    return tuple(_whole(inner, 0) for inner in found["core"]) if noise == "box" else ()


def _exact(text: object) -> Fraction:
    if not isinstance(text, str):
        raise TypeError("an exact number is written as text; a float is not the number that was meant")
    return Fraction(text)


def _whole(number: object, least: int) -> int:
    if type(number) is not int or number < least:
        raise ValueError("a whole number that is not too small")
    return number


def _require_hidden(output: TableOutput, promise: Promise) -> None:
    """Refuse where the secret account lacks a noisy total or its steps."""
    starts = output.layout.starts
    for entry in promise.entries:
        cells = starts[entry.level + 1] - starts[entry.level]
        for name in (f"{part} {entry.level} {measure}" for measure in entry.measures for part in ("noised", "steps")):
            found = output.hidden.get(name)
            if found is None or found.dtype != "int64" or found.shape != (cells,):
                raise RecheckImpossible.at(
                    f"hidden.{name}",
                    rule="must hold one int64 for each cell of its level",
                    remedy="Report this defect.",
                )
