"""Read from a refusal what was done to a record: "must exist; it was removed" gives removed."""

from __future__ import annotations

import re

from penstock.mechanisms.refusal import Fault


def became(fault: Fault) -> tuple[str, str]:
    """Return the field of a fault, and what was done to it; the rule itself where that is not said."""
    found = re.search(r"(?:; (?:it|they) (?:was|were)|must not be) (\w+)", fault.rule)
    return fault.field, found[1] if found else fault.rule
