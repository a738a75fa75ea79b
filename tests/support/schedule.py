"""Which files one worker runs in a row, so that what they share is started once and not in every worker."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from xdist.scheduler import LoadFileScheduling

__all__ = ["FilesTogether"]

ROOT = Path(__file__).parents[2]
# What takes seconds to start, and how a file asks for it.
SHARED = {
    "a Prefect server": re.compile(r"\bprefect_(home|service)\b"),
    "a process that forks releases": re.compile(r"\bzygote: Zygote\b"),
}


class FilesTogether(LoadFileScheduling):
    """Hand out tests file by file, and files that share something costly together."""

    def _split_scope(self, nodeid: str) -> str:
        return _scope(super()._split_scope(nodeid))


@cache
def _scope(file: str) -> str:
    text = (ROOT / file).read_text(encoding="utf-8")
    return next((shared for shared, asked in SHARED.items() if asked.search(text)), file)
