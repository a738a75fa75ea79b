"""What a plan says about money: a promise with epsilon needs a data set and an allowance that it fits into."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from penstock.flows.planning import beside, budget_faults, draw_up_plan
from penstock.flows.spec import Budget, load_spec
from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.refusal import SpecRefused
from tests.flows.good_specs import make_dp
from tests.support.workplace import Workplace


@pytest.fixture
def spending(workplace: Workplace) -> Guarantee:
    """A promise of epsilon = 3/2."""
    make_dp(workplace.raw)
    return draw_up_plan(load_spec(workplace.write_spec())).guarantee


@pytest.mark.parametrize(
    ("budget", "fields"),
    [
        (Budget(), ["budget.dataset", "budget.epsilon"]),
        (Budget(dataset="income"), ["budget.epsilon"]),
        (Budget(dataset="income", epsilon=Fraction(1)), ["budget.epsilon"]),
        (Budget(dataset="income", epsilon=Fraction(3, 2)), []),
    ],
)
def test_a_release_that_spends_says_of_what_and_how_much(
    spending: Guarantee, budget: Budget, fields: list[str]
) -> None:
    assert [fault.field for fault in budget_faults(budget, [spending])] == fields


def test_a_release_without_epsilon_needs_no_budget(workplace: Workplace) -> None:
    promise = draw_up_plan(load_spec(workplace.write_spec())).guarantee
    assert list(budget_faults(Budget(), [promise])) == []


@pytest.mark.parametrize(
    ("budget", "rule"),
    [
        ({"epsilon": "2"}, r"budget\.dataset refused: must be given for a release under dp"),
        ({"dataset": "survey"}, r"budget\.epsilon refused: must be given; the mechanisms spend 3/2"),
        ({"dataset": "survey", "epsilon": "1"}, r"budget\.epsilon refused: must be at least 3/2"),
    ],
)
def test_a_plan_that_spends_without_a_budget_is_refused(
    workplace: Workplace, budget: dict[str, str], rule: str
) -> None:
    make_dp(workplace.raw)
    workplace.raw["budget"] = budget
    with pytest.raises(SpecRefused, match=rule):
        draw_up_plan(load_spec(workplace.write_spec()))


@pytest.mark.parametrize(
    ("unit", "settings", "protected"), [("row", {}, "row"), ("person_id", {"rows_per_unit": 2}, "individual")]
)
def test_a_plan_claims_the_epsilon_of_its_promise_for_its_unit(
    workplace: Workplace, unit: str, settings: dict[str, Any], protected: str
) -> None:
    make_dp(workplace.raw, **settings)
    workplace.raw["source"]["unit"] = unit
    claim = draw_up_plan(load_spec(workplace.write_spec())).claim("a digest")
    assert (claim.model, claim.epsilon, claim.adjacency) == ("dp", Fraction(3, 2), "replace")
    assert (claim.dataset, claim.unit) == ("survey", protected)


def test_earlier_releases_add_to_what_is_not_promised(spending: Guarantee) -> None:
    assert beside(spending, []) == spending
    assert beside(spending, ["a", "b"]).not_promised[-1].endswith("of the same records: a, b")
    assert beside(spending, ["a"]).model_copy(update={"not_promised": spending.not_promised}) == spending
