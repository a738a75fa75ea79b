"""A path of a spec is shown, so it cannot be made of the secrets of whoever runs it.

`source.path: /x${AWS_SECRET_ACCESS_KEY}/x` had the key of a service printed, by the refusal of a missing path.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.attacks.typed_line import typed
from tests.support.workplace import Workplace

SECRETS = [
    "AWS_SECRET_ACCESS_KEY",
    "AWS_PROFILE",
    "PENSTOCK_DB",
    "PENSTOCK_WEBHOOK_URL",
    "PENSTOCK_PROXY_SECRET_FILE",
    "PREFECT_API_URL",
    "OPENLINEAGE_URL",
    "PGPASSWORD",
    "SMTP_PASS",
    "github_token",
    "SSH_AUTH_SOCK",
    "MY_CREDENTIALS",
    "SENTRY_DSN",
]


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("place", ["source.path", "publish.path", "validate.suite", "source.columns.region.taxonomy"])
def test_a_path_shows_no_secret_of_the_environment(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch, place: str, name: str
) -> None:
    *rooms, key = place.split(".")
    part: Any = workplace.raw
    for room in rooms:
        part = part.setdefault(room, {})
    part[key] = f"/x${{{name}}}/x.json"
    told = []
    for value in ("hush-77", None):  # nor does it show whether there is one
        if value is None:
            monkeypatch.delenv(name)
        else:
            monkeypatch.setenv(name, value)
        refused = typed("plan", workplace.write_spec())
        refused.require_refusal(2)
        assert f"{place}: must not name a variable that may hold a secret" in refused.err
        assert "hush-77" not in refused.text
        told.append(refused.err)
    assert told[0] == told[1]


def test_a_path_shows_no_password_of_an_address(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAREHOUSE", "postgresql://penstock:hush-77@db/main")
    workplace.raw["source"]["path"] = "/x${WAREHOUSE}"
    refused = typed("plan", workplace.write_spec())
    refused.require_refusal(2)
    assert "hush-77" not in refused.text


@pytest.mark.parametrize("name", ["PENSTOCK_DATA", "HOME", "MONTH", "MONKEYS", "KEYBOARD_SURVEY", "DATA_PATH"])
def test_a_path_names_other_variables(workplace: Workplace, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, str(workplace.folder))
    workplace.raw["source"]["path"] = f"${{{name}}}/survey.parquet"
    assert typed("plan", workplace.write_spec()).code == 0
