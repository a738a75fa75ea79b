"""The wheel: one import package with all its files, which works where the project's folder is not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from tests.support.rooms import MAY_USE, MODULES, ROOT

# What an install does without: scripts of whoever installs, and examples for other platforms.
LEFT_OUT = {"install.sh", "systemd", "platform", "__pycache__"}

USED = """
import json, pathlib, penstock
import penstock.flows.spec
demo = pathlib.Path("place")
receipt = json.loads(pathlib.Path("receipt.json").read_text())
findings = penstock.verify(receipt["path"], demo / "confidential/penstock/keys/signing.pub")
print(json.dumps({
    "file": penstock.__file__,
    "rooms": list(penstock.__path__),
    "spec": penstock.load_spec(demo / "specs/survey.yaml").name,
    "checked": any(finding.checked for finding in findings),
}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy without what other builds have left, and without an index."""
    place = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, place)
    for room in MAY_USE:
        shutil.copytree(ROOT / room, place / room, ignore=shutil.ignore_patterns("__pycache__"))
    pip(sys.executable, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", place / "made", place)
    [made] = (place / "made").glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of an environment that holds the wheel, and the packages of this one."""
    place = tmp_path_factory.mktemp("installed")
    venv.create(place, with_pip=False)
    python = place / "bin" / "python"
    pip(sys.executable, "--python", python, "install", "--no-deps", "--no-index", wheel)
    packages = sysconfig.get_path("purelib", vars={"base": str(place)})
    # As paths, whose own .pth files are not read: this environment's Penstock is found by one of those.
    others = [path for path in sys.path if Path(path).name == "site-packages"]
    Path(packages, "others.pth").write_text("\n".join(others), encoding="utf-8")
    return place / "bin"


def pip(python: str, *arguments: object) -> None:
    command = [python, "-m", "pip", "--quiet", "--disable-pip-version-check", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_wheel_holds_one_package_with_every_module_and_every_file_beside_them(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as content:
        held = {name for name in content.namelist() if ".dist-info/" not in name}
        [metadata] = [name for name in content.namelist() if name.endswith(".dist-info/top_level.txt")]
        assert content.read(metadata).decode().split() == ["penstock"]
    expected = {place_of(path) for path in MODULES}
    for room in MAY_USE:
        for path in (ROOT / room).rglob("*"):
            if path.is_file() and path.suffix != ".py" and not LEFT_OUT & set(path.relative_to(ROOT).parts):
                expected.add(place_of(path))
    assert held == expected
    assert "penstock/py.typed" in held


def place_of(path: Path) -> str:
    """Return where a file of a room lies in the wheel."""
    room, *inside = path.relative_to(ROOT).parts
    return "/".join(("penstock", *(() if room == "api" else (room,)), *inside))


def test_the_installed_wheel_works_outside_the_project(installed: Path, tmp_path: Path) -> None:
    settings = {
        name: value for name, value in os.environ.items() if not name.startswith(("PREFECT", "PENSTOCK", "PYTHON"))
    }

    def run(*command: object) -> str:
        ended = subprocess.run(
            [*map(str, command)], cwd=tmp_path, env=settings, capture_output=True, text=True, check=False
        )
        assert (ended.returncode, ended.stderr) == (0, "")
        return ended.stdout

    (tmp_path / "receipt.json").write_text(run(installed / "penstock", "demo", "--folder", "place", "--json"))
    assert json.loads((tmp_path / "receipt.json").read_text())["name"] == "demo-survey"
    found = json.loads(run(installed / "python", "-c", USED))
    assert found["spec"] == "demo-survey"
    assert found["checked"]
    for place in (found["file"], *found["rooms"]):
        assert Path(place).is_relative_to(installed.parent)
    assert "Usage" in run(installed / "python", "-m", "penstock", "--help")
