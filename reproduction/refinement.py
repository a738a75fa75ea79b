"""Knowledge refinement: examples and tables of the paper and of chapter 5 of the thesis. Reproduction, no guarantee."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp

import numpy as np
from numpy.typing import NDArray

from penstock.reproduction.beside_print import Row, beside, by_line, number, ours, statement
from penstock.reproduction.computed import (
    answers_about_one,
    answers_about_two,
    chances_of_noise,
    deltas_of_shares,
    distances_of_answers,
    factors_of_refinement,
    mass_left_in_tail,
    refined_density,
    spread_of_answers,
)
from penstock.reproduction.entry import Figure, Given, Printed, Table
from penstock.reproduction.pictures import Panel, figure_of

__all__ = ["TABLES"]

Values = NDArray[np.float64]

# What stands at one point is drawn as high as this.
_HIGHEST = 6.0


def two_persons(printed: Printed, _: Given) -> list[Row]:
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


def absent_persons(printed: Printed, _: Given) -> list[Row]:
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


def spread_around_the_middle(printed: Printed, _: Given) -> list[Row]:
    """Return the rows of the thesis, Table 5.5."""
    lines = printed["rows"]
    return by_line(printed, lines, "epsilon", spread_of_answers([number(line["epsilon"]) for line in lines]))


def answers_of_a_rare_value(printed: Printed, _: Given) -> list[Row]:
    """Return the rows of knowledge refinement, Example 2."""
    share = printed["prior"][1] / sum(printed["prior"])
    (right, wrong), (missed, found) = answers_about_one(printed["epsilon"], printed["prior"]).tolist()
    refined = [wrong, right, found, missed, wrong * (1 - share) + found * share]
    values = [*chances_of_noise(printed["epsilon"], share).tolist(), *refined]
    return [
        beside(line["name"], value, line["printed"], corrected=line.get("corrected"), cut_off="cut_off" in line)
        for line, value in zip(printed["rows"], values, strict=True)
    ]


def shares_of_delta(printed: Printed, _: Given) -> list[Row]:
    """Return the delta that holds for each share: in print, and ours; and what the printed share leaves of a tail."""
    epsilon, delta = number(printed["epsilon"]), float(printed["delta"])
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


def distances(printed: Printed, _: Given) -> list[Row]:
    """Return the rows of the thesis, Table 5.1, for answers in four categories."""
    found = distances_of_answers(printed["categories"])
    return [
        beside(f"{kind}, from the last category to {category}", float(value), right)
        for kind, values in zip(("nominal", "ordinal"), found, strict=True)
        for category, value, right in zip(printed["categories"], values, printed[kind], strict=True)
    ]


def factors(printed: Printed, _: Given) -> list[Row]:
    """Return the rows of the thesis, Table 5.2: the factors, and their quotient for a statistic."""
    (up, down), (statistic_up, statistic_down) = factors_of_refinement(printed["epsilon"]).tolist()
    found = {"person, up": up, "person, down": down, "statistic, up over down": statistic_up / statistic_down}
    inside = "inside" if 1 <= statistic_up <= up and down <= statistic_down <= 1 else "outside"
    return [
        *(
            beside(
                name, value, printed["factors"][name]["value"], note=f"printed as {printed['factors'][name]['formula']}"
            )
            for name, value in found.items()
        ),
        statement("statistic, both factors and the bounds 1, e^epsilon and e^-epsilon", printed["inside"], inside),
    ]


def sharpened_prior(printed: Printed, _: Given) -> list[Row]:
    """Return what Example 6 says of the point 0.6: far from the truth of one data set, near that of its neighbour."""
    epsilon = printed["epsilon"]
    densities = [refined_density(epsilon, truth, person=False) for truth in printed["truths"]]
    up, down = factors_of_refinement(epsilon)[1]
    place = round(printed["point"] * (len(densities[0]) - 1))
    names = {round(float(up), 6): "near", round(float(down), 6): "far"}
    largest = float(np.abs(np.log(densities[0] / densities[1])).max())
    return [
        *(
            statement(
                f"the point {printed['point']} where the truth is {truth}", right, names[round(density[place], 6)]
            )
            for truth, density, right in zip(printed["truths"], densities, printed["is"], strict=True)
        ),
        ours("loss between the two", largest, printed["loss"]),
        *(
            ours(f"mass where the truth is {truth}", float(density.mean()), printed["mass"])
            for truth, density in zip(printed["truths"], densities, strict=True)
        ),
    ]


def densities_of_neighbours(printed: Printed, _: Given) -> list[Figure]:
    """Draw Figure 5.1."""
    text = "Answers about two neighbours from a uniform prior: the density is higher in a set around each truth."
    panels = {f"truth {truth}": refined_density(printed["epsilon"], truth, person=False) for truth in printed["truths"]}
    return [_densities("Figure 5.1", text, panels)]


def densities_with_delta(printed: Printed, _: Given) -> list[Figure]:
    """Draw Figures 5.2 and 5.3."""
    epsilon, delta = number(printed["epsilon"]), float(printed["delta"])
    person = {f"share {share:g} moved": refined_density(epsilon, 0.5, share=share) for share in (0.0, delta)}
    statistic = {
        f"truth {truth}, share {share:g} moved": refined_density(epsilon, truth, person=False, share=share)
        for share in (0.0, delta / 2)
        for truth in (0.166, 0.833)
    }
    moved = "where a share is moved it is taken from the farthest points and stands at the truth, as in the source."
    return [
        _densities("Figure 5.2", f"Answers about one person at epsilon ln 2, the truth 0.5: {moved}", person),
        _densities("Figure 5.3", f"Answers about a statistic at epsilon ln 2: {moved}", statistic),
    ]


def densities_of_answers(printed: Printed, _: Given) -> list[Figure]:
    """Draw Figure 5.7."""
    points = np.linspace(-3, 4, 701)
    panels, numbers = [], []
    for line in printed["rows"]:
        epsilon = number(line["epsilon"])
        laplace = 0.5 * epsilon * np.exp(-epsilon * np.abs(points - 0.5))
        fine = refined_density(epsilon, 0.5)
        refined = np.interp(points, np.linspace(0, 1, len(fine)), fine, left=0, right=0)
        title = f"epsilon {line['epsilon']}"
        series = {"Laplace": (points, laplace), "refined": (points, refined)}
        panels.append(Panel(title=title, x="answer", y="density", series=series))
        numbers += [(title, *each) for each in np.stack([points, laplace, refined], axis=1)[::50].tolist()]
    return [
        figure_of(
            "Figure 5.7",
            "The density of answers about one person where the truth is 0.5: refined answers stay within 0 and 1, "
            "those with Laplace noise often do not.",
            panels,
            columns=("panel", "answer", "Laplace", "refined"),
            numbers=numbers,
        )
    ]


def chances_of_two_answers(printed: Printed, _: Given) -> list[Figure]:
    """Draw Figure 5.4."""
    alone = answers_about_one(printed["epsilon"], [1, 1])[0]
    return [
        _chances(
            "Figure 5.4", "A uniform prior, and answers where the truth is 0.", {"prior": [0.5, 0.5], "answers": alone}
        )
    ]


def chances_of_a_rare_value(printed: Printed, _: Given) -> list[Figure]:
    """Draw Figures 5.5, with the answers rounded to 0 and 1, and 5.6."""
    share = printed["prior"][1] / sum(printed["prior"])
    wrong, right, _any = chances_of_noise(printed["epsilon"], share)
    given_0, given_1 = answers_about_one(printed["epsilon"], printed["prior"])
    return [
        _chances(
            "Figure 5.5",
            "Answers with Laplace noise where the truth is 0 and where it is 1, taken as 0 or 1.",
            {"truth 0": [1 - wrong, wrong], "truth 1": [1 - right, right]},
        ),
        _chances(
            "Figure 5.6",
            "Refined answers where the truth is 0 and where it is 1, beside the prior.",
            {"prior": [1 - share, share], "truth 0": given_0, "truth 1": given_1},
        ),
    ]


def _densities(title: str, alternative: str, curves: Mapping[str, Values]) -> Figure:
    points = np.linspace(0, 1, len(next(iter(curves.values()))))
    panels = [
        Panel(title=name, x="answer", y="density", series={name: (points, np.minimum(curve, _HIGHEST))})
        for name, curve in curves.items()
    ]
    return figure_of(
        title,
        alternative,
        panels,
        columns=("answer", *curves),
        numbers=np.stack([points, *curves.values()], axis=1)[:: len(points) // 20].tolist(),
    )


def _chances(title: str, alternative: str, answers: Mapping[str, Sequence[float] | Values]) -> Figure:
    panel = Panel(
        x="answer",
        y="probability",
        series={name: ((-0.5, 0.5, 1.5), (*chances, chances[1])) for name, chances in answers.items()},
        steps=True,
    )
    return figure_of(
        title,
        alternative,
        [panel],
        columns=("answer", *answers),
        numbers=[(str(answer), *(float(chances[answer]) for chances in answers.values())) for answer in (0, 1)],
    )


def _answers(line: Printed) -> str:
    return "answers {} and {}".format(*line["answers"])


def _formula(name: str, figures: Values, line: Printed) -> Row:
    """Return a row for a number that is printed as a formula: one of a table, or the only one."""
    value = float(figures[tuple(line.get("answers", ()))])
    return beside(name, value, line["value"], note=f"printed as {line['formula']}")


_FILE = "refinement_tables"
TABLES = (
    Table(name="thesis-5.1", file=_FILE, key="table_5_1", rows=distances),
    Table(name="thesis-5.2", file=_FILE, key="table_5_2", rows=factors),
    Table(
        name="thesis-5.example-6", file=_FILE, key="example_6", rows=sharpened_prior, figures=densities_of_neighbours
    ),
    Table(name="thesis-5.3", file=_FILE, key="table_5_3", rows=two_persons, figures=chances_of_two_answers),
    Table(name="thesis-5.4", file=_FILE, key="table_5_4", rows=absent_persons),
    Table(name="thesis-5.5", file=_FILE, key="table_5_5", rows=spread_around_the_middle, figures=densities_of_answers),
    Table(
        name="refinement-2", file=_FILE, key="example_2", rows=answers_of_a_rare_value, figures=chances_of_a_rare_value
    ),
    Table(
        name="refinement-delta", file=_FILE, key="shares_of_delta", rows=shares_of_delta, figures=densities_with_delta
    ),
)
