"""Knowledge refinement: Tables 5.3 to 5.5, Example 2 and shares of delta by the mechanism's own code, beside the print.

Reproduction: refined distributions are shown here, which no release does.
"""

from __future__ import annotations

from fractions import Fraction
from math import e, exp, log

import numpy as np
import pytest

from penstock.mechanisms.randomness import seeded
from penstock.mechanisms.refinement.axes import Line
from penstock.mechanisms.refinement.refine import Refined, by_presence
from penstock.reproduction.beside_print import as_printed, printed_tables
from penstock.reproduction.computed import (
    answers_about_one,
    answers_about_two,
    chances_of_noise,
    deltas_of_shares,
    mass_left_in_tail,
    spread_of_answers,
)

TABLES = printed_tables("refinement_tables")
EXAMPLE_2, TABLE_5_3, TABLE_5_4, TABLE_5_5 = (
    TABLES[name] for name in ("example_2", "table_5_3", "table_5_4", "table_5_5")
)
# The factors of a release are whole multiples of 2^-22.
STEP = 2**-22


def number(written):
    return log(2) if written == "ln 2" else float(written)


@pytest.mark.parametrize("line", TABLE_5_3["alone"], ids=lambda line: f"{line['answer']}, {line['place']}")
def test_answers_about_one_person(line):
    value = answers_about_one(1, [1, 1])[0][int(line["answer"])]
    assert value == pytest.approx(line["recomputed"], abs=5e-7)
    right = line.get("corrected", line["printed"])
    assert as_printed(value, line["printed"], cut_off="cut_off" in line) == right


def test_table_5_3_is_what_its_formulas_give():
    half = exp(-1) / 2
    expected = [[(1 - half) ** 2, (1 - half) * half], [(1 - half) * half, half**2]]
    assert answers_about_two(1) == pytest.approx(np.array(expected), abs=STEP)
    for cell in TABLE_5_3["cells"]:
        assert float(cell["value"]) == pytest.approx(expected[cell["answers"][0]][cell["answers"][1]], abs=5e-6)


def test_table_5_4_is_what_its_formulas_give():
    half = exp(-1) / 2
    without_1 = np.array([[(1 - half) / 2, half / 2], [(1 - half) / 2, half / 2]])
    assert answers_about_two(1, absent=1) == pytest.approx(without_1, abs=STEP)
    assert answers_about_two(1, absent=2) == pytest.approx(without_1.T, abs=STEP)
    for cell in TABLE_5_4["cells"]:
        expected = without_1 if cell["absent"] == 1 else without_1.T
        assert float(cell["value"]) == pytest.approx(expected[tuple(cell["answers"])], abs=5e-6)


@pytest.mark.parametrize("absent", [1, 2])
def test_the_ratios_take_two_values_and_keep_the_promise(absent):
    ratios = answers_about_two(1) / answers_about_two(1, absent)
    assert np.unique(ratios.round(6)) == pytest.approx([exp(-1), 2 - exp(-1)], abs=2e-6)
    assert exp(-1) <= ratios.min() < ratios.max() <= e


def test_a_replaced_value_loses_more_than_is_printed_and_not_with_factors_of_its_own():
    def ratio(replaced):
        same, other = answers_about_one(1, [1, 1], replaced=replaced)[:, 0]
        return same / other

    assert ratio(replaced=False) == pytest.approx(2 * e - 1, abs=1e-5)
    assert e < ratio(replaced=False) <= e**2
    assert ratio(replaced=True) == pytest.approx(2 * exp(0.5) - 1, abs=1e-5)
    assert ratio(replaced=True) <= e


def test_the_masses_as_printed_would_give_the_truth_more_than_1():
    """(a_u - 1) / (a_u - a_d) of the prior is printed for what is near; half of it is the truth of Example 8."""
    printed = (e - 1) / (e - exp(-1))
    assert printed > 0.5
    assert f"{0.5 * e:.3f}" == "1.359"
    assert "1.359" in TABLE_5_3["remark"]


@pytest.mark.parametrize("row", TABLE_5_5["rows"], ids=lambda row: f"epsilon {row['epsilon']}")
def test_table_5_5_spread_of_answers(row):
    [figures] = spread_of_answers([number(row["epsilon"])])
    # A grid of 2^14 steps: what is near is short of at most two of its points, each of them e^epsilon times as likely.
    assert figures == pytest.approx(row["recomputed"], abs=2 * e**2 * 2**-14)
    assert figures[:2] == pytest.approx(row["recomputed"][:2], abs=5e-7)
    right = row["printed"] | row["corrected"]
    assert [as_printed(value, text) for value, text in zip(figures, right.values(), strict=True)] == [*right.values()]


@pytest.mark.parametrize("row", TABLE_5_5["rows"], ids=lambda row: f"epsilon {row['epsilon']}")
def test_table_5_5_independently_of_the_mechanism(row):
    epsilon = number(row["epsilon"])
    size = 1 / (1 + exp(epsilon))
    variance = (exp(epsilon) * size**3 + exp(-epsilon) * (1 - size**3)) / 12
    expected = [2 / epsilon**2, 1 - exp(-epsilon / 2), variance, size, exp(epsilon) * size]
    assert row["recomputed"] == pytest.approx(expected, abs=1e-6)


def test_the_laplace_column_of_table_5_5_is_caught_by_draws():
    """Six standard errors of 200,000 draws: false alarm 2e-9."""
    draws = 0.5 + np.random.default_rng(5).laplace(scale=1.0, size=200_000)
    share = ((draws >= 0) & (draws <= 1)).mean()
    error = 6 * 0.5 / np.sqrt(len(draws))
    assert abs(share - 0.393469) < error
    assert abs(share - 0.607) > 10 * error


def test_refined_answers_of_table_5_5_are_those_that_are_drawn():
    """Six standard errors of 100,000 draws: false alarm 2e-9."""
    steps = 2**10
    refined = Refined(Line(np.ones(steps + 1, np.int64)), by_presence(Fraction(1)))
    drawn = refined.draw(np.full(100_000, steps // 2), seeded(6)) / steps
    squares = (drawn - 0.5) ** 2
    expected = refined.mean_square(np.array([steps // 2]))[0] / steps**2
    assert abs(squares.mean() - expected) < 6 * squares.std() / np.sqrt(len(drawn))
    assert expected == pytest.approx(0.034467, abs=1e-3)


def test_example_2_a_rare_value():
    (right, wrong), (missed, found) = answers_about_one(1, EXAMPLE_2["prior"])
    values = [*chances_of_noise(1, 0.01), wrong, right, found, missed, 0.99 * wrong + 0.01 * found]
    for row, value in zip(EXAMPLE_2["rows"], values, strict=True):
        assert value == pytest.approx(row["recomputed"], abs=5e-7), row["name"]
        shown = as_printed(value, row["printed"], cut_off="cut_off" in row)
        assert shown == row.get("corrected", row["printed"]), row["name"]


def test_the_sum_in_example_2_is_not_that_of_its_terms():
    assert f"{0.003678 * 0.99 + 0.027182 * 0.01:.6f}" == "0.003913"
    assert EXAMPLE_2["rows"][-1]["printed"] == "0.003912"


@pytest.mark.parametrize("epsilon", [0.5, log(2), 1.0])
def test_a_share_of_delta_costs_more_than_itself(epsilon):
    person, statistic = deltas_of_shares(epsilon, [0.05])[0]
    assert person == pytest.approx(0.05 * exp(epsilon), abs=1e-5)
    assert statistic == pytest.approx(0.05 * (1 + exp(epsilon)), abs=1e-5)


def test_the_printed_shares_break_delta_and_the_corrected_ones_keep_it():
    delta, epsilon = 0.2, log(2)
    [[person, _], [_, statistic]] = deltas_of_shares(epsilon, [delta, delta / 2])
    assert [person, statistic] == pytest.approx([0.4, 0.3], abs=1e-5)
    [[person, _], [_, statistic]] = deltas_of_shares(epsilon, [delta * exp(-epsilon), delta / (1 + exp(epsilon))])
    assert [person, statistic] == pytest.approx([delta, delta], abs=1e-5)
    ours = [line["our_share"] for line in TABLES["shares_of_delta"]["rows"].values()]
    assert ours == pytest.approx([delta * exp(-epsilon), delta / (1 + exp(epsilon))], abs=5e-7)


def test_nothing_is_left_of_a_tail_with_the_printed_share():
    """A grid of 1,000 steps: the tail is short of at most two points."""
    nothing, some, before = mass_left_in_tail(log(2), [0.2, 0.1, 0.0], 0.4)
    assert nothing == pytest.approx(0, abs=1e-9)
    assert some == pytest.approx(0.1, abs=2e-3)
    assert before == pytest.approx(0.2, abs=2e-3)
