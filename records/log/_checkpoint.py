"""Signed checkpoints: "event n of the log had digest d", in a DSSE envelope.

The chain is keyed, so only those who hold the key can check it; a checkpoint can be checked by anyone
with the public key, and whoever rewrites the log needs the signing key as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from penstock.mechanisms.refusal import Fault
from penstock.records.files.digest import canonical
from penstock.records.signing.envelope import opened, sealed
from penstock.records.signing.signing import SignatureWrong

__all__ = ["checkpoint", "checkpoint_faults", "removed_checkpoint"]

_KIND = "application/vnd.penstock.checkpoint+json"
_REMEDY = "Keep the database as it is, find out who could write to it, and compare with a backup or an export."


def checkpoint(seq: int, digest: str, key: Ed25519PrivateKey) -> str:
    """Return the signed checkpoint of one event: an envelope as JSON text."""
    return canonical(sealed(canonical({"digest": digest, "seq": seq}), _KIND, key)).decode()


def checkpoint_faults(
    stored: Iterable[tuple[int, str]], digests: Mapping[int, str], key: Ed25519PublicKey
) -> Iterator[Fault]:
    """Yield a fault for each checkpoint that is not signed, or that is about a different event from the one in the
    log."""
    for seq, text in stored:
        try:
            said = json.loads(opened(json.loads(text), _KIND, key))
        except (SignatureWrong, TypeError, ValueError, RecursionError):
            yield Fault(f"checkpoint {seq}", "must carry its signature; it was altered", _REMEDY)
            continue
        if said != {"digest": digests.get(seq), "seq": seq}:
            yield Fault(
                f"checkpoint {seq}", "must be of this log; its event differs from the one that was signed", _REMEDY
            )


def removed_checkpoint(seq: int) -> Fault:
    """Return the fault of an event that was signed when it was written and no longer has its checkpoint."""
    return Fault(f"checkpoint {seq}", "must exist; it was removed", _REMEDY)
