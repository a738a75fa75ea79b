"""What a plan foretells is what happens."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.probabilistic_k_anonymity import Params, protect
from penstock.mechanisms.probabilistic_k_anonymity._expect import expect
from penstock.mechanisms.randomness import seeded

DECLARED = {
    "age": Column(role="quasi_identifier", type="integer", domain=(0, 120)),
    "region": Column(role="quasi_identifier", type="nominal", categories=("N", "S", "E")),
    "income": Column(role="confidential", type="continuous", domain=(0, 1e6)),
}


def test_the_foretold_shift_in_rank_is_the_measured_one() -> None:
    ranks = np.arange(60_000, dtype=np.float64)
    columns = {"age": np.zeros(60_000, int), "region": np.zeros(60_000, int), "income": ranks}
    released = protect(columns, DECLARED, Params(method="ir_swap", k=30), seeded(4)).columns["income"]
    # 60,000 shifts with standard deviation 7.1 in a group: six standard errors are 0.18.
    assert abs(np.abs(released - ranks).mean() - (30**2 - 1) / 90) < 0.18
    assert any("moves 9.99 ranks" in line for line in expect(Params(method="ir_swap", k=30), DECLARED, None))


@pytest.mark.parametrize("method", ["mdav_id", "mdav_swap"])
def test_quadratic_work_is_said(method: str) -> None:
    lines = expect(Params(method=method, k=5), DECLARED, 1_000_000)  # type: ignore[arg-type]
    assert any("quadratic" in line and " s here" in line for line in lines)
    assert any("under a second" in line for line in expect(Params(method=method, k=5), DECLARED, 100))  # type: ignore[arg-type]


def test_risk_is_stated_with_and_without_the_number_of_records() -> None:
    assert "1/4 = 0.25" in expect(Params(method="ir_swap", k=4), DECLARED, None)[0]
    assert "10 records make 2 groups; the average risk is 0.2" in expect(Params(method="ir_swap", k=4), DECLARED, 10)[1]


def test_fewer_records_than_k_are_said() -> None:
    said = expect(Params(method="ir_swap", k=4, k_by_column={"income": 9}), DECLARED, 8)
    assert "There are 8 records, fewer than k = 9, and the run will refuse them." in said
    assert not any("fewer than k" in line for line in expect(Params(method="ir_swap", k=4), DECLARED, 4))
