"""The chain of digests that makes the log's history hard to rewrite.

    d_0 = 64 zeros
    d_i = keyed(K, "event", canonical(event i: i, its content, d_(i-1)))       (1)
    seal = keyed(K, "head", canonical([n, d_n, L]))                            (2)

(1) binds an event to its content, its number and everything before it; (2) binds the last number,
so that removing the last events is noticed, and L, which says where the ledger stands (ledger.py;
left out while the ledger is empty). Hash chain: Haber & Stornetta 1991; keyed, because whoever
writes to the database must not be able to recompute it (Bellare & Yee 1997, without key evolution).
Limits: whoever has K, or puts back an older log together with its own head, is not noticed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from penstock.mechanisms.refusal import Fault
from penstock.records.files.digest import NotCanonical, canonical, keyed

__all__ = ["GENESIS", "Entry", "SealedHead", "digest_of", "find_faults", "head_holds", "is_genuine", "seal"]

GENESIS = "0" * 64

_REMEDY = "Keep the database as it is, find out who could write to it, and compare with a backup or an export."


class Entry(NamedTuple):
    """An event as it is stored. A tampered one may hold anything."""

    seq: int
    occurred: str
    run: str
    action: str
    actor: str
    code: str
    facts: str
    previous: str
    digest: str


_DIGESTED = Entry._fields[:-1]  # all but the digest, which is the last


class SealedHead(NamedTuple):
    """Number and digest of the last event, where the ledger stands, and the seal (2)."""

    seq: int
    digest: str
    ledger: str
    seal: str


def digest_of(key: bytes, entry: Entry, seq: int) -> str:
    """Return the digest (1), as if the entry were event number `seq`."""
    content = dict(zip(_DIGESTED, (seq, *entry[1:-1]), strict=True))
    return keyed(key, "event", canonical(content))


def is_genuine(key: bytes, entry: Entry) -> bool:
    """Return whether the entry was written by the log under its number."""
    return _is_number(key, entry, entry.seq)


def seal(key: bytes, seq: int, digest: str, ledger: str) -> str:
    """Return the seal (2)."""
    return keyed(key, "head", canonical([seq, digest, ledger] if ledger else [seq, digest]))


def head_holds(key: bytes, head: SealedHead) -> bool:
    """Return whether the head carries its seal."""
    try:
        return head.seal == seal(key, head.seq, head.digest, head.ledger)
    except NotCanonical:
        return False


def find_faults(key: bytes, entries: Sequence[Entry], head: SealedHead | None) -> list[Fault]:
    """Return a fault for every event that was altered, removed, inserted or reordered, and for what is wrong with the
    head.

    An entry's true number is the one for which (1) holds, whatever number it is stored under.
    """
    # A table rebuilt without its column types can hold anything in place of a number.
    entries = [entry if isinstance(entry.seq, int) else entry._replace(seq=0) for entry in entries]
    sealed = head if head is not None and head_holds(key, head) else None
    true = _true_numbers(key, entries, sealed)
    if entries and not true and sealed is None:
        return [_fault("key", "must be written with this key; no event and no head was")]

    holder: dict[int, int] = {}  # true number -> index of the entry; one stored in its own place takes precedence
    for index, number in sorted(true.items(), key=lambda item: entries[item[0]].seq != item[1]):
        holder.setdefault(number, index)
    last = sealed.seq if sealed is not None else max((entry.seq for entry in entries), default=0)

    faults: list[Fault] = []
    accounted = set(holder)
    for index, entry in enumerate(entries):
        found = true.get(index)
        where = f"event {entry.seq}"
        if found is None and 1 <= entry.seq <= last and entry.seq not in accounted:
            accounted.add(entry.seq)
            faults.append(
                _fault(where, "must be as it was written; it was altered: its content does not give its digest")
            )
        elif found is None:
            faults.append(_fault(where, "must be written by the log; it was inserted"))
        elif holder[found] != index:
            faults.append(_fault(where, f"must not repeat another event; it was inserted as a copy of event {found}"))
        elif found != entry.seq:
            faults.append(
                _fault(f"event {found}", f"must be in its place; it was reordered and is at number {entry.seq}")
            )
    faults.extend(_fault(where, "must exist; it was removed") for where in _gaps(accounted, last))
    faults.extend(_broken_links({number: entries[index] for number, index in holder.items()}))
    faults.extend(_head_faults(head, sealed, {number: entries[index].digest for number, index in holder.items()}))
    return faults


def _true_numbers(key: bytes, entries: Sequence[Entry], sealed: SealedHead | None) -> dict[int, int]:
    """Return the index of each authentic entry -> its true number.

    An entry under a wrong number is found through its neighbours: it names the digest before it, and
    the event after it, or the head, names its own.
    """
    true = {index: entry.seq for index, entry in enumerate(entries) if _is_number(key, entry, entry.seq)}
    by_previous: defaultdict[object, list[int]] = defaultdict(list)
    by_digest: defaultdict[object, list[int]] = defaultdict(list)
    for index, entry in enumerate(entries):
        if index not in true:
            by_previous[entry.previous].append(index)
            by_digest[entry.digest].append(index)

    known: list[tuple[int, str, str | None]] = [
        (number, entries[index].digest, entries[index].previous) for index, number in true.items()
    ]
    known.append((0, GENESIS, None))
    if sealed is not None:
        known.append((sealed.seq + 1, "", sealed.digest))
    while known:
        number, digest, previous = known.pop()
        for index, candidate in [(i, number + 1) for i in by_previous[digest]] + [
            (i, number - 1) for i in by_digest[previous]
        ]:
            if index not in true and _is_number(key, entries[index], candidate):
                true[index] = candidate
                known.append((candidate, entries[index].digest, entries[index].previous))
    return true


def _is_number(key: bytes, entry: Entry, seq: int) -> bool:
    try:
        return entry.digest == digest_of(key, entry, seq)
    except NotCanonical:
        return False


def _gaps(present: Iterable[int], last: int) -> Iterator[str]:
    before = 0
    for number in [*sorted(n for n in present if n <= last), last + 1]:
        if number - before == 2:
            yield f"event {before + 1}"
        elif number - before > 2:
            yield f"events {before + 1} to {number - 1}"
        before = number


def _broken_links(by_number: dict[int, Entry]) -> Iterator[Fault]:
    """Yield a fault for each pair of authentic neighbours that do not follow each other: they come from two
    histories."""
    for number, entry in sorted(by_number.items()):
        before = GENESIS if number == 1 else by_number[number - 1].digest if number - 1 in by_number else None
        if before is not None and entry.previous != before:
            yield _fault(f"event {number}", f"must follow event {number - 1}; it was inserted, or a copy was put back")


def _head_faults(head: SealedHead | None, sealed: SealedHead | None, digests: dict[int, str]) -> Iterator[Fault]:
    if head is None:
        yield _fault("head", "must exist; it was removed")
    elif sealed is None:
        yield _fault("head", "must carry its seal; it was altered, and events at the end may be missing")
    else:
        if sealed.digest != {0: GENESIS, **digests}.get(sealed.seq, sealed.digest):
            yield _fault("head", f"must belong to event {sealed.seq}; it was replaced")
        if max(digests, default=0) > sealed.seq:
            yield _fault("head", f"must be as new as the events; it was replaced and is at event {sealed.seq}")


def _fault(field: str, rule: str) -> Fault:
    return Fault(field, rule, _REMEDY)
