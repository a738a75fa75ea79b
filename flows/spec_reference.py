"""A spec by reference."""

import os
from pathlib import Path


def referenced_file(reference: str, field: str) -> Path:
    return Path(os.environ["PENSTOCK_SPECS"]) / reference
