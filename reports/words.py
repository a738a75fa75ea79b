"""Numbers and names as the pages show them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

__all__ = ["counted", "flat", "number", "words"]


def number(value: object) -> str:
    """Return a number with three significant digits, small and large ones as 1e-6; whole numbers in full."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Fraction):
        return str(value)
    if not isinstance(value, float):
        return str(value)
    if math.isnan(value):
        return "undefined"
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    short = float(f"{value:.3g}")
    if short == 0:
        return "0"
    if 1e-3 <= abs(short) < 1e6:
        places = max(0, 2 - math.floor(math.log10(abs(short))))
        return f"{short:,.{places}f}"
    digits, exponent = f"{value:.2e}".split("e")
    return f"{float(digits):g}e{int(exponent)}"


def counted(many: int, thing: str) -> str:
    """Return how many there are of a thing: 1 cell, 2,000 cells."""
    return f"{many:,} {thing}" + ("" if many == 1 else "s")


def words(name: str) -> str:
    """Return the name of a measure, a check or a parameter as one says it."""
    return name.replace("_", " ")


def flat(parameters: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, object]]:
    """Yield nested parameters as (name, value) lines. Below the outermost they may be names of columns or tables."""
    for key, value in parameters.items():
        label = f"{before}{key}" if before else words(str(key))
        if isinstance(value, Mapping):
            yield from flat(value, f"{label}: ")
        elif isinstance(value, list | tuple) and any(isinstance(part, Mapping) for part in value):
            for place, part in enumerate(value, start=1):
                yield from flat(part, f"{label} {place}: ")
        elif isinstance(value, list | tuple) and any(isinstance(part, list | tuple) for part in value):
            yield label, "; ".join(", ".join(map(str, part)) or "all together" for part in value)
        elif isinstance(value, list | tuple):
            yield label, ", ".join(number(part) for part in value) or "none"
        else:
            yield label, value
