"""How a command ended, for tests that type commands."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Ended:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    def document(self) -> Any:
        """The one JSON document on standard output; nothing else may stand there or on standard error."""
        assert self.err == ""
        return json.loads(self.out)


Typed = Callable[..., Ended]
