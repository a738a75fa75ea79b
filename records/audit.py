"""Everything checked together: log, checkpoints, ledger, decisions, and what was published and can be reached.

A manifest lies outside the database and says where the log stood when it was sealed. Whoever puts back an older log,
or empties it, contradicts the manifests, and also what the home remembers, with which every scan of the log is compared
(log/_scan.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from penstock.mechanisms.refusal import Fault, Refusal
from penstock.records.approval.decision import APPROVE, REFUSE, DecisionRefused, verify_decision
from penstock.records.bundle import bundle
from penstock.records.bundle.places import at_hand, bundles_below, manifest_at, resolved
from penstock.records.files.addresses import Place, place_of
from penstock.records.home import Home
from penstock.records.log.chain import GENESIS
from penstock.records.log.log import Action, Event, Log
from penstock.records.people.trusted_keys import with_keys
from penstock.records.published_answers import CheckedAnswers, check_answers
from penstock.records.signing import signing
from penstock.records.store.restoring import unfinished_restoration
from penstock.records.store.store import existing_records

__all__ = ["PublishedMissing", "RecordsDisagree", "backwards", "verify_everything"]

_REMEDY = "Keep everything as it is, find out who could write to it, and compare with backups and exports."
_WORDS = {Action.APPROVED: APPROVE, Action.DECLINED: REFUSE}
_TAKING_TURNS = timedelta(minutes=1)
_WITHOUT_STATEMENTS = frozenset({"0.1.0"})  # versions whose manifests had another form


class RecordsDisagree(Refusal):
    """The log is sound by itself, but not the one that manifests, outcomes or signatures refer to."""

    code = "records-disagree"
    kind = "integrity"
    remedy = "Keep everything as it is, find out who could write to it, and compare with backups and exports."


class PublishedMissing(Refusal):
    """Everything that exists is as it was published, but something published no longer exists."""

    code = "published-missing"
    kind = "integrity"
    remedy = "Put the files back from a copy, or write down why they were taken away."


def verify_everything(
    bundles: Iterable[Place] = (), *, files: bool = False, restoring: bool = False, now: datetime | None = None
) -> dict[str, Any]:
    """Check all records; return what was checked, or refuse with everything that is wrong.

    files: also read every published file and every published answer, and refuse if one is gone. now: where it is given,
    an answer that was charged less than a minute ago may still be on its way. restoring: the restoration itself asks,
    which is complete only after this check.
    """
    home, records = Home.located(), existing_records(looking=True)
    # Everything that refers to the log is read before the log, so that a run that ends meanwhile contradicts nothing.
    bundles = list(bundles)
    listed, unlisted = _bundles_in(bundles)
    with records.log.reader() as reader:
        verified, ledger_events, events = reader.verify(), records.ledger.verify(reader), reader.events()
    digests = {0: GENESIS, **{event.seq: event.digest for event in events}}
    known = frozenset(digests.values())
    published = [event for event in events if event.action is Action.PUBLISHED]
    destinations = {
        resolved(place_of(event.facts["destination"])): event.facts["manifest"]
        for event in published
        if "destination" in event.facts
    }
    places = sorted(listed | destinations.keys(), key=str)
    found = {place: _found(place) for place in places}
    reached = {place: content for place, content in found.items() if content is not None}
    key = signing.public_key(home.public_key_path)
    read, altered, missing = _files_of(found, key, _of_the_first_version(published)) if files else (0, [], [])
    answers = CheckedAnswers()
    if files:
        answers = _answers(home, records.log, events, bundles, key, now)
    faults = [
        *([] if restoring else unfinished_restoration(home)),
        *_decision_faults(events),
        *unlisted,
        *(
            fault
            for place, content in reached.items()
            for fault in _manifest_faults(place, content, destinations.get(place), key, digests, known, published)
        ),
        *altered,
        *answers.altered,
    ]
    missing += answers.missing
    # Missing files are reported along with other faults; on their own they have their own refusal.
    RecordsDisagree.raise_for(dict.fromkeys([*faults, *missing]) if faults else [])
    PublishedMissing.raise_for(missing)
    return {
        "events": verified.count,
        "head": {"seq": verified.head.seq, "digest": verified.head.digest},
        "checkpoints": verified.checkpoints,
        "ledger_events": ledger_events,
        "decisions": sum(event.action in _WORDS for event in events),
        "manifests": len(reached),
        **({"files": read, "answers": answers.read} if files else {}),
        "not_reached": [
            str(place) for place in [*(each for each in places if each not in reached), *answers.not_reached]
        ],
        "backwards": backwards(events),
    }


def _answers(
    home: Home, log: Log, events: Sequence[Event], below: Sequence[Place], key: Ed25519PublicKey, now: datetime | None
) -> CheckedAnswers:
    """Compare every published answer with the log; where they differ, with what the log holds by then: answers are
    published while this reads."""
    secret, below = home.secret_key(), [place for place in below if not isinstance(place, Path) or place.is_dir()]
    found = check_answers(events, below, secret=secret, key=key, now=now)
    if found.altered or found.missing:
        found = check_answers(log.events(), below, secret=secret, key=key, now=now)
    return found


def backwards(events: Iterable[Event]) -> list[int]:
    """Return the numbers of events that bear an earlier time than one before them: somebody set the clock.

    The log is not damaged by it, but deadlines and dates rely on the clock. Writers read the time before they wait for
    their turn, so a minute is allowed.
    """
    found, latest = [], None
    for event in events:
        occurred = datetime.fromisoformat(event.occurred)
        if latest is not None and occurred < latest - _TAKING_TURNS:
            found.append(event.seq)
        latest = occurred if latest is None else max(latest, occurred)
    return found


def _files_of(
    found: Mapping[Place, bytes | Fault | None], key: Ed25519PublicKey, first_version: frozenset[str]
) -> tuple[int, list[Fault], list[Fault]]:
    """Compare every file of every bundle with its manifest; return how many were read, what was altered, and what is
    gone."""
    read, altered, missing = 0, list[Fault](), list[Fault]()
    for place, manifest in found.items():
        if manifest is None:
            rule = "must hold the bundle that the log says was published here; it is gone"
            missing.append(Fault(str(place), rule, "Put it back from a copy, or write down why it was taken away."))
        elif isinstance(manifest, bytes) and hashlib.sha256(manifest).hexdigest() not in first_version:
            try:
                with at_hand(place) as folder:
                    read += len(bundle.check(folder, key)["subject"])
            except bundle.BundleAltered as refusal:
                for fault in refusal.faults:
                    named = Fault(f"{place} {fault.field}", fault.rule, _REMEDY)
                    (missing if fault.rule == bundle.MISSING else altered).append(named)
            except Refusal as refusal:  # the store's
                altered += refusal.faults
            except OSError as error:
                altered.append(Fault(str(place), f"must have files that can be read ({error.strerror})", _REMEDY))
    return read, altered, missing


def _of_the_first_version(published: Iterable[Event]) -> frozenset[str]:
    """Return the manifests that have the form of versions without statements."""
    return frozenset(event.facts["manifest"] for event in published if event.code in _WITHOUT_STATEMENTS)


def _bundles_in(places: Iterable[Place]) -> tuple[set[Place], list[Fault]]:
    """Return every bundle below these places, and a fault for each place that could not be searched."""
    listed: set[Place] = set()
    faults: list[Fault] = []
    for place in places:
        if isinstance(place, Path) and not place.is_dir():
            faults.append(Fault(str(place), "must be a folder; nothing in it was checked", "Correct it."))
            continue
        try:
            listed |= set(bundles_below(place))
        except Refusal as refusal:
            faults += refusal.faults
    return listed, faults


def _found(place: Place) -> bytes | Fault | None:
    """Return the manifest at a place, None if there is none, or a fault if that cannot be determined."""
    try:
        return manifest_at(place)
    except bundle.BundleAltered as altered:
        [fault] = altered.faults
        return Fault(f"{place} {fault.field}", fault.rule, _REMEDY)
    except Refusal as refusal:  # the store's
        return refusal.faults[0]
    except OSError as error:
        return Fault(str(place), f"must have a manifest that can be read ({error.strerror})", _REMEDY)


def _manifest_faults(
    place: Place,
    manifest: bytes | Fault,
    expected: str | None,
    key: Ed25519PublicKey,
    digests: Mapping[int, str],
    known: frozenset[str],
    published: Sequence[Event],
) -> Iterator[Fault]:
    if isinstance(manifest, Fault):
        yield manifest
        return
    digest = hashlib.sha256(manifest).hexdigest()
    if digest in _of_the_first_version(published):
        return
    try:
        statement = bundle.statement_of(manifest, key)
    except bundle.BundleAltered as altered:
        yield from (Fault(f"{place} {fault.field}", fault.rule, _REMEDY) for fault in altered.faults)
        return
    if expected is not None and digest != expected:
        yield Fault(str(place), "must have the manifest that was published", _REMEDY)
    if not any(event.facts.get("manifest") == digest for event in published):
        yield Fault(str(place), "must be a publication that the log knows of", _REMEDY)
    head = statement["predicate"]["log_head"]
    if "seq" in head:
        yield from _head_faults(str(place), head["seq"], head["digest"], digests)
    elif head["digest"] not in known:
        yield Fault(str(place), "must have seen events of this log only: it was cut short or replaced since", _REMEDY)


def _head_faults(place: str, seq: int, digest: str, digests: Mapping[int, str]) -> Iterator[Fault]:
    if digests.get(seq) != digest:
        yield Fault(place, f"must have seen the same event {seq}: the log was cut short or replaced since", _REMEDY)


def _decision_faults(events: Iterable[Event]) -> Iterator[Fault]:
    """Yield a fault for each decision that was not signed with the key trusted for its reviewer at the time."""
    for event, trusted in with_keys(events):
        if event.action in _WORDS and not _is_signed(event, trusted):
            yield Fault(f"event {event.seq}", "must carry the signature of its reviewer, and does not", _REMEDY)


def _is_signed(event: Event, trusted: Mapping[str, str]) -> bool:
    facts = event.facts
    try:
        verify_decision(
            Ed25519PublicKey.from_public_bytes(bytes.fromhex(trusted[facts["reviewer"]])),
            content=facts["content"],
            decision=_WORDS[event.action],
            reason=facts["reason"],
            signature=facts["signature"],
        )
    except (DecisionRefused, KeyError):
        return False
    return True
