"""The page of promises names attacks that exist, and every attack stands beside a promise."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_every_promise_has_its_attack_and_every_attack_its_promise() -> None:
    named = set(re.findall(r"`(test_\w+\.py)`", (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")))
    assert named == {path.name for path in (ROOT / "tests" / "attacks").glob("test_*.py")}
