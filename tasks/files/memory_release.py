"""Memory that a library keeps for later is given back. A module without Prefect, which a plan does without."""

from __future__ import annotations

import pyarrow as pa

__all__ = ["give_back_memory"]


def give_back_memory() -> None:
    """Return what pyarrow freed to the system; it keeps a table's worth for later, and later is another step."""
    pa.default_memory_pool().release_unused()
