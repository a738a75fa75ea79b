"""Modules that a library imports and hardly ever uses are loaded when they are used."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

__all__ = ["loaded_when_used"]


class _Stand(ModuleType):
    """Stand for a module under its name, and load it when anything of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or sys.modules.get(self.__name__) is self:  # nothing is loaded while others import
            raise AttributeError(name)
        return getattr(importlib.import_module(self.__name__), name)


@contextmanager
def loaded_when_used(*names: str) -> Iterator[None]:
    """Let whoever imports one of these modules inside get a stand-in. Outside they are imported as ever."""
    stands = {name: _Stand(name) for name in names if name not in sys.modules}
    sys.modules.update(stands)
    try:
        yield
    finally:
        for name, stand in stands.items():
            if sys.modules.get(name) is stand:
                del sys.modules[name]
            parent, _, child = name.rpartition(".")
            if parent in sys.modules and vars(sys.modules[parent]).get(child) is stand:
                delattr(sys.modules[parent], child)
