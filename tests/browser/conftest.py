"""A browser, and an office to visit with it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.browser_fixtures import browser, enter, office

__all__ = ["browser", "enter", "office", "pictures"]


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Where screenshots go: those of the documentation are made by PENSTOCK_PICTURES=docs/pictures."""
    return Path(os.environ.get("PENSTOCK_PICTURES") or tmp_path)
