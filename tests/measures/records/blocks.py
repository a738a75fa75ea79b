"""A correct release of blocks that a test may break before it is checked."""

from __future__ import annotations

import numpy as np

from penstock.mechanisms.columns import Column
from tests.measures.judged_columns import nominal, number, promise, rechecked

N, K = 11, 3
CHECKS = ("block_sizes", "one_value_per_block", "published_values", "epsilon_spent", "identifiers_absent")
DECLARED = {
    "age": Column(role="quasi_identifier", type="integer", domain=(0, 100)),
    "region": nominal(4, role="quasi_identifier"),
    "income": number(0, 100),
}
# Eleven records in three blocks: 3, 3 and 3 + 11 mod 3.
LABELS = np.array([0, 1, 2, 2, 1, 0, 2, 2, 0, 1, 2])
FACTS = {
    "age": {"sensitivity": 100, "scale": "300", "epsilon": "1/3", "grid": "1"},
    "region": {"sensitivity": 65536, "scale": "393216", "epsilon": "1/3", "grid": "1/65536"},
    "income": {"sensitivity": 400, "scale": "1200", "epsilon": "1/3", "grid": "1/4"},
}


class Blocks:
    """A correct release of blocks that a test may break before it is checked."""

    def __init__(self, mode="records", k="auto", rows_per_unit=1, epsilon="1"):
        values = {"age": [20, 100, 37], "region": [3, 0, 3], "income": [0.25, 100.0, 17.5]}
        self.declared = dict(DECLARED)
        self.released = {name: np.array(drawn)[LABELS] for name, drawn in values.items()}
        self.original = {name: column.copy() for name, column in self.released.items()}
        self.groups = {name: LABELS.copy() for name in values}
        self.masked = tuple(values)
        together = [tuple(FACTS)] if mode == "records" else [(name,) for name in FACTS]
        parts = [{"k": K, "blocks": 3, "columns": {name: dict(FACTS[name]) for name in part}} for part in together]
        self.chosen = {"records": N, "parts": parts}
        parameters = {
            "mechanism": "dp_microaggregation",
            "epsilon": epsilon,
            "mode": mode,
            "k": k,
            "rows_per_unit": rows_per_unit,
        }
        self.guarantee = promise("dp", CHECKS, **parameters).model_copy(update={"unit": "individual"})

    def facts(self, name):
        return next(part["columns"][name] for part in self.chosen["parts"] if name in part["columns"])

    def failed(self):
        checks = self.checks()
        assert tuple(check.name for check in checks) == CHECKS
        return {check.name for check in checks if not check.passed}

    def checks(self):
        return rechecked(
            self.original,
            self.released,
            self.declared,
            self.guarantee,
            self.masked,
            self.groups,
            self.chosen,
        )
