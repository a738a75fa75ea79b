"""How large the measured data are: as each benchmark says, or a share of it.

    BENCH_SHARE=0.001 python -m benchmarks.tables     # a small run: that it runs to its end, not how long it takes

Processes that a benchmark starts inherit the share.
"""

from __future__ import annotations

import os

__all__ = ["SHARE", "WHOLE", "sized"]

SHARE = float(os.environ.get("BENCH_SHARE", "1"))
WHOLE = SHARE == 1


def sized(number: int, least: int = 1) -> int:
    """This share of a number, but not less than the benchmark needs."""
    return number if WHOLE else max(least, round(SHARE * number))
