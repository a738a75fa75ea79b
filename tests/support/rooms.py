"""The rooms of the house, read from their files: modules, imports, and which room may use which.

`python -m tests.support.rooms` prints the picture of imports for docs/architecture.md.
"""

from __future__ import annotations

import ast
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
# From the front door down; a room may use those that it names here.
MAY_USE: dict[str, tuple[str, ...]] = {
    "api": ("flows", "tasks", "measures", "records", "reproduction", "mechanisms", "deployments"),
    "flows": ("tasks", "measures", "records", "mechanisms"),
    "tasks": ("measures", "records", "reports", "mechanisms"),
    "reproduction": ("tasks", "measures", "mechanisms"),
    "reports": ("mechanisms",),
    "measures": ("mechanisms",),
    "records": ("mechanisms",),
    "mechanisms": (),
    "deployments": (),
}
# What measures, records and reports may know of mechanisms: words, never how something is drawn.
VOCABULARY = (
    "clamping",
    "columns",
    "composition",
    "guarantee",
    "layout",
    "linked_layout",
    "mechanism",
    "models",
    "numbers",
    "parallel",
    "points",
    "possible",
    "protected",
    "refusal",
    "registry",
    "stated",
    "stated_statistics",
    "taxonomy",
)
SPEAKERS = ("measures", "records", "reports")
# The pure rooms know no files, no clock, no orchestrator and no data frames.
PURE = ("mechanisms", "measures")
FOREIGN_TO_PURE = {
    "datetime",
    "great_expectations",
    "os",
    "pandas",
    "pathlib",
    "prefect",
    "pyarrow",
    "sqlalchemy",
    "time",
}

MODULES = sorted(
    path for room in MAY_USE for path in (ROOT / room).rglob("*.py") if "platform" not in path.relative_to(ROOT).parts
)


def name_of(path: Path) -> str:
    """Return the import name of a module."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    inside = parts[1:] if parts[0] == "api" else parts
    return ".".join(("penstock", *inside)).removesuffix(".__init__")


def room_of(name: str) -> str:
    """Return the room of an import name that begins with penstock."""
    first = name.split(".")[1] if "." in name else ""
    return first if first in MAY_USE else "api"


NAMES = {name_of(path): path for path in MODULES}


@cache
def imports(path: Path) -> set[str]:
    """Return every module that a module imports, ours by the name of the module itself."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in NAMES else node.module)
    return found


def offences(room: str, imported: set[str]) -> set[str]:
    """Return what a module of a room may not import."""
    ours = {name for name in imported if name.split(".")[0] == "penstock"}
    wrong = {name for name in ours if room_of(name) not in (room, *MAY_USE[room])}
    wrong |= {
        name for name in imported if name.split(".")[0] in MAY_USE and name.split(".")[0] != "api"
    }  # no bare room
    if room in SPEAKERS:
        wrong |= {name for name in ours if room_of(name) == "mechanisms" and name.split(".")[2:][:1] != []
                  and name.split(".")[2] not in VOCABULARY}  # fmt: skip
    if room in PURE:
        wrong |= {name for name in imported if name.split(".")[0] in FOREIGN_TO_PURE}
    if room in ("records", "reports"):
        wrong |= {name for name in imported if name.split(".")[0] == "prefect"}
    return wrong


def is_internal(name: str, importer: str) -> bool:
    """Return whether a name has an underscore and the importer does not live in its package."""
    parts = name.split(".")
    for place, part in enumerate(parts):
        if part.startswith("_") and not importer.startswith(".".join(parts[:place])):
            return True
    return False


def used_rooms() -> dict[str, dict[str, int]]:
    """Return for each room how many modules of it import from each other room."""
    found: dict[str, dict[str, int]] = {room: {} for room in MAY_USE}
    for name, path in NAMES.items():
        for other in {room_of(each) for each in imports(path) if each.split(".")[0] == "penstock"}:
            if other != room_of(name):
                found[room_of(name)][other] = found[room_of(name)].get(other, 0) + 1
    return found


def picture() -> str:
    """Return who imports whom, as it stands in docs/architecture.md."""
    rows = ["| room | modules | uses (modules that do) |", "|---|---|---|"]
    for room, used in used_rooms().items():
        if room != "deployments":
            count = sum(1 for name in NAMES if room_of(name) == room)
            most_first = sorted(used.items(), key=lambda one: (-one[1], one[0]))
            which = ", ".join(f"{other} ({number})" for other, number in most_first)
            rows.append(f"| `{room}/` | {count} | {which or 'nothing of ours'} |")
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.stdout.write(picture())
