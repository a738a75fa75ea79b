"""Individual differential privacy, both versions: tables, figures and examples. Reproduction, no guarantee."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from penstock.reproduction.beside_print import Row, beside, by_line, number, ours, statement
from penstock.reproduction.computed import (
    clamped_count_error,
    errors_of_counts,
    errors_of_medians,
    heavy_tailed_density,
    intervals_of_medians,
    samples,
)
from penstock.reproduction.entry import Figure, Given, Printed, Table
from penstock.reproduction.pictures import Panel, figure_of

__all__ = ["TABLES"]

Values = NDArray[np.float64]

# Data sets for each panel of Figure 2; the source does not say how many it has.
_SETS = 200


def median_intervals(printed: Printed, _: Given) -> list[Row]:
    """Return the rows of individual differential privacy, Table 1."""
    lines = printed["rows"]
    figures = intervals_of_medians(printed["epsilon"], printed["level"], [line["gamma"] for line in lines])
    rows = [beside("individual", float(figures[0, 0]), printed["individual"]["printed"])]
    for line, (_, as_in_print, tight) in zip(lines, figures.tolist(), strict=True):
        rows.append(beside(f"gamma {line['gamma']}", as_in_print, line["printed"], corrected=line.get("corrected")))
        rows.append(ours(f"gamma {line['gamma']} tight", tight, str(line["tight"])))
    return rows


def count_errors(printed: Printed, _: Given) -> list[Row]:
    """Return the rows of individual differential privacy, Table 2."""
    lines = printed["rows"]
    return by_line(printed, lines, "epsilon", errors_of_counts([number(line["epsilon"]) for line in lines]))


def binary_medians(printed: Printed, _: Given) -> list[Row]:
    """Return medians and local sensitivities of data sets of zeros and ones, over all their neighbours."""
    rows = []
    for line in printed["rows"]:
        median, local = _median(line["zeros"], line["records"]), _local(line["zeros"], line["records"])
        rows.append(statement(f"{line['name']}, median", line["median"], str(median)))
        rows.append(statement(f"{line['name']}, local sensitivity", line["local"], str(local)))
    n = printed["records"]
    local_1 = [zeros for zeros in range(n + 1) if _local(zeros, n) == 1]
    return [
        *rows,
        beside("global sensitivity", max(_local(zeros, n) for zeros in range(n + 1)), printed["global"]),
        beside(f"data sets of {n} records with local sensitivity 1, by their zeros", len(local_1), printed["with_1"]),
    ]


def errors_by_distribution(printed: Printed, given: Given) -> list[Row]:
    """Return the mean errors of Figure 2 of the second version, at epsilon 1, and what the source says of them."""
    rows = []
    for place, line in enumerate(printed["rows"]):
        errors = _errors(line["distribution"], line["n"], tuple(printed["epsilons"]), printed["gamma"])
        individual, smooth = errors[-1]
        name = f"{line['distribution']}, n {line['n']}"
        smaller = "smaller" if bool((errors[:, 0] < errors[:, 1]).all()) else "not smaller"
        rows += [
            statement(f"{name}, the error of individual privacy, for every epsilon", printed["error"], smaller),
            ours(f"{name}, individual", float(individual), line["individual"]),
            ours(f"{name}, smooth", float(smooth), line["smooth"]),
        ]
        if line["n"] == printed["off_range"]["n"]:
            limit = printed["off_range"]["limits"][line["distribution"]]
            off = "off the range" if bool((errors[:, 1] > limit).all()) else "within the range"
            rows.append(statement(f"{name}, the error of smooth sensitivity", printed["off_range"]["printed"], off))
        given.progress((place + 1) / len(printed["rows"]))
    return rows


def noises_of_medians(printed: Printed, _: Given) -> list[Figure]:
    """Draw Figure 1."""
    points = np.linspace(-40, 40, 801)
    epsilon = printed["epsilon"]
    curves = {"individual": 0.5 * epsilon * np.exp(-epsilon * np.abs(points))}
    for line in printed["rows"]:
        gamma = float(line["gamma"])
        curves[f"gamma {line['gamma']}"] = heavy_tailed_density(points, gamma, 4 * gamma / epsilon)
    return [
        figure_of(
            "Figure 1",
            "The densities of the noise at epsilon 1 and sensitivities 1: Laplace noise is concentrated around 0, the "
            "noise of smooth sensitivity is far wider, with gamma 2 wider than with gamma 3.",
            [Panel(x="noise", y="density", series={name: (points, curve) for name, curve in curves.items()})],
            columns=("noise", *curves),
            numbers=np.stack([points, *curves.values()], axis=1)[::40].tolist(),
        )
    ]


def noises_of_counts(_: Printed, __: Given) -> list[Figure]:
    """Draw Figure 2 of the first version."""
    errors, a = np.arange(-6, 7), np.exp(-1.0)
    noise = (1 - a) / (1 + a) * a ** np.abs(errors)
    clamped = np.zeros(len(errors))
    clamped[5:8] = clamped_count_error(1.0)
    return [
        figure_of(
            "Figure 2 of the first version",
            "How likely each error of a count is at epsilon 1: discrete Laplace noise reaches far, the clamped one "
            "from -1 to 1 only. The clamped count protects nobody.",
            [
                Panel(
                    x="error",
                    y="probability",
                    series={"discrete Laplace": (errors, noise), "clamped": (errors, clamped)},
                )
            ],
            columns=("error", "discrete Laplace", "clamped"),
            numbers=np.stack([errors, noise, clamped], axis=1).tolist(),
        )
    ]


def nine_panels(printed: Printed, _: Given) -> list[Figure]:
    """Draw Figure 2 of the second version."""
    epsilons, panels, numbers = tuple(printed["epsilons"]), [], []
    for line in printed["rows"]:
        individual, smooth = _errors(line["distribution"], line["n"], epsilons, printed["gamma"]).T
        title = f"{line['distribution']}, n {line['n']}"
        series = {"individual": (epsilons, individual), "smooth": (epsilons, smooth)}
        panels.append(Panel(title=title, x="epsilon", y="mean error", series=series, logarithmic="y"))
        numbers += [(title, *each) for each in zip(epsilons, individual.tolist(), smooth.tolist(), strict=True)]
    return [
        figure_of(
            "Figure 2 of the second version",
            "The mean error of the median by epsilon, in nine panels: three distributions by three sizes. The error of "
            "individual differential privacy is about a twentieth of that of smooth sensitivity in each.",
            panels,
            columns=("panel", "epsilon", "individual", "smooth"),
            numbers=numbers,
            across=3,
        )
    ]


@cache
def _errors(distribution: str, n: int, epsilons: tuple[float, ...], gamma: float) -> Values:
    return errors_of_medians(samples(distribution, n, _SETS, n), list(epsilons), gamma)


def _median(zeros: int, records: int) -> int:
    return int(zeros < (records + 1) // 2)


def _local(zeros: int, records: int) -> int:
    """Return by how much one replaced record can move the median."""
    neighbours = [each for each in (zeros - 1, zeros + 1) if 0 <= each <= records]
    return max(abs(_median(each, records) - _median(zeros, records)) for each in neighbours)


_FILE = "individual_tables"
TABLES = (
    Table(name="individual-1", file=_FILE, key="table_1", rows=median_intervals, figures=noises_of_medians),
    Table(name="individual-2", file=_FILE, key="table_2", rows=count_errors, figures=noises_of_counts),
    Table(name="individual-examples", file=_FILE, key="examples", rows=binary_medians),
    Table(
        name="individual-medians",
        file=_FILE,
        key="figure_2",
        rows=errors_by_distribution,
        runs=_SETS,
        criterion="with what is said of the figure",
        figures=nine_panels,
    ),
)
