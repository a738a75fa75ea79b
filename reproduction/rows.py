"""The rows of every table that can be reproduced: a recomputed number beside each printed one.

The numbers come from reproduction.computed, which promises nothing; the data, where a table needs them, are public.
Of the tables of chapter 6 of the thesis that depend on chance, Table 6.2 stands for all:

    an error is an expectation, and agrees to within 3 % and half a unit of the last digit, because ten runs miss it by
    1 to 2 %, and the source does not say at which corner it starts                                               (1)
    linkages are counted in ten runs, as in the source, and agree if the counts differ by at most four standard
    deviations: they are rare, so nearly Poisson, and the variance of a difference is their sum                   (2)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, inf, log, sqrt
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from penstock.measures import measure
from penstock.mechanisms.columns import Column
from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.table.cells import Cells, build_cells
from penstock.mechanisms.table.sensitivity import BootstrapAdjacency, magnitude_table_sensitivity
from penstock.reproduction.beside_print import Row, as_printed, beside, half_a_unit, near, ours, printed_tables
from penstock.reproduction.computed import (
    answers_about_one,
    answers_about_two,
    chances_of_noise,
    corner_means,
    deltas_of_shares,
    errors_of_counts,
    expected_squared_error,
    intervals_of_medians,
    least_variances,
    least_widths,
    masked_runs,
    mass_left_in_tail,
    mdav_means,
    observed_bounds,
    printed_scales,
    printed_sensitivities,
    ratios_of_accuracy,
    regions_of_box_noise,
    regions_of_laplace_noise,
    relative_changes,
    shares_of_totals,
    spread_of_answers,
)
from penstock.tasks.files.source import open_source, read_source

__all__ = [
    "absent_persons",
    "accuracies_of_farms",
    "answers_of_a_rare_value",
    "box_regions",
    "cells_of_farms",
    "changes_of_statistics",
    "count_errors",
    "error_agrees",
    "error_of_mdav",
    "laplace_regions",
    "linkages_agree",
    "median_intervals",
    "noise_on_groups",
    "percent_linked",
    "ranges_of_farms",
    "read_census",
    "read_farms",
    "scales_of_farms",
    "shares_of_delta",
    "shares_of_farms",
    "spread_around_the_middle",
    "ten_runs",
    "two_persons",
    "variances",
    "widths",
]

Printed = Mapping[str, Any]
Values = NDArray[np.float64]

_RUNS, _RECORDS = 10, 1080
# Above every value in either file; the files are read and not protected.
_LARGEST = 10**9


def variances(printed: Printed) -> list[Row]:
    """Return the rows of the thesis, Table 4.1."""
    lines = [line for line in printed["rows"] if line["printed"]]
    return _by_line(printed, lines, "epsilon", least_variances([line["epsilon"] for line in lines]))


def widths(printed: Printed) -> list[Row]:
    """Return the rows of the thesis, Table 4.2."""
    lines = printed["rows"]
    return _by_line(printed, lines, "epsilon", least_widths([line["epsilon"] for line in lines], printed["level"]))


def laplace_regions(printed: Printed) -> list[Row]:
    """Return the rows of the thesis, Table 4.3."""
    lines = printed["rows"]
    figures = regions_of_laplace_noise(printed["scale"], [line["level"] for line in lines])
    return _by_line(printed, lines, "level", figures)


def box_regions(printed: Printed) -> list[Row]:
    """Return the rows of the thesis, Table 4.4."""
    lines, half_widths = printed["rows"], printed["half_widths"]
    core_share = printed["core"][0] / half_widths[0]
    figures = regions_of_box_noise(half_widths, core_share, printed["epsilon"], [line["level"] for line in lines])
    return _by_line(printed, lines, "level", figures)


def median_intervals(printed: Printed) -> list[Row]:
    """Return the rows of individual differential privacy, Table 1."""
    lines = printed["rows"]
    figures = intervals_of_medians(printed["epsilon"], printed["level"], [line["gamma"] for line in lines])
    rows = [beside("individual", float(figures[0, 0]), printed["individual"]["printed"])]
    for line, (_, as_in_print, tight) in zip(lines, figures.tolist(), strict=True):
        rows.append(beside(f"gamma {line['gamma']}", as_in_print, line["printed"], corrected=line.get("corrected")))
        rows.append(ours(f"gamma {line['gamma']} tight", tight, str(line["tight"])))
    return rows


def count_errors(printed: Printed) -> list[Row]:
    """Return the rows of individual differential privacy, Table 2."""
    lines = printed["rows"]
    return _by_line(printed, lines, "epsilon", errors_of_counts([_number(line["epsilon"]) for line in lines]))


def two_persons(printed: Printed) -> list[Row]:
    """Return the rows of the thesis, Table 5.3, and of what it is made from."""
    alone = answers_about_one(printed["epsilon"], [1, 1])[0]
    joint = answers_about_two(printed["epsilon"])
    return [
        *(
            beside(
                f"alone {line['answer']}, {line['place']}",
                float(alone[int(line["answer"])]),
                line["printed"],
                corrected=line.get("corrected"),
                cut_off="cut_off" in line,
            )
            for line in printed["alone"]
        ),
        *(_formula(_answers(line), joint, line) for line in printed["cells"]),
    ]


def absent_persons(printed: Printed) -> list[Row]:
    """Return the rows of the thesis, Table 5.4; ours: the ratio where a value is replaced."""
    epsilon = printed["epsilon"]
    joint = {absent: answers_about_two(epsilon, absent) for absent in (1, 2)}
    ratios = np.array([answers_about_two(epsilon) / joint[absent] for absent in joint])
    rows = [
        _formula(f"{line['absent']} absent, {_answers(line)}", joint[line["absent"]], line) for line in printed["cells"]
    ]
    for line, ratio in zip(printed["ratios"], (ratios.min(), ratios.max()), strict=True):
        rows.append(_formula(line["name"], np.array(ratio), line))
    for (name, right), replaced in zip(printed["replaced"].items(), (False, True), strict=True):
        same, other = answers_about_one(epsilon, [1, 1], replaced=replaced)[:, 0]
        rows.append(ours(f"value replaced {name}", float(same / other), right))
    return rows


def spread_around_the_middle(printed: Printed) -> list[Row]:
    """Return the rows of the thesis, Table 5.5."""
    lines = printed["rows"]
    return _by_line(printed, lines, "epsilon", spread_of_answers([_number(line["epsilon"]) for line in lines]))


def answers_of_a_rare_value(printed: Printed) -> list[Row]:
    """Return the rows of knowledge refinement, Example 2."""
    share = printed["prior"][1] / sum(printed["prior"])
    (right, wrong), (missed, found) = answers_about_one(printed["epsilon"], printed["prior"]).tolist()
    refined = [wrong, right, found, missed, wrong * (1 - share) + found * share]
    values = [*chances_of_noise(printed["epsilon"], share).tolist(), *refined]
    return [
        beside(line["name"], value, line["printed"], corrected=line.get("corrected"), cut_off="cut_off" in line)
        for line, value in zip(printed["rows"], values, strict=True)
    ]


def shares_of_delta(printed: Printed) -> list[Row]:
    """Return the delta that holds for each share: in print, and ours; and what the printed share leaves of a tail."""
    epsilon, delta = _number(printed["epsilon"]), float(printed["delta"])
    right = {"person": delta * exp(-epsilon), "statistic": delta / (1 + exp(epsilon))}
    rows = []
    for place, (kind, line) in enumerate(printed["rows"].items()):
        found, kept = deltas_of_shares(epsilon, [line["share"], right[kind]])[:, place].tolist()
        rows += [
            beside(f"{kind} by {line['share']}", found, printed["delta"], corrected=line["corrected"]),
            ours(f"{kind} by {right[kind]:.4f}", kept, line["by_our_share"]),
        ]
    tail, share = printed["tail"], printed["rows"]["person"]["share"]
    [left] = mass_left_in_tail(epsilon, [share], tail["prior"]).tolist()
    return [*rows, ours(f"left of a tail of {tail['prior']}", left, tail["left"])]


def read_farms(path: Path) -> Cells:
    """Read the net output of rice farms by status and varieties, the cells in the order of print."""
    tables = printed_tables("bootstrap_tables")
    dimensions = {
        name: Column(role="quasi_identifier", type="nominal", categories=tuple(tables[order]))
        for name, order in (("status", "rows"), ("varieties", "columns"))
    }
    declared = dimensions | {"noutput": Column(role="confidential", type="integer", domain=(0, _LARGEST))}
    columns = read_source(open_source(str(path), declared), declared)
    return build_cells({name: columns[name] for name in dimensions}, (3, 3), {"output": columns["noutput"]})


def cells_of_farms(printed: Printed, farms: Cells) -> list[Row]:
    """Return the rows of bootstrap differential privacy, Table 1."""
    output = farms.measures["output"]
    figures = {"n": farms.counts, "total": output.sums, "max": output.largest, "min": output.smallest}
    return [
        row
        for name, values in figures.items()
        for row in _by_cell(values, printed["printed"][name], printed["corrected"].get(name), name)
    ]


def ranges_of_farms(printed: Printed, farms: Cells) -> list[Row]:
    """Return the rows of bootstrap differential privacy, Table 2."""
    return _by_cell(printed_sensitivities(farms, "output"), printed["printed"])


def shares_of_farms(printed: Printed, farms: Cells) -> list[Row]:
    """Return the rows of bootstrap differential privacy, Table 3."""
    return _by_cell(shares_of_totals(farms, "output"), printed["printed"])


def accuracies_of_farms(printed: Printed, farms: Cells) -> list[Row]:
    """Return the rows of bootstrap differential privacy, Table 4."""
    return _by_cell(ratios_of_accuracy(farms, "output"), printed["printed"])


def scales_of_farms(printed: Printed, farms: Cells) -> list[Row]:
    """Return the steps that a whole table of rice farms needs, and the epsilon that the printed scale loses instead."""
    steps = {
        adjacency: magnitude_table_sensitivity(farms, "output", adjacency) for adjacency in get_args(BootstrapAdjacency)
    }
    loss = steps["bootstrap_replace"] / float(printed_scales(farms, "output", "i", 1.0)[0])
    return [
        *(ours(name, steps[name], str(right)) for name, right in printed["steps"].items()),
        ours("times epsilon lost by the printed scale", loss, printed["loss_of_the_printed_scale"]),
    ]


def read_census(path: Path) -> Values:
    """Read four attributes of the Census file, one in each column."""
    names = printed_tables("table_6_1")["columns"]
    declared = dict.fromkeys(names, Column(role="quasi_identifier", type="continuous", domain=(0, _LARGEST)))
    columns = read_source(open_source(str(path), declared), declared)
    return np.column_stack([columns[name] for name in names])


def error_of_mdav(printed: Printed, census: Values) -> list[Row]:
    """Return the rows of the thesis, Table 6.1, standard MDAV."""
    rows = []
    for line in printed["rows"]:
        masked = mdav_means(census, line["k"])
        figures = {"sse": float(((masked - census) ** 2).sum()), "record_linkage": percent_linked(census, [masked])}
        rows += [beside(f"k {line['k']}, {name}", figures[name], line["printed"][name]) for name in figures]
    return rows


def noise_on_groups(printed: Printed, census: Values) -> list[Row]:
    """Return the rows of the thesis, Table 6.2, by (1) and (2)."""
    upper = observed_bounds(census)
    groups = {k: corner_means(census, k) for k in (1, *(cell["k"] for cell in printed["rows"][0]["aggregated"]))}
    rows = []
    for line in printed["rows"]:
        epsilon, alone = float(line["epsilon"]), line["unaggregated"]["printed"]
        error = {k: float(expected_squared_error(census, groups[k], upper, k, epsilon).sum()) for k in groups}
        linked = {k: percent_linked(census, ten_runs(groups[k], upper, k, epsilon)) for k in groups}
        start, percent = f"epsilon {line['epsilon']}, k", float(alone["record_linkage"])
        rows += [
            _error(f"{start} 1, sse", error[1], alone["sse"]),
            _linkage(f"{start} 1, record_linkage", linked[1], alone["record_linkage"], linked[1], percent),
        ]
        for cell in line["aggregated"]:
            k, factors = cell["k"], cell["printed"]
            expected = percent / float(factors["linkage_factor"])
            fewer = linked[1] / linked[k] if linked[k] else inf
            rows += [
                _error(f"{start} {k}, sse_factor", sqrt(error[1] / error[k]), factors["sse_factor"]),
                _linkage(f"{start} {k}, linkage_factor", fewer, factors["linkage_factor"], linked[k], expected),
            ]
    return rows


def changes_of_statistics(printed: Printed, census: Values) -> list[Row]:
    """Return the rows of the thesis, Table 6.5, standard MDAV."""
    sizes = {line["k"] for line in printed["rows"]} - {1}
    masked = {1: census} | {k: mdav_means(census, k) for k in sizes}
    changes = {k: relative_changes(census, masked[k]) for k in masked}
    rows = []
    for line in printed["rows"]:
        place = ("mean", "variance").index(line["statistic"]), printed["columns"].index(line["column"])
        name = f"{line['statistic']} of {line['column']}, k {line['k']}"
        rows.append(beside(name, float(changes[line["k"]][place]), line["printed"]["mdav"]))
    return rows


def ten_runs(centroids: Values, upper: Values, k: int, epsilon: float) -> Values:
    """Return ten masked files; every k and epsilon has a seed of its own."""
    return masked_runs(centroids, upper, k, epsilon, _RUNS, seeded(round(1000 * epsilon) * 100 + k))


def percent_linked(census: Values, masked: Values | Sequence[Values]) -> float:
    """Return the mean percentage of record linkages over the masked files."""
    names = printed_tables("table_6_1")["columns"]
    declared = {
        name: Column(role="quasi_identifier", type="continuous", domain=(0.0, float(bound)))
        for name, bound in zip(names, observed_bounds(census), strict=True)
    }
    original, linked = dict(zip(names, census.T, strict=True)), measure("record_linkage")
    shares = [linked(original, dict(zip(names, file.T, strict=True)), declared).value for file in masked]
    return 100 * float(np.mean(shares))


def error_agrees(value: float, printed: str) -> bool:
    """(1)."""
    return abs(value - float(printed)) <= 0.03 * float(printed) + half_a_unit(printed)


def linkages_agree(percent: float, other: float) -> bool:
    """(2) for percentages of ten runs of 1080 records. False alarm below 1e-4."""
    count, other_count = (share / 100 * _RUNS * _RECORDS for share in (percent, other))
    return abs(count - other_count) <= 4 * sqrt(count + other_count)


def _number(written: str) -> float:
    return log(2) if written == "ln 2" else float(written)


def _answers(line: Printed) -> str:
    return "answers {} and {}".format(*line["answers"])


def _formula(name: str, figures: Values, line: Printed) -> Row:
    """Return a row for a number that is printed as a formula: one of a table, or the only one."""
    value = float(figures[tuple(line.get("answers", ()))])
    agrees = as_printed(value, line["value"]) == line["value"]
    return near(name, value, line["value"], agrees, f"printed as {line['formula']}")


def _error(name: str, value: float, printed: str) -> Row:
    return near(name, value, printed, error_agrees(value, printed), "to within 3 %")


def _linkage(name: str, value: float, printed: str, percent: float, percent_in_print: float) -> Row:
    return near(name, value, printed, linkages_agree(percent, percent_in_print), "as rare counts")


def _by_line(printed: Printed, lines: Sequence[Printed], key: str, figures: Values) -> list[Row]:
    """Return one row for each line and column of a table."""
    return [
        beside(
            f"{key} {line[key]}, {column}",
            value,
            line["printed"][column],
            corrected=line.get("corrected", {}).get(column),
            cut_off=column in printed.get("cut_off", ()),
        )
        for line, values in zip(lines, figures.tolist(), strict=True)
        for column, value in zip(line["printed"], values, strict=True)
    ]


def _by_cell(figures: NDArray[Any], printed: Any, corrected: Any = None, statistic: str = "") -> list[Row]:
    """Return one row for each cell of three by three."""
    tables = printed_tables("bootstrap_tables")
    names = [f"{status} / {kind}".lower() for status in tables["rows"] for kind in tables["columns_in_print"]]
    before, after = ([str(cell) for row in table for cell in row] for table in (printed, corrected or printed))
    return [
        beside(f"{name}, {statistic}".strip(", "), value, old, corrected=new if new != old else None)
        for name, value, old, new in zip(names, figures.tolist(), before, after, strict=True)
    ]
