"""Adjacency and joint releases on data sets so tiny that every pair and every output can be visited.

A record is two characters: its part and its value. A data set is a sorted tuple of records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, combinations_with_replacement

DataSet = tuple[str, ...]
Graph = dict[DataSet, list[DataSet]]

# How the cells of `..._within_cell` may lie to the parts.
CELLS: dict[str, Callable[[str], str]] = {
    "parts": lambda record: record[0],
    "across parts": lambda record: record[1],
    "one": lambda record: "",
}


def data_sets(records: str, sizes: Sequence[int]) -> list[DataSet]:
    return [rows for size in sizes for rows in combinations_with_replacement(records.split(), size)]


# Every data set of the joint releases, and so every possible content of a part.
CONTENTS = data_sets("a0 a1 b0 b1 c0 c1", range(3))


def adjacent(
    adjacency: str,
    one: DataSet,
    other: DataSet,
    *,
    actual: DataSet,
    cell: Callable[[str], str],
    sizes: Sequence[int] | None = None,
    named: str = "a0",
) -> bool:
    """Whether two data sets are a pair of the adjacency. `sizes`: what bootstrap_add_remove covers; None: all."""
    gone, new = list((Counter(one) - Counter(other)).elements()), list((Counter(other) - Counter(one)).elements())
    changed = len(gone) + len(new) == 1
    replaced = len(gone) == len(new) == 1
    in_cell = replaced and cell(gone[0]) == cell(new[0])
    of_rows = set(one) | set(other) <= set(actual)
    of_size = len(one) == len(actual)
    return {
        "add_remove": changed,
        "presence": changed and named in gone + new,
        "replace": replaced,
        "replace_within_cell": in_cell,
        "from_D": replaced and actual in (one, other),
        "from_D_within_cell": in_cell and actual in (one, other),
        "from_D_add_remove": changed and actual in (one, other),
        "bootstrap_add_remove": changed and of_rows and (sizes is None or {len(one), len(other)} <= set(sizes)),
        "bootstrap_replace": replaced and of_rows and of_size,
        "bootstrap_within_cell": in_cell and of_rows and of_size,
    }[adjacency]


def graph(adjacency: str, universe: Sequence[DataSet], actual: DataSet, sizes: Sequence[int] | None) -> Graph:
    """Who is adjacent to whom, cells being parts."""
    joined: Graph = {rows: [] for rows in universe}
    for one, other in combinations(universe, 2):
        if adjacent(adjacency, one, other, actual=actual, cell=CELLS["parts"], sizes=sizes):
            joined[one].append(other)
            joined[other].append(one)
    return joined


def longest_way(through: Graph, between: Graph) -> float:
    """The most steps in one graph that a pair of the other needs; infinite where no way leads there."""
    ways = []
    for one, others in between.items():
        if others:
            found = _steps(through, one)
            ways += [found.get(other, float("inf")) for other in others]
    return max(ways, default=0)


def _steps(joined: Graph, start: DataSet) -> dict[DataSet, int]:
    found, edge, step = {start: 0}, {start}, 0
    while edge:
        step += 1
        edge = {near for rows in edge for near in joined[rows]} - found.keys()
        found |= dict.fromkeys(edge, step)
    return found


@dataclass(frozen=True)
class Release:
    """A mechanism on one part, or on all records, whose likelihood ratios are powers of two.

    With questions: randomised response, ratio 2^power, to a question answered by yes or no; bit i is the answer
    for the i-th possible content of the part. The output of the release before decides which one is asked.
    Without: ones minus zeros plus geometric noise of weight 2^(-power·|noise|), clamped to -2..2.
    """

    power: int
    part: str | None = None
    questions: tuple[int, int] | None = None

    def weights(self, rows: DataSet, before: int) -> list[int]:
        """Likelihoods of the outputs, times a number that does not depend on the data."""
        used = tuple(record for record in rows if self.part in (None, record[0]))
        if self.questions is not None:
            truth = self.questions[before % 2] >> CONTENTS.index(used) & 1
            return [2**self.power if output == truth else 1 for output in (0, 1)]
        balance = sum(1 if record[1] == "1" else -1 for record in used)
        at_the_ends, inside = 2**self.power, 2**self.power - 1
        return [
            (at_the_ends if abs(output) == 2 else inside) * 2 ** (self.power * (4 - abs(output - balance)))
            for output in range(-2, 3)
        ]


def is_odd(part: str | None, power: int) -> Release:
    """Randomised response to: is the number of records in the part odd?"""
    question = sum(1 << place for place, rows in enumerate(CONTENTS) if len(rows) % 2)
    return Release(power, part, (question, question))


def joint(releases: Sequence[Release], rows: DataSet, before: int = 0) -> Iterator[int]:
    """Likelihoods of every sequence of outputs, times a number that does not depend on the data."""
    if not releases:
        yield 1
        return
    for output, weight in enumerate(releases[0].weights(rows, before)):
        yield from (weight * rest for rest in joint(releases[1:], rows, output))


def worst_ratio(
    releases: Sequence[Release], adjacency: str, actual: DataSet, cell: Callable[[str], str] = CELLS["one"]
) -> Fraction:
    """The largest likelihood ratio over all adjacent pairs and all sequences of outputs."""
    likelihoods = {rows: list(joint(releases, rows)) for rows in CONTENTS}
    ratios = [
        max(Fraction(x, y), Fraction(y, x))
        for one, other in combinations(CONTENTS, 2)
        if adjacent(adjacency, one, other, actual=actual, cell=cell)
        for x, y in set(zip(likelihoods[one], likelihoods[other], strict=True))
    ]
    return max(ratios, default=Fraction(1))
