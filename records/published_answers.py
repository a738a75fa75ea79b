"""Published answers held against the log: each that it names is there, and nothing else is among them.

    <publish>/<name>/answers/<id>.json    a DSSE envelope of {"answer", "digest", "log_head"}                    (1)
    digest = keyed(K, "question answer", id, canonical(answer))                                                  (2)

The event that gave an answer names its file, as `destination`, when it was to be published. (2) is what that event has
on record, so an answer that was signed anew with another content is noticed too. Answers that earlier versions
published have no destination on record: they are compared where they lie beside one that has, or below a folder that
is named.

An answer is on record before its file is written. What was given less than a minute ago and has no file yet is
listed, and is no fault; what has none later is one: the process died, or somebody took the file away.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from penstock.mechanisms.refusal import Fault, Refusal
from penstock.records.bundle.places import resolved
from penstock.records.files import object_store
from penstock.records.files.addresses import ObjectPath, Place, place_of
from penstock.records.files.digest import NotCanonical, canonical
from penstock.records.ledger.questions import answer_digest
from penstock.records.log.log import Action, Event
from penstock.records.signing import envelope
from penstock.records.signing.signing import SignatureWrong

__all__ = ["KIND", "LARGEST", "CheckedAnswers", "as_file", "check_answers", "is_as_written", "place_of_answer"]

KIND = "application/vnd.penstock.answer+json"
LARGEST = 16 << 20  # bytes
_FIELDS, _SIGNATURE = {"payload", "payloadType", "signatures"}, {"keyid", "sig"}
_FOLDER = "answers"
_ON_ITS_WAY = timedelta(minutes=1)
_REMEDY = "Keep everything as it is, find out who could write to it, and compare with backups and exports."
_AGAIN = "Ask the same question again, which writes it and spends nothing, or write down why it was taken away."
_PLAIN = "must be a plain file"
_NAME = re.compile(r"[0-9a-f]{64}\.json")


@dataclass(slots=True)
class CheckedAnswers:
    """The findings of a check of published answers. read: how many are as they were given; not_reached: those that may
    still be on their way."""

    read: int = 0
    altered: list[Fault] = field(default_factory=list)
    missing: list[Fault] = field(default_factory=list)
    not_reached: list[Place] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Given:
    """Answers by the log: the digest of each, and where they were to be published, and when last."""

    digests: Mapping[str, str]
    destinations: Mapping[Place, datetime]


def place_of_answer(publish: Place, name: str, answer: str) -> Place:
    """Return where an answer appears."""
    return publish / name / _FOLDER / f"{answer}.json"


def as_file(signed: Mapping[str, Any]) -> bytes:
    """Return the bytes of the file with this envelope."""
    return json.dumps(signed, indent=2).encode() + b"\n"


def is_as_written(content: bytes, signed: Mapping[str, Any]) -> bool:
    """Return whether a file holds this envelope and nothing else, which others could read as if it were signed."""
    return (
        content == as_file(signed)
        and set(signed) == _FIELDS
        and [set(each) for each in signed["signatures"]] == [_SIGNATURE]
    )


def check_answers(
    events: Iterable[Event], below: Iterable[Place], *, secret: bytes, key: Ed25519PublicKey, now: datetime | None
) -> CheckedAnswers:
    """Compare every published answer with the log. below: other places to look for answers. now: None where nothing
    can be on its way."""
    events = list(events)
    known = frozenset(event.digest for event in events)
    given, found = _given(events), CheckedAnswers()
    ours = {place.parent for place in given.destinations}
    others = {folder for place in below for folder in _folders_below(place)} - ours
    seen, unread = set[Place](), set[Place]()
    for folder in sorted(ours | others, key=str):
        try:
            for place in _files_in(folder):
                if folder in ours or _NAME.fullmatch(place.name):  # a release may be called answers, too
                    seen.add(place)
                    faults = list(_faults(place, given, known, secret, key))
                    found.altered += faults
                    found.read += not faults
        except OSError as error:
            rule = f"must be a folder that can be read ({error.strerror})"
            found.altered.append(Fault(str(folder), rule, _REMEDY))
            unread.add(folder)
        except Refusal as refusal:  # the store's
            found.altered += refusal.faults
            unread.add(folder)
    for place, when in given.destinations.items():
        if place in seen or place.parent in unread:
            continue
        if now is not None and abs(now - when) < _ON_ITS_WAY:
            found.not_reached.append(place)
        else:
            rule = "must be the answer that the log says was published here; it is gone, or was never written"
            found.missing.append(Fault(str(place), rule, _AGAIN))
    return found


def _given(events: Sequence[Event]) -> _Given:
    digests, destinations = dict[str, str](), dict[Place, datetime]()
    for event in events:
        if event.action is Action.ANSWERED:
            digests[event.facts["key"]] = event.facts["answer"]
        if event.action in (Action.ANSWERED, Action.ASKED_AGAIN) and event.facts.get("destination") is not None:
            place = place_of(event.facts["destination"])
            destinations[resolved(place.parent) / place.name] = datetime.fromisoformat(event.occurred)
    return _Given(digests, destinations)


def _folders_below(place: Place) -> Iterator[Place]:
    """Yield the folders of answers at or below a place. One that cannot be searched has its fault from the search for
    bundles."""
    if isinstance(place, ObjectPath):
        try:
            names = object_store.found_below(place)
        except Refusal:
            return
        for name in names:
            parts = name.split("/")[:-1]
            if parts and parts[-1] == _FOLDER:
                yield place / "/".join(parts)
        return
    root = place.resolve()
    yield from (path for path in [root, *root.rglob(_FOLDER)] if path.name == _FOLDER and path.is_dir())


def _files_in(folder: Place) -> list[Place]:
    """Return what lies in a folder of answers. Unfinished writes begin with a point, and are nobody's answer."""
    if isinstance(folder, ObjectPath):
        names: Collection[str] = object_store.found_below(folder)
    else:
        names = os.listdir(folder) if os.path.lexists(folder) else ()
    return [folder / name for name in sorted(names) if not name.startswith(".")]


def _faults(
    place: Place, given: _Given, known: frozenset[str], secret: bytes, key: Ed25519PublicKey
) -> Iterator[Fault]:
    answer = place.name.removesuffix(".json")
    if f"{answer}.json" != place.name or answer not in given.digests:
        yield Fault(str(place), "must be an answer that the log knows of", _REMEDY)
        return
    content = _content(place)
    if isinstance(content, Fault):
        yield content
        return
    told = _opened(content, key, str(place))
    if isinstance(told, Fault):
        yield told
        return
    digests = {given.digests[answer], told["digest"], answer_digest(secret, answer, canonical(told["answer"]))}
    if len(digests) != 1:
        yield Fault(str(place), "must be the answer that was given", _REMEDY)
    head = told["log_head"]
    if not isinstance(head, dict) or head.keys() != {"digest"} or head["digest"] not in known:
        rule = "must have seen events of this log only: it was cut short or replaced since"
        yield Fault(str(place), rule, _REMEDY)


def _opened(content: bytes, key: Ed25519PublicKey, where: str) -> dict[str, Any] | Fault:
    """Return what a file says, or what is wrong with it."""
    try:
        signed = json.loads(content)
        payload = envelope.opened(signed, KIND, key)
        told = json.loads(payload)
        is_whole = is_as_written(content, signed) and canonical(told) == payload
        if not is_whole or set(told) != {"answer", "digest", "log_head"}:
            return Fault(where, "must be written as it was published, to the last byte", _REMEDY)
    except SignatureWrong:
        return Fault(where, "must be signed by this home", _REMEDY)
    except (ValueError, TypeError, RecursionError, NotCanonical):
        return Fault(where, "must be a DSSE envelope of one answer", _REMEDY)
    return dict(told)


def _content(place: Place) -> bytes | Fault:
    """Return the bytes of a file, or what is wrong with it. Links lead elsewhere, and are not followed."""
    if isinstance(place, ObjectPath):
        found = object_store.read(place, most=LARGEST)
        if found is None:
            return Fault(str(place), _PLAIN, _REMEDY)
    else:
        try:
            if not stat.S_ISREG(os.lstat(place).st_mode):
                return Fault(str(place), _PLAIN, _REMEDY)
            with open(place, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW)) as file:
                found = file.read(LARGEST + 1)
        except OSError as error:
            return Fault(str(place), f"must be a file that can be read ({error.strerror})", _REMEDY)
    return Fault(str(place), f"must have at most {LARGEST >> 20} MiB", _REMEDY) if len(found) > LARGEST else found
