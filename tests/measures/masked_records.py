"""A correct swap and a correct microaggregation, which a test may break before they are checked."""

from __future__ import annotations

import numpy as np

from penstock.mechanisms.columns import Column
from tests.measures.judged_columns import nominal, number, ordinal, promise, rechecked

N, K = 12, 3
DECLARED = {
    "id": Column(role="identifier"),
    "age": number(0, 100, role="quasi_identifier"),
    "region": nominal(4, role="quasi_identifier", missing="category"),
    "income": number(0, 100),
    "rank": ordinal(5),
    "weight": Column(role="weight"),
}
GROUPS = np.arange(N) // K
SWAPS = ("group_sizes", "permutation_within_groups", "unchanged_columns", "identifiers_absent")
KEYS = ("k_anonymity_of_keys", "group_sizes", "unchanged_columns", "identifiers_absent")
DIFFERING = ("k_anonymity_of_keys", "group_sizes", "unchanged_columns", "values_differ_in_groups", "identifiers_absent")


def source():
    return {
        "age": np.array([20, 30, 40, 20, 30, 40, 50, 60, 70, 50, 60, 70.0]),
        "region": np.array([0, 1, 2, -1, 1, 2, 3, 1, 2, 3, 1, 2]),
        "income": np.arange(N) * 1.5,
        "rank": np.array([0, 0, 1, 1, 1, 2, 2, 3, 3, 3, 4, 4]),
        "weight": np.linspace(1, 2, N),
    }


def turned(values):
    """Each group of three turned by one place."""
    return values.reshape(-1, K)[:, [1, 2, 0]].ravel()


class Swapped:
    """A correct swap that a test may break before it is checked."""

    def __init__(self, method="ir_swap", k=None, **changes):
        self.declared = {**DECLARED, **changes}
        self.original = source()
        self.released = {**source(), "income": turned(source()["income"]), "rank": turned(source()["rank"])}
        self.groups = {"income": GROUPS.copy(), "rank": GROUPS.copy()}
        self.masked = ("income", "rank")
        sizes = {"k_by_column": k or {"income": K, "rank": K}} if method == "ir_swap" else {"k": K}
        self.guarantee = promise("prob_k", SWAPS, method=method, **sizes)

    def failed(self):
        checks = rechecked(self.original, self.released, self.declared, self.guarantee, self.masked, self.groups)
        assert tuple(check.name for check in checks) == SWAPS
        return {check.name for check in checks if not check.passed}


class Averaged:
    """A correct microaggregation that a test may break before it is checked."""

    def __init__(self):
        self.declared = DECLARED
        self.original = source()
        self.released = source()
        for name in ("age", "weight"):
            self.released[name] = source()[name].reshape(-1, K).mean(axis=1).repeat(K)
        self.released["region"] = source()["region"][::K].repeat(K)
        self.masked = ("age", "region", "weight")
        self.groups = dict.fromkeys(self.masked, GROUPS.copy())
        self.guarantee = promise("k_anon", KEYS, method="mdav_id", k=K)

    def differing(self, least):
        """Promise different values in every group."""
        self.guarantee = promise("k_anon", DIFFERING, method="mdav_id", k=K, diversity=least)

    def failed(self):
        checks = rechecked(self.original, self.released, self.declared, self.guarantee, self.masked, self.groups)
        assert tuple(check.name for check in checks) == self.guarantee.audit
        return {check.name for check in checks if not check.passed}
