"""No answer of a server names a module that is imported.

A state can say where a result lies and which library wrote it, and Prefect imports that library as soon as it reads
the state, in the worker too. Nothing of ours reads a result from a state, so the library is taken as it is named.

Import after the environment is set: Prefect reads its settings when it is imported.
"""

from __future__ import annotations

from typing import Any, NoReturn

from prefect._internal.schemas import validators

__all__ = ["leave_results_unread"]


class _Library:
    """Stands for a library of any name, where Prefect checks that it can write and read."""

    def dumps(self, *_: Any) -> NoReturn:
        raise NotImplementedError

    loads = compress = decompress = dumps


def leave_results_unread() -> None:
    """From now on this process imports no library for the result of a state."""
    vars(validators).update(from_qualified_name=lambda _: _Library())
