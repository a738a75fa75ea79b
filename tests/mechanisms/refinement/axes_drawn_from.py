"""Points that answers are drawn from in tests: in a row and by distances, with zeros, ties and the largest weights."""

from __future__ import annotations

import numpy as np

from penstock.mechanisms.refinement.axes import Line, Matrix

__all__ = ["CASES", "TRIALS", "of"]


def of(values: list[int] | np.ndarray) -> np.ndarray:
    return np.array(values, np.int64)


TRIALS = 60_000
CASES = {
    "line": Line(of([3, 1, 4, 1, 5, 9, 2, 6])),
    "line with zeros": Line(of([0, 0, 7, 0, 1, 0, 3, 0])),
    "line with large weights": Line(of([2**37, 2**39, 1, 0, 2**38, 2**37, 5, 7])),
    "ties": Matrix(of([3, 1, 4, 1, 5, 9, 2, 6]), of(1 - np.eye(8, dtype=np.int64))),
    "not symmetric": Matrix(of([3, 0, 4, 1, 5, 9, 2, 6]), of([[(y - x) % 8 for y in range(8)] for x in range(8)])),
}
