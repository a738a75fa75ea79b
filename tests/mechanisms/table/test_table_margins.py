"""Margins: sums, least squares against a dense solver, variances against the dense covariance, and thin tables."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import nnls

from penstock.mechanisms.table._margins import reconciled, reconciled_variances, summed

SHAPES = [(3,), (2, 3), (3, 4, 2), (2, 2, 2, 3), (1, 4), (5, 1, 2)]
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


def every_level(shape):
    axes = range(len(shape))
    return [tuple(axes), *(kept for size in reversed(axes) for kept in combinations(axes, size))]


def incidence(shape, kept):
    """Which cells are summed into which, one row for each cell of the level."""
    cells = np.arange(np.prod(shape)).reshape(shape)
    gone = tuple(axis for axis in range(len(shape)) if axis not in kept)
    moved = np.moveaxis(cells, gone, range(len(shape) - len(gone), len(shape)))
    rows = moved.reshape(-1, max(1, int(np.prod([shape[axis] for axis in gone]))))
    matrix = np.zeros((len(rows), cells.size))
    for row, members in enumerate(rows):
        matrix[row, members] = 1
    return matrix


def noisy(shape, seed, *, equal):
    chance = np.random.default_rng(seed)
    truth = chance.poisson(1.0, np.prod(shape)).astype(float)
    kept = every_level(shape)
    measured, variances = [], []
    for place, axes in enumerate(kept):
        total = incidence(shape, axes) @ truth
        spread = np.full(len(total), 8.0 * (1 + 3 * (place > 0)))
        if not equal:
            spread *= np.exp(chance.normal(0, 1.5, len(total)))
        measured.append(total + np.sqrt(spread) * chance.normal(size=len(total)))
        variances.append(spread)
    return measured, variances, kept


def dense(measured, variances, shape, kept):
    """The weighted system as one matrix and one vector."""
    rows = [incidence(shape, axes) / np.sqrt(v)[:, np.newaxis] for axes, v in zip(kept, variances, strict=True)]
    return np.vstack(rows), np.concatenate([y / np.sqrt(v) for y, v in zip(measured, variances, strict=True)])


@every_shape
def test_sums_are_those_of_their_cells(shape):
    cells = np.random.default_rng(1).integers(-(10**6), 10**6, np.prod(shape))
    for axes, total in zip(every_level(shape), summed(cells, shape, every_level(shape)), strict=True):
        np.testing.assert_array_equal(total, incidence(shape, axes) @ cells)
        assert total.dtype == cells.dtype


def with_the_sum(matrix, aim, total):
    """The same system, and that all cells add up to a total: a measurement that is all but exact."""
    heavy = 1e4 * np.abs(matrix).max()
    return np.vstack([matrix, np.full(matrix.shape[1], heavy)]), np.append(aim, heavy * max(total, 0))


@every_shape
@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_the_fit_is_the_weighted_least_squares_solution(shape, equal, seed):
    measured, variances, kept = noisy(shape, seed, equal=equal)
    matrix, aim = dense(measured, variances, shape, kept)
    errors = np.sqrt(variances[0])
    free = reconciled(measured, variances, shape, kept, nonnegative=False)
    np.testing.assert_allclose(free / errors, np.linalg.lstsq(matrix, aim)[0] / errors, atol=1e-6)
    bounded = reconciled(measured, variances, shape, kept, nonnegative=True)
    with_sum = with_the_sum(matrix, aim, free.sum())
    np.testing.assert_allclose(bounded / errors, nnls(*with_sum, maxiter=10_000)[0] / errors, atol=1e-3)
    assert (bounded >= 0).all()
    assert bounded.sum() == pytest.approx(max(free.sum(), 0), abs=1e-4 * errors.sum())


def test_a_fit_of_measurements_that_agree_changes_nothing():
    shape, kept = (3, 4), every_level((3, 4))
    cells = np.arange(12.0)
    measured = summed(cells, shape, kept)
    variances = [np.full(len(each), 2.0) for each in measured]
    for nonnegative in (False, True):
        np.testing.assert_allclose(
            reconciled(measured, variances, shape, kept, nonnegative=nonnegative), cells, atol=1e-5
        )


def test_some_margins_are_enough():
    """Cells and the grand total only: what the total lacks is spread evenly, by how exact it is."""
    measured, variances = [np.array([1.0, 2.0, 3.0]), np.array([12.0])], [np.ones(3), np.array([3.0])]
    found = reconciled(measured, variances, (3,), [(0,), ()], nonnegative=False)
    np.testing.assert_allclose(found, [2.0, 3.0, 4.0])
    assert [each.tolist() for each in reconciled_variances(variances, (3,), [(0,), ()])] == [
        pytest.approx([5 / 6] * 3),
        pytest.approx([1.5]),
    ]


@every_shape
def test_the_variances_are_those_of_the_fit(shape):
    measured, variances, kept = noisy(shape, 1, equal=True)
    covariance = np.linalg.inv(
        dense(measured, variances, shape, kept)[0].T @ dense(measured, variances, shape, kept)[0]
    )
    for axes, stated in zip(kept, reconciled_variances(variances, shape, kept), strict=True):
        sums = incidence(shape, axes)
        np.testing.assert_allclose(stated, np.diag(sums @ covariance @ sums.T), rtol=1e-9)


@every_shape
def test_unequal_variances_are_stated_as_measured_which_the_fit_does_not_exceed(shape):
    measured, variances, kept = noisy(shape, 2, equal=False)
    matrix = dense(measured, variances, shape, kept)[0]
    covariance = np.linalg.inv(matrix.T @ matrix)
    for axes, stated, before in zip(kept, reconciled_variances(variances, shape, kept), variances, strict=True):
        sums = incidence(shape, axes)
        assert (np.diag(sums @ covariance @ sums.T) <= stated * (1 + 1e-9)).all()
        if np.prod(shape) > 3 and len(np.unique(variances[0])) > 1:
            np.testing.assert_array_equal(stated, before)


def test_many_cells_with_all_margins_are_fitted():
    measured, variances, kept = [], [], every_level((40, 30, 20))
    chance = np.random.default_rng(3)
    truth = chance.poisson(0.5, (40, 30, 20))
    for total in summed(truth, truth.shape, kept):
        variances.append(np.full(len(total), 8.0))
        measured.append(total + np.sqrt(8.0) * chance.normal(size=len(total)))
    found = reconciled(measured, variances, truth.shape, kept, nonnegative=True)
    error = np.sqrt(((found - truth.ravel()) ** 2).mean())
    assert error < 0.6 * np.sqrt(((measured[0] - truth.ravel()) ** 2).mean())
    assert abs(found.sum() - truth.sum()) < 6 * np.sqrt(8)


def test_totals_far_larger_than_their_noise_lose_nothing():
    """Cells a billion times their standard error, margins a hundred times as exact."""
    shape, kept = (8, 9, 10), every_level((8, 9, 10))
    chance = np.random.default_rng(5)
    cells = np.floor(chance.uniform(0, 1e9, shape))
    variances = [
        np.full(len(each), 1.0 if place == 0 else 0.01) for place, each in enumerate(summed(cells, shape, kept))
    ]
    measured = [each + np.sqrt(v) for each, v in zip(summed(cells, shape, kept), variances, strict=True)]
    matrix, aim = dense(
        [m - t for m, t in zip(measured, summed(cells, shape, kept), strict=True)], variances, shape, kept
    )
    found = reconciled(measured, variances, shape, kept, nonnegative=False) - cells.ravel()
    np.testing.assert_allclose(found, np.linalg.lstsq(matrix, aim)[0], atol=1e-5)


def test_not_falling_below_0_does_not_lift_the_sum_of_a_thin_table():
    """5,000 cells with 1,000 records: the sum errs as least squares do. x >= 0 alone lifts it by nearly five errors,
    which the twin does."""
    shape, kept = (100, 50), every_level((100, 50))
    chance = np.random.default_rng(4)
    truth = chance.multinomial(1_000, np.full(5_000, 1 / 5_000))
    variances = [
        np.full(len(each), 32.0 if place == 0 else 288.0) for place, each in enumerate(summed(truth, shape, kept))
    ]
    stated = np.sqrt(reconciled_variances(variances, shape, kept)[-1][0])
    for _ in range(3):
        measured = [
            each + np.sqrt(v) * chance.normal(size=len(v))
            for each, v in zip(summed(truth, shape, kept), variances, strict=True)
        ]
        free = reconciled(measured, variances, shape, kept, nonnegative=False)
        bounded = reconciled(measured, variances, shape, kept, nonnegative=True)
        assert bounded.min() >= 0
        assert bounded.sum() == pytest.approx(free.sum(), abs=1)
        assert np.maximum(free, 0).sum() > truth.sum() + 100 * stated
