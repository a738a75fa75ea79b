"""Imports point one way, packages are mapped, internal modules stay inside, and the package is what is installed."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest

from penstock.mechanisms.refusal import Refusal
from tests.support.rooms import MAY_USE, MODULES, NAMES, ROOT, imports, is_internal, name_of, offences, picture, room_of

every_module = pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
LONGEST = 400


@every_module
def test_imports_point_one_way(path: Path) -> None:
    # The system's generator of chance, and its number of processors.
    allowed = {"os"} if path.name in ("randomness.py", "parallel.py") else set()
    assert offences(room_of(name_of(path)), imports(path)) - allowed == set()


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


@every_module
def test_internal_modules_are_used_inside_their_package_only(path: Path) -> None:
    found = {name for name in imports(path) if name.startswith("penstock") and is_internal(name, name_of(path))}
    assert found == set()


@every_module
def test_every_public_name_exists(path: Path) -> None:
    module = importlib.import_module(name_of(path))
    for public in getattr(module, "__all__", []):
        assert hasattr(module, public), f"{module.__name__}.{public}"


@pytest.mark.parametrize("path", [path for path in MODULES if path.name == "__init__.py"], ids=str)
def test_every_package_has_a_map(path: Path) -> None:
    """Its docstring names every module of the package."""
    if "versions" in path.parts:
        return
    told = importlib.import_module(name_of(path)).__doc__ or ""
    inside = {each.stem for each in path.parent.glob("*.py")} | {
        each.parent.name for each in path.parent.glob("*/__init__.py")
    }
    assert [name for name in sorted(inside - {"__init__", "__main__"}) if name not in told] == []


def test_the_packages_that_are_installed_are_the_folders() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    assert sorted(settings["packages"]) == sorted(name for name, path in NAMES.items() if path.name == "__init__.py")


@pytest.mark.parametrize(
    "path", [*MODULES, *(ROOT / "tests").rglob("*.py")], ids=lambda path: str(path.relative_to(ROOT))
)
def test_no_file_is_longer_than_a_person_reads(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST


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
