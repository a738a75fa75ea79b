"""What may be declared about values outside a domain, and who refuses it."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from penstock.mechanisms.columns import Column
from penstock.mechanisms.probabilistic_k_anonymity import Params, faults, promise
from penstock.mechanisms.refusal import SettingRefused

INCOME = Column(role="confidential", type="continuous", domain=(0, 1e6), outside="clamp")
AGE = Column(role="quasi_identifier", type="integer", domain=(0, 120))


def test_what_lies_outside_is_refused_unless_declared_otherwise() -> None:
    assert AGE.outside == "refuse"
    assert INCOME.outside == "clamp"
    assert INCOME.model_copy(update={"outside": "refuse"}) != INCOME
    assert Column.model_validate(INCOME.model_dump(mode="json")) == INCOME
    assert len({INCOME, INCOME.model_copy()}) == 1


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ({"role": "identifier"}, "must be refuse for role identifier"),
        ({"role": "weight"}, "must be refuse for a weight without a domain"),
        (
            {"role": "confidential", "type": "ordinal", "categories": ("a", "b")},
            "must be refuse for type ordinal",
        ),
        (
            {"role": "confidential", "type": "nominal", "categories": ("a", "b")},
            "must be refuse for type nominal",
        ),
    ],
)
def test_only_numbers_with_a_domain_can_be_clamped(settings: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Column(**settings, outside="clamp")
    [fault] = refused.value.errors()[0]["ctx"]["faults"]
    assert (fault.field, fault.rule, fault.got) == ("outside", rule, "'clamp'")


@pytest.mark.parametrize("method", ["mdav_id", "mdav_swap", "ir_swap"])
def test_a_mechanism_that_promises_unchanged_columns_does_not_clamp(method: Any) -> None:
    declared = {"age": AGE, "income": INCOME}
    [fault] = faults(Params(method=method, k=5), declared)
    assert (fault.field, fault.got) == ("columns.income.outside", "clamp")
    with pytest.raises(SettingRefused, match="what is not masked is promised unchanged"):
        promise(Params(method=method, k=5), declared)
