"""What our processes write lies below the home, and nobody's settings but ours are obeyed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from penstock.flows import surroundings
from penstock.flows.surroundings import WorkingFolderRefused, is_own_folder, keep_inside

SET = ("TMPDIR", "NUMBA_CACHE_DIR", "PREFECT_SERVER_UI_STATIC_DIRECTORY")


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty environment, and a production install with one compiled kernel."""
    for name in SET:
        monkeypatch.setenv(name, "")  # so that it is put back afterwards
        monkeypatch.delenv(name)
    kernels = tmp_path / "install" / "kernels"
    (kernels / "measures_0").mkdir(parents=True)
    for name in ("near-19.py311.nbi", "near-19.py311.1.nbc"):
        (kernels / "measures_0" / name).write_text("compiled by the install")
    monkeypatch.setattr(surroundings, "COMPILED", kernels)
    monkeypatch.chdir(tmp_path)
    return kernels


def test_temporary_files_kernels_and_pages_lie_below_the_home(compiled: Path, tmp_path: Path) -> None:
    tempfile.gettempdir()  # asked for too early
    keep_inside(tmp_path / "home")
    assert tempfile.gettempdir() == str(tmp_path / "home" / "tmp")
    assert os.environ["NUMBA_CACHE_DIR"] == str(tmp_path / "home" / "kernels")
    assert os.environ["PREFECT_SERVER_UI_STATIC_DIRECTORY"] == str(tmp_path / "home" / "prefect" / "ui")
    for name in ("tmp", "kernels"):
        assert (tmp_path / "home" / name).stat().st_mode & 0o777 == 0o700


def test_what_the_user_has_set_stays(compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SET:
        monkeypatch.setenv(name, str(tmp_path / name))
    keep_inside(tmp_path / "home")
    assert [os.environ[name] for name in SET] == [str(tmp_path / name) for name in SET]
    assert not (tmp_path / "home").exists()


def test_where_the_tree_can_be_written_to_kernels_stay_in_it(
    compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(surroundings, "COMPILED", tmp_path / "absent")
    keep_inside(tmp_path / "home")
    assert "NUMBA_CACHE_DIR" not in os.environ


def test_kernels_of_a_newer_install_are_taken_and_those_compiled_here_stay(compiled: Path, tmp_path: Path) -> None:
    copies = tmp_path / "home" / "kernels" / "measures_0"
    keep_inside(tmp_path / "home")
    assert {path.name for path in copies.iterdir()} == {"near-19.py311.nbi", "near-19.py311.1.nbc"}
    for path in copies.iterdir():
        path.write_text("compiled here")
        os.utime(path, ns=(0, (compiled / "measures_0" / path.name).stat().st_mtime_ns + 1))
    keep_inside(tmp_path / "home")
    assert {path.read_text() for path in copies.iterdir()} == {"compiled here"}
    for path in (compiled / "measures_0").iterdir():
        path.write_text("compiled by the next install")
        os.utime(path, ns=(0, (copies / path.name).stat().st_mtime_ns + 1))
    keep_inside(tmp_path / "home")
    assert {path.read_text() for path in copies.iterdir()} == {"compiled by the next install"}


@pytest.mark.parametrize("name", [".env", "prefect.toml", "pyproject.toml", ".numba_config.yaml"])
def test_settings_of_another_user_in_the_working_folder_are_refused(
    compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / name).touch()
    keep_inside(tmp_path / "home")  # our own are obeyed
    if os.getuid() == 0:
        os.chown(tmp_path / name, 1, 1)
    else:
        stranger = os.getuid() + 1
        monkeypatch.setattr(os, "getuid", lambda: stranger)
    with pytest.raises(WorkingFolderRefused, match="must not be another user's"):
        keep_inside(tmp_path / "home")


def test_a_folder_is_ours_if_it_is_there_and_belongs_to_us(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    assert is_own_folder(tmp_path)
    assert not is_own_folder(tmp_path / "file")
    assert not is_own_folder(tmp_path / "absent")
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    assert not is_own_folder(tmp_path)
