"""Bounds at the ends of floating point must be refused while nothing is spent, not fail in the middle of a draw."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.flows.planning import draw_up_plan
from penstock.flows.spec import load_spec
from penstock.mechanisms.refusal import SpecRefused
from tests.support.workplace import Workplace, make_private, make_table

EXTREME = [[0, 1e151], [-1e308, 1e308], [-1e151, 0], [0, 1e-151], [1, 1 + 2**-52 * 0.1], [0, 5e-324]]


def planned(workplace: Workplace) -> Any:
    return draw_up_plan(load_spec(workplace.write_spec()))


@pytest.mark.parametrize("make", [make_table, make_private, lambda place: None], ids=["table", "records", "swapped"])
@pytest.mark.parametrize("domain", EXTREME, ids=lambda domain: f"{domain[0]:.3g} to {str(domain[1])[:8]}")
def test_a_domain_that_no_number_can_carry_is_refused(workplace: Workplace, make: Any, domain: list[float]) -> None:
    make(workplace)
    workplace.raw["source"]["columns"]["income"]["domain"] = domain
    with pytest.raises(SpecRefused, match=r"source\.columns\.income\.domain"):
        planned(workplace)


@pytest.mark.parametrize("domain", [[0, 1e-160], [50_000, 50_000 + 1e-160], [0, 1e200]])
def test_so_are_bounds_of_cells(workplace: Workplace, domain: list[float]) -> None:
    make_table(workplace, bounds={"income": [{"cells": {"region": ["North"]}, "domain": domain}]})
    with pytest.raises(SpecRefused, match=r"bounds\.income\.0\.domain"):
        planned(workplace)


@pytest.mark.parametrize("domain", [[-1e150, 1e150], [0, 1e-150]])
def test_what_lies_just_inside_is_planned(workplace: Workplace, domain: list[float]) -> None:
    make_table(workplace)
    workplace.raw["source"]["columns"]["income"]["domain"] = domain
    assert planned(workplace).declared["income"].domain == tuple(domain)
