"""Samples of every mechanism. A new mechanism adds an entry to SAMPLES and inherits the laws."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from hypothesis import strategies as st

from mechanisms import dp_microaggregation, probabilistic_k_anonymity
from mechanisms.columns import Column
from mechanisms.randomness import seeded


@dataclass(frozen=True)
class Sample:
    mechanism: ModuleType
    params: Any
    declared: dict[str, Column]
    columns: dict[str, np.ndarray]
    seed: int

    def protect(self, columns=None):
        return self.mechanism.protect(columns or self.columns, self.declared, self.params, seeded(self.seed))


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
    )
    return Sample(dp_microaggregation, params, declared, columns, draw(st.integers(0, 2**32)))


GROUPING = ("mdav_id", "mdav_swap", "ir_swap")
SAMPLES = {method: probabilistic_k(method) for method in GROUPING}
SAMPLES |= {f"dp {mode}": dp_microaggregated(mode) for mode in ("records", "marginals")}
