"""Shares of epsilon: exact, positive, and together the whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from penstock.mechanisms.refusal import Fault

__all__ = ["share_faults"]


def share_faults(shares: Mapping[str, Fraction], names: Sequence[str], what: str) -> Iterator[Fault]:
    """Yield faults of given shares; `names` are the spenders, `what` is the word for one of them."""
    if not shares:
        return
    if set(shares) != set(names):
        yield Fault("shares", f"must be one for each of {', '.join(names)}", "Name all or none.", ", ".join(shares))
    if any(share <= 0 for share in shares.values()):
        yield Fault("shares", "must each be above 0", f"Leave a {what} out if it may cost nothing.")
    total = sum(shares.values(), Fraction(0))
    if total != 1:
        yield Fault("shares", "must add up to 1 exactly", 'Write them as "1/3".', str(total))
