"""What a plan says about money: a promise with epsilon needs a data set and an allowance that it fits into."""

from __future__ import annotations

from fractions import Fraction

import pytest
from workplace import Workplace

from flows import plan
from flows.plan import beside, budget_faults, draw_up_plan
from flows.spec import Budget, load_spec
from mechanisms.guarantee import Guarantee
from mechanisms.refusal import SpecRefused


@pytest.fixture
def spending(workplace: Workplace) -> Guarantee:
    """A promise of epsilon = 3/2, as a mechanism with noise would give it."""
    promise = draw_up_plan(load_spec(workplace.write_spec())).guarantee
    return promise.model_copy(update={"model": "dp", "parameters": {"epsilon": "3/2"}, "adjacency": "replace"})


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
    assert [fault.field for fault in budget_faults(budget, spending)] == fields


def test_a_release_without_epsilon_needs_no_budget(workplace: Workplace) -> None:
    promise = draw_up_plan(load_spec(workplace.write_spec())).guarantee
    assert list(budget_faults(Budget(), promise)) == []


def test_a_plan_that_spends_without_a_budget_is_refused(
    workplace: Workplace, spending: Guarantee, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "compose", lambda _: spending)
    with pytest.raises(SpecRefused, match=r"budget\.dataset refused: a release under dp spends a budget"):
        draw_up_plan(load_spec(workplace.write_spec()))


def test_earlier_releases_add_to_what_is_not_promised(spending: Guarantee) -> None:
    assert beside(spending, []) == spending
    assert beside(spending, ["a", "b"]).not_promised[-1].endswith("of the same records: a, b")
    assert beside(spending, ["a"]).model_copy(update={"not_promised": spending.not_promised}) == spending
