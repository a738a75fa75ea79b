"""The audit log as JSON Lines that can be checked anywhere, without the database and without its secret key.

    lines 1 .. n   one event each: all its fields, keys sorted
    last line      {"export": DSSE envelope, type application/vnd.penstock.export+json, of S}
    S              {"events": n, "head": digest of event n, "sha256": of the n lines with their line ends}

Whoever has the public key knows that these are all events of the log when it was exported, unaltered.
Whoever has the secret key can recompute each digest as well (chain.py).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from penstock.mechanisms.refusal import Fault, Refusal
from penstock.records.files.digest import canonical
from penstock.records.log.chain import GENESIS, Entry
from penstock.records.log.log import Log
from penstock.records.signing import signing
from penstock.records.signing.envelope import opened

__all__ = ["ExportAltered", "verify_export", "write_export"]

_KIND = "application/vnd.penstock.export+json"
_REMEDY = "Do not rely on it; export the log again, and compare."


class ExportAltered(Refusal):
    """The export is not as it was written, or was signed by somebody else."""

    code = "export-altered"
    kind = "integrity"
    remedy = "Do not rely on the export; export the log again, and compare."


def write_export(log: Log, stream: BinaryIO) -> int:
    """Write all events and the signed last line; return how many events. Refuse if the log is not sound."""
    with log.reader() as reader:
        head = reader.verify().head  # otherwise the signature would vouch for a log that was cut short
        events = reader.events()
    whole = hashlib.sha256()
    for event in events:
        line = canonical({name: getattr(event, name) for name in Entry._fields}) + b"\n"
        whole.update(line)
        stream.write(line)
    said = canonical({"events": head.seq, "head": head.digest, "sha256": whole.hexdigest()})
    stream.write(canonical({"export": log.sealed(said, _KIND)}) + b"\n")
    return head.seq


def verify_export(path: Path, public_key: Path) -> dict[str, Any]:
    """Return the number of events in the export and its head, if it is whole and signed."""
    key = signing.public_key(public_key)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ExportAltered(Fault(str(path), f"must be a readable file ({error.strerror})", _REMEDY)) from None
    body, end, last = content.rstrip(b"\n").rpartition(b"\n")
    try:
        said = json.loads(opened(json.loads(last)["export"], _KIND, key))
    except (KeyError, TypeError, ValueError, RecursionError, signing.SignatureWrong):
        rule = f"must be a signed export, with key {signing.key_id(key)}"
        raise ExportAltered(Fault("last line", rule, _REMEDY)) from None
    if said["sha256"] != hashlib.sha256(body + end).hexdigest():
        raise ExportAltered(Fault("lines", "must be those that were signed; they were altered", _REMEDY))
    events = [json.loads(line) for line in body.splitlines()]
    ExportAltered.raise_for(_chain_faults(events, said))
    return {"events": said["events"], "head": {"seq": said["events"], "digest": said["head"]}}


def _chain_faults(events: list[dict[str, Any]], said: dict[str, Any]) -> Iterator[Fault]:
    """Yield the faults of a signed export of a log that was already broken."""
    before = GENESIS
    for number, event in enumerate(events, start=1):
        if event.get("seq") != number or event.get("previous") != before:
            yield Fault(f"line {number}", "must follow the line before", _REMEDY)
        before = event.get("digest", "")
    if (len(events), before) != (said["events"], said["head"]):
        yield Fault("last line", "must name the last event", _REMEDY)
