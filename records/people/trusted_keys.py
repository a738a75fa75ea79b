"""Who may decide: names and the public keys that are trusted for them. The audit log is the register.

    KEY_TRUSTED     name, key_id, public_key (hexadecimal), reason
    KEY_WITHDRAWN   name, key_id, reason

One name has one key and one key has one name, so nobody is two reviewers. A name counts without
regard to case. A key that was trusted once is never trusted again: after a withdrawal others may
have it, and under another name its owner would be a second person. A name may get a new key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from penstock.mechanisms.refusal import Refusal
from penstock.records.approval.decision import reason_faults
from penstock.records.log.log import Action, Event, Log, LogReader
from penstock.records.people.names import is_name
from penstock.records.signing.curve import is_sound_key
from penstock.records.signing.signing import key_id

__all__ = [
    "REGISTER",
    "KeyTaken",
    "KeyWeak",
    "NameTaken",
    "Person",
    "PersonRefused",
    "PersonUnknown",
    "people",
    "trust",
    "with_keys",
    "withdraw",
]

REGISTER = "-"  # stands where other events name their run; no run can have this name


class PersonRefused(Refusal):
    """The name or the reason cannot be held in the register."""

    code = "person-refused"
    kind = "approval"
    remedy = "Choose another name or reason as the message says."


class NameTaken(Refusal):
    """The name has a trusted key already."""

    code = "name-taken"
    kind = "approval"
    remedy = "Withdraw the key that the name has, or choose another name."


class KeyTaken(Refusal):
    """The key was trusted before."""

    code = "key-taken"
    kind = "approval"
    remedy = "Make a new key pair: penstock keys new FILE."


class KeyWeak(Refusal):
    """Anybody could sign under this key."""

    code = "key-weak"
    kind = "approval"
    remedy = "Make a new key pair: penstock keys new FILE."


class PersonUnknown(Refusal):
    """The name has no trusted key."""

    code = "person-unknown"
    kind = "approval"
    remedy = "Write the name as it was trusted; `penstock keys list` shows all."


@dataclass(frozen=True, slots=True)
class Person:
    """A name and the key that is trusted for it, since when (ISO 8601, UTC)."""

    name: str
    key_id: str
    public_key: Ed25519PublicKey
    since: str


def trust(log: Log, name: str, public_key: Ed25519PublicKey, *, actor: str, reason: str, now: datetime) -> Person:
    """Put on record that decisions of `name` are those signed with this key."""
    _require_name(name)
    PersonRefused.raise_for(reason_faults(reason, needed=True))
    identity = key_id(public_key)
    if not is_sound_key(public_key.public_bytes_raw()):
        raise KeyWeak.at(
            "public_key",
            rule="must be in canonical form and not of small order: anybody could sign under it",
            got=identity,
            remedy="Make a key pair: penstock keys new FILE",
        )
    with log.transaction() as writer:
        writer.verify()  # otherwise a key that was trusted before could be hidden
        events = writer.events(REGISTER)
        if name.casefold() in {known.casefold() for known in _folded(events)}:
            raise NameTaken.at(
                "name", rule="must have no trusted key", got=name, remedy="Withdraw the key that it has first."
            )
        if any(event.action is Action.KEY_TRUSTED and event.facts["key_id"] == identity for event in events):
            raise KeyTaken.at(
                "public_key",
                rule="must not have been trusted before: a key is for one name, and never again after its withdrawal",
                got=identity,
                remedy="Make a new key pair.",
            )
        facts = {
            "name": name,
            "key_id": identity,
            "public_key": public_key.public_bytes_raw().hex(),
            "reason": reason,
        }
        event = writer.append(Action.KEY_TRUSTED, run=REGISTER, actor=actor, facts=facts, occurred=now)
    return _person(event)


def withdraw(log: Log, name: str, *, actor: str, reason: str, now: datetime) -> None:
    """Put on record that the key of `name` signs no further decision. Those on record still count."""
    _require_name(name)
    PersonRefused.raise_for(reason_faults(reason, needed=True))
    with log.transaction() as writer:
        person = people(writer).get(name)
        if person is None:
            raise PersonUnknown.at(
                "name", rule="must have a trusted key", got=name, remedy="Write it as it was trusted."
            )
        facts = {"name": name, "key_id": person.key_id, "reason": reason}
        writer.append(Action.KEY_WITHDRAWN, run=REGISTER, actor=actor, facts=facts, occurred=now)


def people(log: Log | LogReader) -> dict[str, Person]:
    """Return everyone who has a trusted key now, by name."""
    return _folded(log.events(REGISTER, (Action.KEY_TRUSTED, Action.KEY_WITHDRAWN)))


def with_keys(events: Iterable[Event]) -> Iterator[tuple[Event, Mapping[str, str]]]:
    """Yield every event with the public keys that were trusted by name when it was written; for those who check it
    later."""
    trusted: dict[str, str] = {}
    for event in events:
        if event.action is Action.KEY_TRUSTED:
            trusted[event.facts["name"]] = event.facts["public_key"]
        elif event.action is Action.KEY_WITHDRAWN:
            trusted.pop(event.facts["name"], None)
        yield event, trusted


def _folded(events: Iterable[Event]) -> dict[str, Person]:
    trusted: dict[str, Person] = {}
    for event in events:
        if event.action is Action.KEY_TRUSTED:
            trusted[event.facts["name"]] = _person(event)
        elif event.action is Action.KEY_WITHDRAWN:
            trusted.pop(event.facts["name"], None)
    return trusted


def _person(event: Event) -> Person:
    raw = bytes.fromhex(event.facts["public_key"])
    public_key = Ed25519PublicKey.from_public_bytes(raw)
    return Person(event.facts["name"], key_id(public_key), public_key, event.occurred)


def _require_name(name: str) -> None:
    if not is_name(name):
        raise PersonRefused.at(
            "name",
            rule="must be 1 to 64 letters, digits, dots, dashes or underscores, the first a letter or digit",
            got=name,
            remedy="Choose such a name.",
        )
