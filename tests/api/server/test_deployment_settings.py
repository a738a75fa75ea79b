"""Rehearsal and production: what their files may say, and what becomes of the deployments."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.mechanisms.refusal import SpecRefused
from penstock.server.deployment_settings import DEPLOYMENTS, REHEARSAL, DeploymentSettings, merged_deployments

PRODUCTION = DEPLOYMENTS.with_name("production.yaml")
GOOD = "name: trial\nspecs: specs\ntimezone: UTC\nat_once: 1\n"


def read(folder: Path, text: str) -> DeploymentSettings:
    path = folder / "settings.yaml"
    path.write_text(text, encoding="utf-8")
    return DeploymentSettings.read(path)


def test_in_rehearsal_nothing_starts_by_itself_and_in_production_something_does() -> None:
    for path, active in ((REHEARSAL, False), (PRODUCTION, True)):
        settings = DeploymentSettings.read(path)
        merged = merged_deployments(settings)
        schedules = [schedule for deployment in merged["deployments"] for schedule in deployment["schedules"]]
        assert {schedule["active"] for schedule in schedules} == {active}
        assert {schedule["timezone"] for schedule in schedules} == {"Europe/Paris"}
        assert all(settings.name in deployment["tags"] for deployment in merged["deployments"])


def test_production_names_the_decision_behind_each_setting() -> None:
    lines = PRODUCTION.read_text(encoding="utf-8").splitlines()
    settings = [
        number for number, line in enumerate(lines) if line.startswith(("specs", "timezone", "at_once", "  - {"))
    ]
    assert len(settings) == 5
    assert all(lines[number - 1].lstrip().startswith("# Decision: ") for number in settings)


def test_the_folder_of_specs_is_relative_to_the_file(tmp_path: Path) -> None:
    assert read(tmp_path, GOOD).specs == str(tmp_path / "specs")
    assert read(tmp_path, GOOD.replace("specs: specs", "specs: /srv")).specs == "/srv"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{", "must be valid YAML"),
        ("name: 1", "specs refused: must be given"),
        (f"{GOOD}more: 1\n", "more refused: must be a known key"),
        (GOOD.replace("UTC", "Paris"), "must be a name such as Europe/Paris"),
        (GOOD.replace("at_once: 1", "at_once: 0"), "at_once refused"),
        (f"{GOOD}schedules: {{release: [{{cron: nightly, active: true}}]}}\n", "schedules.release.0.cron refused"),
        (f"{GOOD}schedules: {{release: [{{cron: 0 2 * * *}}]}}\n", "schedules.release.0.active refused"),
    ],
)
def test_wrong_settings_are_refused(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(SpecRefused, match=fault):
        read(tmp_path, text)


def test_settings_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecRefused, match="must be a readable file"):
        DeploymentSettings.read(tmp_path / "none.yaml")


def test_a_schedule_for_what_is_no_deployment_is_refused(tmp_path: Path) -> None:
    settings = read(tmp_path, f"{GOOD}schedules: {{releese: []}}\n")
    with pytest.raises(SpecRefused, match=r"schedules.releese refused: must be a deployment. Choose from: release"):
        merged_deployments(settings)
