"""What all releases from one data set cost together.

    total = Σ_g c_g · (ε_all + Σ of the t_g largest of {ε_p : p a part})                        (1)

The groups g are the charges of one model, adjacency and edition. Inside a group ε_all adds up the
charges on all records and ε_p those on the records of part p alone; t_g is the number of parts that
one change can touch, c_g the factor with which the group counts in the account that is asked for.
Parts of which two charges used the same records are one part, also by way of a third: whatever was
said about them, one change touches both. Editions add up: somebody who moved from one part to another between
them is in both.

Why it holds. Fix two adjacent data sets and one sequence of outputs. The log likelihood ratio is the
sum of those of the single releases; a release changes it by at most its ε, and not at all if no
record that it used was changed. This holds for every sequence of outputs, so also where a later
release was chosen after seeing earlier outputs.

Sources: adding up, Dwork & Roth 2014, Th. 3.14, Cor. 3.15 and Th. 3.16; parts, McSherry 2009, Th. 4, who adds
and removes records. Individual: Soria-Comas et al. 2017, Th. 3. Bootstrap: O'Keefe & Charest 2019,
Res. 7. We depart from Soria-Comas et al., Th. 4, and O'Keefe & Charest, Res. 8: there the largest
part counts also for a replaced record, which fails when the replacement falls in another part.

With δ both add up: (1) for ε, and (1) with δ in place of every ε. Fix two adjacent data sets; given what came out
before, release i has the distributions P and Q. min(P, e^ε_i Q) lacks at most δ_i of P: that is the promise for the
set where P is larger. The product of these minima over all releases is at most e^(Σ ε_i) times that of the Q, and it
lacks at most the largest Σ δ_i along any sequence of outputs; so it holds for adaptive choices too. Where c_g is not
1, δ would grow with e^ε; no mechanism needs that, and it is refused.

Taken as given, because a charge does not carry it:

* the partition is one per data set, declared in advance, and a record's part follows from its values;
* ε is promised for the whole data set, also where only a part is used: the size of a part is no
  public fact, or a record that moves between parts would cost more than was charged;
* all promises within cells mean the same cells;
* individual and bootstrap promises are about one and the same actual data set, as O'Keefe & Charest say in Res. 7. The
  ledger sees to it: a release of other records, or of another edition, is refused (records/ledger/_checks.py), because
  the noise of each release is that of its own records. A pair of data sets that consist of records of the one is in
  general none of the other, so one promise says nothing about it, and there is nothing to add up.

All numbers are exact fractions: nothing is rounded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fractions import Fraction

from penstock.mechanisms.models import ADDS_UP, Model
from penstock.mechanisms.refusal import Fault, Refusal

__all__ = [
    "TOGETHER",
    "Charge",
    "NotCountable",
    "composed",
    "composed_delta",
    "counts_as",
    "joined",
    "uncovered",
    "why_not_together",
]

TOGETHER = "the ledger counts both together"

# An outer key promises its epsilon, times the number, under every inner key. What is absent is not implied:
# some release keeps the promise of the outer key with epsilon as small as you like and breaks the inner one.
# counts_as gives the reasons.
_COUNTS_AS: Mapping[tuple[Model, str], Mapping[tuple[Model, str], int]] = {
    ("dp", "add_remove"): {
        ("dp", "add_remove"): 1,
        ("dp", "presence"): 1,
        ("dp", "replace"): 2,
        ("dp", "replace_within_cell"): 2,
        ("idp", "from_D"): 2,
        ("idp", "from_D_within_cell"): 2,
        ("idp", "from_D_add_remove"): 1,
        ("bdp", "bootstrap_add_remove"): 1,
        ("bdp", "bootstrap_replace"): 2,
        ("bdp", "bootstrap_within_cell"): 2,
    },
    ("dp", "replace"): {
        ("dp", "replace"): 1,
        ("dp", "replace_within_cell"): 1,
        ("idp", "from_D"): 1,
        ("idp", "from_D_within_cell"): 1,
        ("bdp", "bootstrap_replace"): 1,
        ("bdp", "bootstrap_within_cell"): 1,
    },
    ("dp", "replace_within_cell"): {
        ("dp", "replace_within_cell"): 1,
        ("idp", "from_D_within_cell"): 1,
        ("bdp", "bootstrap_within_cell"): 1,
    },
    ("dp", "presence"): {
        ("dp", "presence"): 1,
    },
    ("idp", "from_D"): {
        ("idp", "from_D"): 1,
        ("idp", "from_D_within_cell"): 1,
    },
    ("idp", "from_D_within_cell"): {
        ("idp", "from_D_within_cell"): 1,
    },
    ("idp", "from_D_add_remove"): {
        ("idp", "from_D_add_remove"): 1,
    },
    ("bdp", "bootstrap_add_remove"): {
        ("bdp", "bootstrap_add_remove"): 1,
        ("bdp", "bootstrap_replace"): 2,
        ("bdp", "bootstrap_within_cell"): 2,
    },
    ("bdp", "bootstrap_replace"): {
        ("bdp", "bootstrap_replace"): 1,
        ("bdp", "bootstrap_within_cell"): 1,
    },
    ("bdp", "bootstrap_within_cell"): {
        ("bdp", "bootstrap_within_cell"): 1,
    },
}

# Model, adjacency and edition.
_Group = tuple[Model, str, str | None]

# The number of parts that a change of one row can touch. A row that is added or removed, or present or absent, lies in
# one part. A replaced row leaves one part and may enter another. A replacement within its cell may do so too,
# unless every cell lies inside one part; a charge does not say how cells and parts lie, so it counts two.
_PARTS_TOUCHED: Mapping[str, int] = {
    "add_remove": 1,
    "presence": 1,
    "bootstrap_add_remove": 1,
    "from_D_add_remove": 1,
    "replace": 2,
    "replace_within_cell": 2,
    "from_D": 2,
    "from_D_within_cell": 2,
    "bootstrap_replace": 2,
    "bootstrap_within_cell": 2,
}


class NotCountable(Refusal):
    """A promise cannot be counted in the account that was asked for."""

    code = "not-countable"
    kind = "budget"
    remedy = "Choose a promise that the account can count, or open an account for it."


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """The cost of one release.

    delta: the probability of which epsilon says nothing.
    part: the part of the declared partition whose records alone were used; None: all records.
    edition: the state of data that change; None where they do not.
    records: what identifies the records that were used; charges that share any of it used the same ones.
    """

    model: Model
    epsilon: Fraction
    adjacency: str
    unit: str
    part: str | None = None
    edition: str | None = None
    records: frozenset[str] = frozenset()
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        NotCountable.raise_for(self._faults())

    def _faults(self) -> Iterator[Fault]:
        yield from _unknown("charge", self.model, self.adjacency)
        if not isinstance(self.epsilon, Fraction) or self.epsilon <= 0:
            yield Fault(
                "charge.epsilon", "must be a fraction above 0", "Give the epsilon of the guarantee.", repr(self.epsilon)
            )
        if not isinstance(self.delta, Fraction) or not 0 <= self.delta < 1 or (self.delta and self.model != "dp"):
            rule = "must be a fraction of at least 0 and below 1, and 0 except under dp"
            yield Fault("charge.delta", rule, "Give the delta of the guarantee.", repr(self.delta))
        if self.part == "":
            yield Fault("charge.part", "must be the name of a part, or none for all records", "Name the part.", "''")


def counts_as(model: Model, adjacency: str, *, in_model: Model, in_adjacency: str) -> Fraction | None:
    """Return the factor with which an epsilon promised under (model, adjacency) counts under (in_model, in_adjacency).

    None where it implies nothing there. A factor c holds when every pair of data sets that the second promise
    is about is joined by at most c steps between pairs that the first is about, because the likelihood ratios
    multiply along the way (group privacy, Dwork & Roth 2014, Th. 2.2):

    * add_remove → replace: 2, remove the old record and add the new one. A replacement within a cell, from D,
      or among rows of D is a replacement, so 2 as well.
    * add_remove → from_D_add_remove (D and a record more or less): 1, some of its pairs.
    * add_remove → presence: 1, the named one is one of those who may be added or removed.
    * replace → replace_within_cell, from_D (neighbours of D by replacement): 1, they are some of its pairs.
    * from_D, replace_within_cell → from_D_within_cell (D and a record of it replaced by one of the same cell): 1,
      some of the pairs of each, so of those of replace too.
    * dp → bdp, the bootstrap adjacency of the same kind: 1, rows of D are rows of the domain, and a scale that
      does not depend on the data is the scale of D.
    * bootstrap_replace → bootstrap_within_cell: 1, some of its pairs.
    * bootstrap_add_remove → bootstrap_replace, bootstrap_within_cell: 2. The data set between the two has n − 1
      rows (or n + 1), all of them rows of D, and the scale of D serves all three; so both steps are pairs of
      the promise, whether it covers n and n − 1 rows, n and n + 1, or every size.

    Nothing else is implied. A replacement keeps n, so it says nothing about a record added or removed; a
    replacement within cells says nothing about a change of cell; one named individual says nothing about
    others; from D and among rows of D, most pairs of the other models never occur. One record more or less than D
    says nothing about one replaced: the data set between the two is not D, so its other neighbours are no pair.
    """
    NotCountable.raise_for((*_unknown("charge", model, adjacency), *_unknown("budget", in_model, in_adjacency)))
    factor = _COUNTS_AS[model, adjacency].get((in_model, in_adjacency))
    return None if factor is None else Fraction(factor)


def composed(charges: Iterable[Charge], *, model: Model, adjacency: str, unit: str) -> Fraction:
    """Return the epsilon (1) that all charges together promise under one model, adjacency and unit.

    Charges of another model do not count, except those of dp, which count everywhere. What counts but cannot
    be converted into the account's adjacency, or has another unit, is refused.
    """
    return _total(charges, model, adjacency, unit, lambda charge: charge.epsilon)


def composed_delta(charges: Iterable[Charge], *, model: Model, adjacency: str, unit: str) -> Fraction:
    """Return the delta that all charges together promise, as `composed` does for epsilon."""
    return _total(charges, model, adjacency, unit, lambda charge: charge.delta)


def _total(
    charges: Iterable[Charge], model: Model, adjacency: str, unit: str, loss: Callable[[Charge], Fraction]
) -> Fraction:
    """Return (1)."""
    NotCountable.raise_for(_unknown("budget", model, adjacency))
    counted = [charge for charge in charges if charge.model in (model, "dp")]
    NotCountable.raise_for(
        dict.fromkeys(fault for charge in counted for fault in _uncountable(charge, model, adjacency, unit))
    )
    # Charges that do not count here join nothing: otherwise a release that this account never saw could overdraw it.
    parts = joined(
        [charge.records if charge.part is None else charge.records | {("part", charge.part)} for charge in counted]
    )
    groups: dict[_Group, dict[int | None, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for charge, part in zip(counted, parts, strict=True):
        group = (charge.model, charge.adjacency, charge.edition)
        groups[group][None if charge.part is None else part] += loss(charge)
    return sum(
        (
            _COUNTS_AS[spent, word][model, adjacency] * _within_group(by_part, adjacency=word, unit=unit)
            for (spent, word, _), by_part in groups.items()
        ),
        Fraction(0),
    )


def joined(groups: Sequence[AbstractSet[Hashable]]) -> list[int]:
    """Return for each group the place of the first that it is joined with: by a shared member, or through a third."""
    root = list(range(len(groups)))
    first: dict[Hashable, int] = {}

    def lowest(place: int) -> int:
        while root[place] != place:
            root[place] = root[root[place]]  # otherwise a long chain would be walked again and again
            place = root[place]
        return place

    for place, members in enumerate(groups):
        for member in members:
            one, other = sorted((lowest(first.setdefault(member, place)), lowest(place)))
            root[other] = one
    return [lowest(place) for place in range(len(groups))]


def why_not_together(one: Model, other: Model, *, of_one_data_set: bool) -> str | None:
    """Return why no sum of epsilons covers two releases of the same people; None where one does.

    of_one_data_set: whether both are known to be made from one and the same actual data set.
    """
    if not {one, other} <= ADDS_UP:
        under = f"both are under {one}" if one == other else f"one is under {one}, the other under {other}"
        return f"{under}, and no theorem covers both"
    if "dp" in (one, other):
        return None
    if one != other:
        return f"one is under {one}, the other under {other}: together they promise only what both compare"
    return None if of_one_data_set else f"{one} is about one actual data set, and they are not known to be of one"


def uncovered(models: Mapping[str, Model]) -> tuple[str, ...]:
    """Return the names of outputs of one release that no sum of epsilons covers with all the others.

    Of a pair where only one promise adds up with any, that is the other one: it stands beside the sum.
    """
    return tuple(
        name
        for name, model in models.items()
        if any(
            other != name
            and why_not_together(model, beside, of_one_data_set=True) is not None
            and (model not in ADDS_UP or beside in ADDS_UP)
            for other, beside in models.items()
        )
    )


def _within_group(by_part: Mapping[int | None, Fraction], *, adjacency: str, unit: str) -> Fraction:
    """Return the bracket in (1)."""
    # An individual may have rows in any number of parts, so only for rows is it known how many a change touches.
    touched = _PARTS_TOUCHED[adjacency] if unit == "row" else None
    largest_first = sorted((epsilon for part, epsilon in by_part.items() if part is not None), reverse=True)
    return sum(largest_first[:touched], by_part.get(None, Fraction(0)))


def _unknown(owner: str, model: Model, adjacency: str) -> Iterator[Fault]:
    if (model, adjacency) not in _COUNTS_AS:
        yield Fault(
            f"{owner}.adjacency",
            "must be one of " + ", ".join(f"{known} {word}" for known, word in _COUNTS_AS),
            "Name a model whose promises add up and one of its adjacencies.",
            repr(f"{model} {adjacency}"),
        )


def _uncountable(charge: Charge, model: Model, adjacency: str, unit: str) -> Iterator[Fault]:
    if (model, adjacency) not in _COUNTS_AS[charge.model, charge.adjacency]:
        yield Fault(
            "charge.adjacency",
            f"must be one under which a promise says something about {model} {adjacency}",
            "Release under an adjacency that the account can count, or open an account that counts this one.",
            repr(f"{charge.model} {charge.adjacency}"),
        )
    elif charge.delta and _COUNTS_AS[charge.model, charge.adjacency][model, adjacency] != 1:
        yield Fault(
            "charge.delta",
            f"must be 0 where a promise for {charge.adjacency} counts more than once, as under {model} {adjacency}",
            "Release without delta, or open an account for this adjacency.",
            repr(str(charge.delta)),
        )
    if charge.unit != unit:
        yield Fault(
            "charge.unit",
            f"must be the unit of the account, {unit}",
            "Release for the unit of the account, or open an account for this one.",
            repr(charge.unit),
        )
