"""Runs in which every draw is frozen, so that two runs on neighbours can be laid side by side, draw by draw.

A source of randomness that hands out nothing is passed in, and the primitives of chance know it: asked with it, they
do not draw but write down what they were asked, and give back what is prescribed. Whoever draws in another way asks the
source for words and ends in `DrewElsewhere`, so no draw is missed.

    what is drawn                       what is written down                        what is given back
    discrete_laplace, staircase, box,   law and size                                a code for every number
    cell_noise
    choose, draw_points                 law and scores                              the first alternative
    Refined.draw                        law and true points                         the first point
    permutation, permute_within         size                                        the order as it is

Noise is added as f + clip(noise, low - f, high - f) with a public interval low..high (mechanisms.noise.totals).
So `numpy.clip` sees which number of which draw goes to which total, and low - f and high - f. On neighbours both differ
by the same amount, f - f', unless a bound depends on the data. A number that never gets there, gets there twice or
changed on its way ends in `NoiseAstray`; a total beside noise that gets none is written down too: it is exact.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.mechanisms import noise, permutation
from penstock.mechanisms.refinement.refine import Refined
from penstock.mechanisms.statistics import _blocks
from penstock.mechanisms.table import noise as table_noise

# Codes are far from totals and their differences, and sums of a few thousand of them fit into 64 bits.
_FIRST_CODE, _LAST_CODE = 2**48, 2**50
ADDITIVE = frozenset({"discrete_laplace", "staircase", "box", "cell_noise"})


class DrewElsewhere(AssertionError):
    """Something was drawn that no primitive knows of."""


class NoiseAstray(AssertionError):
    """Noise was not added to one total each, within public bounds."""


@dataclass
class Draw:
    """One call of a primitive. law: what the call says of its chance, as public as the model allows.

    entering: the scores or true points; of noise, low - f and high - f for every number drawn.
    """

    kind: str
    law: tuple[Any, ...]
    size: int
    entering: Any = None

    @property
    def name(self) -> str:
        return f"{self.kind} {self.law if self.kind in ADDITIVE else ''} of {self.size}"


@dataclass
class Transcript:
    """All draws of a run in their order. exact: low - f of every total that stands beside noise and has none."""

    draws: list[Draw] = field(default_factory=list)
    exact: list[int] = field(default_factory=list)


class Frozen:
    """The source that is passed in. prescribed: what each draw gives back; codes and first alternatives if None."""

    from_system = False

    def __init__(self, prescribed: list[Any] | None = None, seed: int = 0) -> None:
        self.transcript = Transcript()
        self._prescribed = prescribed
        self._codes: dict[int, tuple[int, int]] = {}
        self._chance = np.random.default_rng(seed)
        self._bounds: dict[tuple[int, int], tuple[int, int]] = {}

    def words(self, count: int) -> Any:
        raise DrewElsewhere("words were asked for outside of the primitives")

    def streams(self, count: int) -> list[Frozen]:
        return [self] * count

    def answer(self, kind: str, law: tuple[Any, ...], shape: tuple[int, ...], entering: Any, default: Any) -> Any:
        """Write down a draw and return what is given back."""
        place, size = len(self.transcript.draws), int(np.prod(shape))
        self.transcript.draws.append(Draw(kind, law, size, entering))
        if kind.startswith("perm"):
            return default
        if self._prescribed is not None:
            if place >= len(self._prescribed):
                raise NoiseAstray(f"draw {place}, {kind}, has no fellow on the neighbour")
            return np.reshape(self._prescribed[place], shape).astype(np.int64).copy()
        if kind not in ADDITIVE:
            return default
        codes = self._chance.integers(_FIRST_CODE, _LAST_CODE, size)
        self._codes |= {code: (place, number) for number, code in enumerate(codes.tolist())}
        return codes.reshape(shape)

    def saw(self, values: Any, low: Any, high: Any) -> None:
        """Look for codes among values that are clipped."""
        if not self._codes or not isinstance(values, np.ndarray) or values.dtype != np.int64:
            return
        numbers = values.ravel().tolist()
        found = [self._codes.get(number) for number in numbers]
        if not any(each is not None for each in found):
            return
        lows, highs = (np.broadcast_to(each, values.shape).ravel().tolist() for each in (low, high))
        for number, where, below, above in zip(numbers, found, lows, highs, strict=True):
            if where is None:
                if number != 0:
                    raise NoiseAstray("noise was changed before it was added")
                self.transcript.exact += [below, above]
            elif where in self._bounds:
                raise NoiseAstray(f"one number of draw {where[0]} was added to two totals")
            else:
                self._bounds[where] = (below, above)

    def finished(self) -> Transcript:
        """Return the transcript, once every number that was drawn has met its total."""
        if self._prescribed is None:
            for place, draw in enumerate(self.transcript.draws):
                if draw.kind in ADDITIVE:
                    missing = [n for n in range(draw.size) if (place, n) not in self._bounds]
                    if missing:
                        raise NoiseAstray(f"draw {place}, {draw.name}: {len(missing)} numbers met no total")
                    draw.entering = np.array([self._bounds[place, n] for n in range(draw.size)], object).reshape(-1, 2)
        return self.transcript


def _noise(kind: str, law: Callable[..., tuple[Any, ...]], shape: Callable[..., tuple[int, ...]]) -> Any:
    def frozen(randomness: Frozen, *given: Any) -> Any:
        return randomness.answer(kind, law(*given), shape(*given), None, None)

    return frozen


def _choose(randomness: Frozen, scores: Any, scale: Any) -> Any:
    return randomness.answer(
        "choose", (scale, scores.shape[1]), (len(scores),), scores.copy(), np.zeros(len(scores), np.int64)
    )


def _points(randomness: Frozen, blocks: Any, steps: int, sensitivity: int, epsilon: Any) -> Any:
    every = [each if each.whole is None else each.whole() for each in blocks]
    law = (steps, sensitivity, epsilon)
    return randomness.answer("draw_points", law, (len(every),), every, np.zeros(len(every), np.int64))


def _refined(randomness: Frozen, refined: Refined, true: Any) -> Any:
    law = (refined.factors, refined.moved, tuple(refined.axis.weights.tolist()))
    entering = (refined, np.array(true))
    return randomness.answer("refined", law, (len(true),), entering, np.zeros(len(true), np.int64))


def _permutation(randomness: Frozen, n: int) -> Any:
    return randomness.answer("permutation", (), (n,), None, np.arange(n, dtype=np.int64))


def _permute_within(randomness: Frozen, order: Any, starts: Any) -> Any:
    return randomness.answer("permute_within", (), (len(order),), None, np.array(order, np.int64))


# Each takes the source first, then what the primitive takes.
_PRIMITIVES: Mapping[Any, Callable[..., Any]] = {
    noise.discrete_laplace: _noise("discrete_laplace", lambda d, e, n: (int(d), e), lambda d, e, n: (n,)),
    noise.staircase: _noise("staircase", lambda d, r, e, n: (int(d), int(r), e), lambda d, r, e, n: (n,)),
    noise.box: _noise("box", lambda d, z, e, n: (*map(tuple, (d, z)), e), lambda d, z, e, n: (n, len(d))),
    table_noise.cell_noise: _noise(
        "cell_noise", lambda scales: (scales.epsilon, tuple(scales.steps.tolist())), lambda scales: scales.steps.shape
    ),
    noise.choose: _choose,
    _blocks.draw_points: _points,
    permutation.permutation: _permutation,
    permutation.permute_within: _permute_within,
}


def _aware(primitive: Any, frozen: Callable[..., Any]) -> Any:
    """The primitive, which draws as ever unless a frozen source is passed in."""

    def either(*given: Any, **named: Any) -> Any:
        *own, randomness = given if "randomness" not in named else (*given, named["randomness"])
        return frozen(randomness, *own) if isinstance(randomness, Frozen) else primitive(*given, **named)

    return either


@contextmanager
def frozen_primitives(patch: Any) -> Iterator[None]:
    """Put the primitives that know a frozen source in the place of all others, wherever a module has their names."""
    aware = {id(primitive): _aware(primitive, frozen) for primitive, frozen in _PRIMITIVES.items()}
    with patch.context() as within:
        for name, module in list(sys.modules.items()):
            if name.startswith("penstock."):
                for attribute, value in list(vars(module).items()):
                    if id(value) in aware:
                        within.setattr(module, attribute, aware[id(value)])
        within.setattr(Refined, "draw", _aware(Refined.draw, lambda source, *own: _refined(source, *own)))
        yield


@contextmanager
def watched(patch: Any, source: Frozen) -> Iterator[None]:
    """Let the source see what is clipped."""
    clip = np.clip

    def seen(values: Any, low: Any, high: Any, *further: Any, **named: Any) -> Any:
        source.saw(values, low, high)
        return clip(values, low, high, *further, **named)

    with patch.context() as within:
        within.setattr(np, "clip", seen)
        yield
