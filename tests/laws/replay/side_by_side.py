"""Two neighbours run side by side: what enters each draw, what that costs, and that nothing else of the data gets out.

1. Both runs ask for the same draws in the same order, under the same laws (`OtherDraws`).
2. Each draw costs what its own law says of the two things that enter it:

       Laplace        sum |f - f'| epsilon / D            box        epsilon max_l ceil(|f_l - f'_l| / D_l)
       staircase      epsilon ceil(|f - f'| / D)          choose, points, refined    max over answers |ln p - ln p'|

   and all of them together no more than was promised (`CostsMore`).
3. The draws are replayed: the first run gets numbers N, the second N + f - f', so that every noisy total is the same in
   both. Then everything that is released is the same to the bit, so it follows from noisy totals, drawn alternatives
   and public settings alone (`TellsMore`).

By 1 and 2 the chance of any answers to all draws differs by a factor of at most e^epsilon, and by 3 the release is a
function of these answers. So this is a proof for the pair at hand, with nothing drawn by chance; that the primitives
keep their laws is shown elsewhere. Under individual and bootstrap differential privacy both data sets get noise of the
size of the first; `_Sizes` sees to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, exp, inf, log
from typing import Any

import numpy as np

from penstock.mechanisms.questions._bootstrap import Bootstrap, BootstrapMean
from penstock.mechanisms.questions._individual import Individual
from penstock.mechanisms.statistics import _mechanism as statistics
from penstock.mechanisms.table import _mechanism as table
from tests.laws.replay.frozen import ADDITIVE, Draw, Frozen, Transcript, frozen_primitives, watched

# What logarithms of chances lose as floats.
_ROUNDING = 1e-9

Run = Callable[[Any, Frozen], dict[str, Any]]


class OtherDraws(AssertionError):
    """The draws, or their laws, depend on the data."""


class CostsMore(AssertionError):
    """What enters the draws moves by more than the promise allows."""


class TellsMore(AssertionError):
    """The release depends on more than what was drawn."""


class OtherUnits(Exception):
    """Nothing can be said of a pair, because the first data set sets units that the second one is not counted in."""


@dataclass
class Cost:
    """What a pair of neighbours costs. by_draw: name of each draw that costs something, and what."""

    epsilon: float
    delta: float
    by_draw: list[tuple[str, float]]


def prove(
    run: Run,
    first: Any,
    second: Any,
    epsilon: Fraction,
    patch: Any,
    *,
    delta: Fraction = Fraction(0),
    scale_of_first: bool = False,
    compare: Callable[[dict[str, Any]], dict[str, Any]] = dict,
) -> Cost:
    """Raise one of the errors above unless these two data sets keep (epsilon, delta); return what they cost.

    run: takes a data set and the source, returns all that is released. compare: what of it counts, if order does not.
    """
    sizes_of = _sizes_of_first(patch) if scale_of_first else nullcontext(_Sizes())
    with frozen_primitives(patch), sizes_of as sizes:
        transcripts = []
        for data in (first, second):
            sizes.begin(data is second)
            transcripts.append(_probe(run, data, patch))
        one, other = transcripts
        _require_same_draws(one, other)
        found = _cost(one, other)
        if found.epsilon > float(epsilon) + _ROUNDING or found.delta > float(delta) + _ROUNDING:
            raise CostsMore(f"{found.epsilon} of {epsilon}, by {found.by_draw}")
        for seed in range(2):
            answers = _answers(one, np.random.default_rng(seed))
            shifted = [_shifted(given, *both) for given, *both in zip(answers, one.draws, other.draws, strict=True)]
            released = []
            for data, given in ((first, answers), (second, shifted)):
                sizes.begin(data is second)
                released.append(compare(run(data, Frozen(given))))
            _require_same(*released)
    return found


def _probe(run: Run, data: Any, patch: Any) -> Transcript:
    source = Frozen()
    with watched(patch, source), np.errstate(all="ignore"):
        run(data, source)
    return source.finished()


def _require_same_draws(one: Transcript, other: Transcript) -> None:
    if len(one.draws) != len(other.draws):
        raise OtherDraws(f"{len(one.draws)} draws, {len(other.draws)} on the neighbour")
    for place, (first, second) in enumerate(zip(one.draws, other.draws, strict=True)):
        if first.kind.startswith("perm") and second.kind == first.kind:
            continue  # as long as there are records, which add_remove hides by what is made of them, not here
        if (first.kind, first.size) != (second.kind, second.size):
            raise OtherDraws(f"draw {place}: {first.name}, {second.name} on the neighbour")
        if first.law != second.law:
            raise OtherDraws(f"the law of draw {place}: {first.name}, {second.name} on the neighbour")
    if one.exact != other.exact:
        raise CostsMore("a total without noise is not the same on the neighbour")


def _cost(one: Transcript, other: Transcript) -> Cost:
    epsilon, delta, listed = 0.0, 0.0, []
    for first, second in zip(one.draws, other.draws, strict=True):
        spent, left = _cost_of(first, second)
        epsilon, delta = epsilon + float(spent), delta + float(left)
        if spent or left:
            listed.append((first.name, float(spent)))
    return Cost(epsilon, delta, listed)


def _cost_of(first: Draw, second: Draw) -> tuple[float | Fraction, float | Fraction]:
    if first.kind in ADDITIVE:
        return _cost_of_noise(first, moves(first, second)), 0
    if first.kind == "choose":
        scale = float(first.law[0])
        return sum(_worst(_chances(a, scale), _chances(b, scale)) for a, b in _rows(first, second)), 0
    if first.kind == "draw_points":
        steps, sensitivity, epsilon = first.law
        return sum(_of_points(a, b, steps, 2 * sensitivity / epsilon) for a, b in _rows(first, second)), 0
    if first.kind == "refined":
        refined = first.entering[0]
        pairs = {(a, b) for a, b in zip(first.entering[1].tolist(), second.entering[1].tolist(), strict=True) if a != b}
        costs = [_of_masses(refined, a, b) for a, b in pairs]
        times = [
            sum((a, b) == pair for a, b in zip(first.entering[1].tolist(), second.entering[1].tolist(), strict=True))
            for pair in pairs
        ]
        return tuple(sum(n * each[place] for n, each in zip(times, costs, strict=True)) for place in (0, 1))
    return 0, 0


def cost_of_presence(run: Run, data: Any, patch: Any) -> list[float]:
    """Return for every record what tells its answers from those about somebody absent, which are drawn from the priors.

    Only for releases that draw refined answers, one for each record and question, and nothing else.
    """
    with frozen_primitives(patch):
        draws = _probe(run, data, patch).draws
    found = [0.0] * draws[0].size
    for draw in draws:
        refined, true = draw.entering
        prior, truths = refined.axis.weights / refined.total, np.unique(true)
        ratios = (_largest_ratio(each, prior) for each in refined.chances(truths))
        by_truth = dict(zip(truths.tolist(), ratios, strict=True))
        found = [spent + by_truth[truth] for spent, truth in zip(found, true.tolist(), strict=True)]
    return found


def _rows(first: Draw, second: Draw) -> Iterator[tuple[Any, Any]]:
    return zip(first.entering, second.entering, strict=True)


def moves(first: Draw, second: Draw) -> list[int]:
    """Return f - f' for every number of a draw; refuse public bounds that are not."""
    below, above = (second.entering[:, side] - first.entering[:, side] for side in (0, 1))
    if not np.array_equal(below, above):
        raise OtherDraws(f"{first.name}: noise is cut off at a bound that depends on the data")
    return [int(move) for move in below]


def _cost_of_noise(draw: Draw, by: Sequence[int]) -> Fraction:
    if draw.kind == "discrete_laplace":
        sensitivity, epsilon = draw.law
        return sum(map(abs, by)) * epsilon / sensitivity
    if draw.kind == "cell_noise":
        epsilon, steps = draw.law
        return sum((abs(move) * epsilon / step for move, step in zip(by, steps, strict=True)), Fraction(0))
    if draw.kind == "staircase":
        sensitivity, _, epsilon = draw.law
        return sum((ceil(Fraction(abs(move), sensitivity)) for move in by), 0) * epsilon
    widths, _, epsilon = draw.law
    answers = [by[start : start + len(widths)] for start in range(0, len(by), len(widths))]
    shells = (max(ceil(Fraction(abs(m), w)) for m, w in zip(each, widths, strict=True)) for each in answers)
    return sum(shells, 0) * epsilon


def _chances(scores: Any, scale: float) -> Any:
    logs = -(scores - scores.min()) / scale
    return logs - np.log(np.exp(logs).sum())


def _worst(one: Any, other: Any) -> float:
    return float(np.abs(one - other).max())


def _of_points(one: Any, other: Any, steps: int, scale: Fraction) -> float:
    """The same for the blocks of points of two data sets, whose scores are constant between their ends."""
    ends = np.unique(np.concatenate([one.first, other.first, [steps + 1]]))
    lengths = np.diff(ends).astype(np.float64)

    def logs(blocks: Any) -> Any:
        order = np.argsort(blocks.first)
        place = np.searchsorted(blocks.first[order], ends[:-1], side="right") - 1
        scores = blocks.score[order][place].astype(np.float64)
        found = -(scores - scores.min()) / float(scale)
        return found - np.log((lengths * np.exp(found)).sum())

    return _worst(logs(one), logs(other))


def _of_masses(refined: Any, one: int, other: int) -> tuple[float, float]:
    """What telling two truths apart costs: epsilon alone, or that of the factors and the rest as delta."""
    first, second = refined.chances(np.array([one, other]))
    if not refined.moved:
        return _largest_ratio(first, second), 0
    epsilon = log(refined.factors.up / refined.factors.down)
    left = (np.maximum(p - exp(epsilon) * q, 0).sum() for p, q in ((first, second), (second, first)))
    return epsilon, float(max(left))


def _largest_ratio(one: Any, other: Any) -> float:
    """Return the largest |ln p - ln q|; infinite where one of both is impossible."""
    if not np.array_equal(one > 0, other > 0):
        return inf
    return _worst(np.log(one[one > 0]), np.log(other[other > 0]))


def _answers(one: Transcript, chance: np.random.Generator) -> list[Any]:
    """Return what each draw might give: small and large noise, any alternative."""
    found: list[Any] = []
    for draw in one.draws:
        if draw.kind in ADDITIVE:
            found.append(chance.integers(-1, 2, draw.size) * 2 ** chance.integers(0, 40, draw.size))
        elif draw.kind == "choose":
            found.append(chance.integers(0, draw.law[1], draw.size))
        elif draw.kind == "draw_points":
            found.append(chance.integers(0, draw.law[0] + 1, draw.size))
        elif draw.kind == "refined":
            found.append(chance.choice(np.flatnonzero(draw.law[2]), draw.size))
        else:
            found.append(None)
    return found


def _shifted(given: Any, first: Draw, second: Draw) -> Any:
    return given + np.array(moves(first, second), np.int64) if first.kind in ADDITIVE else given


def _require_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    if one.keys() != other.keys():
        raise TellsMore(f"{set(one) ^ set(other)} is in one release only")
    for name, values in one.items():
        mine, theirs = np.asarray(values), np.asarray(other[name])
        same = mine.dtype == theirs.dtype and np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f")
        if not same:
            raise TellsMore(f"{name} is not the same from the same draws")


class _Sizes:
    """How large the noise is, as the first data set says; the second gets the same."""

    def __init__(self) -> None:
        self._kept: dict[str, list[Any]] = {}
        self._place: dict[str, int] = {}
        self._is_second = False

    def begin(self, is_second: bool) -> None:
        self._is_second, self._place = is_second, {}
        if not is_second:
            self._kept = {}

    def held(self, label: str, compute: Any, read: Any, write: Any) -> Any:
        def either(*given: Any, **named: Any) -> Any:
            known, place = self._kept.setdefault(label, []), self._place.get(label, 0)
            self._place[label] = place + 1
            if self._is_second and write is None:
                return known[place]
            found = compute(*given, **named)
            if self._is_second:
                return write(found, known[place])
            known.append(read(found))
            return found

        return either


@contextmanager
def _sizes_of_first(patch: Any) -> Iterator[_Sizes]:
    sizes = _Sizes()
    with patch.context() as within:
        for owner, name, read, write in _SIZES:
            label = f"{owner.__name__}.{name}"
            within.setattr(owner, name, sizes.held(label, getattr(owner, name), read, write))
        yield sizes


def _itself(found: Any) -> Any:
    return found


def _on_one_lattice(found: Any, kept: Any) -> Any:
    """Return the steps of the first data set, whose units a variance is counted in."""
    if not np.array_equal(found.lattice, kept.lattice):
        raise OtherUnits("the units of the variance follow the data, as its noise does")
    return kept.steps


# Where sizes are computed, how to read them, and how to put others in their place; None: nothing else is computed.
_SIZES: tuple[tuple[Any, str, Any, Any], ...] = (
    (table, "bootstrap_steps", _itself, None),
    (table, "individual_steps", _itself, None),
    (statistics, "_exact", _itself, lambda found, kept: replace(found, steps=_on_one_lattice(found, kept))),
    (statistics, "bootstrap_figure", lambda found: found.steps, lambda found, kept: replace(found, steps=kept)),
    (Individual, "figures", lambda found: found.steps, lambda found, kept: replace(found, steps=kept)),
    (Bootstrap, "figures", lambda found: found.steps, lambda found, kept: replace(found, steps=kept)),
    (BootstrapMean, "figures", lambda found: found.steps, lambda found, kept: replace(found, steps=kept)),
)
