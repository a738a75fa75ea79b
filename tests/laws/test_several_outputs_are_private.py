"""A release of three tables keeps the epsilon that its outputs promise together: the exact loss of every pair of
neighbours of a tiny domain, added over the noise that the plan of each output will draw.

    loss of a release = sum of the losses of its outputs, because their noises are independent                    (1)
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import parse_spec
from penstock.mechanisms.table import Params
from penstock.mechanisms.table._chosen import settle
from penstock.tasks.run.plan import Plan
from tests.laws.test_table_is_private import EVERY, TINY, loss, neighbours

TABLES: list[dict[str, Any]] = [
    {"table": "by_area", "dimensions": ["area"], "epsilon": "1/2"},
    {"table": "by_size", "dimensions": ["size"], "sums": ["x"], "epsilon": "3/4"},
    {"table": "both", "dimensions": ["area", "size"], "epsilon": "1/4"},
]


def planned(adjacency: str, **changes: Any) -> Plan:
    return draw_up_plan(
        parse_spec(
            {
                "name": "tiny",
                "source": {
                    "path": "tiny.parquet",
                    "unit": "row",
                    "columns": {
                        name: column.model_dump(mode="json", exclude_defaults=True) for name, column in TINY.items()
                    },
                },
                "budget": {"dataset": "tiny", "epsilon": "10"},
                "protect": [
                    {"mechanism": "table", "model": "dp", "adjacency": adjacency, **each, **changes} for each in TABLES
                ],
                "gates": [{"measure": "privacy_loss", "max": 10}],
                "publish": {"path": "out"},
            }
        )
    )


def worst(drawn: Sequence[Plan]) -> Fraction:
    """(1), over all neighbours. Every output has the same adjacency."""
    params = [each.params for each in drawn]
    assert all(isinstance(each, Params) for each in params)
    pairs = neighbours(params[0], EVERY)  # type: ignore[arg-type]
    return max(
        sum((loss(first, second, each, settle(each, TINY)) for each in params), Fraction(0))  # type: ignore[arg-type]
        for first, second in pairs
    )


@pytest.mark.parametrize("adjacency", ["replace", "add_remove"])
@pytest.mark.parametrize("noise", ["laplace", "staircase"])
def test_three_outputs_lose_exactly_what_they_promise_together(adjacency: str, noise: str) -> None:
    plan = planned(adjacency, noise=noise)
    [together] = plan.promises
    assert worst(plan.outputs) == Fraction(together.parameters["epsilon"]) == Fraction(3, 2)


@pytest.mark.parametrize("forgotten", range(3))
def test_a_sum_that_forgets_an_output_is_found(forgotten: int) -> None:
    plan = planned("replace")
    counted = [each for place, each in enumerate(plan.outputs) if place != forgotten]
    claimed = sum((Fraction(each.guarantee.parameters["epsilon"]) for each in counted), Fraction(0))
    assert worst(plan.outputs) > claimed


def test_the_largest_of_several_outputs_is_not_their_sum() -> None:
    """They are about the same records, so nothing is parallel."""
    plan = planned("add_remove")
    assert worst(plan.outputs) > max(Fraction(each.guarantee.parameters["epsilon"]) for each in plan.outputs)
