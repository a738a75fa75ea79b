"""The folder with the public data sets, named by PENSTOCK_DATA; tests that need one are skipped where it is absent."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["DATA"]

DATA = Path(os.environ.get("PENSTOCK_DATA", "no-folder-was-named"))
