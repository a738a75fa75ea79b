"""A release by reference: only specs of the agency's folder, and only in a home that is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.flows.release_by_reference import SPECS, kept_spec, release_by_reference, require_home
from penstock.mechanisms.refusal import SpecRefused
from tests.support.workplace import Workplace


@pytest.fixture
def kept(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of specs with one spec, and a spec beside it."""
    folder = workplace.folder / "specs"
    (folder / "monthly").mkdir(parents=True)
    outside = workplace.write_spec()
    (folder / "monthly" / "survey.yaml").write_bytes(outside.read_bytes())
    monkeypatch.setenv(SPECS, str(folder))
    return folder


def test_a_spec_is_found_in_the_folder_and_below_it(kept: Path) -> None:
    spec = kept_spec("monthly/survey.yaml")
    assert spec.name == "survey"
    assert spec.source.path == str(kept / "monthly" / "survey.parquet")  # relative to the file, as ever


@pytest.mark.parametrize(
    "name", ["../spec.yaml", "monthly/../../spec.yaml", "/etc/passwd", "link.yaml", "folder/spec.yaml"]
)
def test_a_spec_outside_the_folder_is_refused(kept: Path, name: str) -> None:
    (kept / "link.yaml").symlink_to(kept.parent / "spec.yaml")
    (kept / "folder").symlink_to(kept.parent)
    with pytest.raises(SpecRefused, match="must lie in the folder PENSTOCK_SPECS"):
        kept_spec(name)


def test_a_link_within_the_folder_is_followed(kept: Path) -> None:
    (kept / "latest.yaml").symlink_to("monthly/survey.yaml")
    assert kept_spec("latest.yaml").name == "survey"


@pytest.mark.parametrize("name", ["none.yaml", "monthly", ".", "a" * 300, "a\0b"])
def test_what_is_no_file_is_refused(kept: Path, name: str) -> None:
    with pytest.raises(SpecRefused, match="must be a file in the folder PENSTOCK_SPECS"):
        kept_spec(name)


@pytest.mark.parametrize("folder", ["", "specs"])
def test_the_folder_of_specs_is_named_absolutely(kept: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    monkeypatch.setenv(SPECS, folder)
    with pytest.raises(SpecRefused, match="PENSTOCK_SPECS refused: must name the folder of specs"):
        kept_spec("monthly/survey.yaml")


@pytest.mark.parametrize("home", ["", ".penstock"])
def test_a_worker_without_a_home_of_its_own_is_refused(kept: Path, monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", home)
    with pytest.raises(SpecRefused, match="PENSTOCK_HOME refused: must be set for the worker"):
        require_home()


def test_nothing_that_draws_is_retried_and_no_parameter_has_a_default() -> None:
    assert release_by_reference.retries == 0
    assert release_by_reference.persist_result is False
    assert release_by_reference.parameters.required == ["spec", "started_by"]
