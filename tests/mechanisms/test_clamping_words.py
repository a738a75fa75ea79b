"""What is said where values may be clamped, by every mechanism that clamps, and not where none can be."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.mechanisms import clamping
from penstock.mechanisms.columns import Column
from penstock.mechanisms.registry import MECHANISMS

REGION = Column(role="quasi_identifier", type="nominal", categories=("a", "b"))
INCOME = Column(role="confidential", type="continuous", domain=(0, 100))
SETTINGS: dict[str, dict[str, Any]] = {
    "table dp": {"mechanism": "table", "dimensions": ["region"], "sums": ["income"], "adjacency": "replace"},
    "table measured": {
        "mechanism": "table",
        "dimensions": ["region"],
        "sums": ["income"],
        "adjacency": "replace",
        "margins": "measured",
        "margin_share": "1/2",
    },
    "statistics": {
        "mechanism": "statistics",
        "figures": [{"statistic": "sum", "of": "income"}, {"statistic": "count"}],
        "adjacency": "add_remove",
    },
    "dp_microaggregation": {"mechanism": "dp_microaggregation", "adjacency": "replace", "k": 5},
    "refinement": {
        "mechanism": "refinement",
        "adjacency": "replace",
        "priors": {"region": {"kind": "uniform"}, "income": {"kind": "uniform"}},
    },
}
RECORDS = ("dp_microaggregation", "refinement")
MODELS = {name: {"model": "dp"} for name in SETTINGS if name not in RECORDS}
PULLED = "pulled towards the bounds"


def told(name: str, outside: str) -> tuple[Any, tuple[str, ...], tuple[str, ...], str]:
    """Promise, advice, foresight and treatments."""
    settings = {**SETTINGS[name], **MODELS.get(name, {}), "epsilon": "1"}
    mechanism = MECHANISMS[settings["mechanism"]]
    params = mechanism.params.model_validate(settings)
    declared = {"region": REGION, "income": INCOME.model_copy(update={"outside": outside})}
    treated = " ".join(mechanism.treatments(params, declared).values())
    foreseen = mechanism.expect(params, declared, None)
    return mechanism.promise(params, declared), mechanism.advice(params, declared), foreseen, treated


@pytest.mark.parametrize("name", SETTINGS)
def test_a_column_that_may_be_clamped_is_named_in_promise_advice_and_plan(name: str) -> None:
    promise, advice, foreseen, treated = told(name, "clamp")
    for sentences in (promise.not_promised, advice, foreseen):
        [sentence] = [each for each in sentences if PULLED in each]
        assert ("income" if sentences is promise.not_promised else "income (0 to 100)") in sentence
    assert not any("unbiased" in sentence for sentence in (*advice, *foreseen))
    assert ("clamped to their bounds" in treated) is (name not in RECORDS)
    assert any("Standard errors do not cover it" in sentence for sentence in advice) is (name not in RECORDS)


@pytest.mark.parametrize("name", SETTINGS)
def test_where_nothing_can_be_clamped_nothing_is_said_of_it(name: str) -> None:
    promise, advice, foreseen, treated = told(name, "refuse")
    assert not any(PULLED in sentence for sentence in (*promise.not_promised, *advice, *foreseen))
    assert "clamped" not in treated
    # Least squares that keep totals above 0, and means of blocks, are not.
    straight = name in ("table dp", "statistics")
    assert any("unbiased" in sentence for sentence in advice) is straight


def test_bounds_have_separators() -> None:
    declared = {"income": INCOME.model_copy(update={"outside": "clamp", "domain": (0, 150_000)})}
    for told in (
        clamping.advised(("income",), declared, "figures", errors=True),
        clamping.expected(("income",), declared, "x"),
    ):
        assert "income (0 to 150,000)" in told[0]


def test_columns_that_are_not_used_are_not_named() -> None:
    declared = {"income": INCOME.model_copy(update={"outside": "clamp"}), "age": INCOME}
    assert clamping.may_be_clamped(declared, ["age"]) == ()
    assert clamping.may_be_clamped(declared, ["age", "income", "age"]) == ("income",)
    assert clamping.may_be_clamped(declared, ["age"], {"age": ()}) == ("age",)
