"""Knowledge refinement: examples and tables of the paper and of chapter 5 of the thesis. Reproduction, no guarantee."""

from __future__ import annotations

from math import exp

import numpy as np
from numpy.typing import NDArray

from penstock.reproduction.beside_print import Row, beside, by_line, number, ours
from penstock.reproduction.computed import (
    answers_about_one,
    answers_about_two,
    chances_of_noise,
    deltas_of_shares,
    mass_left_in_tail,
    spread_of_answers,
)
from penstock.reproduction.entry import Given, Printed, Table

__all__ = ["TABLES"]

Values = NDArray[np.float64]


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


def _answers(line: Printed) -> str:
    return "answers {} and {}".format(*line["answers"])


def _formula(name: str, figures: Values, line: Printed) -> Row:
    """Return a row for a number that is printed as a formula: one of a table, or the only one."""
    value = float(figures[tuple(line.get("answers", ()))])
    return beside(name, value, line["value"], note=f"printed as {line['formula']}")


_FILE = "refinement_tables"
TABLES = (
    Table(name="thesis-5.3", file=_FILE, key="table_5_3", rows=two_persons),
    Table(name="thesis-5.4", file=_FILE, key="table_5_4", rows=absent_persons),
    Table(name="thesis-5.5", file=_FILE, key="table_5_5", rows=spread_around_the_middle),
    Table(name="refinement-2", file=_FILE, key="example_2", rows=answers_of_a_rare_value),
    Table(name="refinement-delta", file=_FILE, key="shares_of_delta", rows=shares_of_delta),
)
