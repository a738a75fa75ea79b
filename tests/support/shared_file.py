"""The survey of a workplace, its quasi-identifiers made alike and its amounts swapped, side by side in one file."""

from __future__ import annotations

from tests.support.workplace import Workplace

__all__ = ["make_shared"]

KEYS = ["age", "region", "education", "weight"]
AMOUNTS = ["income", "savings"]


def make_shared(workplace: Workplace) -> None:
    """Switch the workplace to one file with two treatments."""
    swap = {"mechanism": "probabilistic_k_anonymity"}
    workplace.raw |= {
        "protect": [
            {**swap, "name": "keys", "method": "mdav_id", "k": 5, "columns": KEYS, "file": "people"},
            {**swap, "name": "amounts", "method": "ir_swap", "k": 20, "columns": AMOUNTS, "file": "people"},
        ],
        "gates": [{"measure": "record_linkage", "max": 1}, {"measure": "average_risk", "max": 0.25}],
        "budget": {"acknowledges": ["keys", "amounts"]},
    }
