"""Linkage by an intruder who knows some confidential values of a person, and looks for the others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from penstock.measures.asked import NOTHING, Asked
from penstock.measures.measurement import Measurement
from penstock.measures.records.comparison import Comparison
from penstock.measures.records.distances import Places, complete_in, places
from penstock.measures.rows import identical, numbers
from penstock.mechanisms.columns import Declared, named
from penstock.mechanisms.parallel import in_parallel
from penstock.mechanisms.refusal import Fault

__all__ = ["informed_linkage", "unfit"]

Integers = NDArray[np.int64]
# What is compared first: the values that are known, the quasi-identifiers, or both at once.
_Rule = Literal["known values first", "quasi-identifiers first", "both at once"]
_RULES: tuple[_Rule, ...] = ("known values first", "quasi-identifiers first", "both at once")

# Each choice of known columns is several searches for the nearest record of every record.
_MOST_CHOICES = 1_000
_LEAF = 8
_WIDE = 2.0**20
_SHARES = 64


def informed_linkage(pair: Comparison, asked: Asked = NOTHING) -> Measurement:
    """Return the share of records whose other confidential values are found by somebody who knows some of them.

        max over known columns K, targets T and ways to search   (1/n) sum_j |{i in G_j : y_iT = c_jT}| / |G_j|      (1)

    The intruder knows of person j the quasi-identifiers q_j and the true values c_jK, looks for the released records
    nearest to them (G_j), picks one at random, and takes its values y_iT for those of j. A record counts as far as that
    is right in all columns of T, whether it is by the right record or by an equal value. Three ways to search, the best
    one counts: nearest in K, and of these in the quasi-identifiers; the other way round; nearest in both together.

    knows = r: K is the worst choice of r confidential columns; names: K is these. 1 where nothing is said. T is all
    others together (`finds` names them), and also the others of those columns that were moved together with one of K:
    what is handed over with it must not be hidden by columns that were not.

    Distance: as record_linkage, on the declared domains, with and without taxonomies. What is missing is nearest to
    what is missing: whoever knows that a person has no value looks for records without one. Taken among all records,
    and among those that lack nothing of what is known; the larger share counts. by_column tells each
    other column by itself; beside it stands how often the most frequent values are right without the release.

    Attacker: as said. Source: Soria-Comas 2013 (thesis), sections 3.1 and 3.3.2, where intruder I_i knows all columns
    but i; (1) is ours. Where whole confidential tuples are swapped, it is near 1 for any k, as one value finds them
    all. Limits: values near the true ones do not count, and what several records of the same person say together
    neither; an intruder who weighs columns differently may do better. Work: one search of a k-d tree for each record,
    choice and way: in few columns n log n, and at worst n^2.
    """
    known = named(_declared(pair), "confidential")
    found: dict[str, float] = {}
    best = _Found(-1.0, 0, 0.0)
    fewest = pair.records
    for search in _searches(pair, asked, known):
        for targets, share in _shares(pair, search).items():
            if len(targets) == 1:
                found[targets[0]] = max(share, found.get(targets[0], 0.0))
            if targets in search.targets and share > best.share:
                best = _Found(share, search.records, _guessed(pair, search, targets))
        fewest = min(fewest, search.records)
    knows = asked.knows if isinstance(asked.knows, tuple) else f"{1 if asked.knows is None else asked.knows} of"
    return Measurement(
        name="informed_linkage",
        value=best.share,
        direction="lower_is_safer",
        n=fewest,
        columns=pair.names,
        by_column={name: found[name] for name in known if name in found},
        attacker="knows the quasi-identifiers of a person and the true values of "
        + (", ".join(knows) if isinstance(knows, tuple) else f"{knows} the confidential columns")
        + ", takes the nearest released record for theirs",
        missing="a value; where a quasi-identifier or known value is missing on either side, also without these "
        "records, and the larger share counts",
        beside={"guessing without the release": best.guessed},
    )


def unfit(asked: Asked, declared: Declared) -> Iterator[Fault]:
    """Yield what of the settings these columns have no answer to."""
    known = named(declared, "confidential")
    for field, columns in (("knows", asked.knows), ("finds", asked.finds)):
        for name in columns if isinstance(columns, tuple) else ():
            if name not in known:
                yield Fault(field, "must name confidential columns of the output", "Correct the name.", repr(name))
        if isinstance(columns, tuple) and len(set(columns)) < len(columns):
            yield Fault(field, "must not name a column twice", "Remove the repetition.")
    sought = set(asked.finds or ())
    if isinstance(asked.knows, tuple):
        if sought & set(asked.knows):
            yield Fault("finds", "must name other columns than those that are known", "Remove what is in both.")
        elif not set(known) - set(asked.knows):
            yield Fault("knows", "must leave a confidential column to be found", "Name fewer.")
    else:
        knows, most = 1 if asked.knows is None else asked.knows, len(known) - max(1, len(sought))
        if knows > most:
            rule = f"must leave a confidential column to be found: at most {max(most, 0)} of {len(known)} here"
            yield Fault("knows", rule, "Lower it.", str(knows))
        elif math.comb(len(known) - len(sought), knows) > _MOST_CHOICES:
            rule = f"must leave at most {_MOST_CHOICES:,} choices of columns to be tried"
            yield Fault("knows", rule, "Name the columns.", str(knows))


@dataclass(frozen=True, slots=True)
class _Found:
    share: float
    records: int
    guessed: float


@dataclass(frozen=True, slots=True)
class _Search:
    """One choice of known columns, one distance. targets: the columns that must be right together."""

    known: tuple[str, ...]
    keys: tuple[str, ...]
    targets: tuple[tuple[str, ...], ...]
    rows: NDArray[np.bool_]
    by_taxonomy: bool

    @property
    def records(self) -> int:
        return int(np.count_nonzero(self.rows))

    @property
    def every_target(self) -> tuple[tuple[str, ...], ...]:
        single = ((name,) for targets in self.targets for name in targets)
        return tuple(dict.fromkeys((*self.targets, *single)))


def _declared(pair: Comparison) -> Declared:
    return {name: pair.declared[name] for name in pair.names}


def _searches(pair: Comparison, asked: Asked, confidential: Sequence[str]) -> Iterator[_Search]:
    keys = named(_declared(pair), "quasi_identifier")
    sought = asked.finds or ()
    if isinstance(asked.knows, tuple):
        choices = [asked.knows]
    else:
        pool = [name for name in confidential if name not in sought]
        choices = list(combinations(pool, 1 if asked.knows is None else asked.knows))
    for known in choices:
        complete = complete_in(pair, (*keys, *known))
        among = [np.ones_like(complete), *([complete] if complete.any() and not complete.all() else [])]
        others = sought or tuple(name for name in confidential if name not in known)
        targets = (others, *(() if sought else _moved_with(pair, known, others)))
        has_taxonomy = any(pair.declared[name].taxonomy is not None for name in (*keys, *known))
        for rows, by_taxonomy in product(among, (False, True)[: 1 + has_taxonomy]):
            yield _Search(known, keys, tuple(dict.fromkeys(targets)), rows, by_taxonomy)


def _moved_with(pair: Comparison, known: Sequence[str], others: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield those of the others that have the groups of a known column; what was not moved has none."""
    groups: Mapping[str, NDArray[np.integer]] = pair.groups or {}
    for name in known:
        mine = groups.get(name)
        together = tuple(
            other
            for other in others
            if (mine is None and other not in groups)
            or (mine is not None and other in groups and np.array_equal(groups[other], mine))
        )
        if together:
            yield together


def _shares(pair: Comparison, search: _Search) -> dict[tuple[str, ...], float]:
    """Return (1) for every target, of the best way to search."""
    names = (*search.keys, *search.known)
    targets = search.every_target
    original, released = (
        np.ascontiguousarray([codes[side] for codes in (_codes(pair, each, search.rows) for each in targets)])
        for side in (0, 1)
    )
    if not names:  # nothing is known: any record is as near as any other
        held = [
            np.bincount(each, minlength=int(max(each.max(), own.max())) + 1)
            for each, own in zip(released, original, strict=True)
        ]
        shares = [float(times[own].mean()) / len(own) for times, own in zip(held, original, strict=True)]
        return dict(zip(targets, shares, strict=True))
    spots = places(pair, names, search.rows, by_taxonomy=search.by_taxonomy)
    rules = _RULES if search.keys and search.known else _RULES[-1:]
    best = np.zeros(len(targets))
    for rule in rules:
        first = np.array(
            [rule == "both at once" or (axis in search.known) == (rule == "known values first") for axis in spots.axes]
        )
        best = np.maximum(best, _right(spots, first, original, released))
    return dict(zip(targets, best.tolist(), strict=True))


def _right(spots: Places, first: NDArray[np.bool_], original: Integers, released: Integers) -> NDArray[np.float64]:
    """Return for every target the share of records whose values are found. first: the axes that are compared first."""
    from penstock.measures.kernels import build_tree
    from penstock.measures.records._kernels import held_by_nearest

    rows = spots.released
    order, starts = identical([np.ascontiguousarray(axis).view(np.int64) for axis in rows.T])
    distinct = np.ascontiguousarray(rows[order[starts[:-1]]])
    depth = max(0, math.ceil(math.log2(len(distinct) / _LEAF)))
    # The widest axes are split: those that decide first are made wide meanwhile, by a power of two, without rounding.
    wide = np.where(first & (np.arange(len(first)) < spots.numeric), _WIDE, 1.0)
    distinct *= wide
    came_from, borders, boxes = build_tree(distinct, spots.numeric, depth)
    distinct /= wide
    boxes /= wide
    sizes = np.diff(starts)[came_from]
    begin = np.concatenate(([0], np.cumsum(sizes)))
    place = np.empty(len(rows), np.int64)  # of the point of each released record, in the order of the tree
    numbered = np.empty(len(came_from), np.int64)
    numbered[came_from] = np.arange(len(came_from))
    place[order] = np.repeat(numbered, np.diff(starts))
    held = np.ascontiguousarray([values[np.lexsort((values, place))] for values in released])

    def search(some: Integers) -> NDArray[np.float64]:
        nearest, holding = held_by_nearest(
            distinct,
            begin,
            held,
            borders,
            boxes,
            spots.numeric,
            spots.squares,
            first,
            np.ascontiguousarray(spots.original[some]),
            np.ascontiguousarray(original[:, some]),
            place[some],
        )
        shares: NDArray[np.float64] = holding / nearest
        return shares

    near_together = np.argsort(place)
    found = np.hstack(in_parallel(search, np.array_split(near_together, _SHARES)))
    return np.array([math.fsum(each.tolist()) / len(rows) for each in found])


def _codes(pair: Comparison, names: Sequence[str], rows: NDArray[np.bool_]) -> tuple[Integers, Integers]:
    """Return the tuples of both sides as numbers that are equal exactly when the tuples are."""
    half = int(np.count_nonzero(rows))
    number = np.zeros(2 * half, np.int64)
    for name in names:
        sides = [numbers(side[name][rows], pair.declared[name], name) for side in (pair.original, pair.released)]
        codes = np.unique(np.concatenate(sides) + 0.0, return_inverse=True)[1]
        number = np.unique(number * (int(codes.max()) + 1) + codes, return_inverse=True)[1].astype(np.int64)
    return number[:half], number[half:]


def _guessed(pair: Comparison, search: _Search, targets: Sequence[str]) -> float:
    """Return the share of records that have the most frequent values."""
    original, _ = _codes(pair, targets, search.rows)
    return int(np.bincount(original).max()) / len(original)
