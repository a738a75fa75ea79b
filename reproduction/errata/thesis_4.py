"""Errors in chapter 4 of the thesis, each with a case that shows it."""

from __future__ import annotations

from math import exp

from penstock.mechanisms.noise.accuracy import best_core_for_variance, box_variances, laplace_variance
from penstock.reproduction.beside_print import as_printed, printed_tables
from penstock.reproduction.computed import regions_of_box_noise, regions_of_laplace_noise
from penstock.reproduction.errata.erratum import CounterExample, Erratum, found

__all__ = ["ERRATA"]

_SOURCE = "Thesis, chapter 4"


def exponent() -> CounterExample:
    """Return the whole mass of the printed density, and with one more in the exponent, by the printed relation of d."""
    epsilon, step = 1.0, 1.0
    b, core = exp(-epsilon), best_core_for_variance(1, epsilon)
    height = (1 - b) / (2 * (core * (1 - b) + step * b))
    as_in_print, right = (2 * height * (core + first * step / (1 - b)) for first in (1, b))
    return found(
        "sensitivity 1, epsilon 1, the core of least variance: the mass of the density",
        abs(right - 1) < 1e-12 < abs(as_in_print - 1),
        printed_exponent=as_in_print,
        one_more=right,
    )


def union_index() -> CounterExample:
    """Return in how many of the sets the point 0 lies, on a line in tenths with S_f = [-1, 1] and S_0 = [-0.1, 0.1]."""
    reach, core = range(-10, 11), frozenset(range(-1, 2))

    def sets_with_0(before: int) -> int:
        """Count the sets S_0 to S_3 that hold 0, where S_(i+1) leaves out S_0 to S_(i - before)."""
        sets = [core]
        for i in range(3):
            left_out = frozenset[int]().union(*sets[: i + 1 - before])
            sets.append(frozenset(point + step for point in sets[i] for step in reach) - left_out)
        return sum(0 in each for each in sets)

    return found(
        "S_f = [-1, 1], S_0 = [-0.1, 0.1]: among S_0 to S_3, the sets that hold the point 0",
        sets_with_0(1) > 1 == sets_with_0(0),
        as_printed=sets_with_0(1),
        right=sets_with_0(0),
    )


def size_of_regions() -> CounterExample:
    """Return the areas of Table 4.3, as they follow from alpha with all its digits."""
    levels = [line["level"] for line in printed_tables("tables_4_1_to_4_4")["table_4_3"]["rows"]]
    areas = regions_of_laplace_noise(11, levels)[:, 1]
    return found(
        "2 alpha^2, with alpha not rounded, at 99, 95 and 90 %",
        [round(area) for area in areas] == [10664, 5446, 3661],
        printed="10663, 5445, 3662",
        recomputed=", ".join(f"{area:.1f}" for area in areas),
    )


def half_widths() -> CounterExample:
    """Return the half-widths and areas of Table 4.4."""
    lines = printed_tables("tables_4_1_to_4_4")["table_4_4"]["rows"]
    figures = regions_of_box_noise((1, 10), 0.1, 1, [line["level"] for line in lines]).tolist()
    pairs = [
        (line["printed"][name], as_printed(value, line["printed"][name]))
        for line, row in zip(lines, figures, strict=True)
        for name, value in zip(("half_width", "size"), row, strict=True)
    ]
    return found(
        "box noise, epsilon 1, s = (1, 10), core a tenth: numbers in print, and recomputed",
        sum(before != after for before, after in pairs) == 5,
        printed=", ".join(before for before, after in pairs if before != after),
        recomputed=", ".join(after for before, after in pairs if before != after),
    )


def comparison() -> CounterExample:
    """Return the variances of box noise beside Laplace noise with epsilon / 2 for each answer."""
    box = box_variances([1.0, 10.0], [0.1, 1.0], 1.0)
    halves = [laplace_variance(width / 0.5) for width in (1.0, 10.0)]
    return found(
        "Example 5: two answers of sensitivity 1 and 10 at epsilon 1",
        all(one < other for one, other in zip(box, halves, strict=True)),
        Laplace_as_printed="242 and 242",
        Laplace_with_half_of_epsilon_each=" and ".join(f"{value:.6g}" for value in halves),
        box_noise=" and ".join(f"{value:.6g}" for value in box),
    )


ERRATA = (
    Erratum(
        name="thesis-exponent",
        source=_SOURCE,
        place="Theorem 1",
        printed="beyond the core the density is M_0 e^(-i epsilon), i = 0, 1, ...",
        right="M_0 e^(-(i+1) epsilon), as the chapter's own relation of d and M_0 and its tables have it",
        counter_example=exponent,
    ),
    Erratum(
        name="thesis-union",
        source=_SOURCE,
        place="Theorem 3",
        printed="S_(i+1) leaves out the sets up to S_(i-1)",
        right="up to S_i; otherwise a point lies in several sets, and its density is their sum",
        counter_example=union_index,
    ),
    Erratum(
        name="thesis-areas",
        source=_SOURCE,
        place="Table 4.3",
        printed="areas from the rounded alpha",
        right="up to 1.4 less or more",
        counter_example=size_of_regions,
    ),
    Erratum(
        name="thesis-half-widths",
        source=_SOURCE,
        place="Table 4.4",
        printed="6.99 at 99 %, and areas from rounded half-widths",
        right="6.69; the column headed beta holds beta + 0.1",
        counter_example=half_widths,
    ),
    Erratum(
        name="thesis-comparison",
        source=_SOURCE,
        place="Example 5",
        printed="Laplace noise for two answers needs scale 11 for each",
        right="half of epsilon for each answer does as well, with scales 2 and 20; box noise is still better",
        counter_example=comparison,
    ),
)
