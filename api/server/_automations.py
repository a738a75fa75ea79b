"""Webhooks: the example automations of deployments/automations, pointed at PENSTOCK_WEBHOOK_URL.

The address goes into a webhook block of Prefect, because it often holds a token. Whoever may use the API of the
server can read it there. Import after the environment is set, like _registration.py.
"""

from __future__ import annotations

import yaml
from prefect import get_client
from prefect.blocks.webhook import Webhook
from prefect.events.schemas.automations import AutomationCore
from pydantic import SecretStr

from penstock.server.deployment_settings import DEPLOYMENTS

__all__ = ["AUTOMATIONS", "install_automations"]

AUTOMATIONS = DEPLOYMENTS.parent / "automations"
_BLOCK = "penstock"
_PLACE = "PENSTOCK_WEBHOOK"


def install_automations(url: str) -> tuple[str, ...]:
    """Make or renew the block and every automation; return their names."""
    block = Webhook(url=SecretStr(url)).save(_BLOCK, overwrite=True)
    names = []
    with get_client(sync_client=True) as client:
        for path in sorted(AUTOMATIONS.glob("*.yaml")):
            text = path.read_text(encoding="utf-8").replace(f": {_PLACE}\n", f": {block}\n")
            automation = AutomationCore.model_validate(yaml.safe_load(text))
            for old in client.read_automations_by_name(automation.name):
                client.delete_automation(old.id)
            client.create_automation(automation)
            names.append(automation.name)
    return tuple(names)
