"""Further published calibrations that lose more than they name: tables, refinement, individual differential privacy.

Each is drawn as its source prints it, on a pair of neighbours with an event fixed in advance. The mechanisms that
replace them are audited on the same pairs where they live.

Sources: Soria-Comas 2013 (thesis), chapter 5; the papers on bootstrap and on individual differential privacy. Chance: a
bound above the true loss has probability at most 2e-4; the seeds are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from tests.laws.auditor import audit

TRIALS = 200_000
Draw = Callable[[np.random.Generator, int], np.ndarray]


@dataclass(frozen=True)
class Wrong:
    """promised, delta: what the source names. proven: about what the audit shows. exact: the true loss."""

    first: Draw
    second: Draw
    event: Callable[[np.ndarray], np.ndarray]
    promised: float
    proven: float
    exact: float
    delta: float = 0.0

    def audited(self) -> float:
        rng = np.random.default_rng(1).spawn(2)
        return audit(
            lambda n: self.first(rng[0], n), lambda n: self.second(rng[1], n), self.event, TRIALS, delta=self.delta
        )


def laplace(answers: tuple[float, ...], scale: float) -> Draw:
    return lambda rng, n: np.array(answers) + rng.laplace(scale=scale, size=(n, len(answers)))


def bernoulli(chance: float) -> Draw:
    return lambda rng, n: rng.random(n) < chance


# A replaced record leaves one cell and enters another: two counts change by one each.
CONTINGENCY_TABLE = Wrong(
    laplace((10, 5), 1.0), laplace((9, 6), 1.0), lambda y: (y[:, 0] >= 10) & (y[:, 1] <= 5), 1.0, 1.94, 2.0
)
# The two largest farms of two cells; the scale knows the widest range inside one cell.
MAGNITUDE_TABLE = Wrong(
    laplace((17_610, 0), 17_528),
    laplace((0, 14_520), 17_528),
    lambda y: (y[:, 0] >= 17_610) & (y[:, 1] <= 0),
    1.0,
    1.77,
    (17_610 + 14_520) / 17_528,
)
# Refinement of the prior P(1) = 0.3 by e^eps where the answer is, e^-eps elsewhere: a value replaced pays twice.
REFINED_VALUE = Wrong(
    bernoulli(0.3 * math.exp(0.7)), bernoulli(0.3 * math.exp(-0.7)), lambda y: y, promised=0.7, proven=1.38, exact=1.4
)
# The mass delta' = delta is taken from the farthest points, which had prior mass 0.4: at ln 2 none is left there.
REFINED_TAIL = Wrong(bernoulli(0.4), bernoulli(0.4 * 0.5 - 0.2), lambda y: y, math.log(2), 8.2, math.inf, delta=0.2)
# The median of (0, 0, 0) has local sensitivity 0 and is released exactly; that of (0, 0, 1) hides behind noise.
MEDIAN_OF_TWO_WORLDS = Wrong(
    laplace((0,), 0.0), laplace((0,), 1.0), lambda y: y[:, 0] == 0, promised=1.0, proven=9.8, exact=math.inf
)

WRONG = {
    "contingency table with Laplace(1/eps)": CONTINGENCY_TABLE,
    "magnitude table with the range inside a cell": MAGNITUDE_TABLE,
    "refinement of a replaced value": REFINED_VALUE,
    "tail of the (eps, delta) refinement": REFINED_TAIL,
    "median between two actual worlds": MEDIAN_OF_TWO_WORLDS,
}


@pytest.mark.parametrize("name", WRONG)
def test_the_printed_calibration_is_caught(name: str) -> None:
    wrong = WRONG[name]
    found = wrong.audited()
    assert wrong.promised < found <= wrong.exact
    assert found == pytest.approx(wrong.proven, abs=0.15)
