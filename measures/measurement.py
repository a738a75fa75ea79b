"""One judgement of released data: a number that says what it means.

A measurement carries its value, its interval where it was sampled, which way is good, how many
records and which columns stand behind it, the attacker it assumes, whether weights were used and
what happened to missing values. A number without these cannot be compared with another agency's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from penstock.mechanisms.refusal import Refusal

__all__ = ["Concern", "Direction", "MeasureUndefined", "MeasureUnknown", "Measurement"]

Concern = Literal["risk", "utility"]
Direction = Literal["lower_is_safer", "higher_is_safer", "lower_is_better"]


class MeasureUnknown(Refusal):
    """A measure was asked for that does not exist."""

    code = "measure-unknown"
    kind = "spec"
    remedy = "Choose one of the measures that the message lists."


class MeasureUndefined(Refusal):
    """A measure has no value for these columns, and nothing is put in its place."""

    code = "measure-undefined"
    kind = "data"
    remedy = "Choose a measure that fits the output, or remove the gate."


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """The value of one measure.

    interval: None when the value is exact.
    n: records behind the value; where columns differ in missing values, the fewest behind any of them.
    by_column: the parts of the value where it has any.
    attacker: who is assumed to attack, and what they know; empty for utility.
    beside: figures to read the value by, such as what the same attacker finds without the release.
    """

    name: str
    value: float
    direction: Direction
    n: int
    columns: tuple[str, ...]
    missing: str
    interval: tuple[float, float] | None = None
    by_column: dict[str, float] = field(default_factory=dict)
    attacker: str = ""
    weights: str = "not used"
    beside: dict[str, float] = field(default_factory=dict)

    @property
    def concerns(self) -> Concern:
        return "utility" if self.direction == "lower_is_better" else "risk"

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON; confidential like the value itself."""
        return {
            "name": self.name,
            "value": self.value,
            "interval": None if self.interval is None else list(self.interval),
            "concerns": self.concerns,
            "direction": self.direction,
            "n": self.n,
            "columns": list(self.columns),
            "by_column": dict(self.by_column),
            "attacker": self.attacker,
            "weights": self.weights,
            "missing": self.missing,
            **({"beside": dict(self.beside)} if self.beside else {}),
        }
