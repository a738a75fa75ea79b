"""The nightly check: log, ledger, decisions, and every published bundle that the log names."""

# Annotations are not postponed here: Prefect reads those of a served flow apart from this module's names.

from dataclasses import replace
from typing import Any

from prefect import flow
from prefect.artifacts import create_markdown_artifact

from penstock.flows.release_by_reference import require_home
from penstock.mechanisms.refusal import Refusal
from penstock.records.audit import verify_everything
from penstock.records.bundle.places import is_there
from penstock.records.files.addresses import place_of
from penstock.records.home import Home
from penstock.records.log.log import Action
from penstock.records.store.store import existing_records
from penstock.tasks.run.events import tell_damage
from penstock.tasks.run.step import sealed
from penstock.tasks.verification.bundle import verify_bundle

__all__ = ["verify_log"]

_LONGEST = 6 * 3600


@flow(name="verify-log", persist_result=False, log_prints=False, retries=0, timeout_seconds=_LONGEST)
def verify_log() -> dict[str, Any]:
    """Check everything on record and return what was checked; or refuse what is first found wrong, and send an
    event."""
    require_home()
    try:
        with sealed("verify-log"):
            found = {**verify_everything(), "bundles": _verify_bundles()}
    except Refusal as refusal:
        tell_damage(refusal.code)
        _show(
            [
                f"**Refused: {refusal.code}**",
                *(f"`{fault.field}` {fault.rule}. {fault.remedy}" for fault in refusal.faults),
            ]
        )
        raise
    noted = [f"not reached: `{place}`" for place in found["not_reached"]]
    noted += [f"event {number} bears an earlier time than one before it" for number in found["backwards"]]
    _show([*(f"{found[name]} {what}" for name, what in _COUNTED.items()), *noted])
    return found


_COUNTED = {
    "events": "events of the log, every one in its place and unaltered",
    "checkpoints": "signed checkpoints hold",
    "ledger_events": "events of the ledger, none missing",
    "decisions": "decisions of reviewers, their signatures hold",
    "manifests": "published manifests agree with the log",
    "bundles": "published bundles are what their manifests say",
}


def _verify_bundles() -> int:
    """Check the content of every bundle that is there, and return how many there are; one that was removed as a whole
    is skipped here, and only reported as not reached."""
    key, checked = Home.located().public_key_path, 0
    refused: list[Refusal] = []
    for event in existing_records().log.events():
        if event.action is not Action.PUBLISHED or "destination" not in event.facts:
            continue
        folder = place_of(event.facts["destination"])
        if not is_there(folder):
            continue
        try:
            verify_bundle(folder, key)
        except Refusal as refusal:
            faults = (replace(fault, field=f"{folder} {fault.field}") for fault in refusal.faults)
            refused.append(type(refusal)(*faults))
        checked += 1
    if refused:
        raise type(refused[0])(*(fault for each in refused for fault in each.faults))
    return checked


def _show(lines: list[str]) -> None:
    create_markdown_artifact(key="verify-log", markdown="\n".join(f"* {line}" for line in lines))
