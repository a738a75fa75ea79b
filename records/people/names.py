"""What the name of a person looks like. It imports nothing of ours, so that a spec is checked without a database."""

from __future__ import annotations

import re

__all__ = ["is_name"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def is_name(text: str) -> bool:
    """Return whether this can be the name of a person."""
    return _NAME.fullmatch(text) is not None
