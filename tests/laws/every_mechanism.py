"""Samples of every mechanism. A new mechanism adds an entry to SAMPLES, or to TABLES, and inherits the laws.

SAMPLES release records, TABLES one row a cell, GROUPED records with groups and what is told of each group.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from hypothesis import strategies as st

from penstock.mechanisms import (
    closeness,
    dp_microaggregation,
    probabilistic_k_anonymity,
    refinement,
    statistics,
    table,
)
from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded


@dataclass(frozen=True)
class Sample:
    mechanism: ModuleType
    params: Any
    declared: dict[str, Column]
    columns: dict[str, np.ndarray]
    seed: int

    def protect(self, columns=None):
        return self.mechanism.protect(columns or self.columns, self.declared, self.params, seeded(self.seed))

    def coded(self, integers=np.int64):
        """The columns with codes in place of text."""
        found = dict(self.columns)
        for name, column in self.declared.items():
            if column.categories is not None:
                found[name] = column.codes(found[name], name).astype(integers)
        return found


SEX = ("m", "f")
SCHOOLING = ("none", "basic", "middle", "high")
CAUSES = ("fall", "fire", "flood")


def column_values(rng, column, n, grid):
    """A value for each record on a grid, coarse enough for ties and duplicates; text for categories."""
    if column.categories is not None:
        options = list(column.categories) + ([None] if column.missing != "refuse" else [])
        return np.array(options, dtype=object)[rng.integers(0, len(options), n)]
    low, high = (0, 4) if column.domain is None else column.domain
    values = low + (high - low) * rng.integers(0, grid, n, endpoint=True) / grid
    if column.type == "integer":
        values = np.floor(values)
    if column.missing != "refuse":
        values[rng.random(n) < 0.3] = np.nan
    return values.astype(np.int64) if column.type == "integer" and column.missing == "refuse" else values


@st.composite
def probabilistic_k(draw, method):
    k = draw(st.integers(2, 5))
    ranked = method == "ir_swap"
    missing = "own_group" if ranked else "category"
    declared = {
        "person": Column(role="identifier"),
        "age": Column(role="quasi_identifier", type="integer", domain=(0, 120)),
        "income": Column(role="confidential", type="continuous", domain=(-1.5, 7.25), missing=missing),
        "sex": Column(role="quasi_identifier", type="nominal", categories=SEX, missing="category"),
        "schooling": Column(role="quasi_identifier", type="ordinal", categories=SCHOOLING),
        "height": Column(role="quasi_identifier", type="continuous", domain=(0.1, 2.5)),
        "children": Column(role="confidential", type="integer", domain=(0, 9)),
        "health": Column(role="confidential", type="ordinal", categories=SCHOOLING, missing=missing),
        "weight": Column(role="weight"),
    }
    if not ranked:
        declared["cause"] = Column(role="confidential", type="nominal", categories=CAUSES)
    n = draw(st.integers(k, 24))
    rng, grid = np.random.default_rng(draw(st.integers(0, 2**32))), draw(st.sampled_from([1, 5, 1000]))
    columns = {name: column_values(rng, column, n, grid) for name, column in declared.items() if name != "person"}
    columns["person"] = np.array([f"p{row}" for row in range(n)], dtype=object)
    if ranked:  # enough records with a value in every column
        for name, value in (("income", 1.0), ("health", "basic")):
            columns[name][: draw(st.integers(k, n))] = value
    params = probabilistic_k_anonymity.Params(
        method=method,
        k=k,
        k_by_column={"children": draw(st.integers(k, n))} if ranked else {},
        scaling=draw(st.sampled_from(["domain", "standard_deviation", "none"])),
    )
    return Sample(probabilistic_k_anonymity, params, declared, columns, draw(st.integers(0, 2**32)))


@st.composite
def grouped_otherwise(draw, method):
    """Groups by taxonomy, of variable size, or with different values, in any combination."""
    declared = {
        "person": Column(role="identifier"),
        "injury": Column(role="quasi_identifier", type="nominal", taxonomy=KINDS, missing="category"),
        "age": Column(role="quasi_identifier", type="integer", domain=(0, 120)),
        "cause": Column(role="confidential", type="nominal", categories=CAUSES, missing="category"),
        "income": Column(role="confidential", type="continuous", domain=(-1.5, 7.25)),
    }
    k, diversity, variable = draw(st.integers(2, 4)), draw(st.sampled_from([None, 2, 3])), draw(st.booleans())
    n = draw(st.integers(max(k, 3), 24))
    rng, grid = np.random.default_rng(draw(st.integers(0, 2**32))), draw(st.sampled_from([5, 1000]))
    columns = {name: column_values(rng, column, n, grid) for name, column in declared.items() if name != "person"}
    columns["person"] = np.array([f"p{row}" for row in range(n)], dtype=object)
    columns["cause"][:3], columns["income"][:3] = CAUSES, (0.0, 1.0, 2.0)  # three different values
    params = probabilistic_k_anonymity.Params(
        method=method,
        k=k,
        scaling=draw(st.sampled_from(["taxonomy", "domain"])),
        groups="v_mdav" if variable else "mdav",
        gain=draw(st.sampled_from(["0", "1/5", "2"])) if variable else None,
        diversity=diversity,
    )
    return Sample(probabilistic_k_anonymity, params, declared, columns, draw(st.integers(0, 2**32)))


# What is answered, or drawn, together: nothing, a pair, three columns through the second of them.
IMPOSSIBLE = [
    [],
    [{"injury": "burn", "cause": ["fire", "flood"]}],
    [{"schooling": "basic", "cause": "fall"}, {"injury": "burn", "cause": "fire"}],
]
KINDS = {"burn": ["heat"], "scald": ["heat"], "cut": ["edge"], "heat": ["cause"], "edge": ["cause"], "cause": []}


@st.composite
def dp_microaggregated(draw, mode):
    declared = {
        "person": Column(role="identifier"),
        "age": Column(role="quasi_identifier", type="integer", domain=(0, 120)),
        "schooling": Column(role="quasi_identifier", type="ordinal", categories=SCHOOLING),
        "injury": Column(role="confidential", type="nominal", taxonomy=KINDS),
        "cause": Column(role="confidential", type="nominal", categories=CAUSES),
        "income": Column(role="confidential", type="continuous", domain=(-1.5, 7.25)),
    }
    for name in draw(st.sets(st.sampled_from(list(declared)[1:]), max_size=4)):
        declared.pop(name)
    n = draw(st.integers(1, 24))
    rng, grid = np.random.default_rng(draw(st.integers(0, 2**32))), draw(st.sampled_from([1, 5, 1000]))
    columns = {name: column_values(rng, column, n, grid) for name, column in declared.items() if name != "person"}
    columns["person"] = np.array([f"p{row}" for row in range(n)], dtype=object)
    several = ["auto", "snake", "lexicographic", "corner", "corners_in_turn"]
    params = dp_microaggregation.Params(
        epsilon=draw(st.sampled_from(["1/10", "1", "20"])),
        adjacency="replace",
        k=draw(st.one_of(st.just("auto"), st.integers(1, n))),
        order=draw(st.sampled_from(several if mode == "records" else ["auto", "natural"])),
        mode=mode,
        impossible=[each for each in draw(st.sampled_from(IMPOSSIBLE)) if set(each) <= set(declared)]
        if mode == "records"
        else [],
    )
    return Sample(dp_microaggregation, params, declared, columns, draw(st.integers(0, 2**32)))


@st.composite
def refined(draw, adjacency):
    declared = {
        "person": Column(role="identifier"),
        "age": Column(role="quasi_identifier", type="integer", domain=(0, 120)),
        "schooling": Column(role="quasi_identifier", type="ordinal", categories=SCHOOLING),
        "injury": Column(role="confidential", type="nominal", taxonomy=KINDS),
        "cause": Column(role="confidential", type="nominal", categories=CAUSES),
        "income": Column(role="confidential", type="continuous", domain=(-1.5, 7.25)),
    }
    priors = {
        "age": {"kind": "distribution", "name": "norm", "parameters": {"loc": 40, "scale": 15}},
        "schooling": {"kind": "masses", "masses": {"basic": "1/3", "high": "2/3"}},
        "injury": {"kind": "uniform"},
        "cause": {"kind": "masses", "masses": {"fall": "98/100", "fire": "1/100", "flood": "1/100"}},
        "income": {"kind": "histogram", "bounds": [-1, 0, 7], "masses": ["1/4", "3/4"]},
    }
    for name in draw(st.sets(st.sampled_from(list(priors)), max_size=4)):
        declared.pop(name)
        priors.pop(name)
    n = draw(st.integers(1, 24))
    rng, grid = np.random.default_rng(draw(st.integers(0, 2**32))), draw(st.sampled_from([1, 5, 1000]))
    columns = {name: column_values(rng, column, n, grid) for name, column in declared.items() if name != "person"}
    columns["person"] = np.array([f"p{row}" for row in range(n)], dtype=object)
    params = refinement.Params(
        epsilon=draw(st.sampled_from(["1/1000000000", "1/10", "1", "64"])),
        adjacency=adjacency,
        priors=priors,
        distances={"cause": [[0, 1, 2], [3, 0, 1], [1, 1, 0]]} if "cause" in priors and draw(st.booleans()) else {},
        rows_per_unit=draw(st.sampled_from([None, 3])),
        impossible=[each for each in draw(st.sampled_from(IMPOSSIBLE)) if set(each) <= set(priors)],
    )
    return Sample(refinement, params, declared, columns, draw(st.integers(0, 2**32)))


@st.composite
def closely_grouped(draw, method, output, several):
    """At least twelve records to a group, so that every group can have every bucket, and no category is rare."""
    declared = {
        "person": Column(role="identifier"),
        "age": Column(role="quasi_identifier", type="integer", domain=(0, 120)),
        "income": Column(role="confidential", type="continuous", domain=(-1.5, 7.25)),
        "sex": Column(role="quasi_identifier", type="nominal", categories=SEX, missing="category"),
        "schooling": Column(role="quasi_identifier", type="ordinal", categories=SCHOOLING),
        "health": Column(role="confidential", type="ordinal", categories=SCHOOLING),
        "injury": Column(role="confidential", type="nominal", taxonomy=KINDS),
        "weight": Column(role="weight"),
    }
    confidential = ["income", "health", "injury"]
    kept = confidential if several else [draw(st.sampled_from(confidential))]
    for name in set(confidential) - set(kept):
        declared.pop(name)
    n = draw(st.integers(48, 90))
    rng, grid = np.random.default_rng(draw(st.integers(0, 2**32))), draw(st.sampled_from([1, 5, 1000]))
    columns = {name: column_values(rng, column, n, grid) for name, column in declared.items() if name != "person"}
    columns["person"] = np.array([f"p{row}" for row in range(n)], dtype=object)
    if "injury" in kept:  # in turn, so that none of the three is rare
        columns["injury"] = np.array(["burn", "scald", "cut"], object)[rng.permutation(np.arange(n) % 3)]
    params = closeness.Params(
        method=method,
        output=output,
        k=draw(st.integers(2, 12)),
        several=several if method == "buckets" else None,
        scaling=draw(st.sampled_from(["domain", "standard_deviation", "none"])),
        **(draw(st.sampled_from([{"t": "2"}, {"t": "5/2"}, {"epsilon": "1/2"}])) if method == "buckets" else {}),
    )
    return Sample(closeness, params, declared, columns, draw(st.integers(0, 2**32)))


TABLE_SETTINGS = {
    "dp": {
        "adjacency": ["replace", "add_remove"],
        "noise": ["auto", "laplace", "staircase", "box"],
        "rows_per_unit": [None, 3],
        "margins": [("none", None), ("summed", None), ("measured", "1/3")],
    },
    "bdp": {
        "scaled": [
            ("one", "bootstrap_replace"),
            ("one", "bootstrap_add_remove"),
            ("one", "bootstrap_within_cell"),
            ("per_cell", "bootstrap_replace"),
            ("per_cell", "bootstrap_add_remove"),
            ("public_membership", "bootstrap_within_cell"),
        ],
        "empty_cells": ["noise", "zero"],
    },
    "idp": {"adjacency": ["from_D"]},
    "k_anon": {"k": [2]},
}


@st.composite
def tabulated(draw, model, weighted=False, **errors):
    """At least two cells with records; each has both ends of every domain, so no scale is 0 and no cell has one."""
    declared = {
        "person": Column(role="identifier"),
        "sex": Column(role="quasi_identifier", type="nominal", categories=SEX),
        "schooling": Column(role="quasi_identifier", type="ordinal", categories=SCHOOLING),
        "income": Column(role="confidential", type="continuous", domain=(-1.5, 7.25)),
        "children": Column(role="confidential", type="integer", domain=(1, 9)),
        "cause": Column(role="confidential", type="nominal", categories=CAUSES),
    }
    cells = draw(st.sets(st.integers(0, 7), min_size=2))
    rng, grid = np.random.default_rng(draw(st.integers(0, 2**32))), draw(st.sampled_from([1, 5, 1000]))
    places = np.array([*sorted(cells) * 2, *rng.choice(sorted(cells), draw(st.integers(0, 24)))])
    columns = {
        "sex": np.array(SEX, object)[places // 4],
        "schooling": np.array(SCHOOLING, object)[places % 4],
        **{name: column_values(rng, declared[name], len(places), grid) for name in ("income", "children", "cause")},
    }
    for name in ("income", "children"):
        columns[name][: 2 * len(cells)] = np.repeat(declared[name].domain, len(cells))
    chosen = {name: draw(st.sampled_from(values)) for name, values in TABLE_SETTINGS[model].items()}
    if weighted:
        declared["weight"] = Column(role="weight", domain=(0 if model == "dp" else 1, 40))
        columns["weight"] = column_values(rng, declared["weight"], len(places), grid)
        chosen["weight"] = {"column": "weight", **errors}
    if "sampling_error" in errors:
        chosen["rows_per_unit"] = draw(st.sampled_from([None, 1]))  # several would have been sampled together
    if "scaled" in chosen:
        chosen["scale"], chosen["adjacency"] = chosen.pop("scaled")
    if "margins" in chosen:
        chosen["margins"], chosen["margin_share"] = chosen["margins"]
    bounds = {"children": [{"cells": {"sex": ["m"]}, "domain": [2, 5]}]}
    params = table.Params.model_validate(
        {
            "dimensions": ["schooling", "sex"],
            "count": draw(st.booleans()),
            "sums": draw(st.sampled_from([["children"], ["income", "children"]])),
            "means": draw(st.sampled_from([[], ["income"]])),
            "model": model,
            "epsilon": None if model == "k_anon" else draw(st.sampled_from(["1/10", "1", "20"])),
            "acknowledges": [model] if model in ("bdp", "idp") else [],
            "bounds": bounds if model != "k_anon" and draw(st.booleans()) else {},
            **chosen,
        }
    )
    return Sample(table, params, declared, columns, draw(st.integers(0, 2**32)))


@st.composite
def summarised(draw, model):
    """Continuous values without ties, so that no local sensitivity is 0; three records in every group at least."""
    declared = {
        "person": Column(role="identifier"),
        "sex": Column(role="quasi_identifier", type="nominal", categories=SEX),
        "income": Column(role="confidential", type="continuous", domain=(-1.5, 7.25)),
    }
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    sexes = np.array([*SEX * 3, *rng.choice(SEX, draw(st.integers(0, 20)))], object)
    columns = {"sex": sexes, "income": rng.uniform(-1.5, 7.25, len(sexes))}
    grouped = draw(st.booleans())
    within = {
        "dp": ["replace", "add_remove"],
        "idp": ["from_D_within_cell" if grouped else "from_D", "from_D_add_remove"],
        "bdp": ["bootstrap_replace", "bootstrap_add_remove", *(["bootstrap_within_cell"] if grouped else [])],
    }
    epsilon, adjacency = draw(st.sampled_from(["1/10", "1", "20"])), draw(st.sampled_from(within[model]))
    several = [epsilon, "40"] if adjacency in within["idp"][:1] and draw(st.booleans()) else []
    figures = [{"statistic": name, "of": "income"} for name in ("median", "mean", "sum", "variance", "maximum")]
    params = statistics.Params.model_validate(
        {
            "groups": ["sex"] if grouped else [],
            "figures": [*figures, {"statistic": "quantile", "of": "income", "share": "3/4"}],
            "model": model,
            "epsilon": epsilon,
            "group_epsilons": several,
            "adjacency": adjacency,
            "rows_per_unit": draw(st.sampled_from([None, 2])) if model == "dp" else None,
            "acknowledges": [] if model == "dp" else [model],
        }
    )
    return Sample(statistics, params, declared, columns, draw(st.integers(0, 2**32)))


GROUPING = ("mdav_id", "mdav_swap", "ir_swap")
SAMPLES = {method: probabilistic_k(method) for method in GROUPING}
SAMPLES |= {f"{method} in other groups": grouped_otherwise(method) for method in ("mdav_id", "mdav_swap")}
SAMPLES |= {f"dp {mode}": dp_microaggregated(mode) for mode in ("records", "marginals")}
SAMPLES |= {f"refinement {adjacency}": refined(adjacency) for adjacency in ("replace", "presence")}
TABLES = {f"table {model}": tabulated(model) for model in TABLE_SETTINGS}
TABLES |= {f"weighted table {model}": tabulated(model, weighted=True) for model in ("dp", "k_anon")}
TABLES |= {
    "sampling errors dp": tabulated("dp", weighted=True, sampling_error=True),
    "sampling errors k_anon": tabulated("k_anon", weighted=True, strata="sex"),
}
TABLES |= {f"statistics {model}": summarised(model) for model in ("dp", "idp", "bdp")}
GROUPED = {
    f"closeness {output} {several or 'one column'}": closely_grouped("buckets", output, several)
    for output in ("anatomy", "permuted")
    for several in (None, "joint", "each")
}
GROUPED |= {
    f"closeness ranked {several or 'one column'}": closely_grouped("ranked", "anatomy", several)
    for several in (None, "joint")
}
EVERY = SAMPLES | TABLES | GROUPED
