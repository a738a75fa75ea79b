"""Chapter 4 of the thesis: Tables 4.1 to 4.4, the order of noises, Examples 4 and 5, all figures. No guarantee."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.mechanisms.noise.accuracy import (
    best_core_for_variance,
    best_core_for_width,
    box_variances,
    laplace_variance,
    staircase_variance,
    staircase_width,
)
from penstock.reproduction.beside_print import Row, beside, by_line, ours, statement
from penstock.reproduction.computed import (
    box_marginals,
    laplace_within,
    least_variances,
    least_widths,
    rearranged_core,
    regions_of_box_noise,
    regions_of_laplace_noise,
    staircase_density,
    staircase_within,
)
from penstock.reproduction.entry import Figure, Given, Printed, Table
from penstock.reproduction.pictures import Panel, figure_of

__all__ = ["TABLES"]

Values = NDArray[np.float64]

# Every point where the order of two noises could turn is near one of these: they lie closer than any step.
_POINTS = np.linspace(0, 40, 40_001)
_ROUNDING = 1e-12


def variances(printed: Printed, _: Given) -> list[Row]:
    """Return the rows of the thesis, Table 4.1."""
    lines = [line for line in printed["rows"] if line["printed"]]
    return by_line(printed, lines, "epsilon", least_variances([line["epsilon"] for line in lines]))


def widths(printed: Printed, _: Given) -> list[Row]:
    """Return the rows of the thesis, Table 4.2."""
    lines = printed["rows"]
    return by_line(printed, lines, "epsilon", least_widths([line["epsilon"] for line in lines], printed["level"]))


def laplace_regions(printed: Printed, _: Given) -> list[Row]:
    """Return the rows of the thesis, Table 4.3."""
    lines = printed["rows"]
    figures = regions_of_laplace_noise(printed["scale"], [line["level"] for line in lines])
    return by_line(printed, lines, "level", figures)


def box_regions(printed: Printed, _: Given) -> list[Row]:
    """Return the rows of the thesis, Table 4.4."""
    lines, half_widths = printed["rows"], printed["half_widths"]
    core_share = printed["core"][0] / half_widths[0]
    figures = regions_of_box_noise(half_widths, core_share, printed["epsilon"], [line["level"] for line in lines])
    return by_line(printed, lines, "level", figures)


def order_of_noises(printed: Printed, _: Given) -> list[Row]:
    """Return which of two noises is smaller, by Definition 6, and how far apart they are."""
    rows = []
    for epsilon in printed["epsilons"]:
        core, laplace = float(rearranged_core(epsilon)[0]), laplace_within(_POINTS, epsilon)
        rearranged = staircase_within(_POINTS, core, epsilon)
        least = staircase_within(_POINTS, best_core_for_variance(1, epsilon), epsilon)
        narrow = staircase_within(_POINTS, best_core_for_width(1, epsilon, 0.95), epsilon)
        found = {
            "rearranged Laplace and Laplace": _order(rearranged, laplace),
            "Laplace and itself": _order(laplace, laplace),
            "least variance and least width": _order(least, narrow),
        }
        rows += [
            statement(f"epsilon {epsilon}, {name}", printed["order"][name], order) for name, order in found.items()
        ]
        most = float((rearranged - laplace).max())
        rows.append(
            ours(f"epsilon {epsilon}, rearranged Laplace holds at most more", most, printed["most"][str(epsilon)])
        )
    return rows


def minima(printed: Printed, _: Given) -> list[Row]:
    """Return where Figures 4.2 and 4.3 have their minima."""
    core = best_core_for_variance(1, 1)
    return [
        beside("core of least variance", core, printed["core_of_variance"]),
        beside("least variance", staircase_variance(1, core, 1), printed["variance"]),
        beside("core of least width", best_core_for_width(1, 1, printed["level"]), printed["core_of_width"]),
        beside("variance of Laplace noise", laplace_variance(1), printed["laplace"]),
    ]


def overprotected(printed: Printed, _: Given) -> list[Row]:
    """Return the sensitivities of Example 4 and of Figure 4.5, and how much more Laplace noise covers than S_f."""
    rows = []
    for line in printed["rows"]:
        sensitivity = sum(line["half_widths"])
        ratio = 2 * sensitivity**2 / (4 * line["half_widths"][0] * line["half_widths"][1])
        rows.append(beside(f"S_f of {line['half_widths']}, sensitivity", sensitivity, line["sensitivity"]))
        rows.append(ours(f"S_f of {line['half_widths']}, area that is covered over that of S_f", ratio, line["ratio"]))
    return rows


def two_answers(printed: Printed, _: Given) -> list[Row]:
    """Return the variances of Example 5: Laplace noise of scale 11, box noise, and Laplace noise at a fair price."""
    box = box_variances(printed["half_widths"], printed["core"], printed["epsilon"])
    laplace = laplace_variance(sum(printed["half_widths"]) / printed["epsilon"])
    fair = [laplace_variance(2 * width / printed["epsilon"]) for width in printed["half_widths"]]
    rows = [beside(f"Laplace, answer {place}", laplace, printed["laplace_of_scale_11"]) for place in (1, 2)]
    rows += [
        beside(f"box, answer {place}", value, text)
        for place, (value, text) in enumerate(zip(box, printed["printed"], strict=True), start=1)
    ]
    rows.append(beside("box over Laplace, answer 2, about", box[1] / laplace, printed["times_in_print"]))
    return rows + [
        ours(f"Laplace with half of epsilon, answer {place}", value, str(right))
        for place, (value, right) in enumerate(
            zip(fair, printed["laplace_with_half_of_epsilon_each"], strict=True), start=1
        )
    ]


def construction(_: Printed, __: Given) -> list[Figure]:
    """Draw Figure 4.1."""
    core, points = float(rearranged_core(1)[0]), np.linspace(-4, 4, 801)
    laplace, stairs = 0.5 * np.exp(-np.abs(points)), staircase_density(points, core, 1)
    panel = Panel(x="noise", y="density", series={"Laplace": (points, laplace), "rearranged": (points, stairs)})
    return [
        figure_of(
            "Figure 4.1",
            "The density of Laplace noise at epsilon 1, and a staircase that has the same mass between whole numbers, "
            "but nearer to 0.",
            [panel],
            columns=("noise", "Laplace", "rearranged"),
            numbers=np.stack([points, laplace, stairs], axis=1)[::40].tolist(),
        )
    ]


def curves_of_cores(printed: Printed, _: Given) -> list[Figure]:
    """Draw Figures 4.2 and 4.3."""
    cores = np.linspace(0.005, 1, 200)
    variance = [staircase_variance(1, core, 1) for core in cores]
    width = [staircase_width(1, core, 1, printed["level"]) for core in cores]
    return [
        figure_of(
            f"Figure {number}",
            f"The {what} of the staircase at epsilon 1 by its core: least at {place}.",
            [Panel(x="core d", y=what, series={"staircase": (cores, values)})],
            columns=("core", what),
            numbers=np.stack([cores, values], axis=1)[::10].tolist(),
        )
        for number, what, values, place in (
            ("4.2", "variance", variance, "0.4167"),
            ("4.3", "width of the 95 % interval", width, "0.993"),
        )
    ]


def protected_regions(printed: Printed, _: Given) -> list[Figure]:
    """Draw Figures 4.4 and 4.5."""
    figures = []
    for number, line in zip(("4.4", "4.5"), printed["rows"], strict=True):
        (width, height), reach = line["half_widths"], sum(line["half_widths"])
        box = ([-width, width, width, -width, -width], [-height, -height, height, height, -height])
        square = ([reach, 0, -reach, 0, reach], [0, reach, 0, -reach, 0])
        figures.append(
            figure_of(
                f"Figure {number}",
                f"The box S_f of half-widths {width} and {height}, and around it the square of L1 radius {reach} in "
                "which Laplace noise keeps its density.",
                [Panel(x="answer 1", y="answer 2", series={"S_f": box, "Laplace": square})],
                columns=("shape", "answer 1", "answer 2"),
                numbers=[
                    (name, float(x), float(y))
                    for name, shape in (("S_f", box), ("Laplace", square))
                    for x, y in zip(*shape, strict=True)
                ],
            )
        )
    return figures


def densities_of_two_answers(printed: Printed, _: Given) -> list[Figure]:
    """Draw Figures 4.6, along the axes, and 4.7."""
    points = np.linspace(-40, 40, 1601)
    half_widths, core, epsilon = tuple(printed["half_widths"]), tuple(printed["core"]), printed["epsilon"]
    first, second = box_marginals(points, half_widths, core, epsilon)
    scale = sum(half_widths) / epsilon
    laplace = np.exp(-np.abs(points) / scale) / (2 * scale)
    panels = [
        Panel(
            title=f"answer {place}", x="noise", y="density", series={"Laplace": (points, laplace), "box": (points, box)}
        )
        for place, box in ((1, first), (2, second))
    ]
    return [
        figure_of(
            "Figures 4.6 and 4.7",
            "The density of the noise of each answer at epsilon 1: box noise is far narrower for the first answer, and "
            "a little wider than Laplace noise of scale 11 for the second.",
            panels,
            columns=("noise", "Laplace", "box, answer 1", "box, answer 2"),
            numbers=np.stack([points, laplace, first, second], axis=1)[::50].tolist(),
        )
    ]


def _order(first: Values, second: Values) -> str:
    """Compare the probabilities of lying within every interval."""
    ahead, behind = bool((first > second + _ROUNDING).any()), bool((first < second - _ROUNDING).any())
    return {(True, False): "smaller", (False, True): "larger", (True, True): "neither", (False, False): "equal"}[
        ahead, behind
    ]


_FILE = "tables_4_1_to_4_4"
TABLES = (
    Table(name="thesis-4.order", file=_FILE, key="order_of_noises", rows=order_of_noises, figures=construction),
    Table(name="thesis-4.minima", file=_FILE, key="minima", rows=minima, figures=curves_of_cores),
    Table(name="thesis-4.1", file=_FILE, key="table_4_1", rows=variances),
    Table(name="thesis-4.2", file=_FILE, key="table_4_2", rows=widths),
    Table(name="thesis-4.example-4", file=_FILE, key="example_4", rows=overprotected, figures=protected_regions),
    Table(name="thesis-4.example-5", file=_FILE, key="example_5", rows=two_answers, figures=densities_of_two_answers),
    Table(name="thesis-4.3", file=_FILE, key="table_4_3", rows=laplace_regions),
    Table(name="thesis-4.4", file=_FILE, key="table_4_4", rows=box_regions),
)
