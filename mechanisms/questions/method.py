"""What a method is: one way to answer a question, with its promise, its expected error, its folding and its draw.

    begin, add,     rows are folded into exact whole numbers (_fold.py), the same for all methods, also in several
    join            threads, each with its own
    answer          one draw for each group; whatever the data are, it does not refuse
    guarantee       what the answer promises
    expected        what to expect of it, from public facts
    least_epsilon   the other way round: the least epsilon for a wanted error; why_no_epsilon, where there is none

Epsilons are exact fractions; one that the noise cannot carry is refused before any row is looked at.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.guarantee import Guarantee
from penstock.mechanisms.models import Budgeted
from penstock.mechanisms.numbers.exact import readable
from penstock.mechanisms.questions._asked import Asked
from penstock.mechanisms.questions._cautions import not_covered
from penstock.mechanisms.questions._fold import Exact, Fold, theirs
from penstock.mechanisms.questions._promise import promised
from penstock.mechanisms.questions.accuracy import CONFIDENCE, LEAST_EPSILON, MOST_EPSILON, Expected
from penstock.mechanisms.randomness import Randomness
from penstock.mechanisms.refusal import Fault, SettingRefused

__all__ = ["Answer", "Drawn", "Method"]

Answer = int | float | str


@dataclass(frozen=True, slots=True)
class Drawn:
    """One draw for each group. errors: about the standard error of each, worked out from what was drawn, where that
    tells more than is known before; None elsewhere."""

    values: tuple[Answer, ...]
    errors: tuple[float, ...] | None = None


class Method(ABC):
    """One way to answer one question; make it by `methods`."""

    name: ClassVar[str]
    model: ClassVar[Budgeted] = "dp"
    # The least epsilon of one change in one group that the draw can carry in bounded time.
    least_in_a_group: ClassVar[Fraction] = LEAST_EPSILON
    # Whether a prior decides the draw. Elsewhere it changes what a plan expects, and nothing else.
    draws_from_prior: ClassVar[bool] = False

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self._fold = Fold.of(asked)

    @property
    def adjacency(self) -> str:
        """Return the adjacency of the promise, in the words of penstock.mechanisms.composition."""
        return self.asked.adjacency

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the labels of the answers: the categories of `by`, else one that is empty."""
        return self.asked.groups

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns of the source that must be read."""
        return self.asked.columns

    def as_drawn(self) -> Method:
        """Return the same without a prior that does not decide the draw."""
        return self

    @property
    def divided(self) -> int:
        """Return by how much epsilon is divided: rows of a unit, times the groups that one change of a row touches."""
        return self.asked.terms.rows_per_unit * self.asked.touched

    @property
    def least_epsilon_possible(self) -> Fraction:
        """Return the least epsilon that can be asked for."""
        return self.least_in_a_group * self.divided

    def epsilon_faults(self, epsilon: Fraction) -> list[Fault]:
        """Return why an epsilon cannot be spent; nothing of it depends on the data."""
        least = self.least_epsilon_possible
        exact = isinstance(epsilon, int | Fraction) and not isinstance(epsilon, bool)
        if exact and least <= epsilon <= MOST_EPSILON:
            return []
        rule = f"must be an exact number from {readable(least)} to {MOST_EPSILON} for {self.name}"
        return [Fault("epsilon", rule, "Choose another, or another method.", str(epsilon))]

    def guarantee(self, epsilon: Fraction) -> Guarantee:
        """Return what an answer at this epsilon promises, and what it does not."""
        SettingRefused.raise_for(self.epsilon_faults(epsilon))
        return promised(self.asked, self.name, self.model, self.adjacency, Fraction(epsilon), self._settings(epsilon))

    def expected(self, epsilon: Fraction, records: int | None = None, confidence: Fraction = CONFIDENCE) -> Expected:
        """Return what to expect; records: how many the answer rests on, as far as that is public or supposed."""
        SettingRefused.raise_for([*self.epsilon_faults(epsilon), *_confidence_faults(confidence)])
        told = self._expected(Fraction(epsilon), records, confidence)
        return replace(told, sentences=(*told.sentences, *not_covered(self.asked)))

    def least_epsilon(
        self, within: Fraction, confidence: Fraction = CONFIDENCE, records: int | None = None
    ) -> Fraction | None:
        """Return the least readable epsilon with P(|answer - truth| <= within) >= confidence; None where none has."""
        SettingRefused.raise_for(_confidence_faults(confidence))
        if not within >= 0:
            raise SettingRefused.at("within", rule="must be 0 or more", got=str(within), remedy="Correct it.")
        return self._least_epsilon(Fraction(within), confidence, records)

    def why_no_epsilon(self) -> str:
        """Return why `least_epsilon` finds none, for whoever asked by the error that is wanted."""
        return "no epsilon is known to keep it"

    def epsilon_of_scale(self, scale: Fraction) -> Fraction | None:
        """Return the cost of Laplace noise of this scale, in the unit of the answer; None for other noise."""
        return None

    def begin(self, coming: int = 0) -> Exact:
        """Return the fold of no rows; coming: about how many there will be, by which the faster loops are chosen."""
        return self._fold.begin(coming)

    def add(self, exact: Exact, columns: Mapping[str, Any], rows: int | None = None) -> Exact:
        """Fold a batch of rows; rows: their number, needed where no column is given.

        Categories are codes, or `Coded`. Numbers are floats, with NaN where one is missing, or whole numbers, masked
        where one is; a column comes in the same type in every batch. Units are names, or what `theirs` says of them.
        """
        return self._fold.add(exact, columns, rows)

    def theirs(self, units: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which of these names of units is that of the individual whose value is asked."""
        return theirs(self.asked, units)

    def join(self, exact: Exact, other: Exact) -> Exact:
        """Return the fold of the rows of both, which may have been folded beside each other; both are used up."""
        return self._fold.join(exact, other)

    def answer(self, exact: Exact, epsilon: Fraction, randomness: Randomness) -> tuple[Answer, ...]:
        """Return one draw for each group. What is refused depends on epsilon alone, never on the data."""
        return self.drawn(exact, epsilon, randomness).values

    def drawn(self, exact: Exact, epsilon: Fraction, randomness: Randomness) -> Drawn:
        """Return one draw for each group, with what the draw itself shows of its errors."""
        SettingRefused.raise_for(self.epsilon_faults(epsilon))
        return self._drawn(exact, Fraction(epsilon), randomness)

    def _drawn(self, exact: Exact, epsilon: Fraction, randomness: Randomness) -> Drawn:
        return Drawn(self._draw(exact, epsilon, randomness))

    @abstractmethod
    def _draw(self, exact: Exact, epsilon: Fraction, randomness: Randomness) -> tuple[Answer, ...]: ...

    @abstractmethod
    def _expected(self, epsilon: Fraction, records: int | None, confidence: Fraction) -> Expected: ...

    @abstractmethod
    def _least_epsilon(self, within: Fraction, confidence: Fraction, records: int | None) -> Fraction | None: ...

    def _settings(self, epsilon: Fraction) -> dict[str, Any]:
        """Return public settings of the noise, for the promise."""
        return {}


def _confidence_faults(confidence: Fraction) -> list[Fault]:
    if 0 < confidence < 1:
        return []
    return [Fault("confidence", "must be above 0 and below 1", 'Write it as "0.95".', str(confidence))]
