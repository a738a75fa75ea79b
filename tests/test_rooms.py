"""Imports point one way, packages are mapped, internal modules stay inside, and the package is what is installed."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

from penstock.mechanisms.refusal import Refusal
from tests.support.order import FIRST
from tests.support.rooms import MAY_USE, MODULES, NAMES, ROOT, imports, is_internal, name_of, offences, picture, room_of

LONGEST = 400


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_imports_point_one_way() -> None:
    found = {}
    for path in MODULES:
        # The system's generator of chance, and its number of processors.
        allowed = {"os"} if path.name in ("randomness.py", "parallel.py") else set()
        found[shown(path)] = offences(room_of(name_of(path)), imports(path)) - allowed
    assert {path: names for path, names in found.items() if names} == {}


def test_the_direction_test_notices_a_wrong_import() -> None:
    assert offences("mechanisms", {"penstock.records.log.log"}) == {"penstock.records.log.log"}
    assert offences("measures", {"pandas"}) == {"pandas"}
    assert offences("measures", {"penstock.mechanisms.table.cells"}) != set()
    assert offences("records", {"penstock.mechanisms.probabilistic_k_anonymity"}) != set()
    assert offences("tasks", {"penstock.flows.spec"}) == {"penstock.flows.spec"}
    assert offences("flows", {"penstock.cli.main"}) == {"penstock.cli.main"}
    assert offences("flows", {"records.home"}) == {"records.home"}


def test_no_room_uses_one_that_uses_it() -> None:
    def below(room: str) -> set[str]:
        return {found for other in MAY_USE[room] for found in (other, *below(other))}

    assert [room for room in MAY_USE if room in below(room)] == []


def test_internal_modules_are_used_inside_their_package_only() -> None:
    assert [
        f"{shown(path)} uses {name}"
        for path in MODULES
        for name in sorted(imports(path))
        if name.startswith("penstock") and is_internal(name, name_of(path))
    ] == []


def test_every_public_name_exists() -> None:
    assert [
        f"{name}.{public}"
        for name in map(name_of, MODULES)
        for public in getattr(importlib.import_module(name), "__all__", [])
        if not hasattr(importlib.import_module(name), public)
    ] == []


def test_every_package_has_a_map() -> None:
    """Its docstring names every module of the package, and no other: a line of a map begins with a name."""
    missing, gone = [], []
    for path in MODULES:
        if path.name != "__init__.py" or "versions" in path.parts:
            continue
        told = importlib.import_module(name_of(path)).__doc__ or ""
        inside = {each.stem for each in path.parent.glob("*.py")} | {
            each.parent.name for each in path.parent.glob("*/__init__.py")
        }
        named = set(re.findall(r"^ *(\w+)/?(?: {2,}|\t)", told, flags=re.M))
        gone += [f"{shown(path)}: {name}" for name in sorted(named - inside) if re.fullmatch(r"_?[a-z][a-z_]+", name)]
        missing += [f"{shown(path)}: {name}" for name in sorted(inside - {"__init__", "__main__"}) if name not in told]
    assert missing == []
    assert gone == []


def test_the_packages_that_are_installed_are_the_folders() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    assert sorted(settings["packages"]) == sorted(name for name, path in NAMES.items() if path.name == "__init__.py")


def test_no_file_is_longer_than_a_person_reads() -> None:
    lines = {shown(path): len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert {path: count for path, count in lines.items() if count > LONGEST} == {}


def test_files_that_begin_first_are_there() -> None:
    names = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    assert [name for name in FIRST if name not in names] == []


def test_refusal_codes_are_unique() -> None:
    for name in NAMES:
        importlib.import_module(name)
    found: dict[str, type[Refusal]] = {}
    waiting = list(Refusal.__subclasses__())
    while waiting:
        refusal = waiting.pop()
        waiting += refusal.__subclasses__()
        assert found.setdefault(refusal.code, refusal) is refusal, refusal.code


def test_the_picture_of_imports_is_what_the_imports_are() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert f"<!-- imports -->\n{picture()}<!-- end -->" in page


def test_every_place_that_the_page_names_is_there() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:api|flows|tasks|mechanisms|measures|records|reports|reproduction)/[\w/.]*)`", page)
    assert [name for name in named if not (ROOT / name).exists()] == []
