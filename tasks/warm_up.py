"""Compile the numeric kernels once, so that no release waits for a compiler: python -m penstock.tasks.warm_up"""

from __future__ import annotations

import importlib

__all__ = ["compile_kernels"]


def compile_kernels() -> None:
    """Compile the kernels, or load them from numba's cache on disk, by importing their modules."""
    for module in (
        "penstock.mechanisms.microaggregation.kernels",
        "penstock.mechanisms.microaggregation._leaves",
        "penstock.mechanisms.microaggregation._rounds",
        "penstock.mechanisms.microaggregation._space_kernels",
        "penstock.mechanisms.noise.kernels",
        "penstock.mechanisms.questions._kernels",
        "penstock.mechanisms.table._kernels",
        "penstock.measures.kernels",
        "penstock.tasks.files._kernels",
    ):
        importlib.import_module(module)


if __name__ == "__main__":
    compile_kernels()
