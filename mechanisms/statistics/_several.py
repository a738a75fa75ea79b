"""Several records together: group differential privacy, (epsilon_1, ..., epsilon_m), on top of individual.

    whichever i <= m records of the actual data are replaced, the law changes by a factor of at most e^(epsilon_i)   (1)
    scale of a figure with the share w of epsilon    max_i LS_i / (w epsilon_i)                                     (2)
    in whole steps, /(w epsilon_1)                   max_i ceil(LS_i epsilon_1 / epsilon_i)                         (3)

LS_i: how far i replaced records move the figure (_local.py, _variance.py), in (3) as a whole number: a variance, which
is none, is rounded, and so moves by the next whole number at most. Noise is that of the actual data on both
sides, as for one record.

Proof. One group of records: with (2) a figure costs at most LS_i / scale <= w epsilon_i, and the shares add up to 1.
Several groups, whose membership is public: i_g of the i records lie in group g, so the loss is at most the sum of
epsilon_(i_g) over the groups, which is at most epsilon_i if epsilon_(i + j) >= epsilon_i + epsilon_j. A list for which
that does not hold is refused there: with (1, 3/2) two records of two groups would cost 2. Nor may a list fall: i
records include the case that only i - 1 of them change.

Composition: place by place. The ledger adds up epsilon_1, which is the epsilon of individual differential privacy; of
other releases of the same records (1) says nothing for two and more, unless they promise it too.

Source: individual differential privacy, second version (Soria-Comas, Domingo-Ferrer, Sánchez & Megías 2017),
Definition 6, which has no mechanism; (2) and the proof are ours. With the scale LS_1 / epsilon_1 alone nothing bounds
what two records change together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms import phrases
from penstock.mechanisms.refusal import Fault

__all__ = [
    "MOST_TOGETHER",
    "ONE_RECORD",
    "SEVERAL_ADD_UP",
    "epsilons_in_words",
    "fractions_of_epsilon",
    "largest_moves",
    "list_faults",
]

# Every number of records is looked at by itself; at hundreds of records protected together, use plain epsilon.
MOST_TOGETHER = 100
ONE_RECORD = (Fraction(1),)
SEVERAL_ADD_UP = (
    "epsilons of i records add up with those of i records, where every release about the records states them"
)

Steps = NDArray[np.int64]


def list_faults(
    listed: Sequence[Fraction], epsilon: Fraction, *, model: str, adjacency: str, groups: bool
) -> Iterator[Fault]:
    """Yield every reason why these are no epsilons of 1, 2, ... records. groups: whether records lie in several."""
    shown = ", ".join(str(each) for each in listed)
    if not listed:
        return
    if model != "idp":
        rule = "must be given under idp only: under dp, i records have i times epsilon anyway"
        yield Fault("group_epsilons", rule, "Leave it out.", shown)
    elif adjacency == "from_D_add_remove":
        rule = "must not be given under from_D_add_remove, where it is not proven"
        yield Fault("group_epsilons", rule, "Leave it out.", shown)
    elif len(listed) < 2:
        remedy = "Add that of two records, or leave the list out."
        yield Fault("group_epsilons", "must say at least what two records spend together", remedy, shown)
    elif listed[0] != epsilon:
        yield Fault("group_epsilons", f"must begin with epsilon, {epsilon}, that of one record", "Put it first.", shown)
    elif any(later < earlier for earlier, later in pairwise(listed)):
        rule = "must not fall: more records are not protected better than some of them"
        yield Fault("group_epsilons", rule, "Lower those before, too.", shown)
    elif groups and any(
        listed[i + j + 1] < listed[i] + listed[j] for i in range(len(listed)) for j in _second(listed, i)
    ):
        rule = (
            "must leave i + j records at least what i and j have together: with groups, they may lie in different ones"
        )
        yield Fault("group_epsilons", rule, "Raise the later ones, as in 1, 2, 3.", shown)


def _second(listed: Sequence[Fraction], i: int) -> range:
    """Return the places j for which the list goes on to that of both together, i + j + 1."""
    return range(i, len(listed) - i - 1)


def fractions_of_epsilon(listed: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Return epsilon_1 / epsilon_i, for i = 1 alone where nothing is listed."""
    return tuple(listed[0] / each for each in listed) if listed else ONE_RECORD


def largest_moves(moves: Callable[[int], Steps], fractions: Sequence[Fraction]) -> Steps:
    """Return (3) for every group, given LS_i in steps for each number of records."""
    found = moves(1)
    for i, fraction in enumerate(fractions[1:], start=2):
        p, q = fraction.numerator, fraction.denominator
        weighted = [-(-move * p // q) for move in moves(i).tolist()]
        found = np.maximum(found, np.array(weighted, np.int64))
    return found


def epsilons_in_words(listed: Sequence[Fraction]) -> str:
    """Return what is promised of several records, as the statement of a promise goes on."""
    if not listed:
        return ""
    told = ", ".join(f"e^{phrases.exponent(each)} for {i}" for i, each in enumerate(listed[1:], start=2))
    return f"Where several records are replaced together, the factor is at most {told}; for more, nothing is said. "
