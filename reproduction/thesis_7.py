"""Chapter 7 of the thesis: generalisation, Anatomy, buckets and closeness by its worked examples. No guarantee."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.microaggregation.ranking import from_both_ends
from penstock.mechanisms.randomness import seeded
from penstock.reproduction.beside_print import Row, statement
from penstock.reproduction.computed import (
    closeness_of,
    counts_by_the_recipe,
    counts_of_a_release,
    masses_of_a_range,
    masses_of_buckets,
    minimal_generalisations,
    rounded_sizes,
)
from penstock.reproduction.entry import Figure, Given, Printed, Table
from penstock.reproduction.pictures import Panel, figure_of

__all__ = ["TABLES"]


def generalisations(printed: Printed, _: Given) -> list[Row]:
    """Return the minimal generalisations of Figure 7.3, as levels of both attributes."""
    hierarchies = [[level.split() for level in levels] for levels in printed["hierarchies"]]
    found = {_listed(levels) for levels in minimal_generalisations(hierarchies, printed["k"]).tolist()}
    names = printed["printed"] | printed["ours"]
    rows = [statement(name, text, text if text in found else "not minimal") for name, text in names.items()]
    return [*rows, statement("minimal generalisations", str(len(names)), str(len(found)), note="all of them")]


def anatomy(printed: Printed, _: Given) -> list[Row]:
    """Return Tables 7.3 and 7.4, and the sizes of Algorithm 7.1."""
    groups: dict[str, list[Sequence[str]]] = {}
    for ethnicity, *others in printed["records"]:
        groups.setdefault(ethnicity, []).append(others)
    years = [born[-2:] for members in groups.values() for born, _, _ in members]
    everyone = f"[{min(years)},{max(years)}]"
    rows = []
    for ethnicity, members in groups.items():
        born, sex, *_others = (set(column) for column in zip(*members, strict=True))
        within = {date[-2:] for date in born}
        shown = f"{within.pop() if len(within) == 1 else everyone}, {sex.pop() if len(sex) == 1 else '-'}"
        rows.append(statement(f"{ethnicity}, generalised", printed["generalised"][ethnicity], shown))
    for number, (members, text) in enumerate(zip(groups.values(), printed["listed"].values(), strict=True), start=1):
        rows.append(statement(f"group {number}, listed", text, _listed(problem for *_, problem in members)))
    algorithm = printed["algorithm"]
    sizes = np.diff(from_both_ends(algorithm["records"], algorithm["k"]))
    smallest = str(min(map(len, groups.values())))
    return [
        *rows,
        statement("records of the smallest group", str(printed["k"]), smallest),
        statement("Algorithm 7.1, ten records, k = 3, sizes", algorithm["printed"], _listed(sizes.tolist())),
    ]


def partition(printed: Printed, _: Given) -> list[Row]:
    """Return shares, closeness and lists of the printed partition, and what a release of such records comes to."""
    counts, names = _counts_in_print(printed), sorted(printed["listed"])
    rows = []
    for name, row in zip(names, counts.tolist(), strict=True):
        buckets = [bucket for bucket, times in zip(printed["buckets"], row, strict=True) for _ in range(times)]
        rows.append(statement(f"{name}, listed", printed["listed"][name], _listed(buckets)))
        shares = _listed(Fraction(times, sum(row)) for times in row)
        rows.append(statement(f"{name}, shares", printed["shares"][name], shares))
    release = printed["release"]
    released = counts_of_a_release(len(printed["groups"]), Fraction(release["t"]), release["k"], seeded(7))
    return [
        *rows,
        statement("closeness", printed["closeness"], str(closeness_of(counts).max())),
        statement("a release for t = 2, sizes", release["sizes"], _listed(released.sum(axis=1).tolist())),
        statement("a release for t = 2, closeness", release["closeness"], str(closeness_of(released).max())),
    ]


def densities(printed: Printed, _: Given) -> list[Row]:
    """Return the closeness of Figure 7.6, and of its buckets in Figure 7.7."""
    t = Fraction(printed["t"])
    three, two = masses_of_a_range(t, 3), masses_of_a_range(t, 2)
    found = [
        max(max(density, 1 / density) for density in (t, 1 / t)),
        closeness_to_equal(three),
        closeness_to_equal(two),
        len(masses_of_buckets(t)),
    ]
    rows = [
        statement(name, text, str(value)) for (name, text), value in zip(printed["printed"].items(), found, strict=True)
    ]
    whole = _listed([Fraction(1, 3)] * 3)
    return [
        *rows,
        statement("whole, 3 buckets", printed["three"]["whole"], whole),
        statement("group, 3 buckets", printed["three"]["group"], _listed(three.tolist())),
    ]


def masses(printed: Printed, _: Given) -> list[Row]:
    """Return Table 7.6 for whole t, and the closeness of the printed recipe for counts beside that of a release."""
    rows = []
    for text in printed["t"]:
        t = Fraction(text)
        found = masses_of_buckets(t)
        rows += [
            statement(f"t = {t}, own bucket", str(t / (t + 1)), str(found[0, 0])),
            statement(f"t = {t}, other bucket", str(1 / (t * (t + 1))), str(found[0, 1])),
            statement(f"t = {t}, all buckets of a group", "1", str(found[0].sum())),
            statement(f"t = {t}, all groups of a bucket", "1", str(found[:, 0].sum())),
        ]
    reached = max(closeness_to_equal(row) for row in masses_of_buckets(Fraction(2))) == 2
    less, recipe = printed["less"], printed["recipe"]
    t = Fraction(recipe["t"])
    counts = counts_by_the_recipe(recipe["records"], t)
    released = counts_of_a_release(recipe["records"], t, recipe["k"], seeded(17))
    sizes = rounded_sizes(recipe["records"], int(t) + 1)
    kept = closeness_of(released).max() <= t
    return [
        *rows,
        statement(
            "distance of a group",
            less["printed"],
            less["corrected"] if reached else less["printed"],
            corrected=less["corrected"],
            note="the masses of this table reach t",
        ),
        statement("17 records, sizes of buckets", recipe["sizes"], _listed(sizes.tolist())),
        statement(
            "17 records by the recipe, closeness",
            recipe["printed"],
            str(closeness_of(counts).max()),
            corrected=recipe["corrected"],
            note="2.04: the recipe looks at no bucket's total",
        ),
        statement("17 records in a release, closeness", "at most 2", "at most 2" if kept else "above 2"),
    ]


def closeness_to_equal(shares: NDArray[np.object_]) -> Fraction:
    """Return the largest ratio of a share to that of equal buckets, or the reverse."""
    ratios: list[Fraction] = [share * len(shares) for share in shares.tolist()]
    return max(max(ratio, 1 / ratio) for ratio in ratios)


def figure_of_partition(printed: Printed, _: Given) -> list[Figure]:
    """Return Figure 7.5: records by their value, each with its group."""
    groups, size = printed["groups"], len(printed["groups"]) // len(printed["buckets"])
    numbers = [[place + 1, printed["buckets"][place // size], group] for place, group in enumerate(groups)]

    def draw(figure: Any) -> None:
        axis = figure.subplots()
        names = sorted(set(groups))
        axis.scatter(range(1, len(groups) + 1), [names.index(group) for group in groups])
        axis.set_yticks(range(len(names)), names)
        for cut in range(size, len(groups), size):
            axis.axvline(cut + 0.5)
        axis.set(xlabel="record, by rising value; lines between buckets", ylabel="group")

    return [
        Figure(
            title="Soria-Comas 2013, Figure 7.5",
            alternative="Twelve records in three buckets of four; each of three groups has two of one bucket and "
            "one of each other.",
            columns=("record", "bucket", "group"),
            numbers=numbers,
            draw=draw,
        )
    ]


def figures_of_densities(printed: Printed, _: Given) -> list[Figure]:
    """Return Figures 7.6 and 7.7: both densities, and their masses in three and in two buckets."""
    t = Fraction(printed["t"])
    masses = {buckets: masses_of_a_range(t, buckets).astype(np.float64) for buckets in (3, 2)}
    numbers: list[list[float | str]] = [
        [f"{buckets} buckets, {place + 1}", 1 / buckets, mass]
        for buckets in masses
        for place, mass in enumerate(masses[buckets].tolist())
    ]
    high, low = float(t), float(1 / t)
    panels = [
        Panel(
            title="density",
            x="value",
            steps=True,
            series={"whole": ([0, 1], [1, 1]), "group": ([0, 1 / 3, 2 / 3, 1], [low, high, low, low])},
        ),
        *(
            Panel(
                title=f"mass of {buckets} buckets",
                x="value",
                steps=True,
                series={
                    name: (np.arange(buckets + 1) / buckets, [*found, found[-1]])
                    for name, found in (("whole", [1 / buckets] * buckets), ("group", masses[buckets].tolist()))
                },
            )
            for buckets in masses
        ),
    ]
    return [
        figure_of(
            "Soria-Comas 2013, Figures 7.6 and 7.7",
            "In three buckets the middle one has twice its share in the group, the others half of it; in two buckets "
            "group and whole are the same.",
            panels,
            columns=("bucket", "whole", "group"),
            numbers=numbers,
            across=3,
        )
    ]


def _counts_in_print(printed: Printed) -> NDArray[np.int64]:
    """Return how many records of each bucket every printed group has; records stand in the order of their values."""
    groups = np.unique(printed["groups"], return_inverse=True)[1]
    buckets = np.repeat(np.arange(len(printed["buckets"])), len(groups) // len(printed["buckets"]))
    counts = np.zeros((groups.max() + 1, buckets.max() + 1), dtype=np.int64)
    np.add.at(counts, (groups, buckets), 1)
    return counts


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(str(value) for value in values)


_FILE = "examples_of_chapter_7"
TABLES = (
    Table(name="thesis-7.3", file=_FILE, key="hierarchies", rows=generalisations, criterion="exactly"),
    Table(name="thesis-7.4", file=_FILE, key="anatomy", rows=anatomy, criterion="exactly"),
    Table(
        name="thesis-7.5", file=_FILE, key="partition", rows=partition, criterion="exactly", figures=figure_of_partition
    ),
    Table(name="thesis-7.6", file=_FILE, key="masses", rows=masses, criterion="exactly"),
    Table(
        name="thesis-7.7",
        file=_FILE,
        key="densities",
        rows=densities,
        criterion="exactly",
        figures=figures_of_densities,
    ),
)
