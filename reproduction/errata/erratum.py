"""What an erratum is: what a source says, what holds instead, and a small case in which the source is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

__all__ = ["CounterExample", "Erratum", "found"]


@dataclass(frozen=True, slots=True)
class CounterExample:
    """A case that was counted through: what was put in, what came out, and whether it shows what it should."""

    case: str
    numbers: tuple[tuple[str, str], ...]
    stands: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Erratum:
    """One error. printed: what the source says. right: what holds. counter_example: recomputed whenever it is shown."""

    name: str
    source: str
    place: str
    printed: str
    right: str
    counter_example: Callable[[], CounterExample]

    def as_dict(self) -> dict[str, Any]:
        """Return the erratum as it stands in the document, its counter-example counted now."""
        shown = self.counter_example()
        return {
            "name": self.name,
            "source": self.source,
            "place": self.place,
            "printed": self.printed,
            "right": self.right,
            "case": shown.case,
            "numbers": [list(pair) for pair in shown.numbers],
            "stands": shown.stands,
        }


def found(case: str, stands: bool, **numbers: float | int | str | Fraction) -> CounterExample:
    """Return a counter-example; the names of numbers are read as words."""
    return CounterExample(
        case, tuple((name.replace("_", " "), _shown(value)) for name, value in numbers.items()), bool(stands)
    )


def _shown(value: float | int | str | Fraction) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
