"""A correct release of refined answers that a test may break before it is checked."""

from __future__ import annotations

import copy

import numpy as np

from penstock.mechanisms.columns import Column
from tests.measures.judged_columns import nominal, number, promise, rechecked

CHECKS = ("factors_bounded", "possible_answers", "epsilon_spent", "identifiers_absent")
DECLARED = {
    "age": Column(role="quasi_identifier", type="integer", domain=(0, 100)),
    "region": nominal(4, role="quasi_identifier"),
    "income": number(0, 100),
}
# e^(1/3) = 1.39561 and its root 1.18136, so 6/5 : 7/8 is 1.37 and 5/4 stays below e^(1/3) either way.
FACTS = {
    "age": {"epsilon": "1/3", "factors": ["7/8", "6/5"], "grid": "1", "expected_error": 0.1},
    "region": {"epsilon": "1/3", "factors": ["1", "1"], "grid": None, "weights": [1, 2, 0, 3]},
    "income": {"epsilon": "1/3", "factors": ["7/8", "6/5"], "grid": "1/4"},
}


class Answers:
    """A correct release of answers that a test may break before it is checked."""

    def __init__(self, adjacency="replace", epsilon="1", rows_per_unit=None):
        self.declared = dict(DECLARED)
        self.released = {
            "age": np.array([0, 100, 37, 5]),
            "region": np.array([0, 1, 3, 3]),
            "income": np.array([0.0, 100.0, 17.25, 0.25]),
        }
        self.original = {name: values.copy() for name, values in self.released.items()}
        self.chosen = {"records": 4, "epsilon": epsilon, "answers": copy.deepcopy(FACTS)}
        parameters = {"mechanism": "refinement", "epsilon": epsilon}
        unit = "row"
        if rows_per_unit is not None:
            parameters["rows_per_unit"], unit = rows_per_unit, "individual"
        self.guarantee = promise("dp", CHECKS, **parameters).model_copy(update={"adjacency": adjacency, "unit": unit})

    def facts(self, name):
        return self.chosen["answers"][name]

    def checks(self):
        return rechecked(
            self.original, self.released, self.declared, self.guarantee, tuple(self.released), {}, self.chosen
        )

    def failed(self):
        checks = self.checks()
        assert tuple(check.name for check in checks) == CHECKS
        return {check.name for check in checks if not check.passed}
