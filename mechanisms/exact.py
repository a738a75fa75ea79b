"""Exact numbers as people write them: "2", "0.5", "1/2".

Python's Fraction also reads exponents, and "1e999999999" would never end; so the form is checked first.
"""

from __future__ import annotations

import re
from fractions import Fraction

__all__ = ["exact_number"]

_WRITTEN = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30}|/0*[1-9][0-9]{0,29})?")


def exact_number(text: str) -> Fraction | None:
    """The number, or None where it is not written exactly."""
    return Fraction(text) if _WRITTEN.fullmatch(text) else None
