"""Columns side by side on the machine's processors.

NumPy's sorts and our kernels run outside the interpreter lock. At most four columns are in flight:
each holds a few copies of itself, and memory, not arithmetic, is what limits this work.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

__all__ = ["in_parallel"]

R = TypeVar("R")

_WORKERS = min(4, os.cpu_count() or 1)


def in_parallel(function: Callable[..., R], *arguments: Iterable[Any]) -> list[R]:
    """Return `list(map(function, *arguments))`, computed on several threads; raise the first error."""
    with ThreadPoolExecutor(_WORKERS) as threads:
        return list(threads.map(function, *arguments))
