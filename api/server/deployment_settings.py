"""What differs between a rehearsal and production: one small file, merged into the deployments of prefect.yaml.

name: production                  a tag on every deployment
specs: /srv/penstock/specs        the folder of specs; PENSTOCK_SPECS wins over it
timezone: Europe/Paris            in which every schedule is read
at_once: 2                        flow runs at the same time
schedules:                        by deployment; one that is not named has none
  verify-log: [{cron: "30 3 * * *", active: true}]
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self
from zoneinfo import available_timezones

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from penstock import deployments
from penstock.mechanisms.refusal import Fault, SpecRefused, as_rule
from penstock.records.files.outside_text import OutsideFile

__all__ = ["DEPLOYMENTS", "REHEARSAL", "DeploymentSettings", "Schedule", "merged_deployments"]

DEPLOYMENTS = Path(deployments.__file__).with_name("prefect.yaml")
REHEARSAL = DEPLOYMENTS.with_name("rehearsal.yaml")


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Schedule(_Section):
    """When a deployment runs by itself, and with which parameters."""

    cron: str = Field(pattern=r"^\S+( \S+){4}$")
    active: bool
    parameters: dict[str, str] = Field(default_factory=dict)


class DeploymentSettings(_Section):
    """One settings file."""

    name: str = Field(pattern=r"^[a-z][a-z0-9-]*$")
    specs: str = Field(min_length=1)
    timezone: str
    at_once: int = Field(ge=1, strict=True)
    schedules: dict[str, tuple[Schedule, ...]] = Field(default_factory=dict)

    @field_validator("timezone")
    @classmethod
    def _is_known(cls, timezone: str) -> str:
        if timezone not in available_timezones():
            raise ValueError("must be a name such as Europe/Paris")
        return timezone

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the settings of a file, with paths relative to it; refuse with every fault."""
        raw = OutsideFile(path, str(path), SpecRefused).yaml()
        try:
            settings = cls.model_validate(raw)
        except ValidationError as error:
            raise SpecRefused(
                *(
                    Fault(
                        ".".join(map(str, each["loc"])) or str(path), as_rule(each["msg"]), "Correct the settings file."
                    )
                    for each in error.errors(include_url=False, include_input=False)
                )
            ) from None
        return settings.model_copy(update={"specs": str((path.parent / settings.specs).resolve())})


def merged_deployments(settings: DeploymentSettings) -> dict[str, Any]:
    """Return the content of prefect.yaml, with the tag and the schedules of the settings."""
    raw: dict[str, Any] = yaml.safe_load(DEPLOYMENTS.read_text(encoding="utf-8"))
    names = [deployment["name"] for deployment in raw["deployments"]]
    SpecRefused.raise_for(
        Fault(f"schedules.{name}", "must be a deployment", f"Choose from: {', '.join(names)}.")
        for name in settings.schedules
        if name not in names
    )
    for deployment in raw["deployments"]:
        deployment["tags"] = [*deployment["tags"], settings.name]
        deployment["schedules"] = [
            {
                "cron": schedule.cron,
                "timezone": settings.timezone,
                "active": schedule.active,
                "slug": f"{deployment['name']}-{number}",
                "parameters": schedule.parameters,
            }
            for number, schedule in enumerate(settings.schedules.get(deployment["name"], ()), 1)
        ]
    del raw["definitions"]
    return raw
