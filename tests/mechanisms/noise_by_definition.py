"""The samplers of noise as their sources put them, in Python's unbounded integers.

`FromWords` takes chance from a stream of words, in the order in which the product does, so that values can be compared
one by one. `EveryWay` follows every way chance can go and adds up the probabilities.
"""

from __future__ import annotations

from math import exp

import numpy as np


class Definition:
    """Every sampler needs `below(n)`, uniform on 0..n-1, and `until(attempt)`, which repeats what is rejected."""

    def less(self, a, n):
        """True with probability a/n."""
        return a == n or self.below(n) < a

    def survives(self, a, t):
        """Bernoulli(e^(-a/t))."""
        while a >= t:
            if not self.fraction_survives(1, 1):
                return False
            a -= t
        return self.fraction_survives(a, t)

    def fraction_survives(self, a, t):
        k = 1
        while self.less(a, t) and self.less(1, k):
            k += 1
        return k % 2 == 1

    def geometric(self, t, s):
        def attempt():
            u = self.below(t)
            return u if self.fraction_survives(u, t) else None

        u, v = self.until(attempt), 0
        while self.fraction_survives(1, 1):
            v += 1
        return (u + t * v) // s

    def laplace(self, t, s):
        def attempt():
            negative, size = self.below(2), self.geometric(t, s)
            return None if negative and size == 0 else -size if negative else size

        return self.until(attempt)

    def staircase(self, d, r, t, s):
        def attempt():
            shell, u = self.geometric(t, s), self.below(2 * d)
            if shell == 0:
                return u - (r - 1) if u < 2 * r - 1 else None
            size = r + (shell - 1) * d + u % d
            return size if u < d else -size

        return self.until(attempt)

    def box(self, widths, core, t, s):
        def attempt():
            layer = sum(self.geometric(t, s) for _ in range(len(widths) + 1))
            point = []
            for place, (d, z) in enumerate(zip(widths, core, strict=True)):
                height = self.below(layer + place + 1)
                from_below = height * 2 * d + self.below(2 * d)
                if from_below >= 2 * (z + layer * d) + 1:
                    return None
                point.append(from_below - (z + layer * d))
            return tuple(point)

        return self.until(attempt)

    def choice(self, scores, t, s):
        def attempt():
            a = self.below(len(scores))
            return a if self.survives((scores[a] - min(scores)) * s, t) else None

        return self.until(attempt)


class FromWords(Definition):
    """Chance from 32-bit halves of words: by multiplication up to 2^32, from the lowest bits of two halves above."""

    def __init__(self, randomness):
        self._randomness = randomness
        self._halves = []

    def _half(self):
        if not self._halves:
            self._halves = self._randomness.words(1000).view(np.uint32).tolist()[::-1]
        return self._halves.pop()

    def below(self, n):
        if n == 1:
            return 0
        if n <= 2**32:
            while True:
                product = self._half() * n
                if product % 2**32 >= 2**32 % n:
                    return product // 2**32
        while True:
            value = (self._half() + 2**32 * self._half()) % 2 ** (n - 1).bit_length()
            if value < n:
                return value

    def until(self, attempt):
        while (value := attempt()) is None:
            pass
        return value


class _Fork(Exception):
    def __init__(self, ways):
        super().__init__()
        self.ways = ways


class _Rejected(Exception):
    pass


class EveryWay(Definition):
    """One way through a sampler; where it meets chance that its path does not settle, it reports the ways to go on.

    A rejected attempt is left out: its probability does not depend on anything else, so the shares of the rest,
    divided by their sum, are the law.
    """

    def __init__(self, path):
        self._path = list(path)[::-1]

    def _fork(self, ways):
        if not self._path:
            raise _Fork(ways)
        return self._path.pop()

    def below(self, n):
        return self._fork([(value, 1 / n) for value in range(n)])

    def less(self, a, n):
        return self._fork([(True, a / n), (False, 1 - a / n)])

    def until(self, attempt):
        value = attempt()
        if value is None:
            raise _Rejected
        return value


class EveryWayAboveSurvival(EveryWay):
    """Takes Bernoulli(e^-x) as proven."""

    def fraction_survives(self, a, t):
        return self._fork([(True, exp(-a / t)), (False, 1 - exp(-a / t))])


class EveryWayAboveGeometric(EveryWay):
    """Takes the geometric distribution as proven."""

    def geometric(self, t, s):
        return self._fork([(i, (1 - exp(-s / t)) * exp(-i * s / t)) for i in range(300)])


def law(sampler, ways=EveryWay, cutoff=1e-9):
    """The probabilities of all values, and how much is left out: paths rarer than the cutoff."""
    found, left_out, waiting = {}, 0.0, [((), 1.0)]
    while waiting:
        path, share = waiting.pop()
        try:
            value = sampler(ways(path))
        except _Rejected:
            continue
        except _Fork as fork:
            for choice, probability in fork.ways:
                if share * probability < cutoff:
                    left_out += share * probability
                else:
                    waiting.append(((*path, choice), share * probability))
        else:
            found[value] = found.get(value, 0.0) + share
    accepted = sum(found.values())
    return {value: share / accepted for value, share in found.items()}, left_out / accepted
