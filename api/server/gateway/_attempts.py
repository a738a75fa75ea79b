"""Wrong passwords, counted by name, so that guessing takes longer than anybody lives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["Attempts", "stranger"]

FREE = 5
_FIRST, _LONGEST = 60.0, 900.0
_FORGET = 3600.0  # seconds after the last wrong one
_STRANGER = "\0"  # begins the names that nobody has
_STRANGERS = 10_000


@dataclass(slots=True)
class Attempts:
    """A count of wrong passwords: FREE of them, then a wait that doubles with each further one. Names that nobody has
    are counted each by itself, the newest of them, and all together (None)."""

    clock: Callable[[], float]
    _failed: dict[str | None, tuple[int, float]] = field(default_factory=dict)

    def wait(self, name: str | None) -> float:
        """Return for how many more seconds no password for this name is checked."""
        count, last = self._failed.get(name, (0, 0.0))
        if count < FREE:
            return 0.0
        pause = min(_LONGEST, _FIRST * 2.0 ** min(count - FREE, 10))
        return max(0.0, last + pause - self.clock())

    def begin(self, name: str | None) -> None:
        """Count an attempt as a wrong one until it has succeeded."""
        count, last = self._failed.get(name, (0, 0.0))
        if self.clock() - last > _FORGET:
            count = 0
        self._failed.pop(name, None)
        self._failed[name] = (count + 1, self.clock())
        strangers = [each for each in self._failed if each is not None and each.startswith(_STRANGER)]
        for each in strangers[:-_STRANGERS]:
            del self._failed[each]

    def succeeded(self, name: str) -> None:
        """Forget the wrong attempts: the right password was given."""
        self._failed.pop(name, None)


def stranger(name: str) -> str:
    """Return the name under which somebody who does not exist is counted."""
    return f"{_STRANGER}{name.casefold()[:200]}"
