"""The exact grand total: what is published, with which standard errors, and every reason why it cannot be had."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.mechanisms.columns import Column
from penstock.mechanisms.layout import error_of
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.table import MECHANISM, Params, chosen_facts, faults, layout, protect
from penstock.mechanisms.table._expect import expect
from penstock.mechanisms.table._known_total import fitted_to, variances_fitted_to
from tests.support.plain_tables import DECLARED, columns_of, table

RECORDS = [{"area": a, "size": s, "x": 1, "y": 2.5} for a, s, n in
           (("north", "small", 40), ("north", "large", 7), ("south", "small", 0), ("south", "large", 25))
           for _ in range(n)]  # fmt: skip
MEASURED = {"margins": "measured", "margin_share": "1/2"}
BOXED = {"sums": ["x"], "noise": "box", "bounds": {"x": [{"cells": {"area": ["north"]}, "domain": [0, 1]}]}}
EXACT = {
    "cells": {},
    "no margins": {"margins": "none"},
    "measured": MEASURED,
    "some measured": {**MEASURED, "totals": [["area"], []]},
    "means": {"means": ["x"], "count": False},
    "boxes": {**MEASURED, **BOXED},
    "boxes of cells": BOXED,
}


def released(chosen: dict[str, Any], seed: int) -> tuple[Params, dict[str, np.ndarray]]:
    params = table(exact_total=True, **chosen)
    assert faults(params, DECLARED) == []
    return params, protect(columns_of(RECORDS), DECLARED, params, seeded(seed)).columns


@pytest.mark.parametrize("name", EXACT)
def test_counts_add_up_to_the_number_of_records_and_only_the_grand_total_is_exact(name: str) -> None:
    for seed in range(20):
        params, columns = released(EXACT[name], seed)
        if not params.count:
            continue
        drawn = layout(params, DECLARED)
        counts, errors = columns["count"], columns[error_of("count")]
        assert counts[: drawn.starts[1]].sum() == len(RECORDS)
        grand = [start for start, level in zip(drawn.starts, drawn.levels, strict=False) if not level]
        assert counts[grand].tolist() == [len(RECORDS)] * len(grand)
        assert errors[grand].tolist() == [0] * len(grand)
        assert (np.delete(errors, grand) > 0).all()
        assert params.margins != "measured" or counts.min() >= 0


def test_cells_of_one_variance_have_that_less_its_part_in_the_sum() -> None:
    """Var(x_c) = v (1 - 1/N): three cells of variance 6 have 4, a margin of two of them 12 (1 - 2/3) = 4."""
    spread = variances_fitted_to([np.full(6, 6.0)], (3, 2), [(0, 1), (0,), ()])
    assert spread[0] == pytest.approx(np.full(6, 5.0))
    assert spread[1] == pytest.approx(np.full(3, 12 * (1 - 1 / 3)))
    assert spread[2].tolist() == [0.0]


def test_cells_are_moved_by_their_part_of_the_variance() -> None:
    """Variances 1, 1, 2 and a sum that is 4 too small: the cells rise by 1, 1 and 2."""
    values, _ = fitted_to(10, [np.array([1, 2, 3])], [np.array([1.0, 1.0, 2.0])], (3,), [(0,), ()], nonnegative=False)
    assert values.tolist() == [2, 3, 5, 10]


@pytest.mark.parametrize("margins", [{}, MEASURED])
def test_standard_errors_are_those_of_the_fit(margins: dict[str, Any]) -> None:
    """600 tables of many records: mean squared errors within a fifth of what is stated, false alarm below 1e-6."""
    params = table(exact_total=True, **margins)
    columns = columns_of([record for record in RECORDS for _ in range(10)] +
                         [{"area": "south", "size": "small", "x": 0, "y": 1.0}] * 300)  # fmt: skip
    drawn = [protect(columns, DECLARED, params, seeded(seed)).columns for seed in range(600)]
    truth = np.array([400, 70, 300, 250, 470, 550, 700, 320, 1020])
    found = np.mean([(each["count"] - truth) ** 2 for each in drawn], axis=0)
    stated = np.mean([each[error_of("count")] ** 2 for each in drawn], axis=0)
    assert found[-1] == stated[-1] == 0
    assert (found[:-1] < 1.3 * stated[:-1]).all()
    assert (found[:-1] > 0.6 * stated[:-1]).all()


def test_old_settings_say_nothing_of_it() -> None:
    params = table()
    assert "exact_total" not in params.model_dump(mode="json")
    assert "exact_total" not in chosen_facts(params, DECLARED)
    assert "exact_total" not in MECHANISM.promise(params, DECLARED).parameters


def test_promise_facts_and_advice_say_it() -> None:
    params = table(exact_total=True)
    promise = MECHANISM.promise(params, DECLARED)
    assert promise.parameters["exact_total"] is True
    assert "the grand total of counts: it is the number of records" in promise.public
    assert any("every figure but the grand total of counts is noisy" in limit for limit in promise.not_promised)
    assert chosen_facts(params, DECLARED)["exact_total"] is True
    assert any("grand total of counts is exact" in each for each in expect(params, DECLARED, None))
    assert any("grand total of counts is exact" in each for each in MECHANISM.advice(params, DECLARED))
    assert any("0 in total" in each for each in expect(table(exact_total=True, **MEASURED), DECLARED, None))


@pytest.mark.parametrize(
    ("model", "chosen", "rule"),
    [
        ("dp", {"adjacency": "add_remove"}, "number of records is public"),
        ("bdp", {}, "number of records is public"),
        ("k_anon", {}, "number of records is public"),
        ("dp", {"count": False, "sums": ["x"]}, "records are not counted"),
        ("dp", {"weight": {"column": "w"}}, "the sum of their weights is not"),
        ("dp", {"rows_per_unit": 2}, "how many records are used is not public"),
        ("dp", {**MEASURED, "totals": [[]]}, "only measured margin"),
    ],
)
def test_it_is_refused_where_the_total_is_not_public(model: str, chosen: dict[str, Any], rule: str) -> None:
    weight = {"w": Column(role="weight", domain=(0, 9))} if "weight" in chosen else {}
    found = list(faults(table(model, exact_total=True, **chosen), {**DECLARED, **weight}))
    assert [fault.field for fault in found] == ["exact_total"]
    assert rule in found[0].rule
