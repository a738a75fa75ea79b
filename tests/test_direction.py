"""Imports point one way: flows -> tasks -> mechanisms, measures, records."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("mechanisms", "measures", "records", "tasks", "flows")
VOCABULARY = {
    f"mechanisms.{name}" for name in ("columns", "composition", "guarantee", "layout", "protected", "refusal")
}
MAY_IMPORT = {
    "mechanisms": {"mechanisms"},
    "measures": {"measures", "mechanisms"},
    "records": {"records", "mechanisms"},
    "tasks": {"tasks", "mechanisms", "measures", "records"},
    "flows": set(ROOMS),
}
# The pure rooms know no files, no clock, no orchestrator and no data frames.
FOREIGN_TO_PURE = {
    "prefect",
    "pandas",
    "pyarrow",
    "os",
    "pathlib",
    "sqlalchemy",
    "great_expectations",
    "datetime",
    "time",
}
MODULES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def offences(room: str, imported: set[str]) -> set[str]:
    wrong = {name for name in imported if name.split(".")[0] in ROOMS and name.split(".")[0] not in MAY_IMPORT[room]}
    if room in ("mechanisms", "measures"):
        wrong |= {name for name in imported if name.split(".")[0] in FOREIGN_TO_PURE}
    if room == "records":
        wrong |= {name for name in imported if name.startswith("mechanisms.") and not _in_vocabulary(name)}
        wrong |= {name for name in imported if name.split(".")[0] == "prefect"}
    return wrong


def _in_vocabulary(name: str) -> bool:
    return name in VOCABULARY or name.rpartition(".")[0] in VOCABULARY


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    room = path.relative_to(ROOT).parts[0]
    # The system's generator of chance, and its number of processors.
    allowed = {"os"} if path.name in ("randomness.py", "parallel.py") else set()
    assert offences(room, imports(path)) - allowed == set()


def test_the_direction_test_notices_a_wrong_import() -> None:
    assert offences("mechanisms", {"records.log"}) == {"records.log"}
    assert offences("measures", {"pandas"}) == {"pandas"}
    assert offences("records", {"mechanisms.probabilistic_k_anonymity"}) != set()
    assert offences("tasks", {"flows.spec"}) == {"flows.spec"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_public_name_exists(path: Path) -> None:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    module = importlib.import_module(name)
    for public in getattr(module, "__all__", []):
        assert hasattr(module, public), f"{name}.{public}"


def test_refusal_codes_are_unique() -> None:
    from mechanisms.refusal import Refusal

    for path in MODULES:
        importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    found: dict[str, type[Refusal]] = {}
    waiting = list(Refusal.__subclasses__())
    while waiting:
        refusal = waiting.pop()
        waiting += refusal.__subclasses__()
        assert found.setdefault(refusal.code, refusal) is refusal, refusal.code
