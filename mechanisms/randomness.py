"""Where chance comes from. It is always an argument, never a global.

`system()` is the operating system's cryptographic generator and the only one a release accepts;
`seeded(seed)` is for tests and simulation. Both hand out uniform 64-bit words; everything else is
derived from words by exact integer methods.
"""

from __future__ import annotations

import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.refusal import SeedRefused

__all__ = ["Randomness", "is_known", "require_system", "seeded", "system"]


class Randomness(Protocol):
    """A source of independent uniform 64-bit words."""

    @property
    def from_system(self) -> bool: ...

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return `count` independent words, uniform on 0 .. 2^64 - 1."""
        ...

    def streams(self, count: int) -> list[Randomness]:
        """Return `count` independent sources, so that several threads draw the same, whichever comes first."""
        ...


class _System:
    from_system = True

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)

    def streams(self, count: int) -> list[Randomness]:
        return [self] * count


class _Seeded:
    from_system = False

    def __init__(self, seed: int | np.random.SeedSequence) -> None:
        self._seed = np.random.SeedSequence(seed) if isinstance(seed, int) else seed
        self._bits = np.random.Philox(self._seed)

    def words(self, count: int) -> NDArray[np.uint64]:
        return self._bits.random_raw(count)

    def streams(self, count: int) -> list[Randomness]:
        return [_Seeded(child) for child in self._seed.spawn(count)]


def system() -> Randomness:
    """Return the operating system's generator."""
    return _System()


def seeded(seed: int) -> Randomness:
    """Return a reproducible generator for tests and simulation; every release refuses it."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:  # numpy would draw a seed for None
        raise SeedRefused.at(
            "seed", rule="must be a whole number from 0 on", got=seed, remedy="Give one, or use system()."
        )
    return _Seeded(seed)


def is_known(randomness: object) -> bool:
    """Return whether this is one of the two sources above: any other could say of itself what it likes."""
    return isinstance(randomness, _System | _Seeded)


def require_system(randomness: Randomness) -> None:
    """Refuse to release anything drawn from a seed: whoever knows the seed can undo the protection."""
    if not randomness.from_system:
        raise SeedRefused.at(
            "randomness",
            rule="must come from the operating system for a release",
            got="seeded",
            remedy="Use penstock.mechanisms.randomness.system().",
        )
