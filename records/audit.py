"""Everything checked together: log, checkpoints, ledger, decisions, and every manifest that can be reached.

A manifest lies outside the database and says where the log stood when it was sealed; so does the
outcome of every run in the home. Who puts back an older log, or empties it, contradicts them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from mechanisms.refusal import Fault, Refusal
from records import bundle, signing
from records.chain import GENESIS
from records.decision import APPROVE, REFUSE, DecisionRefused, verify_decision
from records.digest import plain_file
from records.home import Home
from records.log import Action, Event
from records.run import outcomes
from records.store import existing_records

__all__ = ["RecordsDisagree", "verify_everything"]

_REMEDY = "Keep everything as it is, find out who could write to it, and compare with backups and exports."
_WORDS = {Action.APPROVED: APPROVE, Action.DECLINED: REFUSE}


class RecordsDisagree(Refusal):
    """The log is sound by itself, but not the one that manifests, outcomes or signatures speak of."""

    code = "records-disagree"
    kind = "integrity"


def verify_everything(bundles: Iterable[Path] = ()) -> dict[str, Any]:
    """Check all of it; what was checked, or a refusal with all that is wrong."""
    home, records = Home.located(), existing_records()
    verified = records.log.verify()
    ledger_events = records.ledger.verify()
    events = records.log.events()
    digests = {0: GENESIS, **{event.seq: event.digest for event in events}}
    key = signing.public_key(home.public_key_path)
    ended = outcomes(home)
    manifests, unreachable = _manifests(events, ended, bundles)
    faults = [
        *(fault for event in events for fault in _decision_faults(event)),
        *(fault for run, end in ended.items() for fault in _head_faults(f"run {run}", end.get("log_head"), digests)),
        *(
            fault
            for folder, expected in manifests.items()
            for fault in _manifest_faults(folder, expected, key, digests, events)
        ),
    ]
    RecordsDisagree.raise_for(faults)
    return {
        "events": verified.count,
        "head": {"seq": verified.head.seq, "digest": verified.head.digest},
        "checkpoints": verified.checkpoints,
        "ledger_events": ledger_events,
        "decisions": sum(event.action in _WORDS for event in events),
        "manifests": len(manifests),
        "not_reached": sorted(unreachable),
    }


def _manifests(
    events: Iterable[Event], ended: Mapping[str, Mapping[str, Any]], bundles: Iterable[Path]
) -> tuple[dict[Path, str | None], list[str]]:
    """Folders of published bundles with the digest that their manifest must have, and those that are not there."""
    expected: dict[Path, str | None] = {
        path.parent: None for folder in bundles for path in folder.rglob("manifest.json")
    }
    published = [event.facts for event in events if event.action is Action.PUBLISHED]
    for facts in (*ended.values(), *published):
        if "destination" in facts:
            expected[Path(facts["destination"])] = facts["manifest"]
    reached = {folder: digest for folder, digest in expected.items() if (folder / "manifest.json").is_file()}
    return reached, [str(folder) for folder in expected if folder not in reached]


def _manifest_faults(
    folder: Path, expected: str | None, key: Ed25519PublicKey, digests: Mapping[int, str], events: Iterable[Event]
) -> Iterator[Fault]:
    try:
        statement = bundle.statement_of(folder, key)
    except bundle.BundleAltered as altered:
        yield from (Fault(f"{folder} {fault.field}", fault.rule, _REMEDY) for fault in altered.faults)
        return
    digest = plain_file(folder / "manifest.json")
    if expected is not None and digest != expected:
        yield Fault(str(folder), "its manifest is not the one that was published", _REMEDY)
    if not any(event.action is Action.PUBLISHED and event.facts.get("manifest") == digest for event in events):
        yield Fault(str(folder), "the log does not know of this publication", _REMEDY)
    yield from _head_faults(str(folder), statement["predicate"]["log_head"], digests)


def _head_faults(place: str, head: Mapping[str, Any] | None, digests: Mapping[int, str]) -> Iterator[Fault]:
    if head is not None and digests.get(head["seq"]) != head["digest"]:
        yield Fault(place, f"saw another event {head['seq']}: the log was cut short or replaced since", _REMEDY)


def _decision_faults(event: Event) -> Iterator[Fault]:
    if event.action in _WORDS:
        facts = event.facts
        try:
            verify_decision(
                Ed25519PublicKey.from_public_bytes(bytes.fromhex(facts["public_key"])),
                content=facts["content"],
                decision=_WORDS[event.action],
                reason=facts["reason"],
                signature=facts["signature"],
            )
        except (DecisionRefused, ValueError):
            yield Fault(f"event {event.seq}", "the signature of the reviewer does not hold", _REMEDY)
