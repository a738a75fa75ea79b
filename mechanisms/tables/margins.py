"""Placeholder so that imports work; overwrite it with the real module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["reconciled", "reconciled_variances", "summed", "whole"]


def summed(cells: NDArray[Any], shape: tuple[int, ...], kept: Sequence[Sequence[int]]) -> list[NDArray[Any]]:
    table = cells.reshape(shape)
    return [table.sum(axis=tuple(a for a in range(len(shape)) if a not in keep)).ravel() for keep in kept]


def reconciled(measured: Any, variances: Any, shape: Any, kept: Any, *, nonnegative: bool) -> NDArray[np.float64]:
    raise NotImplementedError


def reconciled_variances(variances: Any, shape: Any, kept: Any) -> list[NDArray[np.float64]]:
    raise NotImplementedError


def whole(values: NDArray[np.float64]) -> NDArray[np.int64]:
    raise NotImplementedError
