"""Weights and values in units at the ends of floating point: the figures are those of other units, or are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.table import chosen_facts, faults, protect
from tests.mechanisms.table.weighted import CAP, ONE, columns, frame, weighted

SQUARES = {"column": "w", "sampling_error": True}


def with_domains(value: tuple[float, float], weight: tuple[float, float]) -> dict[str, Column]:
    y = Column(role="confidential", type="continuous", domain=value, outside="clamp")
    return {**ONE, "y": y, "w": Column(role="weight", domain=weight, outside="clamp")}


@pytest.mark.parametrize("model", ["dp", "k_anon"])
@pytest.mark.parametrize(
    ("value", "weight"), [((0, 1e100), (0, 1e100)), ((-1e149, 1), (0, 400)), ((0, 1e-100), (0, 1e-100))]
)
def test_a_product_that_no_square_can_carry_is_refused_before_a_record_is_read(
    model: Any, value: Any, weight: Any
) -> None:
    """The draw was made and paid for, and then failed; or the standard error of a noisy total was 0."""
    declared = with_domains(value, weight)
    (fault,) = faults(weighted(model, sums=["y"], means=[]), declared)
    assert fault.field == "columns.w.domain"
    assert "times a value of y" in fault.rule
    assert faults(weighted(model, sums=["x"], means=[]), declared) == []


@pytest.mark.parametrize("exponent", [-300, -20, 20, 300])
@pytest.mark.parametrize("margins", [{}, {"margins": "measured", "margin_share": "1/2"}])
def test_another_unit_of_weights_changes_figures_and_errors_by_its_factor(exponent: int, margins: Any) -> None:
    factor = 2.0**exponent
    records = frame(4_000, 1)
    params = weighted("dp", weight=SQUARES, sums=["x"], means=["x"], **margins)
    one = protect(columns(records, ONE), ONE, params, seeded(3)).columns
    other_unit = with_domains((0, 10), (0, CAP * factor))
    other = protect(columns(records.assign(w=records["w"] * factor), other_unit), other_unit, params, seeded(3)).columns
    assert np.isfinite(one["weighted_count_sampling_error"]).any()
    for name, values in one.items():
        scaled = values * (factor if name.startswith(("weighted_count", "x_weighted_sum")) else 1)
        np.testing.assert_allclose(other[name], scaled, rtol=1e-12, err_msg=name)


def test_errors_of_the_largest_values_are_finite_at_a_small_epsilon() -> None:
    declared = {name: column for name, column in with_domains((-1e150, 1e150), (0, 1)).items() if name != "w"}
    params = weighted("dp", weight=None, sums=["y"], means=["y"], epsilon="1/100000")
    found = protect(columns(frame(50, 1), declared), declared, params, seeded(1)).columns
    stated = chosen_facts(params, declared)["figures"]["y_sum"]["standard_error"]
    assert found["y_sum_standard_error"][0] == pytest.approx(stated)
    assert np.isfinite(found["y_sum_standard_error"]).all()
