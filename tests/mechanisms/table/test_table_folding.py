"""Cells folded into levels with groups, and least squares over them, against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from penstock.mechanisms.table._folding import Grouped, folded, unfolded
from penstock.mechanisms.table._known_total import fitted_to
from penstock.mechanisms.table._margins import reconciled, reconciled_variances, summed
from tests.mechanisms.table.test_table_margins import with_the_sum

SHAPE = (4, 6)
SECTION, DIVISION = Grouped(1, (0, 1, 0, 1, 1, 0)), Grouped(1, (0, 1, 0, 2, 1, 0))
ZONE = Grouped(0, (1, 0, 1, 1))
LEVELS = [(0, 1), (0, DIVISION), (0, SECTION), (ZONE, 1), (ZONE, SECTION), (0,), (ZONE,), (DIVISION,), (SECTION,), ()]


def incidence(shape, level):
    """Which cells are in which figure, one row for each figure, from the definition."""
    sizes = [max(each.groups) + 1 if isinstance(each, Grouped) else shape[each] for each in level]
    matrix = np.zeros((int(np.prod(sizes)), int(np.prod(shape))))
    for cell, digits in enumerate(np.ndindex(*shape)):
        kept = [each.groups[digits[each.axis]] if isinstance(each, Grouped) else digits[each] for each in level]
        row = 0
        for size, place in zip(sizes, kept, strict=True):
            row = row * size + place
        matrix[row, cell] = 1
    return matrix


@st.composite
def cubes(draw):
    """A shape, and a level that keeps, groups or drops each axis; groups in any order, none empty."""
    shape = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    level = []
    for axis, size in enumerate(shape):
        how = draw(st.sampled_from(["keep", "group", "drop"]))
        if how == "group":
            number = draw(st.integers(1, size))
            rest = draw(st.lists(st.integers(0, number - 1), min_size=size - number, max_size=size - number))
            level.append(Grouped(axis, tuple(draw(st.permutations([*range(number), *rest])))))
        elif how == "keep":
            level.append(axis)
    return shape, tuple(level)


@given(cubes(), st.integers(0, 2**32))
def test_folding_is_the_incidence_matrix_and_unfolding_its_transpose(cube, seed):
    shape, level = cube
    chance, matrix = np.random.default_rng(seed), incidence(shape, level)
    cells = chance.integers(-(2**40), 2**40, shape)
    np.testing.assert_array_equal(folded(cells, level).ravel(), matrix.astype(np.int64) @ cells.ravel())
    largest = [cells.ravel()[row > 0].max() for row in matrix]
    np.testing.assert_array_equal(folded(cells, level, np.maximum).ravel(), largest)
    figures = chance.integers(-9, 9, len(matrix))
    back = np.broadcast_to(unfolded(figures, shape, level), shape).ravel()
    np.testing.assert_array_equal(back, matrix.T.astype(np.int64) @ figures)


def noisy(seed, *, equal):
    chance = np.random.default_rng(seed)
    truth = chance.poisson(1.0, 24).astype(float)
    measured, variances = [], []
    for place, level in enumerate(LEVELS):
        total = incidence(SHAPE, level) @ truth
        spread = np.full(len(total), 8.0 * (1 + 3 * (place > 0)))
        if not equal:
            spread *= np.exp(chance.normal(0, 1.5, len(total)))
        measured.append(total + np.sqrt(spread) * chance.normal(size=len(total)))
        variances.append(spread)
    return measured, variances


def dense(measured, variances):
    rows = [incidence(SHAPE, axes) / np.sqrt(v)[:, np.newaxis] for axes, v in zip(LEVELS, variances, strict=True)]
    return np.vstack(rows), np.concatenate([y / np.sqrt(v) for y, v in zip(measured, variances, strict=True)])


@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_the_fit_is_the_weighted_least_squares_solution(equal, seed):
    measured, variances = noisy(seed, equal=equal)
    matrix, aim = dense(measured, variances)
    errors = np.sqrt(variances[0])
    free = reconciled(measured, variances, SHAPE, LEVELS, nonnegative=False)
    np.testing.assert_allclose(free / errors, np.linalg.lstsq(matrix, aim)[0] / errors, atol=1e-6)
    bounded = reconciled(measured, variances, SHAPE, LEVELS, nonnegative=True)
    with_sum = with_the_sum(matrix, aim, free.sum())
    np.testing.assert_allclose(bounded / errors, nnls(*with_sum, maxiter=10_000)[0] / errors, atol=1e-3)
    assert (bounded >= 0).all()


@pytest.mark.parametrize("equal", [True, False])
def test_stated_variances_are_at_least_those_of_the_dense_fit_and_at_most_those_of_each_measurement(equal):
    measured, variances = noisy(1, equal=equal)
    matrix, _ = dense(measured, variances)
    covariance = np.linalg.inv(matrix.T @ matrix)
    for level, own, stated in zip(LEVELS, variances, reconciled_variances(variances, SHAPE, LEVELS), strict=True):
        rows = incidence(SHAPE, level)
        assert (np.diag(rows @ covariance @ rows.T) <= stated * (1 + 1e-9)).all()
        assert (stated <= own * (1 + 1e-12)).all()
        assert (stated <= rows @ variances[0] * (1 + 1e-12)).all()


def test_what_rounding_moves_a_group_is_in_its_stated_variance():
    """Counts fitted to a public total: the variance of every figure holds the square of its move."""
    chance = np.random.default_rng(3)
    cells, variances = chance.integers(-5, 40, 24), [np.full(24, 7.0)]
    values, stated = fitted_to(500, [cells], variances, SHAPE, LEVELS, nonnegative=False)
    real = cells + (500 - cells.sum()) / 24
    start = 0
    for level in LEVELS:
        rows = incidence(SHAPE, level)
        found, spread = values[start : start + len(rows)], stated[start : start + len(rows)]
        np.testing.assert_array_equal(found, rows @ values[:24])
        size = rows.sum(axis=1)
        moved = found - rows @ real if level else 0.0
        np.testing.assert_allclose(spread, 7 * size * (1 - size / 24) + moved**2, atol=1e-9)
        start += len(rows)
    assert values[-1] == 500
    assert [total.sum() for total in summed(values[:24], SHAPE, LEVELS)] == [500] * len(LEVELS)
