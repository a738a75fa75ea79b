"""The nightly check: log, ledger, decisions, and every published bundle that the log names."""

# Annotations are not postponed here: Prefect reads those of a served flow apart from this module's names.

from pathlib import Path
from typing import Any

from prefect import flow
from prefect.artifacts import create_markdown_artifact

from flows.deployed import require_home
from mechanisms.refusal import Refusal
from records.audit import verify_everything
from records.home import Home
from records.log import Action
from records.store import existing_records
from tasks.step import sealed
from tasks.tell import tell_damage
from tasks.verification import verify_bundle

__all__ = ["verify_log"]

_LONGEST = 6 * 3600


@flow(name="verify-log", persist_result=False, log_prints=False, retries=0, timeout_seconds=_LONGEST)
def verify_log() -> dict[str, Any]:
    """What was checked; or the refusal with the first thing that is wrong, told as an event too."""
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
    _show([f"{found[name]} {what}" for name, what in _COUNTED.items()])
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
    """Check the content of every bundle that can be reached; one that was taken away is not."""
    key, checked = Home.located().public_key_path, 0
    for event in existing_records().log.events():
        if event.action is Action.PUBLISHED and "destination" in event.facts:
            folder = Path(event.facts["destination"])
            if (folder / "manifest.json").exists():
                verify_bundle(folder, key)
                checked += 1
    return checked


def _show(lines: list[str]) -> None:
    create_markdown_artifact(key="verify-log", markdown="\n".join(f"* {line}" for line in lines))
