"""Events for other platforms: a courtesy copy of what the audit log says, through Prefect.

    penstock.release.planned | refused | waiting | published     resource penstock.release.<run>
    penstock.release.found_published: an earlier run published the same, and this one ends
    penstock.release.refused, before a run began                  resource penstock.release.unbegun, run ""
    penstock.log.damaged                                          resource penstock.log

They carry the name of the release, the digest of its spec and the code of a refusal: settings, never a value.
Whether anybody listens, or Prefect works at all, changes nothing about the release.
"""

from __future__ import annotations

from prefect.events import emit_event
from prefect.settings import PREFECT_API_URL

from penstock.records.log.log import Action

__all__ = ["tell", "tell_damage", "tell_unbegun"]

_TOLD = {Action.PLANNED, Action.REFUSED, Action.WAITING, Action.PUBLISHED, Action.FOUND_PUBLISHED}


def tell(action: Action, *, run: str, name: str, spec: str, code: str) -> None:
    """Emit the event of a recorded action, if it is one that others are told of."""
    if action in _TOLD:
        payload = {"run": run, "name": name, "spec": spec, "code": code}
        _emit(f"penstock.release.{action.value.lower()}", f"penstock.release.{run}", name, payload)


def tell_unbegun(name: str, code: str) -> None:
    """Emit that a release was refused before it had a run, and so before anything was on record. name: as asked for."""
    payload = {"run": "", "name": name, "spec": "", "code": code}
    _emit("penstock.release.refused", "penstock.release.unbegun", name, payload)


def tell_damage(code: str) -> None:
    """Emit that the log, the ledger or a published bundle is not what it was."""
    _emit("penstock.log.damaged", "penstock.log", "audit log", {"code": code})


def _emit(event: str, resource: str, name: str, payload: dict[str, str]) -> None:
    if PREFECT_API_URL.value() is None:
        return  # there is no server to tell, and asking for one would start it
    emit_event(event=event, resource={"prefect.resource.id": resource, "prefect.resource.name": name}, payload=payload)
