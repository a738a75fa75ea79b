"""Errors in chapter 5 of the thesis, each with a case that shows it. The paper before it has not all of them."""

from __future__ import annotations

from math import exp, log

import numpy as np

from penstock.reproduction.computed import (
    answers_about_one,
    deltas_of_shares,
    mass_left_in_tail,
    spread_of_answers,
)
from penstock.reproduction.errata.erratum import CounterExample, Erratum, found

__all__ = ["ERRATA"]

_SOURCE = "Thesis, chapter 5"


def exchanged_masses() -> CounterExample:
    """Return the whole mass of a refined prior with the printed masses of the two sets, and exchanged."""
    up, down = exp(1), exp(-1)
    near, far = (up - 1) / (up - down), (1 - down) / (up - down)
    as_printed, right = up * near + down * far, up * far + down * near
    return found(
        "factors e and 1 / e: the mass that is multiplied by e, the other one by 1 / e",
        abs(right - 1) < 1e-12 < abs(as_printed - 1),
        mass_as_printed=as_printed,
        mass_exchanged=right,
        chance_of_the_truth_in_Example_8_as_printed=0.5 * up,
    )


def step_four() -> CounterExample:
    """Return the factor of the shell by the printed formula, and by the masses of the sets that were found."""
    up, down = exp(1), exp(-1)
    p_up = (1 - down) / (up - down)
    p_down = 1 - p_up
    above, below = 1 - up * p_up - down * p_down, 1 - p_up - p_down
    # A prior of two equal points: the ball around the truth is larger than p_up or empty, the far set is the other one.
    near, far = 0.0, 0.5
    right = (1 - up * near - down * far) / (1 - near - far)
    return found(
        "two answers of equal prior, factors e and 1 / e",
        abs(above) < 1e-12 and abs(below) < 1e-12 and down <= right <= up,
        printed="0 / 0",
        factor_from_the_sets_found=right,
    )


def replaced_values() -> CounterExample:
    """Return the loss where a person's value is replaced, not the person removed."""
    epsilon = 1.0
    answers = answers_about_one(epsilon, [1, 1])
    loss = float(np.abs(np.log(answers[0] / answers[1])).max())
    absent = float(np.abs(np.log(answers[0] / 0.5)).max())
    return found(
        "a question about one person, answers 0 and 1 of equal prior, epsilon 1",
        loss > epsilon >= absent - 1e-6,
        loss_where_the_person_is_absent=absent,
        loss_where_the_value_is_replaced=loss,
    )


def shares_of_delta() -> CounterExample:
    """Return the delta that holds with the printed shares, and what they leave of a tail."""
    epsilon, delta = log(2), 0.2
    person, statistic = deltas_of_shares(epsilon, [delta, delta / 2])[[0, 1], [0, 1]]
    [left] = mass_left_in_tail(epsilon, [delta], 0.4)
    return found(
        "epsilon ln 2, delta 0.2, a uniform prior",
        person > 1.9 * delta and statistic > 1.4 * delta and left < 1e-3,
        delta_of_a_person=float(person),
        delta_of_a_statistic=float(statistic),
        left_of_a_tail_that_had_two_fifths=float(left),
    )


def laplace_column() -> CounterExample:
    """Return the probability that Laplace noise around 1/2 stays within 0 and 1."""
    epsilons = [0.1, log(2), 1, 2]
    right = spread_of_answers(epsilons)[:, 1]
    return found(
        "scale 1 / epsilon, epsilon 0.1, ln 2, 1 and 2: 1 - e^(-epsilon / 2)",
        bool(np.all(np.abs(right - [0.476, 0.549, 0.607, 0.684]) > 0.01)),
        printed="0.476, 0.549, 0.607, 0.684",
        recomputed=", ".join(f"{value:.3f}" for value in right),
    )


def a_digit_lost() -> CounterExample:
    """Return the sum of section 5.5.1 with the printed term, and with the one that it stands for."""
    printed, right = (0.003678 * 0.99 + term * 0.01 for term in (0.02182, 0.027182))
    return found(
        "the probability of the answer 1 from the printed terms",
        f"{printed:.6f}" != "0.003912" and f"{right:.6f}" == "0.003913",
        in_print="0.003912",
        with_the_printed_term=f"{printed:.6f}",
        with_the_right_term=f"{right:.6f}",
    )


ERRATA = (
    Erratum(
        name="thesis-masses",
        source=_SOURCE,
        place="section 5.2 and Algorithm 5.1",
        printed="the near set has prior mass (alpha_u - 1) / (alpha_u - alpha_d), the far set the rest",
        right="the other way round, or the refined distribution has not the mass 1",
        counter_example=exchanged_masses,
    ),
    Erratum(
        name="thesis-step-four",
        source=_SOURCE,
        place="Algorithm 5.1, step iv",
        printed="the factor between the sets is made from p_u and p_d",
        right="from the masses of the two sets that were found; the printed quotient is 0 / 0",
        counter_example=step_four,
    ),
    Erratum(
        name="thesis-presence",
        source=_SOURCE,
        place="Proposition 3",
        printed="a question about one person with factors e^epsilon and e^-epsilon keeps epsilon",
        right="only where a person is present or absent; where a value is replaced it loses up to 2 epsilon",
        counter_example=replaced_values,
    ),
    Erratum(
        name="thesis-delta",
        source=_SOURCE,
        place="section 5.2, Figures 5.2 and 5.3",
        printed="a share of delta, or of delta / 2 for a statistic, may be moved to the truth",
        right="delta e^-epsilon, and delta / (1 + e^epsilon)",
        counter_example=shares_of_delta,
    ),
    Erratum(
        name="thesis-within",
        source=_SOURCE,
        place="Table 5.5",
        printed="how often Laplace noise stays in the range",
        right="1 - e^(-epsilon / 2) in every line",
        counter_example=laplace_column,
    ),
    Erratum(
        name="thesis-term",
        source=_SOURCE,
        place="section 5.5.1",
        printed="0.003678 x 0.99 + 0.02182 x 0.01 = 0.003912",
        right="0.027182 in place of 0.02182, and the sum of the terms is 0.003913",
        counter_example=a_digit_lost,
    ),
)
