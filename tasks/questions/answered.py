"""An answer as it is handed to whoever asked, and where its page is."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from penstock.records.files.digest import keyed
from penstock.records.home import Home

__all__ = ["Answer", "is_page_of", "page_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to one question. Confidential, unless its data description publishes answers.

    id: under which it is stored, on record, and published. values: by group; a question without groups has one, under
    "". errors: about the standard error of each, worked out from what was drawn (of a mean, from the noisy number of
    records); None where the next two say it. standard_error, half_width: how far it may lie from the truth, and how far
    at most with 95 % confidence, as known before; None where nothing is. is_upper_bound: both are those of the worst
    case. is_typical: they suppose what `expect` says. repeated: it was asked before, and nothing was spent now. left,
    left_to_analyst: what may still be spent, by all and by whoever asked. path: where it is published, signed; None
    where it is not.
    """

    id: str
    query: str
    values: Mapping[str, int | float | str]
    errors: Mapping[str, float] | None
    method: str
    model: str
    epsilon: Fraction
    promise: str
    standard_error: float | None
    half_width: float | None
    is_upper_bound: bool
    is_typical: bool
    expect: tuple[str, ...]
    repeated: bool
    left: Fraction
    left_to_analyst: Fraction
    path: str | None = None

    @property
    def value(self) -> int | float | str:
        """Return the only value of a question without groups."""
        (only,) = self.values.values()
        return only

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON data; exact numbers are text."""
        told = asdict(self)
        exact = ("epsilon", "left", "left_to_analyst")
        return {**told, "expect": list(self.expect), **{name: str(told[name]) for name in exact}}


def page_of(home: Home, key: str, analyst: str) -> str:
    """Return the path of the page on which this analyst reads an answer: its key, and a proof that they asked it."""
    return f"/answers/{key}/{_proof(home, key, analyst)}"


def is_page_of(home: Home, key: str, proof: str, analyst: str) -> bool:
    """Return whether a page was made for this analyst."""
    return hmac.compare_digest(proof, _proof(home, key, analyst))


def _proof(home: Home, key: str, analyst: str) -> str:
    return keyed(home.secret_key(), "page of an answer", key, analyst)[:32]
