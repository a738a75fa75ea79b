"""Correct releases of statistics under each model, which a test may break before they are checked."""

from __future__ import annotations

import copy

import numpy as np

from penstock.measures.cells.output import TableOutput
from penstock.measures.cells.statistic_checks import statistic_checks
from penstock.mechanisms import statistics
from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded

DECLARED = {
    "region": Column(role="quasi_identifier", type="nominal", categories=("N", "S", "E")),
    "sex": Column(role="quasi_identifier", type="nominal", categories=("f", "m")),
    "income": Column(role="confidential", type="continuous", domain=(-500, 4000)),
    "age": Column(role="quasi_identifier", type="integer", domain=(3, 120)),
}
KINDS = ["sum", "mean", "variance", "median", "minimum", "maximum", "second_maximum"]
QUANTILE = {"statistic": "quantile", "of": "income", "share": "2/3"}
FIGURES = [*({"statistic": kind, "of": "income"} for kind in KINDS), QUANTILE]
NOISES = ("auto", "laplace", "staircase", "box")
DP_CHECKS = ("columns_as_declared", "rows_as_declared", "epsilon_spent", "within_bounds")
CASES = {
    "replace": {"model": "dp", "adjacency": "replace"},
    "replace among groups": {"model": "dp", "adjacency": "replace", "groups": ["region", "sex"]},
    "add_remove": {"model": "dp", "adjacency": "add_remove", "rows_per_unit": 3},
    "from_D": {"model": "idp", "adjacency": "from_D", "acknowledges": ["idp"]},
    "one more or less": {"model": "idp", "adjacency": "from_D_add_remove", "acknowledges": ["idp"]},
    "one more or less in a group": {
        "model": "idp",
        "adjacency": "from_D_add_remove",
        "groups": ["region", "sex"],
        "acknowledges": ["idp"],
    },
    "several records": {
        "model": "idp",
        "adjacency": "from_D",
        "acknowledges": ["idp"],
        "group_epsilons": ["2", "3", "3"],
    },
    "several records within cells": {
        "model": "idp",
        "adjacency": "from_D_within_cell",
        "groups": ["region", "sex"],
        "acknowledges": ["idp"],
        "group_epsilons": ["2", "4", "7"],
    },
    "within cells": {
        "model": "idp",
        "adjacency": "from_D_within_cell",
        "groups": ["region", "sex"],
        "acknowledges": ["idp"],
    },
}


def survey(rows=120, seed=1):
    """One income lies outside the domain, and is clamped."""
    chance = np.random.default_rng(seed)
    return {
        "region": np.array(["N", "S", "E"], dtype=object)[np.arange(rows) % 3],
        "sex": np.arange(rows) // 3 % 2,
        "income": np.append(4001, chance.random(rows - 1) * 4400 - 450),
        "age": chance.integers(0, 125, rows),
    }


class Checked:
    """A correct release of some statistics that a test may break before it is checked."""

    def __init__(self, params, original, seed, declared):
        self.original, self.declared = original, declared
        protected = statistics.protect(original, declared, params, seeded(seed))
        self.layout = statistics.layout(params, declared)
        self.released = {name: values.copy() for name, values in protected.columns.items()}
        self.guarantee = protected.guarantee.model_copy(deep=True)
        self.chosen = copy.deepcopy(dict(protected.chosen))
        self.hidden = {name: values.copy() for name, values in protected.hidden.items()}

    def checks(self):
        return statistic_checks(
            TableOutput(
                original=self.original,
                declared=self.declared,
                layout=self.layout,
                released=self.released,
                guarantee=self.guarantee,
                chosen=self.chosen,
                hidden=self.hidden,
            )
        )

    def failed(self):
        return {check.name for check in self.checks() if not check.passed}

    def facts(self, figure):
        return next(facts for facts in self.chosen["measured"] if facts["figure"] == figure)


class Release(Checked):
    """One of the cases above."""

    def __init__(self, case, seed=1, columns=None, figures=None, noise="auto"):
        counted = case in ("replace among groups", "add_remove", "one more or less in a group")
        asked = figures or [*([{"statistic": "count"}] if counted else []), *FIGURES]
        params = statistics.Params(epsilon="2", figures=asked, noise=noise, **CASES[case])
        super().__init__(params, columns or survey(seed=seed), seed, DECLARED)
