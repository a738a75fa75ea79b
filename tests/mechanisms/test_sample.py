from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.columns import Column
from penstock.mechanisms.probabilistic_k_anonymity import MECHANISM, Params, faults, promise
from penstock.mechanisms.refusal import TooFewRecords
from penstock.mechanisms.registry import MECHANISMS
from penstock.mechanisms.sample import sampled
from penstock.mechanisms.stated import is_stated

DECLARED = {
    "age": Column(role="quasi_identifier", type="integer", domain=(0, 120)),
    "income": Column(role="confidential", type="continuous", domain=(0, 100)),
}


def swap(**chosen: Any) -> Params:
    return Params.model_validate({"method": "ir_swap", "k": 3, **chosen})


@given(st.fractions(min_value=Fraction(1, 50), max_value=Fraction(49, 50)), st.integers(50, 10**6))
def test_a_share_is_rounded_down(share: Fraction, records: int) -> None:
    assert sampled(share, records) == (share * records).__floor__()


def test_a_number_is_taken_as_it_is_and_none_means_all() -> None:
    assert (sampled(Fraction(7), 9), sampled(Fraction(1), 9), sampled(None, 9)) == (7, 1, 9)
    assert sampled(Fraction(9), 9) == 9


@pytest.mark.parametrize(("sample", "records"), [("10", 9), ("1/10", 9), ("0", 9)])
def test_a_sample_of_no_record_or_of_more_than_there_are_is_refused(sample: str, records: int) -> None:
    with pytest.raises(TooFewRecords, match="sample refused: needs at least one record in the sample"):
        sampled(Fraction(sample), records)


@pytest.mark.parametrize(
    ("chosen", "field", "rule"),
    [
        ({"method": "mdav_id", "sample": "1/2"}, "sample", "of k records that agree"),
        ({"sample": "0"}, "sample", "must be a share below 1, or a whole number"),
        ({"sample": "3/2"}, "sample", "must be a share below 1, or a whole number"),
    ],
)
def test_what_is_no_sample_of_a_swap_is_refused(chosen: dict[str, Any], field: str, rule: str) -> None:
    assert any(fault.field == field and rule in fault.rule for fault in faults(swap(**chosen), DECLARED))


def test_weights_do_not_add_up_in_a_sample() -> None:
    weighted = {**DECLARED, "weight": Column(role="weight")}
    assert [fault.field for fault in faults(swap(sample="1/2"), weighted)] == ["columns.weight.role"]
    assert not faults(swap(sample="1/2"), DECLARED)


def test_the_promise_names_the_sample_and_where_there_is_none_nothing_changes() -> None:
    said = promise(swap(sample="1/10"), DECLARED)
    assert said.parameters["sample"] == "1/10"
    assert "random sample of the records, a share of 1/10" in said.statement
    assert is_stated(MECHANISM.stated, said.parameters)
    assert "sample" not in promise(swap(), DECLARED).parameters


def test_plans_say_how_many_records_are_published_and_what_is_judged() -> None:
    told = MECHANISM.expect(swap(sample="1/10"), DECLARED, 1000)
    assert any("100 of 1,000" in line and "about all records" in line for line in told)
    assert any("the run will refuse it" in line for line in MECHANISM.expect(swap(sample="2000"), DECLARED, 1000))
    assert any("a share of 1/10" in line for line in MECHANISM.expect(swap(sample="1/10"), DECLARED, None))
    assert "2,000 records" in MECHANISM.advice(swap(sample="2000"), DECLARED)[0]


def test_only_swaps_publish_samples() -> None:
    assert [name for name, each in MECHANISMS.items() if "sample" in each.params.model_fields] == [
        "probabilistic_k_anonymity"
    ]
