"""Events for other platforms: a courtesy copy of what the audit log says, through Prefect.

    penstock.release.planned | refused | waiting | published     resource penstock.release.<run>
    penstock.log.damaged                                          resource penstock.log

They carry the name of the release, the digest of its spec and the code of a refusal: settings, never a value.
Whether anybody listens, or Prefect works at all, changes nothing about the release.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prefect.context import FlowRunContext
from prefect.events import emit_event

from records.log import Action

__all__ = ["tell", "tell_damage"]

_TOLD = {Action.PLANNED, Action.REFUSED, Action.WAITING, Action.PUBLISHED}


def tell(action: Action, *, run: str, name: str, spec: str, facts: Mapping[str, Any]) -> None:
    """Emit the event of a recorded action, if it is one that others are told of."""
    if action in _TOLD:
        payload = {"run": run, "name": name, "spec": spec, "code": facts.get("code", "")}
        _emit(f"penstock.release.{action.value.lower()}", f"penstock.release.{run}", name, payload)


def tell_damage(code: str) -> None:
    """Emit that the log, the ledger or a published bundle is not what it was."""
    _emit("penstock.log.damaged", "penstock.log", "audit log", {"code": code})


def _emit(event: str, resource: str, name: str, payload: dict[str, Any]) -> None:
    if FlowRunContext.get() is None:
        return  # without a flow run there is no server to tell, and asking for one would start it
    emit_event(event=event, resource={"prefect.resource.id": resource, "prefect.resource.name": name}, payload=payload)
