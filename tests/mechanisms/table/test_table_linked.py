"""Linked tables: they agree, add up, are whole and not below 0, with the standard errors that are stated."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.measures.cells._linked import linked_add_up
from penstock.mechanisms.columns import Column
from penstock.mechanisms.layout import error_of
from penstock.mechanisms.linked_layout import columns_of_table, levels_are_linked, tables_of
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.table import MECHANISM, Params, _cube, _linked, chosen_facts, faults, layout, protect
from penstock.mechanisms.table._expect import expect

SIZES = {"sex": 2, "education": 6, "class": 3, "hours": 4}
DECLARED = {
    **{
        name: Column(role="quasi_identifier", type="nominal", categories=tuple(f"{name}{i}" for i in range(size)))
        for name, size in SIZES.items()
    },
    "pay": Column(role="confidential", type="continuous", domain=(0, 10)),
    "gain": Column(role="confidential", type="integer", domain=(-5, 5)),
}
TABLES = {"by_education": ["sex", "education"], "by_class": ["class", "sex"], "by_hours": ["education", "class"]}
MARGINS = {
    "none": {"margins": "none"},
    "summed": {},
    "measured": {"margins": "measured", "margin_share": "1/3"},
}


def linked(**chosen: Any) -> Params:
    given = {"tables": TABLES, "model": "dp", "epsilon": "1", "adjacency": "replace", **chosen}
    return Params.model_validate({name: value for name, value in given.items() if value is not None})


def records(n: int, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    codes = {name: np.minimum(rng.geometric(0.5, n) - 1, size - 1).astype(np.int32) for name, size in SIZES.items()}
    return {**codes, "pay": rng.uniform(0, 10, n), "gain": rng.integers(-5, 6, n)}


@pytest.mark.parametrize("margins", MARGINS)
@pytest.mark.parametrize("exact", [False, True])
def test_tables_agree_and_add_up(margins: str, exact: bool) -> None:
    params = linked(sums=["pay", "gain"], means=["pay"], exact_total=exact, **MARGINS[margins])
    assert faults(params, DECLARED) == []
    drawn = layout(params, DECLARED)
    assert levels_are_linked(drawn, with_margins=margins != "none")
    for seed in range(5):
        released = protect(records(300), DECLARED, params, seeded(seed)).columns
        assert released["count"].min() >= 0
        shown: dict[tuple[frozenset[str], tuple[int, ...], str], float] = {}
        for table in tables_of(drawn):
            columns = columns_of_table(drawn, table, released)
            assert list(columns) == list(table.columns)
            cells = columns["count"][: table.starts[1]].reshape(table.shape(table.levels[0]))
            if exact:
                assert cells.sum() == 300
            for place, level in enumerate(table.levels):
                rows = slice(table.starts[place], table.starts[place + 1])
                gone = tuple(axis for axis, name in enumerate(table.levels[0]) if name not in level)
                assert np.array_equal(columns["count"][rows], cells.sum(axis=gone).ravel())
                for row in range(rows.start, rows.stop):
                    places = tuple(int(columns[name][row]) for name in drawn.dimensions if name in level)
                    for name in table.columns[len(table.dimensions) :]:
                        key = (frozenset(level), places, name)
                        value = float(columns[name][row])
                        assert shown.setdefault(key, value) == pytest.approx(value, abs=0, nan_ok=True)


@pytest.mark.parametrize("margins", MARGINS)
def test_weighted_tables_agree_and_add_up(margins: str) -> None:
    declared = {**DECLARED, "w": Column(role="weight", domain=(0, 20))}
    params = linked(sums=["pay"], means=["pay"], weight={"column": "w"}, **MARGINS[margins])
    assert faults(params, declared) == []
    drawn, weights = layout(params, declared), np.random.default_rng(1).uniform(0, 20, 300)
    released = protect({**records(300), "w": weights}, declared, params, seeded(2)).columns
    for figure in ("weighted_count", "pay_weighted_sum"):
        assert linked_add_up(drawn, released[figure], 1e-9)
        total = weights if figure == "weighted_count" else weights * records(300)["pay"]
        cells = [released[figure][start:end].sum() for start, end in pairwise(drawn.starts[:4])]
        # The sum of 18 cells at most; 3 tables share epsilon 1, so the noise of a cell has scale 120, or 1,200 of pay.
        most = 25 * 18**0.5 * 2**0.5 * 6 * 20 * (1 if figure == "weighted_count" else 10 * 2)
        assert all(abs(cell - total.sum()) < most for cell in cells)


shapes = st.lists(st.integers(1, 4), min_size=2, max_size=4).map(tuple)


@given(shapes, st.data())
def test_the_fit_is_weighted_least_squares_over_the_cube(shape: tuple[int, ...], data: st.DataObject) -> None:
    """Against numpy's least squares on the dense system; its figures and variances, with and without a given sum."""
    axes = range(len(shape))
    subsets = [part for size in axes for part in combinations(axes, size)] + [tuple(axes)]
    kept = data.draw(st.lists(st.sampled_from(subsets), min_size=1, max_size=4, unique=True))
    variances = [data.draw(st.floats(0.5, 8)) for _ in kept]
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    matrices = [_matrix(shape, level) for level in kept]
    measured = [rng.normal(3, 5, len(matrix)) for matrix in matrices]
    total = data.draw(st.none() | st.integers(0, 50))
    weights = [variance**-0.5 for variance in variances]
    rows = [matrix * weight for matrix, weight in zip(matrices, weights, strict=True)]
    aims = [values * weight for values, weight in zip(measured, weights, strict=True)]
    if total is not None:  # almost without variance
        rows, aims = [*rows, np.full((1, matrices[0].shape[1]), 1e5)], [*aims, np.array([1e5 * total])]
    inverse = np.linalg.pinv(np.vstack(rows), rcond=1e-9)
    plain = inverse @ np.concatenate(aims)
    found = _cube.reconciled(measured, variances, shape, kept, total=total, nonnegative=False)
    published = _cube.closure(kept)
    spread = _cube.reconciled_variances(variances, shape, kept, published, exact_total=total is not None)
    for level, variance in zip(published, spread, strict=True):
        matrix = _matrix(shape, level)
        assert _cube.level_sums(found, level) == pytest.approx(matrix @ plain, abs=1e-4)
        assert variance == pytest.approx(((matrix @ inverse) ** 2).sum(axis=1).max(), abs=1e-4)


def _matrix(shape: tuple[int, ...], level: tuple[int, ...]) -> np.ndarray:
    cells = np.eye(int(np.prod(shape))).reshape(*shape, -1)
    gone = tuple(axis for axis in range(len(shape)) if axis not in level)
    return cells.sum(axis=gone).reshape(-1, cells.shape[-1])


def test_a_sparse_cube_keeps_its_sum_where_cutting_below_zero_would_lift_it() -> None:
    """60 records in 30 x 30 cells with noise of 8.5: the sum stays near that of least squares."""
    rng = np.random.default_rng(2)
    truth = rng.multinomial(60, np.full(8000, 1 / 8000)).reshape(20, 20, 20)
    kept = [(0, 1), (1, 2), (0, 2)]
    measured = [_cube.level_sums(truth, level) + rng.laplace(0, 6, 400) for level in kept]
    plain = _cube.reconciled(measured, [72.0] * 3, truth.shape, kept, total=None, nonnegative=False)
    fitted = _cube.reconciled(measured, [72.0] * 3, truth.shape, kept, total=None, nonnegative=True)
    assert fitted.min() >= 0
    assert fitted.sum() == pytest.approx(max(0, round(float(plain.sum()))))
    cut = sum(np.maximum(values, 0).sum() for values in measured) / 3
    assert cut > fitted.sum() + 500


@pytest.mark.parametrize("exact", [False, True])
def test_standard_errors_are_those_of_the_fit(exact: bool) -> None:
    """300 draws for many records: mean squared errors as stated, within what 300 draws show by chance."""
    params = linked(exact_total=exact, margins="measured", margin_share="1/3")
    columns = {name: np.repeat(values, 40) for name, values in records(400).items()}
    drawn = layout(params, DECLARED)
    codes, true = drawn.codes(), []
    for row in range(drawn.rows):
        here = np.ones(len(columns["sex"]), bool)
        for name in drawn.dimensions:
            if codes[name][row] < SIZES[name]:
                here &= columns[name] == codes[name][row]
        true.append(int(here.sum()))
    draws = [protect(columns, DECLARED, params, seeded(seed)).columns for seed in range(300)]
    ratios = []
    for first, last in zip(drawn.starts, drawn.starts[1:], strict=False):
        rows = slice(first, last)
        found = np.mean([(each["count"][rows] - np.array(true)[rows]) ** 2 for each in draws])
        stated = np.mean([each[error_of("count")][rows] ** 2 for each in draws])
        assert (found == 0) == (stated == 0)
        ratios.append(found / stated if stated else 1.0)
    assert max(ratios) < 1.35
    assert min(ratios) > 0.5


def test_promise_plan_and_advice_tell_of_all_tables() -> None:
    params = linked(margins="measured", margin_share="1/3")
    promise = MECHANISM.promise(params, DECLARED)
    assert "3 tables that agree (by_education, by_class, by_hours)" in promise.statement
    assert promise.parameters["tables"] == TABLES
    assert promise.parameters["epsilon"] == "1"
    planned = " ".join(expect(params, DECLARED, None))
    assert "They show 12 levels, 7 of them different; 7 are drawn, each once" in planned
    assert "count by sex, education: standard error" in planned
    assert "After least squares, standard errors at most: count" in planned
    assert any("same number in each" in each for each in MECHANISM.advice(params, DECLARED))
    assert chosen_facts(params, DECLARED)["cells"] == 12 + 6 + 18


def test_the_dimensions_are_those_of_all_tables_and_settings_read_back_are_the_same() -> None:
    params = linked()
    assert params.dimensions == ("sex", "education", "class")
    assert Params.model_validate(params.model_dump(mode="json")) == params
    assert "tables" not in linked(tables=None, dimensions=["sex"]).model_dump(mode="json")


NESTED = {**TABLES, "by_sex": ["sex"]}


@pytest.mark.parametrize(
    ("chosen", "field", "rule"),
    [
        ({"tables": None}, "dimensions", "must be given"),
        ({"model": "k_anon", "k": 3, "epsilon": None, "adjacency": None}, "tables", "agree by themselves"),
        (
            {"model": "idp", "adjacency": "from_D", "acknowledges": ["idp"], "margins": "none"},
            "tables",
            "size of the noise, which is secret",
        ),
        ({"tables": {"one": ["sex"]}}, "tables", "at least two tables"),
        ({"tables": {"One": ["sex"], "two": ["class"]}}, "tables", "lower case letters"),
        ({"tables": {"../one": ["sex"], "two": ["class"]}}, "tables", "lower case letters"),
        ({"tables": {"one": [], "two": ["sex"]}}, "tables.one", "at least one column"),
        ({"tables": {"one": ["sex", "sex"], "two": ["class"]}}, "tables.one", "must not list a column twice"),
        ({"tables": NESTED}, "tables.by_sex", "that each other table lacks"),
        ({"dimensions": ["sex"]}, "dimensions", "must not be given with tables"),
        ({"totals": [["sex"]]}, "totals", "must not be given with tables"),
        ({"sums": ["gain"], "bounds": {"gain": [{"cells": {"sex": ["sex0"]}, "domain": [0, 1]}]}}, "bounds", "with"),
        (
            {
                "exact_total": True,
                "margins": "measured",
                "margin_share": "1/2",
                "tables": {"a": ["sex"], "b": ["class"]},
            },
            "exact_total",
            "only measured margin",
        ),
    ],
)
def test_what_cannot_be_linked_is_refused(chosen: dict[str, Any], field: str, rule: str) -> None:
    found = [fault for fault in faults(linked(**chosen), DECLARED) if fault.field == field]
    assert len(found) == 1
    assert rule in found[0].rule


def test_too_large_a_cube_is_refused_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = {f"d{i}": Column(role="quasi_identifier", type="nominal", categories=tuple("abcdefgh")) for i in range(9)}
    chain = {f"t{i}": [f"d{i}", f"d{i + 1}"] for i in range(8)}
    (fault,) = faults(linked(tables=chain), wide)
    assert (fault.field, fault.got) == ("tables", "134,217,728 cells")
    assert "link fewer tables" in fault.remedy
    monkeypatch.setattr(_linked, "MOST_LEVELS", 11)
    (fault,) = faults(linked(), DECLARED)
    assert (fault.field, fault.got) == ("tables", "36 x 12")
