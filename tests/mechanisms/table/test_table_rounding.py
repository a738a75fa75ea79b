"""Whole numbers near a cube: they add up to what they must, stay near in every published level, and are not below 0."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.mechanisms.table._cube import Axes, closure, level_sums
from penstock.mechanisms.table._rounding import rounded

shapes = st.lists(st.integers(1, 5), min_size=1, max_size=4).map(tuple)


def cube_of(shape: tuple[int, ...], seed: int, signed: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = rng.gamma(0.3, 5.0, shape) * (rng.random(shape) < 0.7)
    return x - 3 * rng.random(shape) if signed else x


@given(shapes, st.integers(0, 2**32 - 1), st.booleans(), st.booleans())
def test_rounded_cells_add_up_and_the_stated_moves_are_theirs(
    shape: tuple[int, ...], seed: int, signed: bool, cells: bool
) -> None:
    cube = cube_of(shape, seed, signed)
    total = round(float(cube.sum()))
    cube += (total - cube.sum()) / cube.size
    signed = signed or bool((cube < 0).any())
    axes = tuple(range(len(shape)))
    levels: list[Axes] = closure([axes]) if cells else closure([axes[:2], axes[-2:]])
    found, moves = rounded(cube, levels, nonnegative=not signed, total=total)
    assert found.sum() == total
    assert signed or found.min() >= 0
    for level, left in zip(levels, moves, strict=True):
        np.testing.assert_allclose(level_sums(cube, level) - level_sums(found, level), left, atol=1e-6)
        assert np.abs(left).max() < 4


@given(shapes, st.integers(0, 2**32 - 1))
def test_whole_cells_stay_as_they_are(shape: tuple[int, ...], seed: int) -> None:
    cube = np.random.default_rng(seed).integers(0, 9, shape).astype(float)
    found, moves = rounded(cube, closure([tuple(range(len(shape)))]), nonnegative=True, total=int(cube.sum()))
    assert np.array_equal(found, cube)
    assert not any(left.any() for left in moves)


def test_a_large_sparse_cube_keeps_its_levels_within_two_where_running_sums_lose_them() -> None:
    shape, rng = (16, 12, 10, 8, 6), np.random.default_rng(3)
    cube = rng.gamma(0.05, 1.0, shape)
    cube *= 3_000 / cube.sum()
    levels = closure([*combinations(range(5), 2)])
    found, moves = rounded(cube, levels, nonnegative=True, total=3_000)
    assert found.min() >= 0
    assert max(np.abs(left).max() for left in moves) < 2
    plain = np.diff(np.floor(np.cumsum(cube) + 0.5), prepend=0).reshape(shape)
    lost = [np.abs(level_sums(plain, level) - level_sums(cube, level)).max() for level in levels]
    assert max(lost) > 5


def test_the_sum_is_set_right_in_cells_that_may_fall() -> None:
    """The nearest whole numbers add up to 0 or 4; the cells that may not fall below 0 stay."""
    found, moves = rounded(np.full((2, 2), 0.5), [(0, 1)], nonnegative=True, total=2)
    assert found.sum() == 2
    assert found.min() == 0
    assert found.max() == 1
    assert np.abs(moves[0]).tolist() == [0.5] * 4


def test_figures_beyond_exact_whole_numbers_are_rounded_by_themselves() -> None:
    found, moves = rounded(np.array([2.0**53, 1.0]), [(0,)], nonnegative=True)
    assert found.tolist() == [2**53, 1]
    assert [left.tolist() for left in moves] == [[1.0, 1.0]]
