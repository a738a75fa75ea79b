"""A tiny honest maker of tables, written from the definitions, whose output a test may break before it is checked."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from penstock.measures import TableOutput
from penstock.measures.recheck import recheck
from penstock.mechanisms.columns import Column
from penstock.mechanisms.layout import Figure, Layout, error_of
from tests.measures.judged_columns import nominal, ordinal, promise

NOISY = (
    "columns_as_declared",
    "rows_as_declared",
    "margins_add_up",
    "epsilon_spent",
    "scales_suffice",
    "figures_as_noised",
)
EXACT = ("columns_as_declared", "rows_as_declared", "margins_add_up", "cell_sizes", "values_exact")
DECLARED = {
    "id": Column(role="identifier"),
    "region": nominal(3, role="quasi_identifier"),
    "kind": ordinal(2, role="quasi_identifier"),
    "output": Column(role="confidential", type="integer", domain=(-20, 100)),
    "wage": Column(role="confidential", type="continuous", domain=(0.1, 8)),
}
ETA = {"count": Fraction(1), "output": Fraction(1), "wage": Fraction(1, 4)}
FIGURES = (
    Figure("count", "count", None, True),
    Figure("output_sum", "sum", "output", True),
    Figure("wage_sum", "sum", "wage", False),
    Figure("wage_mean", "mean", "wage", False),
)
# Tighter in one cell than in the rest of its region; the first that fits counts.
BOUNDS = {
    "output": [
        {"cells": {"region": ["b"], "kind": ["a"]}, "domain": [0, 30]},
        {"cells": {"region": ["b", "c"]}, "domain": [-5, 60]},
    ]
}
CELLS = list(product(range(3), range(2)))
EMPTY = CELLS.index((2, 1))


def records(n=90, seed=1):
    """Records of every cell but one; some values lie outside their domain or on the halves of the grid."""
    rng = np.random.default_rng(seed)
    region = rng.integers(0, 3, n)
    kind = np.where(region == 2, 0, rng.integers(0, 2, n))
    wage = np.concatenate(([0.125, 0.375, 7.875, 9.5, 0.0], rng.gamma(2, 1.5, n - 5)))
    return {
        "region": region.astype(np.int32),
        "kind": kind.astype(np.int32),
        "output": rng.integers(-30, 120, n),
        "wage": wage,
    }


def half_up(x):
    return math.floor(x + Fraction(1, 2))


BOOTSTRAP = [
    ("bootstrap_replace", "one"),
    ("bootstrap_replace", "per_cell"),
    ("bootstrap_add_remove", "one"),
    ("bootstrap_add_remove", "per_cell"),
    ("bootstrap_within_cell", "one"),
    ("bootstrap_within_cell", "public_membership"),
]
ANY = [
    {},
    {"noise": "box", "margins": "measured", "bounds": BOUNDS},
    {"noise": "staircase", "adjacency": "add_remove"},
    {"model": "bdp", "adjacency": "bootstrap_replace", "scale": "per_cell"},
    {"model": "idp", "adjacency": "from_D", "bounds": BOUNDS},
    {"model": "k_anon", "k": 5},
]


class Made:
    """A correct table that a test may break. Everything is plain: loops over records, fractions, no mechanism."""

    def __init__(
        self,
        model="dp",
        adjacency="replace",
        noise="laplace",
        margins="summed",
        scale="one",
        empty_cells="noise",
        bounds=None,
        epsilon="2",
        rows_per_unit=None,
        k=2,
        seed=1,
        original=None,
        drawn=True,
    ):
        self.rng = np.random.default_rng(seed)
        self.drawn = drawn
        self.model, self.adjacency, self.noise, self.margins = model, adjacency, noise, margins
        self.scale, self.empty_cells, self.bounds = scale, empty_cells, bounds or {}
        self.original = records() if original is None else original
        self.declared = dict(DECLARED)
        self.measures = ["count", "output", "wage"]
        dimensions = {"region": ("a", "b", "c"), "kind": ("a", "b")}
        kept = [level for size in (1, 0) for level in combinations(dimensions, size)] if margins != "none" else []
        levels = (("region", "kind"), *kept)
        self.layout = Layout("t", dimensions, levels, FIGURES, model == "dp")
        self.loss = Fraction(epsilon) / (rows_per_unit or 1)
        exact = model == "k_anon"
        self.chosen = {
            "table": "t",
            "cells": 6,
            "noise": "none" if exact else noise,
            "steps": {"output": "1", "wage": "1/4"},
            "measured": [],
        }
        self.hidden = {}
        parameters = {
            "mechanism": "table",
            "count": True,
            "dimensions": list(dimensions),
            "measures": list(self.measures),
            "noise": self.chosen["noise"],
            "margins": margins,
            **({"k": k} if exact else {"epsilon": epsilon}),
            **({"bounds": self.bounds} if self.bounds else {}),
            **({"scale": scale, "empty_cells": empty_cells} if model == "bdp" else {}),
            **({"rows_per_unit": rows_per_unit} if rows_per_unit else {}),
        }
        guarantee = promise(model, EXACT if exact else NOISY, **parameters)
        unit = "individual" if rows_per_unit else "row"
        self.guarantee = guarantee.model_copy(update={"adjacency": "none" if exact else adjacency, "unit": unit})
        self.limits = {name: [self._limits(name, cell) for cell in CELLS] for name in self.measures}
        self.values = {name: self._values(name) for name in self.measures}
        self.totals = {name: [sum(values) for values in self.values[name]] for name in self.measures}
        if not exact:
            self._draw()
        self.publish()

    # The truth, cell by cell.

    def _limits(self, name, cell):
        if name == "count":
            return 0, 1
        domain = self.declared[name].domain
        for entry in self.bounds.get(name, ()):
            labels = {"region": "abc"[cell[0]], "kind": "ab"[cell[1]]}
            if all(labels[dimension] in chosen for dimension, chosen in entry["cells"].items()):
                domain = entry["domain"]
                break
        return math.floor(Fraction(domain[0]) / ETA[name]), math.ceil(Fraction(domain[1]) / ETA[name])

    def _values(self, name):
        found = [[] for _ in CELLS]
        for row in range(len(self.original["region"])):
            place = CELLS.index((self.original["region"][row], self.original["kind"][row]))
            if name == "count":
                found[place].append(1)
                continue
            low, high = (Fraction(bound) for bound in self.declared[name].domain)
            x = min(max(Fraction(self.original[name][row].item()), low), high)
            bottom, top = self.limits[name][place]
            found[place].append(min(max(half_up(x / ETA[name]), bottom), top))
        return found

    def over(self, level, by_cell, fold=sum):
        """What the cells of a level get, by the definition."""
        parts = {}
        for cell, value in zip(CELLS, by_cell, strict=True):
            labels = dict(zip(("region", "kind"), cell, strict=True))
            parts.setdefault(tuple(labels[name] for name in level), []).append(value)
        return [fold(parts[key]) for key in product(*(range(s) for s in self.layout.shape(level)))]

    # The noise.

    def steps(self, name, level):
        """What each cell of a level needs."""
        sizes = [max(map(abs, values), default=0) for values in self.values[name]]
        spreads = [max(values, default=0) - min(values, default=0) for values in self.values[name]]
        bounds = [max(abs(low), abs(high)) for low, high in self.limits[name]]
        filled = [cell for cell, values in enumerate(self.values[name]) if values]
        if self.model == "dp":
            return [(2 if self.adjacency == "replace" else 1) * b for b in self.over(level, bounds, max)]
        if self.model == "idp":
            moves = max(sizes[i] + bounds[j] for i in filled for j in range(len(CELLS)) if i != j)
            stays = max(
                max(
                    self.limits[name][i][1] - min(self.values[name][i]),
                    max(self.values[name][i]) - self.limits[name][i][0],
                )
                for i in filled
            )
            return [max(moves, stays)] * len(CELLS)
        if self.scale == "one":
            pairs = [sizes[i] + sizes[j] for i, j in combinations(filled, 2)]
            whole = {
                "bootstrap_replace": max(max(spreads), *pairs),
                "bootstrap_add_remove": max(sizes),
                "bootstrap_within_cell": max(spreads),
            }[self.adjacency]
            found = [whole] * len(CELLS)
        elif self.scale == "per_cell":
            found = [(2 if self.adjacency == "bootstrap_replace" else 1) * size for size in sizes]
        else:
            found = list(spreads)
        empty = 0 if self.empty_cells == "zero" else max(found)
        return [step if values else empty for step, values in zip(found, self.values[name], strict=True)]

    def _draw(self):
        levels = range(len(self.layout.levels)) if self.margins == "measured" else (0,)
        free = ["count"] if self.adjacency == "bootstrap_within_cell" else []
        spenders = [name for name in self.measures if name not in free]
        together = [tuple(spenders)] if self.noise == "box" else [(name,) for name in spenders]
        for level in levels:
            for names in together:
                self._draw_entry(level, names, self.loss / len(levels) / len(together))

    def _draw_entry(self, level, names, epsilon):
        kept = self.layout.levels[level]
        steps = np.array([self.steps(name, kept) for name in names]).T
        touched = 2 if self.adjacency == "replace" else 1
        entry = {"level": list(kept), "measures": list(names), "epsilon": str(epsilon)}
        noise = np.zeros_like(steps)
        if self.model == "dp":
            entry["classes"] = []
            for widths in np.unique(steps // touched, axis=0):
                rows = (steps // touched == widths).all(axis=1)
                facts = {"cells": int(rows.sum()), "half_widths": widths.tolist()}
                core = [width // 3 for width in facts["half_widths"]]
                facts |= {"laplace": {}, "staircase": {"step": core[0] + 1}, "box": {"core": core}}[self.noise]
                entry["classes"].append(facts)
                noise[rows] = [self.one_noise(facts, epsilon / touched) for _ in range(int(rows.sum()))]
        else:
            noise[:, 0] = [laplace(self.rng, step / float(epsilon)) if step else 0 for step in steps[:, 0]]
        for place, name in enumerate(names):
            truth = np.array(self.over(kept, self.totals[name]), np.int64)
            self.hidden[f"noised {level} {name}"] = truth + noise[:, place] * self.drawn
            self.hidden[f"steps {level} {name}"] = steps[:, place].copy()
        self.chosen["measured"].append(entry)

    def one_noise(self, facts, epsilon):
        widths = facts["half_widths"]
        if self.noise == "laplace":
            return [laplace(self.rng, widths[0] / float(epsilon))]
        core = facts.get("core", [facts.get("step", 1) - 1])
        return box(self.rng, widths, core, float(epsilon))

    # What is published.

    def noisy(self, name):
        return np.array(self.hidden.get(f"noised 0 {name}", self.totals[name]), np.int64)

    def publish(self):
        """The table from the noisy totals of the cells, which is one that adds up also where margins were measured."""
        released = dict(zip(self.layout.dimensions, self.codes(), strict=True))
        rows = {name: self.rows(self.noisy(name)) for name in self.measures}
        count = rows["count"]
        wages = np.clip(rows["wage"] / 4 / np.maximum(count, 1), 0.1, 8)
        values = {
            "count": count,
            "output_sum": rows["output"],
            "wage_sum": rows["wage"] / 4,
            "wage_mean": np.where(count < 1, np.nan, wages),
        }
        for name in values:
            released[name] = values[name]
            if self.layout.errors:
                released[error_of(name)] = np.full(self.layout.rows, 1.5)
        self.released = released

    def rows(self, by_cell):
        return np.array([value for level in self.layout.levels for value in self.over(level, by_cell)])

    def codes(self):
        cells = [
            tuple(
                dict(zip(level, cell, strict=True)).get(name, len(self.layout.dimensions[name]))
                for name in self.layout.dimensions
            )
            for level in self.layout.levels
            for cell in product(*(range(size) for size in self.layout.shape(level)))
        ]
        return [np.array(column, np.int32) for column in zip(*cells, strict=True)]

    # The verdict.

    @property
    def parameters(self):
        return self.guarantee.parameters

    def output(self):
        return TableOutput(
            original=self.original,
            declared=self.declared,
            layout=self.layout,
            released=self.released,
            guarantee=self.guarantee,
            chosen=self.chosen,
            hidden=self.hidden,
        )

    def checks(self):
        return recheck(self.output())

    def failed(self):
        checks = self.checks()
        assert tuple(check.name for check in checks) == self.guarantee.audit
        return {check.name for check in checks if not check.passed}


def laplace(rng, scale):
    """The difference of two geometric numbers."""
    p = -math.expm1(-1 / scale)
    return int(rng.geometric(p)) - int(rng.geometric(p))


def box(rng, widths, core, epsilon):
    """A box by its weight e^(-i epsilon) |box_i|, then a point of it; far boxes are left out."""
    i = np.arange(int(60 / epsilon) + 60)
    volumes = np.prod([(2 * (z + i * d) + 1) / (2 * d) for z, d in zip(core, widths, strict=True)], axis=0)
    weights = np.exp(-epsilon * i) * volumes
    chosen = int(rng.choice(i, p=weights / weights.sum()))
    return [int(rng.integers(-(z + chosen * d), z + chosen * d + 1)) for z, d in zip(core, widths, strict=True)]
